"""The rows of a store as a sequence, as tables of pandas and Arrow, and in a notebook."""

import base64
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lineage import NotFound, Store, StoreError, store as module


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s", create=True, direction="higher") as opened:
        opened.append(hypothesis="start", status="baseline", score=1.0, params={"alpha": 0.1, "optimizer": "adam", "mixed": 1})
        opened.append(hypothesis="<b>", parent="000", status="keep", score=2.0, params={"mixed": "x"}, metrics={"loss": 0.5})
        opened.append(hypothesis="broken", status="crash", parent="001")
        yield opened


def test_a_store_is_a_collection_of_trials(store):
    assert len(store) == 3 and [row["exp_id"] for row in store] == ["000", "001", "002"] and list(store) == store.query()
    assert store["001"] == store["exp_001"] == store.find("001")
    assert "001" in store and "007" not in store and 1 not in store
    with pytest.raises(KeyError, match="007"):
        store["007"]
    with pytest.raises(TypeError, match="text"):
        store[1]
    assert repr(store) == f"Store({store.path!r})"


def test_an_empty_store(tmp_path):
    with Store(tmp_path, create=True) as store:
        assert store and len(store) == 0 and list(store) == [] and store._table(None)["exp_id"] == []
        assert "0 trials" in store._repr_html_()


def test_iteration_continues_behind_a_page(store):
    for number in range(1100):
        store.append(hypothesis=str(number), status="discard", score=0.0, sync=False)
    walk = iter(store)
    first = [next(walk) for _ in range(900)]
    store.append(hypothesis="late", status="discard", score=0.0)
    rest = list(walk)
    assert [row["seq"] for row in first + rest] == list(range(1, 1105)) and rest[-1]["hypothesis"] == "late"


def test_rows_are_read_with_few_calls(store, monkeypatch):
    """A call per row or field would make a query of 10,000 rows three times as slow as the csv module and more."""
    log = os.path.join(store.path, "results.tsv")
    with open(log, encoding="utf-8") as rows:
        columns = rows.readline().rstrip("\n").split("\t")
    row = {"timestamp": "T", "status": "discard", "core_metric": "0", "notes": "alpha=0.5; lr=0.001"}
    with open(log, "a", encoding="utf-8") as rows:
        for number in range(3, 10_000):
            rows.write("\t".join(f"{number:05d}" if name == "exp_id" else row.get(name, "") for name in columns) + "\n")
    calls, library = [], module._lib

    class Counted:
        def __getattr__(self, name):
            function = getattr(library, name)
            return lambda *arguments: calls.append(name) or function(*arguments)

    monkeypatch.setattr(module, "_lib", Counted())
    assert len(store.query()) == 10_000
    assert len(calls) < 100 and "lineage_cursor_rows" in calls


def test_a_row_of_many_equals_the_row_alone(store):
    store.append(status="discard", score=-0.0, params={"a": 1e-300, "b": "x y", "c": -0.0}, metrics={"m": 2.0, "n": 1e9})
    turns = [{"turn": 0, "mean": 0.5, "std": 0.25, "count": 7}, {"turn": 2, "mean": -1.0, "std": 0.0, "count": 1}]
    store.append(status="crash", turns=turns, ig_clip_scale_mean=1.5, ig_clip_scale_std=0.5, notes="öffnen → 7; x", domain="d")
    store.append(status="keep", parent="000", score=3.0, val_bpb=0.9, train_s=2.0, total_s=3.0, job_name="j", expected_delta="+1")
    rows = store.query()
    assert rows == [store.find(row["exp_id"]) for row in rows] and len(rows) == 6
    assert [list(row) for row in rows] == [list(store.find("000"))] * 6
    assert rows[4]["turns"] == turns and rows[3]["params"] == {"a": 1e-300, "b": "x y", "c": -0.0}


def test_extra_columns_nul_and_nan(tmp_path):
    Store(tmp_path, create=True, direction="lower").append(hypothesis="first", status="baseline", score=1.0)
    log = tmp_path / "results.tsv"
    header, first = log.read_bytes().splitlines()
    second = first.replace(b"first", "über → ".encode()).replace(b"000", b"001", 1).replace(b"baseline\t1.0", b"discard\tnan")
    third = first.replace(b"first", b"nul \x00.").replace(b"000", b"002", 1)
    rows = [header + b"\ttag\tmemory", first + b"\tx\t", second + b"\t\t3", third + b"\t\t"]
    log.write_bytes(b"\n".join([*rows, b""]))
    with Store(tmp_path) as store:
        rows = store.query()
        assert repr(rows) == repr([store.find(f"00{number}") for number in range(3)])  # nan differs from itself
        assert [row["extras"] for row in rows[:2]] == [{"tag": "x", "memory": ""}, {"tag": "", "memory": "3"}]
        assert rows[1]["hypothesis"] == "über → " and str(rows[1]["core_metric"]) == "nan"


def test_steps_are_read_back(store):
    with store.trial(hypothesis="logs") as trial:
        trial.log(1, loss=0.5)
        trial.log(2, loss=0.25)
        trial.score(0.1)
    want = [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}]
    assert trial.steps() == want == store.steps(trial.row["exp_id"]) == store.steps("exp_003")
    assert store.steps("000") == []
    with pytest.raises(NotFound):
        store.steps("777")


def test_the_columns_of_a_table(store):
    table = store._table(None)
    assert list(table)[:2] == ["exp_id", "timestamp"] and "score" in table and "notes" in table
    assert table["params.alpha"] == [0.1, None, None] and table["params.optimizer"] == ["adam", None, None]
    assert table["params.mixed"] == ["1", "x", None] and table["metrics.loss"] == [None, 0.5, None]
    assert store._table(store.query(status="keep"))["exp_id"] == ["001"]


def test_pandas(store, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = store.to_pandas()
    assert isinstance(frame, pandas.DataFrame) and len(frame) == 3 and frame["params.alpha"].dtype == "float64"
    assert frame.set_index("exp_id").loc["001", "metrics.loss"] == 0.5
    assert frame["val_bpb"].dtype == "float64" and frame["val_bpb"].isna().all() and frame["params.mixed"].dtype == "object"
    with Store(tmp_path / "empty", create=True) as empty:
        none = empty.to_pandas()
        assert len(none) == 0 and none["score"].dtype == "float64" and none["notes"].dtype == "object"
        both = pandas.concat([none, frame, store.to_pandas(store.query(status="crash"))])
    assert len(both) == 4 and both["score"].dtype == "float64" and both["score"].sum() == 3.0


class Arrow:
    """Stands in for pyarrow, which Debian 12 does not have: the four functions that to_arrow calls, with pyarrow's signatures, and
    at least as strict about values."""

    @staticmethod
    def float64():
        return "double"

    @staticmethod
    def string():
        return "string"

    @staticmethod
    def array(obj, type=None, mask=None, size=None, from_pandas=None, safe=True, memory_pool=None):
        assert isinstance(obj, list) and type in ("double", "string")
        for value in obj:
            assert value is None or isinstance(value, str if type == "string" else float), (type, value)
            if type == "string" and value is not None:
                value.encode()  # pyarrow refuses half of a surrogate pair
        return (type, obj)

    @staticmethod
    def table(data, names=None, schema=None, metadata=None, nthreads=None):
        assert isinstance(data, dict) and all(isinstance(name, str) for name in data)
        assert len({len(values) for _, values in data.values()}) == 1, "columns of different lengths"
        return data


def test_arrow(store):
    pyarrow = pytest.importorskip("pyarrow")
    table = store.to_arrow()
    assert isinstance(table, pyarrow.Table) and table.num_rows == 3 and table["params.alpha"].null_count == 2
    kinds = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert kinds["score"] == kinds["val_bpb"] == "double" and kinds["params.mixed"] == "string"


def test_arrow_by_its_signatures(store, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", Arrow)
    table = store.to_arrow()
    assert table["params.alpha"] == ("double", [0.1, None, None]) and table["val_bpb"] == ("double", [None] * 3)
    assert table["params.mixed"] == ("string", ["1", "x", None]) and table["hypothesis"][1][1] == "<b>"
    with Store(tmp_path / "empty", create=True) as empty:
        none = empty.to_arrow()
    assert none["score"] == ("double", []) and none["notes"] == ("string", [])


def test_a_notebook_shows_the_pictures_of_the_report(store, monkeypatch):
    command = os.environ.get("LINEAGE")
    if not command:
        pytest.skip("LINEAGE does not name the command")
    monkeypatch.setenv("PATH", f"{Path(command).parent}:{os.environ['PATH']}")
    shown = store._repr_html_()
    pictures = [base64.b64decode(coded).decode() for coded in re.findall(r"base64,([^\"]+)", shown)]
    assert len(pictures) == 2 and all(picture.lstrip().startswith("<svg") for picture in pictures)
    assert "3 trials" in shown and "&lt;b&gt;" in shown and "<b>001</b>" in shown
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "<img" not in store._repr_html_() and "3 trials" in store._repr_html_()


def test_importing_starts_no_process():
    code = """
import sys
def hook(event, _):
    assert event not in ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.system", "os.exec"), event
sys.addaudithook(hook)
import lineage
lineage.Store
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_importing_executes_no_program(tmp_path):
    """The same as the kernel sees it, also of the libraries."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-qq", "-e", "trace=execve,execveat", "-o", trace, sys.executable, "-c", "import lineage.core; lineage.Store"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if "ptrace" in run.stderr:
        pytest.skip("strace may not trace here")
    assert run.returncode == 0, run.stderr
    calls = [line for line in trace.read_text().splitlines() if "execve" in line and " = 0" in line]
    assert len(calls) == 1, calls  # Python itself


def test_every_status_of_the_library_has_a_kind(monkeypatch):
    text = module._lib.lineage_status_text
    known = [-n for n in range(1, 40) if text(-n) != b"unknown status"]
    assert sorted(module._STATUS) == sorted(known)
    assert StoreError(module._Error(-11, 0, 0, b"x")).kind == "away" and StoreError(module._Error(-12, 0, 0, b"x")).kind == "refused"
    monkeypatch.delitem(module._STATUS, -12)  # as if the library were newer than the package
    assert StoreError(module._Error(-12, 0, 0, b"x")).kind == "refused by the server"
