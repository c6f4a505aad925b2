"""lineage.fieldkit writes the file and renders the block of fieldkit.lineage, and does not lose what fieldkit loses.

The cases were made by running fieldkit (fixtures/cases/README.md). fieldkit's own tests run in fieldkit_tests.sh."""

import csv
import json
import math
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lineage import Store, store as store_module
from lineage.fieldkit import FailureLabel, LineageStore, RecipeEdit, Trial

SOURCE = Path(os.environ.get("SOURCE", Path(__file__).resolve().parents[2]))
FOLDERS = [SOURCE / "fixtures/cases", Path(os.environ.get("SHARED_DIR", SOURCE.parent / "shared")) / "lineage-cases"]
CASES = sorted(
    path for folder in FOLDERS for path in folder.glob("*/params*.json") if not path.parent.name.startswith("bb-")
)  # fmt: skip


def trial(**cells):
    """A trial with these cells; all others are empty."""
    empty = {name: None if name in store_module._NUMBERS else "" for name in Trial.header()}
    return Trial(**{**empty, "status": FailureLabel.DISCARD, **cells})


def ids(trials):
    return [one.exp_id for one in trials]


def case_store(path, folder):
    parameters = json.loads(path.read_text())
    lower = parameters.pop("lower_is_better")
    if (path.parent / "input.tsv").exists():
        (folder / "results.tsv").write_bytes((path.parent / "input.tsv").read_bytes())
    return LineageStore(folder, lower_is_better=lower), parameters


def test_there_are_cases():
    assert len(CASES) >= 38


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_block_of_a_case(path, tmp_path):
    store, parameters = case_store(path, tmp_path)
    suffix = path.stem.removeprefix("params")
    candidates = (f"expected-good-rows{suffix}.md", "expected-good-rows.md", f"expected{suffix}.md")
    expected = next(path.parent / name for name in candidates if (path.parent / name).exists())
    shown = store.render_prompt(**parameters)
    assert shown.rendered_prompt.encode() == expected.read_bytes()
    handles = path.with_name(f"handles{suffix}.json")
    if handles.exists() and "good-rows" not in expected.name:  # else they are those of fieldkit's wrong reading
        known = json.loads(handles.read_text())
        lists = (shown.chain_to_best, shown.top_k_leaderboard, shown.recent_n_activity, shown.last_m_with_full_hypothesis)
        found, wanted = [ids(one) for one in lists], [known[name] for name in ("chain", "top_k", "recent_n", "last_m")]
        if any(one.core_metric is not None and math.isnan(one.core_metric) for one in shown.top_k_leaderboard):
            # Where a list with nan is sorted, the order is that of Python's sort, which another version has changed.
            found[1], wanted[1] = sorted(found[1]), sorted(wanted[1])
        assert found == wanted
        assert shown.current_best.exp_id == (known["current_best"] or "")


@pytest.mark.parametrize("name", ["fk-floats", "fk-cells-special", "fk-chain-40-deep", "fk-unicode-truncation", "fk-duplicate-id"])
def test_the_bytes_of_a_written_file(name, tmp_path):
    original = (FOLDERS[0] / name / "input.tsv").read_bytes()
    csv.field_size_limit(1 << 30)
    store = LineageStore(tmp_path / "new" / "store")
    for row in csv.DictReader(original.decode().splitlines(keepends=True), delimiter="\t"):
        store.append(Trial.from_row(row))
    assert store.results_path.read_bytes() == original


def test_what_is_read_is_what_was_written(tmp_path):
    rows = [
        trial(exp_id="000", status=FailureLabel.BASELINE, core_metric=1.0, notes="a\tb\n\"c\"", hypothesis="—"),
        trial(exp_id="001", parent_exp="000", status=FailureLabel.KEEP, core_metric=0.1 + 0.2, train_s=1e-300),
        trial(exp_id="", parent_exp="nowhere", status=FailureLabel.CRASH, specialist="a\rb"),
        trial(exp_id="001", status=FailureLabel.HARNESS_ABORT, core_metric=-5.0, val_bpb=float("inf")),
    ]
    store = LineageStore(tmp_path)
    for row in rows:
        store.append(row)
    assert store.all_trials() == rows and store.latest(2) == tuple(rows[-2:]) and store.latest(0) == ()
    assert store.best() == rows[1] and LineageStore(tmp_path, lower_is_better=False).best() == rows[0]
    assert ids(store.chain_to("001")) == ["001"]
    with pytest.raises(KeyError):
        store.chain_to("7")
    for wrong in ({"top_k": -1}, {"recent_n": -1}, {"last_m_full": -1}):
        with pytest.raises(ValueError, match="at least 0"):
            store.render_prompt("x", **wrong)
    with pytest.raises(ValueError):
        store.latest(-1)


def test_the_direction_may_change(tmp_path):
    store = LineageStore(tmp_path)
    for number in (2.0, 1.0, 3.0):
        store.append(trial(exp_id=f"{number:g}", core_metric=number, status=FailureLabel.KEEP))
    assert "**exp_1**" in store.render_prompt("x").rendered_prompt
    store.lower_is_better = False
    assert "**exp_3**" in store.render_prompt("x").rendered_prompt and store.best().exp_id == "3"


def test_rows_of_both_interfaces_share_a_file(tmp_path):
    LineageStore(tmp_path).append(trial(exp_id="000", status=FailureLabel.BASELINE, core_metric=1.0))
    with Store(tmp_path) as store:
        store.append(hypothesis="lower", parent="000", status="auto", score=0.5)
        LineageStore(tmp_path).append(trial(exp_id="007", parent_exp="001", core_metric=0.4, status=FailureLabel.KEEP))
        assert [one["exp_id"] for one in store.chain("007")] == ["000", "001", "007"] and store.best_id() == "007"
        assert store.append(status="discard", score=2.0)["exp_id"] == "008"
    run = subprocess.run([os.environ["LINEAGE"], "verify", "-C", tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def append_some(folder, begin, go):
    store = LineageStore(folder)
    go.wait(60)
    for number in range(begin, begin + 20):
        store.append(trial(exp_id=str(number), notes="x" * 3000))


def test_processes_that_start_together_write_one_header(tmp_path):
    context = multiprocessing.get_context("fork")
    go = context.Event()
    children = [context.Process(target=append_some, args=(tmp_path, 100 * n, go)) for n in range(4)]
    for child in children:
        child.start()
    go.set()
    for child in children:
        child.join()
        assert child.exitcode == 0
    assert len(set(ids(LineageStore(tmp_path).all_trials()))) == 80
    assert (tmp_path / "results.tsv").read_text().count("exp_id\t") == 1


def test_an_unfinished_record_is_moved_aside(tmp_path):
    store = LineageStore(tmp_path)
    store.append(trial(exp_id="000"))
    with store.results_path.open("a") as file:
        file.write("001\t2026-01-01T00:00:00Z\thalf a rec")
    store.append(trial(exp_id="002"))
    assert ids(store.all_trials()) == ["000", "002"]
    assert [path.read_text()[-9:] for path in tmp_path.glob("results.tsv.torn-*")] == ["alf a rec"]


def test_the_order_of_the_header_is_kept(tmp_path):
    store = LineageStore(tmp_path)
    columns = [*reversed(Trial.header()), "artifact_bytes"]
    store.results_path.write_text("\t".join(columns) + "\n")
    row = trial(exp_id="000", hypothesis="h", core_metric=2.5, status=FailureLabel.KEEP)
    store.append(row)
    assert store.all_trials() == [row]
    store.results_path.write_text("commit\tval_bpb\tmemory_gb\tstatus\tdescription\n")
    with pytest.raises(ValueError, match="no column 'exp_id'"):
        store.append(row)
    assert store.results_path.read_text().count("\n") == 1


def test_nothing_is_written_by_halves(tmp_path, monkeypatch):
    store = LineageStore(tmp_path)
    store.append(trial(exp_id="000"))
    before = store.results_path.read_bytes()
    with pytest.raises(UnicodeEncodeError):
        store.append(trial(exp_id="001", notes="\ud800"))
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, record: write(file, record[:10]))
    with pytest.raises(OSError, match="full"):
        store.append(trial(exp_id="001"))
    assert store.results_path.read_bytes() == before


def test_a_log_on_a_server_is_refused(tmp_path):
    (tmp_path / "lineage.json").write_text('{"log": "postgres://nobody@127.0.0.1:1/trials/s"}')
    with pytest.raises(ValueError, match="on a server"):
        LineageStore(tmp_path).append(trial())
    assert not (tmp_path / "results.tsv").exists()


def test_labels_are_those_of_the_library():
    assert tuple(label.value for label in sorted(FailureLabel, key=lambda one: store_module.LABELS.index(one.value))) == store_module.LABELS
    for label in FailureLabel:
        assert label.is_informational == (label.value != "harness_abort")


def test_diffs_of_binary_new_and_equal_files(tmp_path):
    for name in ("old", "new"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "same.py").write_text("x = 1\n")
    (tmp_path / "old/a.py").write_text("lr = 0.5\n")
    (tmp_path / "new/a.py").write_text("lr = 0.1\n")
    (tmp_path / "new/sub/b.py").write_text("new\n")
    (tmp_path / "new/z.bin").write_bytes(b"\xff\xfe")
    edit = RecipeEdit(trial(), tmp_path / "new", tmp_path / "old")
    assert edit.diff() == (
        "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-lr = 0.5\n+lr = 0.1\n"
        "--- a/sub/b.py\n+++ b/sub/b.py\n@@ -0,0 +1 @@\n+new\n"
        "Binary files a/z.bin and b/z.bin differ\n"
    )
    assert RecipeEdit(trial(), tmp_path / "new", None).diff() == ""


PROGRAM = """
import sys
from fieldkit.lineage import FailureLabel, LineageStore
import fieldkit.lineage
print(fieldkit.lineage.__name__, sys.argv[1:], FailureLabel.KEEP.value, __name__)
"""

INSIDE = "print(fieldkit.LineageStore.__module__, fieldkit.loop.LineageStore.__module__)\n"


@pytest.mark.parametrize("installed", [False, True])
def test_a_program_runs_unchanged_with_this_module_as_fieldkit_lineage(tmp_path, installed):
    (tmp_path / "program.py").write_text(PROGRAM)
    if installed:  # another module of an installed fieldkit stays
        (tmp_path / "fieldkit").mkdir()
        (tmp_path / "fieldkit/__init__.py").write_text("from .lineage import LineageStore\nfrom . import loop\n")
        (tmp_path / "fieldkit/loop.py").write_text("from .lineage import LineageStore\n")
        (tmp_path / "fieldkit/lineage.py").write_text("raise SystemExit('the original')")
        (tmp_path / "fieldkit/other.py").write_text("here = 1")
        (tmp_path / "program.py").write_text(PROGRAM + "import fieldkit.other; print(fieldkit.other.here)\n" + INSIDE)
    run = [sys.executable, "-m", "lineage.fieldkit"]
    done = subprocess.run([*run, tmp_path / "program.py", "a", "-b"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["lineage.fieldkit ['a', '-b'] keep __main__"] + ["1", "lineage.fieldkit lineage.fieldkit"] * installed
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "usage: " in done.stderr


def test_a_fieldkit_that_fails_leaves_nothing_behind(tmp_path):
    (tmp_path / "fieldkit.py").write_text("import not_there_at_all")
    text = """
import sys, lineage.fieldkit
try:
    lineage.fieldkit.replace_fieldkit()
except ModuleNotFoundError as error:
    print(error.name, "fieldkit.lineage" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", text], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["not_there_at_all", "False"], done.stderr


def test_a_fieldkit_that_is_loaded_already_is_not_replaced():
    text = "import sys, types; sys.modules['fieldkit.lineage'] = types.ModuleType('x'); import lineage.fieldkit as f; f.replace_fieldkit()"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "has been imported already" in done.stderr
