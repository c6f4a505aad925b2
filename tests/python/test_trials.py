"""A trial's row is written whatever happens: kills, faults at the end, forks; and what is refused at the beginning."""

import argparse
import asyncio
import dataclasses
import decimal
import functools
import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from lineage import NotFound, Store, StoreError

LINEAGE = os.environ.get("LINEAGE", "lineage")
KILLED = Path(__file__).with_name("killed_trials.py")
KILLS = int(os.environ.get("LINEAGE_KILLS", "40"))


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "s", create=True, direction="higher", noise_std=0.1, noise_seeds=2) as opened:
        opened.append(hypothesis="start", status="baseline", score=0.0)
        yield opened


def left(store):
    return list(Path(store.path).glob(".trial-*"))


def run_command(*words):
    return subprocess.run([LINEAGE, *words], capture_output=True, text=True, check=False, cwd="/")  # outside of a repository


# ---- at the beginning ----


@pytest.mark.parametrize(
    "plan, error",
    [
        ({"parent": "777"}, NotFound),
        ({"status": "kept"}, ValueError),
        ({"params": {"a b": 1}}, StoreError),
        ({"params": {"a": {"b c": 1}}}, StoreError),
        ({"params": {"alpha": float("inf")}}, StoreError),
        ({"metrics": {"a b": 1.0}}, StoreError),
        ({"exp_id": "000"}, StoreError),
        ({"hypothesis": "x" * 200_000}, StoreError),
        ({"parent": "000", "parent_exp": "000"}, TypeError),
        ({"hypothsis": "x"}, TypeError),
        ({"score": 1.0}, TypeError),
    ],
)
def test_what_the_beginning_refuses(store, plan, error):
    with pytest.raises(error):
        with store.trial(**plan):
            raise AssertionError("the block ran")
    assert len(store.query()) == 1 and not left(store)


def test_misspelt_columns_are_refused(store):
    for method in (store.append, store.check, store.trial):
        with pytest.raises(TypeError, match="hypothsis"):
            method(hypothsis="x")


def test_scalars_of_numpy_and_torch(store):
    np, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    params = {"a": np.float32(0.5), "b": np.int64(3), "c": torch.tensor(2.0), "d": np.array(4), "e": np.bool_(True), "f": np.str_("x")}
    with store.trial(params=params, metrics={"m": torch.tensor([7])}) as trial:
        trial.log(np.int32(1), loss=torch.tensor(0.25, requires_grad=True))
        trial.param("g", np.float64(9))
        trial.param("h", torch.zeros(2))
        with pytest.raises(StoreError):
            trial.param("not a name", 1)
        trial.score(torch.tensor(0.75, dtype=torch.bfloat16))
    assert trial.row["params"] == {"a": 0.5, "b": 3, "c": 2, "d": 4, "e": "true", "f": "x", "g": 9, "h": "[0.0,0.0]"}
    assert trial.row["metrics"] == {"loss": 0.25, "m": 7} and trial.row["score"] == 0.75
    assert trial.steps() == [{"step": 1, "loss": 0.25}]
    row = store.append(score=np.float32(0.5), status="discard", params={"a": torch.tensor(1)}, train_s=np.int16(3))
    assert (row["score"], row["train_s"], row["params"]) == (0.5, 3.0, {"a": 1.0})


# ---- at the end ----


@pytest.mark.parametrize("others", [0, 1])
def test_a_parent_that_is_gone_does_not_cost_the_row(store, others):
    """The id of the lost parent is not given again, so the new row can name it."""
    log = Path(store.path, "results.tsv")
    parent = store.append(hypothesis="parent", status="keep", score=0.5)["exp_id"]
    for _ in range(others):
        store.append(hypothesis="other", status="discard", score=0.1)
    with store.trial(hypothesis="child", parent=parent, params={"alpha": 1}) as trial:
        trial.log(1, loss=0.5)
        lines = log.read_text().splitlines(keepends=True)
        del lines[2]
        log.write_text("".join(lines))
        trial.score(5.0)
    assert trial.row["status"] == "keep" and trial.row["score"] == 5.0 and trial.row["params"] == {"alpha": 1}
    assert trial.row["parent_exp"] == parent and "parent_exp" in trial.row["notes"]
    assert trial.row["exp_id"] != parent
    assert Path(store.path, "telemetry", trial.row["exp_id"] + ".json").exists()


def test_an_id_that_was_taken_meanwhile_does_not_cost_the_row(store):
    with store.trial(exp_id="700", hypothesis="h") as trial:
        store.append(exp_id="700", status="discard", score=0.1)
        trial.score(1.0)
    assert trial.row["exp_id"] == "701" and "700" in trial.row["notes"] and trial.row["score"] == 1.0


@pytest.mark.parametrize("raised", [None, RuntimeError("the training's own")])
def test_texts_that_are_too_long_do_not_cost_the_row(store, raised):
    def body(trial):
        trial._plan["notes"] = "n" * 200_000
        trial._plan["params"] = {"alpha": 1.0, "bad name": 2.0}
        trial.score(2.0)
        if raised:
            raise raised

    trial = store.trial(hypothesis="long")
    if raised:
        with pytest.raises(RuntimeError, match="training's own") as info:
            with trial:
                body(trial)
        assert info.value.__cause__ is None
    else:
        with trial:
            body(trial)
    row = store.find(trial.row["exp_id"])
    assert row["params"] == {"alpha": 1.0} and "could not be written as planned" in row["notes"]
    assert row["status"] == ("crash" if raised else "keep") and (raised or row["score"] == 2.0)


def test_a_full_disk_leaves_the_trial_for_the_next_open(store, monkeypatch):
    def refuse(*_):
        raise OSError(28, "no space")

    from lineage import store as module

    with monkeypatch.context() as patch, pytest.warns(UserWarning, match="could not be written"):
        with pytest.raises(RuntimeError, match="own"):
            with store.trial(hypothesis="unlucky", params={"alpha": 3}) as trial:
                trial.log(4, loss=0.5)
                patch.setattr(module.Store, "_append", refuse)
                raise RuntimeError("own")
    assert trial.row is None and len(left(store)) == 1
    with Store(store.path) as again:
        row = again.query(sort="-seq", limit=1)[0]
    assert (row["hypothesis"], row["params"], row["metrics"]) == ("unlucky", {"alpha": 3}, {"loss": 0.5}) and not left(store)


# ---- kills ----


def next_line(program):
    """Returns the words of the program's next line."""
    words = program.stdout.readline().split()
    assert words, "the program ended"
    return words


def kill_one(program, number, wait):
    """Lets the program start a process, kills it some time after its first trial began, and returns the trials that began."""
    program.stdin.write(f"{number}\n")
    program.stdin.flush()
    process, begun = None, []
    while process is None or not begun:
        word, *more = next_line(program)
        assert word != "ended", "the process ended before its first trial"
        if word == "started":
            process = int(more[0])
        else:
            begun.append(word)
    time.sleep(wait)
    os.kill(process, random.choice([signal.SIGKILL, signal.SIGTERM]))
    while (word := next_line(program))[0] != "ended":
        begun.append(word[0])
    assert int(word[1]) < 0
    return begun


def test_every_killed_trial_has_one_row(store):
    """LINEAGE_KILLS=1000 is the long version."""
    random.seed(7)
    begun = []
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, KILLED, store.path], **pipes) as program:
        for number in range(KILLS):
            begun += kill_one(program, number, random.random() * 0.02)
        program.stdin.close()
    with Store(store.path) as again:
        rows = again.query()
    names = [row["hypothesis"] for row in rows[1:]]
    assert len(set(names)) == len(names), "a trial has two rows"
    assert not set(begun) - set(names), "a trial has no row"
    assert len(set(names) - set(begun)) <= KILLS  # killed between the beginning and its line
    killed = [row for row in rows if row["status"] == "harness_abort"]
    assert killed and all(row["params"]["alpha"] == 0.5 and "was killed" in row["notes"] for row in killed)
    assert not left(store)
    # A kill between the telemetry and the row leaves the telemetry, whose id nobody else gets.
    assert run_command("verify", "-C", store.path).returncode == 0


def killed_in_block(store):
    """A trial that was killed after it logged a step and set a parameter."""
    code = (
        "import os, sys; from lineage import Store\n"
        "t = Store(sys.argv[1]).trial(hypothesis='long one', parent='000', specialist='opt', params={'alpha': 0.25}).__enter__()\n"
        "t.log(1, loss=2.0); t.log(2, loss=1.5); t.param('layers', 12); os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", code, store.path], check=False).returncode == -9
    assert len(left(store)) == 1


def check_row(row):
    texts = [row[name] for name in ("status", "hypothesis", "parent_exp", "specialist")]
    assert texts == ["harness_abort", "long one", "000", "opt"]
    assert row["params"] == {"alpha": 0.25, "layers": 12} and row["metrics"]["loss"] == 1.5


def test_verify_reports_a_killed_trial_until_the_store_is_opened(store):
    killed_in_block(store)
    said = run_command("verify", "-C", store.path)
    assert said.returncode != 0 and "has no row yet" in said.stdout + said.stderr
    with Store(store.path) as again:
        check_row(again.find("001"))
        steps = json.loads(Path(store.path, "telemetry/001.json").read_text())["steps"]
    assert [step["loss"] for step in steps] == [2.0, 1.5] and not left(store)
    assert "killed at step 2" in store.find("001")["notes"]
    assert run_command("verify", "-C", store.path).returncode == 0
    with Store(store.path) as again:
        assert len(again.query()) == 2


def test_the_next_command_records_a_killed_trial(store):
    killed_in_block(store)
    said = run_command("run", "-C", store.path, "-q", "-m", "loss", "--", "sh", "-c", "echo loss: 5")
    assert said.returncode == 0, said.stderr
    check_row(store.find("001"))
    assert not left(store) and len(store.query()) == 3


def test_a_row_that_was_written_before_the_kill_is_not_written_again(store):
    for job in (None, "slurm-17"):
        with store.trial(hypothesis="done", job_name=job) as trial:
            trial.score(1.0)
            trial._running.remove = lambda: None
        place = left(store)[0]
        assert (place / "row").read_text() == trial.row["exp_id"]
        os.close(trial._running.folder)
        if job:
            assert run_command("run", "-C", store.path, "-q", "-m", "loss", "--", "sh", "-c", "echo loss: 5").returncode == 0
        else:
            Store(store.path).close()
        assert [row["hypothesis"] for row in store.query()].count("done") == (2 if job else 1) and not left(store)


def test_a_running_trial_is_left_alone(store):
    with store.trial(hypothesis="still running") as trial:
        Store(store.path).close()
        assert run_command("verify", "-C", store.path).returncode == 0 and len(left(store)) == 1
        trial.score(1.0)
    assert len(store.query()) == 2


def test_hostile_directories_do_not_stop_the_open(store, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text('{"recorder": "python", "hypothesis": "outside"}')
    for number, plan in enumerate(['[1]', '{"recorder": "python"', '"x"', "[" * 100_000, '{"recorder": "python", "params": 7}']):
        folder = Path(store.path, f".trial-{number}aaaaa")
        folder.mkdir()
        (folder / "trial.json").write_text(plan)
    for number, make in enumerate([os.mkfifo, lambda path: path.symlink_to(secret), lambda path: path.mkdir()]):
        folder = Path(store.path, f".trial-{number}bbbbb")
        folder.mkdir()
        make(folder / "trial.json")
    Path(store.path, ".trial-cccccc").symlink_to(tmp_path)
    with Store(store.path) as again:
        assert len(again.query()) == 2 and again.find("001")["params"] == {}
    assert secret.exists()


# ---- forks and threads ----


def test_the_child_of_a_fork_writes_no_row(store):
    with store.trial(hypothesis="parent's") as trial:
        pid = os.fork()
        if pid == 0:
            try:
                trial.log(1, loss=1.0)
                trial.score(99.0)
                trial.__exit__(None, None, None)
            finally:
                os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        assert len(left(store)) == 1
        trial.score(1.0)
    assert [row["score"] for row in store.query()] == [0.0, 1.0]


def kernel():
    np = pytest.importorskip("numpy")
    from lineage import core

    x = -np.linspace(0.1, 3.0, 512 * 1024).reshape(512, 1024)
    clip = dict(loss="vanilla", loss_agg_mode="token-mean", clip_ratio_low=0.2, clip_ratio_high=0.2)
    return core.policy_loss(**clip, response_mask=np.ones(x.shape, np.uint8), log_prob=x, old_log_prob=x * 1.01, advantages=x).loss


def test_a_kernel_works_in_the_child_of_a_fork():
    pytest.importorskip("numpy")
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_trials import kernel
before = kernel()
if os.fork() == 0:
    signal.alarm(60)
    os._exit(0 if kernel() == before else 3)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "OMP_NUM_THREADS": "4"}, check=False)
    assert run.returncode == 0


def test_handles_close_with_their_thread(tmp_path):
    """A handle has about three descriptors, so that 336 threads used to exhaust the usual limit of 1024. Here the limit is low,
    in a process of its own: 400 threads one after another, then 100 that have their handles open at the same time."""
    code = """
import os, resource, sys, threading
from lineage import Store
store = Store(sys.argv[1], create=True, direction="higher")
store.append(status="baseline", score=1.0)
count = lambda: len(os.listdir("/proc/self/fd"))
before, failed, barrier = count(), [], threading.Barrier(100)
def ask(wait):
    try:
        assert store.best_id() == "000"
        if wait:
            barrier.wait(60)
    except BaseException as error:
        failed.append(error)
        barrier.abort()
def start(n, wait):
    threads = [threading.Thread(target=ask, args=(wait,)) for _ in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 1024))
for _ in range(400):
    start(1, False)
assert count() == before, (count(), before)
resource.setrlimit(resource.RLIMIT_NOFILE, (64 + 100 * 5, 1024))
start(100, True)
assert not failed, failed[:3]
assert count() == before, (count(), before)
resource.setrlimit(resource.RLIMIT_NOFILE, (before + 40, 1024))
start(100, True)
assert failed, "100 handles fit where 40 descriptors are free?"
assert all(isinstance(error, (OSError, threading.BrokenBarrierError)) for error in failed), failed[:3]
assert count() == before, (count(), before)
assert store.best_id() == "000"
"""
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path / "s")], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_a_closed_store_opens_again(store):
    store.close()
    assert store.best_id() == "000"


def in_child(store):
    store.append(hypothesis="child", status="discard", score=0.1)


def test_the_child_of_a_fork_opens_its_own_handle(store):
    child = multiprocessing.get_context("fork").Process(target=in_child, args=(store,))
    child.start()
    child.join()
    assert child.exitcode == 0 and len(store.query()) == 2


# ---- the settings of a program ----


def test_a_whole_configuration_is_accepted(store):
    from enum import Enum

    class Kind(Enum):
        A = 1

    config = {
        "lr": 1e-4, "layers": 4, "amp": True, "resume": None, "betas": [0.9, 0.95], "dims": (64, 32), "tags": {"b", "a"},
        "optim": {"name": "adamw", "schedule": {"kind": "cosine"}}, "kind": Kind.A, "out": Path("runs/x"), "note": "", "cmd": "a; b",
        "long": "x" * 300, "longer": "x" * 301,
    }  # fmt: skip
    with store.trial(params=config) as trial:
        trial.param("late", {"flag": False})
        trial.score(1.0)
    params = store.find(trial.row["exp_id"])["params"]
    assert {name: params[name] for name in params if "long" not in name} == {
        "lr": 1e-4, "layers": 4.0, "amp": "true", "resume": "none", "betas": "[0.9,0.95]", "dims": "[64,32]", "tags": '["a","b"]',
        "optim.name": "adamw", "optim.schedule.kind": "cosine", "kind": "Kind.A", "out": "runs/x", "note": "empty", "cmd": "a, b",
        "late.flag": "false",
    }  # fmt: skip
    assert params["long"] != params["longer"] and len(params["long"].encode()) <= 128
    assert [row["exp_id"] for row in store.tried(config)] == [trial.row["exp_id"]]
    assert len(store.query(where={"amp": True})) == 1


def test_a_decorated_function_records_its_defaults(store):
    @store.record(hypothesis="decorated", params={"data": "a"})
    def train(lr, layers=4, *, seed=1):
        return {"score": lr * layers, "loss": 0.5}

    assert train(0.5)["loss"] == 0.5
    row = store.query(sort="newest", limit=1)[0]
    assert row["params"] == {"lr": 0.5, "layers": 4.0, "seed": 1.0, "data": "a"} and row["score"] == 2.0
    assert row["metrics"] == {"loss": 0.5} and row["hypothesis"] == "decorated"

    @store.record
    def fails(lr=1):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert store.query(sort="newest", limit=1)[0]["status"] == "crash"


def test_ask_and_tell(store, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(LINEAGE), prepend=os.pathsep)
    seen = []
    for _ in range(3):
        asked = store.suggest({"x": "1:3:integer", "o": ["a", "b"]}, method="grid")
        seen.append((asked["x"], asked["o"]))
        store.tell(asked, float(asked["x"]) if asked["o"] == "a" else None)
    assert len(set(seen)) == 3 and all(isinstance(x, int) and o in "ab" for x, o in seen)
    assert {row["status"] for row in store.query(where={"o": "b"})} <= {"crash"}
    with pytest.raises(ValueError, match="range"):
        store.suggest({"x": "1:x"})


def test_a_fit_of_lightning_is_a_trial(store):
    from types import SimpleNamespace

    from lineage.lightning import LineageCallback

    trainer = SimpleNamespace(datamodule=None, is_global_zero=True, sanity_checking=False, global_step=3, callback_metrics={"val_loss": 0.5, "acc": 1})
    module = SimpleNamespace(hparams={"lr": 0.1, "amp": True})
    callback = LineageCallback(store, "val_loss", hypothesis="lit")
    callback.on_fit_start(trainer, module)
    callback.on_train_epoch_end(trainer, module)
    callback.on_fit_end(trainer, module)
    row = store.query(sort="newest", limit=1)[0]
    assert row["params"] == {"lr": 0.1, "amp": "true"} and row["score"] == 0.5 and row["metrics"]["acc"] == 1.0
    callback.on_fit_start(trainer, module)
    callback.on_exception(trainer, module, RuntimeError("CUDA out of memory"))
    assert store.query(sort="newest", limit=1)[0]["status"] == "crash"
# ---- several processes of one training ----


@pytest.mark.parametrize(
    "environment, recorded",
    [
        ({"RANK": "1", "WORLD_SIZE": "4"}, False),
        ({"SLURM_PROCID": "3", "WORLD_SIZE": "4"}, False),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, False),
        ({"RANK": "0", "WORLD_SIZE": "4"}, True),
        ({"RANK": "1"}, True),
        ({"RANK": "1", "WORLD_SIZE": "1"}, True),
        ({"SLURM_PROCID": "3"}, True),
        ({"RANK": "x", "WORLD_SIZE": "4"}, True),
    ],
)
def test_rank_0_alone_records(store, monkeypatch, recwarn, environment, recorded):
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with store.trial(params={"lr": 0.1}) as trial:
        trial.log(1, loss=0.5)
        trial.param("late", 2)
        trial.score(0.5)
    assert len(store.query()) == 1 + recorded and not left(store)
    assert (trial.row is not None) == recorded
    assert [next(iter(environment)) in str(w.message) for w in recwarn] == [True] * (not recorded)


def test_a_metric_that_ended_as_nan_is_not_its_last_finite_value(store):
    with store.trial() as trial:
        trial.log(1, loss=0.5, acc=0.1, late=1.0, **{"eval/top 1": 0.5})
        trial.log(2, loss=float("nan"), **{"eval/top 1": float("nan")}, acc=float("inf"), late=float("nan"))
        trial.log(3, acc=0.2)
        trial.score(0.5, late=2.0)
    assert trial.row["metrics"] == {"acc": 0.2, "late": 2.0}


def test_seeds_of_two_scripts_are_two_settings(tmp_path):
    code = "import sys\nfrom lineage import Store\nwith Store('s', create=True, direction='lower') as store:\n    for seed in (1, 2):\n"
    code += "        with store.trial(params={'lr': 1, 'seed': seed}) as trial:\n            trial.score(BASE + seed / 100)\n"
    for name, base in (("a.py", "9"), ("b.py", "5")):
        (tmp_path / name).write_text(code.replace("BASE", base))
        subprocess.run([sys.executable, name], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    with Store(tmp_path / "s") as store:
        assert sorted((setting["n"], setting["mean"]) for setting in store.settings()) == [(2, 5.015), (2, 9.015)]
        assert all("; ran " in row["notes"] for row in store)


def close_early(store):
    def rows():
        with store.trial() as trial:
            trial.score(1.0)
            yield

    generator = rows()
    next(generator)
    generator.close()


async def cancelled(store):
    async def train():
        with store.trial() as trial:
            trial.score(1.0)
            await asyncio.sleep(60)

    task = asyncio.create_task(train())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_what_ends_a_block_from_outside_says_nothing_of_the_setting(store):
    close_early(store)
    asyncio.run(cancelled(store))
    rows = list(store)[1:]
    assert [(row["status"], row["notes"], row["score"]) for row in rows] == [("harness_abort", "cause interrupt; interrupted", None)] * 2


def test_a_pruned_trial_of_optuna_is_as_its_import_says(store):
    pruned = type("TrialPruned", (Exception,), {})
    with pytest.raises(pruned), store.trial(params={"lr": 1}) as trial:
        trial.log(3, loss=0.5)
        raise pruned
    row = store["001"]
    assert (row["status"], row["score"], row["notes"]) == ("discard", None, "lr=1; metrics loss=0.5; pruned at step 3")
    with pytest.raises(pruned), store.trial(params={"lr": 1}):
        raise type("OwnPruned", (pruned,), {})
    assert store["002"]["status"] == "discard"


def append_in_worker(store, number):
    return store.append(status="discard", score=float(number))["exp_id"]


def test_a_store_travels_to_workers_and_survives_a_change_of_directory(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relative = Store("s")
    monkeypatch.chdir("/")
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        ids = pool.starmap(append_in_worker, [(relative, 1), (relative, 2)])
    assert sorted(ids) == ["001", "002"] and relative.best_id() == store.best_id()
    found = []
    thread = threading.Thread(target=lambda: found.append(len(relative)))
    thread.start()
    thread.join()
    assert found == [3]
    assert len(Store(os.fsencode(store.path))) == 3 and type(pickle.loads(pickle.dumps(Named(store.path)))) is Named
    with pytest.raises(NotFound):
        Store("")


class Named(Store):
    pass


def test_a_store_above_the_target_of_a_link_is_that_store(tmp_path, monkeypatch):
    (tmp_path / "elsewhere/run").mkdir(parents=True)
    (tmp_path / "link").symlink_to("elsewhere/run")
    monkeypatch.chdir(tmp_path)
    with Store("link/../s", create=True, direction="lower") as store:
        monkeypatch.chdir("/")
        store.append(status="discard", score=1.0)
    assert (tmp_path / "elsewhere/s/results.tsv").exists() and not (tmp_path / "s").exists()


@dataclasses.dataclass
class Model:
    layers: int = 4
    sizes: tuple = (1, 2)


def test_objects_as_parameters_are_the_same_setting_in_each_process(store):
    given = argparse.Namespace(model=Model(), run=append_in_worker, eps=decimal.Decimal("0.10"), dtype=np.float32, said="at 0x1f")
    params = store.append(status="discard", score=1.0, params=given)["params"]
    assert params == {
        "model.layers": 4, "model.sizes": "[1,2]", "run": "<function append_in_worker>", "eps": 0.1, "dtype": "<class 'numpy.float32'>",
        "said": "at 0x1f",
    }  # fmt: skip
    with pytest.raises(TypeError, match="^params is 'lr=1', not a mapping, a dataclass or the arguments of argparse"):
        store.append(status="discard", score=1.0, params="lr=1")
    for name, value in (("eps", given.eps), ("dtype", np.float32), ("run", append_in_worker), ("model.layers", np.int64(4))):
        assert [row["exp_id"] for row in store.tried({name: value})] == ["001"], name
        assert [row["exp_id"] for row in store.query(where={name: value})] == ["001"], name
    with pytest.raises(StoreError, match="parameter 'eps' holds numbers; '0.1' is a text; give one number or, in a query, a range"):
        store.query(eps=[0.1, 0.2])
    with pytest.raises(ValueError, match="^eps: an empty list names no value"):
        store.query(eps=[])
    for score in ((1.0, 2.0), np.array([1.0, 2.0]), "x"):
        with pytest.raises((TypeError, ValueError), match="core_metric|could not convert"):
            store.append(status="discard", score=score)
    assert store.append(status="discard", score=np.array([2.5]))["score"] == 2.5
    tensor = type("Tensor", (), {"__float__": lambda self: 0.5})()  # one without item(), as of TensorFlow
    for score in (tensor, b"0.5"):
        row = store.append(status="discard", score=score, metrics={"acc": tensor})
        assert (row["score"], row["metrics"]) == (0.5, {"acc": 0.5})
    with store.trial(metrics={"f1": tensor}) as trial:
        trial.score(tensor, acc=np.array([0.5]))
    assert (trial.row["score"], trial.row["metrics"]) == (0.5, {"acc": 0.5, "f1": 0.5})


def test_a_recorded_function_returns_its_score_by_name_and_after_it_ran(tmp_path):
    with Store(tmp_path / "s", create=True, direction="lower", score_name="val_loss") as store:
        store.record(lambda lr=0.5: {"val_loss": lr, "acc": 0.25})()
        assert (store["000"]["score"], store["000"]["metrics"]) == (0.5, {"acc": 0.25})

        # Metrics are numbers: the path of weights and the curve in the history of Keras are left out.
        weights = {"val_loss": 0.25, "best": "ckpt.pt", "loss": [0.5, 0.4]}
        assert store.record(lambda lr=0.25: weights)() is weights
        assert (store["001"]["score"], store["001"]["metrics"]) == (0.25, {})
        store.record(lambda lr=0.75: {"val_loss": [0.5, 0.4]})()
        assert store["002"]["status"] == "harness_abort"

        async def train(lr=0.1):
            return lr

        def rows(lr=0.1):
            yield lr

        store.record(lambda lr=0.5: {"val_loss": lr, "score": 0.125}, params=argparse.Namespace(layers=2))()
        assert (store["003"]["score"], store["003"]["metrics"]) == (0.125, {"val_loss": 0.5})
        assert [row["exp_id"] for row in store.tried(argparse.Namespace(layers=2), lr=0.5)] == ["003"]

        for function in (train, rows, functools.partial(train, 0.5)):
            with pytest.raises(TypeError, match="returns before it has run; use `with store.trial"):
                store.record(function)


def test_choices_of_numpy_come_back_as_numbers(store, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(LINEAGE) + os.pathsep + os.environ["PATH"])
    assert json.loads(json.dumps(store.suggest({"n": np.arange(2, 4)})))["n"] in (2, 3)


def test_choices_come_back_as_they_were_given(store, monkeypatch):
    monkeypatch.setenv("PATH", os.path.dirname(LINEAGE) + os.pathsep + os.environ["PATH"])
    choices = {"amp": [False], "none": [None], "n": [2], "name": ["q,v"], "text": ["1"], "size": [(1, 2)]}
    given = store.suggest(choices)
    assert given == {name: value[0] for name, value in choices.items()} and given["amp"] is False
    assert store.tell(given, 1.0)["params"] == {"amp": "false", "none": "none", "n": 2, "name": "q,v", "text": "1", "size": "[1,2]"}
    with pytest.raises(NotFound, match="every setting of the ranges was tried"):
        for _ in range(3):  # a mapping is several parameters, so it comes back as the text that is one
            store.tell(store.suggest({"k": iter([{"a": 1}, {"a": 2}])}), 1.0)
    assert [row["params"]["k"] for row in store.query(where={"k": ["{'a': 1}", "{'a': 2}"]})] == ["{'a': 1}", "{'a': 2}"]
    acts = [lambda x: x, lambda x: -x]
    told = [store.suggest({"act": acts}) for _ in range(2) if store.append(status="discard", score=1.0)]
    assert all(one["act"] in acts for one in told)


@dataclasses.dataclass
class Node:
    value: int
    late: int = dataclasses.field(init=False, repr=False)
    root: object = None


def test_functions_and_objects_that_differ_are_different_settings(store):
    def scaled(factor):
        return lambda x: x * factor

    def sine():
        return lambda x: np.sin(x)

    for one in (sine(), lambda x: np.cos(x), lambda x, n=2: x, lambda x, n=3: x, scaled(2), scaled(3), object(), object()):
        store.append(status="discard", score=1.0, params={"f": one})
    texts = [row["params"]["f"] for row in list(store)[1:]]
    assert len(set(texts)) == 8 and not any(" at 0x" in text for text in texts[:4])
    assert [row["exp_id"] for row in store.tried(f=sine())] == [row["exp_id"] for row in store.query(where={"f": [sine()]})] == ["001"]
    program = "from lineage.store import _flat; print(_flat({'f': lambda x, n={'a', 'b'}: x in {'c', 'd'} or (lambda: n)}))"
    said = {subprocess.check_output([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}) for seed in "123"}
    assert len(said) == 1 and b" at 0x" not in said.pop()


def test_a_configuration_that_holds_itself_or_is_incomplete(store):
    node = Node(1)
    node.root = node
    params = store.append(status="discard", score=1.0, params={"model": node, "kind": dataclasses.make_dataclass("Adam", [])()})["params"]
    assert params["model.value"] == 1 and params["model.root"].startswith("Node(") and params["kind"] == "Adam()"
