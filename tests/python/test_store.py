"""Stores from Python: rows, questions, trials that record themselves, threads and forks."""

import fcntl
import json
import multiprocessing
import os
import shutil
import subprocess
import threading
from pathlib import Path

import lineage
import numpy as np
import pytest

from lineage import NotFound, Store, StoreError


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s", create=True, direction="higher", noise_std=0.1, noise_seeds=2) as opened:
        yield opened


def fill(store):
    store.append(hypothesis="start", status="baseline", score=1.0, params={"alpha": 0.1, "optimizer": "adam"})
    store.append(hypothesis="wider", parent="000", status="auto", score=2.0, params={"alpha": 0.3, "optimizer": "sgd"})
    store.append(hypothesis="too wide", parent="001", status="auto", score=2.01, params={"alpha": 0.5})
    store.append(hypothesis="broken", parent="001", status="crash", params={"alpha": 0.9}, notes="out of memory")


def ids(trials):
    return [trial["exp_id"] for trial in trials]


def test_best_shows_a_run_that_counts(tmp_path):
    with Store(tmp_path / "s", create=True, direction="lower") as opened:
        runs = [(x, 1, 1 + x / 10) for x in range(1, 7)] + [(8, seed, score) for seed, score in enumerate((9, 0.8, 9.5, 0.81))]
        runs += [(1, seed, 1.11) for seed in (2, 3)]
        for x, seed, score in runs:
            opened.append(status="discard", score=score, hypothesis="x", params={"x": x, "seed": seed})
        assert (opened.best()["exp_id"], opened.best()["score"]) == ("007", 0.8)


def test_rows_and_queries(store):
    fill(store)
    assert store.best()["exp_id"] == store.best_id() == "001"
    assert store.find("exp_002")["status"] == "discard" and "needs more than" in store.find("2".zfill(3))["notes"]
    assert ids(store.chain("003")) == ["000", "001", "003"]
    assert store.find("001")["params"] == {"alpha": 0.3, "optimizer": "sgd"}
    assert store.find("001")["delta_vs_best"] == 1.0 and store.find("003")["score"] is None
    assert ids(store.query(alpha="0.2:0.6")) == ids(store.query(alpha=(0.2, 0.6))) == ["001", "002"]
    assert ids(store.query(alpha=0.3)) == ids(store.query(optimizer="sgd")) == ["001"]
    assert ids(store.query(optimizer=["sgd", "adam"], sort="-score")) == ["001", "000"]
    either = ["sgd", "adam"]
    for texts in (np.array(either), np.array(either, dtype=object), dict.fromkeys(either).keys(), iter(either), map(str, either), set(either)):
        assert ids(store.query(optimizer=texts)) == ["000", "001"]
    assert ids(store.query(alpha=np.array(0.3))) == ids(store.query(alpha=np.array([0.3]))) == ["001"]
    assert ids(store.query(status=["crash", "discard"])) == ["002", "003"]
    assert ids(store.query(limit=1, sort="-seq")) == ["003"]
    assert ids(store.tried(alpha=0.9)) == ["003"] and store.tried(alpha=0.8) == []
    assert ids(store.tried({"optimizer": "adam"})) == ["000"]
    cells = store.sweep("alpha")
    assert [cell["alpha"] for cell in cells] == [0.1, 0.3, 0.5, 0.9] and cells[3]["labels"] == {"crash": 1}
    assert store.sweep("optimizer", "alpha")[1] == {
        "optimizer": "sgd", "alpha": 0.3, "count": 1, "labels": {"keep": 1}, "best": 2.0, "best_id": "001",
    }  # fmt: skip
    assert "BEST" in store.render() and len(store.render(max_bytes=700).encode()) <= 700


def test_parameters_come_back_as_typed(store):
    given = {"layers": 12, "lr": 1e-4, "steps": 10.0, "seed": 2**53 + 1, "big": 2.0**60}
    store.append(hypothesis="as given", status="discard", score=0.1, params=given)
    wanted = {"big": 2.0**60, "layers": 12, "lr": 0.0001, "seed": "9007199254740993", "steps": 10}  # a number does not hold this seed
    for row in (store.find("000"), store.query()[0]):
        assert repr(sorted(row["params"].items())) == repr(sorted(wanted.items()))
    store.append(hypothesis="a neighbour", status="discard", score=0.1, params={"seed": 2**53})
    for asked in (2**53 + 1, "9007199254740993", ["9007199254740993"]):
        assert [row["exp_id"] for row in store.query(seed=asked)] == ["000"]
    assert [row["exp_id"] for row in store.tried(seed=2**53)] == ["001"]
    back = store.append(hypothesis="read back", status="discard", score=0.1, params={"x": store.query()[1]["params"]["seed"], "y": 2.0**53})
    assert repr(back["params"]) in ("{'x': '9007199254740992', 'y': 9007199254740992.0}", "{'y': 9007199254740992.0, 'x': '9007199254740992'}")
    assert ids(store.query(seed=2**53 + 1)) == ids(store.tried(seed=2**53 + 1)) == ["000"] and store.query(seed=2**53 + 3) == []
    assert repr(store.sweep("layers", "steps")[0]["steps"]) == "10"


def test_voids(store):
    fill(store)
    row = store.void("exp_001", "the evaluator was broken")
    assert row["parent_exp"] == "001" and row["status"] == "harness_abort" and row["job_name"] == "lineage-void"
    assert store.best_id() == "002" and store.find("001")["status"] == "harness_abort"  # 002 was discarded against 001 alone
    assert [row["void"] for row in store.query()][:3] == ["", "keep", ""] and store.find("best")["exp_id"] == "002"
    assert store.find("001")["score"] is None and store.find("001")["delta_vs_best"] is None
    assert store.tried(alpha=0.3) == [] and ids(store.chain("002")) == ["000", "002"]
    entry = store.voids()[0]
    assert (entry["exp_id"], entry["by"], entry["status"], entry["score"]) == ("001", row["exp_id"], "keep", 2.0)
    with pytest.raises(StoreError, match="void already"):
        store.void("001", "again")
    with pytest.raises(NotFound):
        store.void("777", "x")
    with pytest.raises(StoreError, match="reason"):
        store.void("002", " ")
    store.unvoid("001")
    assert store.best_id() == "001" and store.voids() == []
    with pytest.raises(StoreError, match="not void"):
        store.unvoid("001")


def fill_words(store):
    store.append(hypothesis="start", status="baseline", score=1.0)
    store.append(hypothesis="Raise grad_clip_norm 0.3 → 0.5", parent="000", status="auto", score=2.0, specialist="optim")
    store.append(hypothesis="Lower warmdown_frac 0.78 → 0.72", parent="001", status="auto", score=1.5, specialist="sched")
    store.append(hypothesis="Raise gradClipNorm from 0.5 to 0.8", parent="001", status="crash", notes="out of memory")


def test_search(store):
    fill_words(store)
    assert sorted(ids(store.search("clip"))) == ["001", "003"] == sorted(ids(store.search('"grad clip"')))
    assert ids(store.search("clip", status="crash")) == ["003"] and ids(store.search("clip", specialist="optim")) == ["001"]
    assert ids(store.search("warmd* OR nothing")) == ["002"] and store.search("absent") == []
    assert len(store.search("clip", limit=1)) == 1 and len(store.search("clip", limit=0)) == 2
    assert ids(store.search("notes:memory", status=["crash", "keep"])) == ["003"]
    with pytest.raises(StoreError, match="(?i)character|position"):
        store.search('grad "clip')
    for bad in ({"words": "x", "limit": -1}, {"words": "a\0b"}, {"words": "x", "status": "kept"}):
        with pytest.raises(ValueError):
            store.search(**bad)


def test_similar(store):
    fill_words(store)
    first = store.similar("increase grad_clip_norm from 0.3 to 0.5")[0]
    assert first["exp_id"] == "001" and first["same"] and "grad_clip_norm" in first["why"]
    assert (first["status"], first["score"], first["delta_vs_best"], first["parent_exp"]) == ("keep", 2.0, 1.0, "000")
    assert "003" in ids(store.similar("exp_001")) and "003" not in ids(store.similar("001", before=True))
    assert len(store.similar("grad_clip_norm", limit=1)) == 1 and store.similar("zzz qqq") == []
    assert not any(one["same"] for one in store.similar("exp_001", strictness=0.9999))
    with pytest.raises(StoreError, match="strictness 2 is not between 0 and 1"):
        store.similar("001", strictness=2)
    with pytest.raises(NotFound, match="777"):
        store.similar("777")
    with pytest.raises(StoreError, match="empty"):
        store.similar("")
    for bad in ({"idea": "x", "limit": 0}, {"idea": "a\0b"}, {"idea": "an idea", "before": True}):
        with pytest.raises(ValueError):
            store.similar(**bad)
    for hostile in ("\x1b[31m", "\ud800", "→ " * 5000, "<script>", "9" * 4000 + " → x"):
        assert isinstance(store.similar(hostile), list)


def test_knobs(store):
    fill_words(store)
    knobs = {knob["name"]: knob for knob in store.knobs()}
    assert len(knobs) == 2 and knobs["warmdown_frac"]["lowered"] == {"trials": 1, "kept": 0}
    clip = store.knobs("GRAD-CLIP-norm")[0]
    assert clip == store.knobs()[0] and (clip["value"], clip["set_by"]) == ("0.5", "001")
    assert [(one["exp_id"], one["from"], one["to_value"], one["source"], one["direction"], one["status"]) for one in clip["tries"]] == [
        ("001", "0.3", 0.5, "stated", "up", "keep"), ("003", "0.5", 0.8, "stated", "up", "crash"),
    ]  # fmt: skip
    with pytest.raises(NotFound, match="nearest is 'warmdown_frac'"):
        store.knobs("warmdown_fraq")
    with pytest.raises(ValueError):
        store.knobs("a\0b")


def test_ideas_of_an_empty_store(store):
    assert store.search("x") == store.similar("raise lr 1 → 2") == store.knobs() == []
    with pytest.raises(NotFound):
        store.knobs("lr")


def test_running_trials_are_similar_too(store):
    fill_words(store)
    idea = "Set batch_size 32 → 64"
    plans = {"a": {"name": "wide", "hypothesis": idea}, "b": {"name": "dead", "hypothesis": idea}, "c": [idea], "d": {"hypothesis": 7}}
    locks = []
    for letter, plan in plans.items():
        folder = Path(store.path, f".trial-{letter}aaaaa")
        folder.mkdir()
        (folder / "trial.json").write_text(json.dumps(plan))
        if letter != "b":
            locks.append(os.open(folder, os.O_RDONLY))
            fcntl.flock(locks[-1], fcntl.LOCK_EX)
    trap = Path(store.path, ".trial-eaaaaa")
    trap.mkdir()
    os.mkfifo(trap / "trial.json")  # reading it would block for ever
    folder = Path(store.path, ".trial-faaaaa", "trial.json")
    folder.mkdir(parents=True)
    for path in (trap, folder.parent):
        locks.append(os.open(path, os.O_RDONLY))
        fcntl.flock(locks[-1], fcntl.LOCK_EX)
    found = store.similar("batch_size from 32 to 64")
    assert [(one["exp_id"], one["status"], one["same"]) for one in found] == [("wide", "running", True)]
    for lock in locks:
        os.close(lock)
    assert store.similar("batch_size from 32 to 64") == []


def test_a_trial_that_records_itself_is_similar_while_it_runs(store):
    fill_words(store)
    with store.trial(hypothesis="Set batch_size 32 → 64", specialist="data", parent="001") as trial:
        found = store.similar("batch_size from 32 to 64")
        assert [(one["status"], one["same"], one["parent_exp"]) for one in found] == [("running", True, "001")]
        command = [os.environ["LINEAGE"], "similar", "-C", store.path, "batch_size from 32 to 64", "--format", "json"]
        said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        assert [(one["status"], one["same"]) for one in said] == [("running", True)]
        trial.score(3.0)
    found = store.similar("batch_size from 32 to 64")
    assert [(one["exp_id"], one["status"]) for one in found] == [("004", "keep")]


def test_errors(store, tmp_path):
    with pytest.raises(NotFound):
        store.best()
    with pytest.raises(NotFound):
        store.find("7")
    with pytest.raises(NotFound):
        Store(tmp_path / "nowhere")
    with pytest.raises(StoreError) as info:
        store.append(status="keep")
    assert info.value.kind == "invalid"
    with pytest.raises(TypeError, match="colour"):
        store.append(colour="red")
    with pytest.raises(ValueError, match="labels are"):
        store.append(status="kept")
    fill(store)
    with pytest.raises(StoreError, match="alhpa"):
        store.query(alhpa=":1")
    with pytest.raises(StoreError) as info:
        store.append(exp_id="001", status="baseline", score=1)
    assert info.value.kind == "exists"
    with pytest.raises(StoreError):
        Store(store.path, create=True, direction="lower")
    assert Store(store.path, create=True).best_id() == "001"


def test_a_row_that_would_be_refused_is_reported_before_the_trial_runs(store, tmp_path):
    store.check(hypothesis="fine", params={"alpha": 0.1})
    store.append(hypothesis="start", status="baseline", score=1.0)
    store.check(parent="000", score=2.0, status="keep")
    assert len(store.query()) == 1
    with pytest.raises(NotFound, match="parent_exp '777'"):
        with store.trial(parent="777"):
            raise AssertionError("the block ran")
    five = tmp_path / "five"
    five.mkdir()
    (five / "results.tsv").write_text("commit\tval_bpb\tmemory_gb\tstatus\tdescription\n")
    with pytest.raises(StoreError, match="lineage init --from"):
        with Store(five).trial(hypothesis="any"):
            raise AssertionError("the block ran")
    assert (five / "results.tsv").read_text().count("\n") == 1


def test_a_trial_records_itself(store):
    fill(store)
    with store.trial(hypothesis="deeper", params={"alpha": 0.4}, parent="001") as t:
        running = list(Path(store.path).glob(".trial-*"))
        for step in range(3):
            t.log(step, loss=1.0 / (step + 1), broken=float("nan"))
        said = [json.loads(line) for line in (running[0] / "events.jsonl").read_text().splitlines()]
        assert said[0]["params"] == {"alpha": 0.4} and said[-1] == {"step": 2, "loss": 1.0 / 3}
        t.param("layers", 12)
        t.score(3.0, em_std=0.1)
    assert t.row["status"] == "keep" and t.row["params"] == {"alpha": 0.4, "layers": 12.0} and t.row["total_s"] >= 0
    assert not list(Path(store.path).glob(".trial-*"))
    kept = json.loads(Path(store.path, "telemetry", t.row["exp_id"] + ".json").read_text())
    assert [step["loss"] for step in kept["steps"]] == [1.0, 0.5, 1.0 / 3] and kept["final"] == {"em_std": 0.1}


@pytest.mark.parametrize(
    "error, label, note, cause",
    [
        (RuntimeError("CUDA out of memory; try less"), "crash", "RuntimeError: CUDA out of memory, try less", "memory"),
        (KeyboardInterrupt(), "harness_abort", "interrupted", "interrupt"),
        (SystemExit(3), "crash", "SystemExit: 3", "code"),
    ],
)
def test_exceptions_propagate_after_the_row(store, error, label, note, cause):
    with pytest.raises(type(error)):
        with store.trial(hypothesis="fails", params={"alpha": 1.0}) as t:
            t.log(1, loss=2.0)
            raise error
    assert t.row["status"] == label and note in t.row["notes"]
    found = store.find(t.row["exp_id"])
    assert found["params"] == {"alpha": 1.0} and found["cause"] == cause and store.query()[-1]["cause"] == cause


def test_missing_and_non_finite_scores(store):
    with store.trial(hypothesis="forgets") as t:
        pass
    assert t.row["status"] == "harness_abort" and "without a score: looked for a call of score()" in t.row["notes"]
    with store.trial(hypothesis="logs only") as t:
        t.log(1, **{"loss": 2.0, "eval/top 1": 0.5})
        t.log(2, loss=1.0)
    assert t.row["status"] == "harness_abort" and "saw `eval/top 1`, `loss`" in t.row["notes"]
    assert t.row["metrics"] == {"eval_top_1": 0.5, "loss": 1.0} and t.row["params"] == {}
    with store.trial(hypothesis="diverges") as t:
        t.score(float("nan"))
    assert t.row["status"] == "crash" and "nan" in t.row["notes"]
    with store.trial(hypothesis="plain", status="baseline") as t:
        t.score(0.5)
    assert t.row["status"] == "baseline"


def append_many(store, n):
    for i in range(n):
        store.append(hypothesis=f"row {i}", status="discard", score=float(i), sync=False)


def test_threads_share_a_store(store):
    threads = [threading.Thread(target=append_many, args=(store, 25)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = store.query()
    assert len(rows) == 100 and len(set(ids(rows))) == 100


def test_forks_share_a_store(store):
    append_many(store, 1)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=append_many, args=(store, 25)) for _ in range(4)]
    for child in children:
        child.start()
    append_many(store, 25)
    for child in children:
        child.join()
        assert child.exitcode == 0
    rows = store.query()
    assert len(rows) == 126 and len(set(ids(rows))) == 126


def test_texts_with_control_characters(store):
    hostile = 'a\tb\n"c" \x1b[31m — \u202e'
    row = store.append(hypothesis=hostile, status="baseline", score=1, params={"note": "7B; no"[:2]})
    assert store.find(row["exp_id"])["hypothesis"] == hostile
    if os.path.exists("/dev/full"):
        with pytest.raises(StoreError):
            Store("/dev/full")


def test_a_directory_may_name_a_server_only_if_it_is_trusted(tmp_path):
    (tmp_path / "lineage.json").write_text('{"log": "postgres://nobody@127.0.0.1:1/trials/s"}')
    with pytest.raises(StoreError, match="lineage trust"):
        Store(tmp_path)


def test_the_score_has_the_name_that_the_user_gave(tmp_path):
    with lineage.Store(tmp_path / "s", create=True, direction="lower", score_name="val_loss") as store:
        store.append(status="auto", score=0.5)
        assert store.score_name == "val_loss"
        assert "val_loss=0.5" in store.render() and "core_metric" not in store.render()
        assert "with val_loss 0.5" in store._repr_html_()
    with pytest.raises(lineage.StoreError, match="val_loss"):
        lineage.Store(tmp_path / "s", score_name="accuracy")
    assert lineage.Store(tmp_path / "s").score_name == "val_loss"
    assert {"Store", "StoreError"} <= set(dir(lineage))


def test_the_copy_of_acknowledged_rows_is_made_again_where_it_was_removed(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Store(tmp_path / "s", create=True, direction="lower") as store:
        for score in (1.0, 2.0):
            store.append(status="discard", score=score)
        for take_away in (shutil.rmtree, lambda state: state.rename(tmp_path / "trash")):
            take_away(tmp_path / "state")
            for score in (3.0, 4.0):
                store.append(status="discard", score=score)
            [copy] = (tmp_path / "state").glob("lineage/acknowledged/*/results.tsv")
            assert copy.read_bytes() == (tmp_path / "s" / "results.tsv").read_bytes()
