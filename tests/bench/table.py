"""The works of table.sh, each by each tool. `table.py ROWS` prints the table; `table.py ROWS WORK TOOL` does one and prints JSON."""

import json
import logging
import os
import random
import resource
import subprocess
import sys
from importlib import metadata

QUESTIONS = 20


def trials(rows):
    chance = random.Random(7)
    for number in range(rows):
        yield {
            "number": number, "alpha": chance.randrange(10) / 10, "gamma": 0.9 + chance.randrange(5) / 50,
            "score": round(30 + 5 * number / rows + chance.random(), 4),
        }  # fmt: skip


def timed(work, count):
    """Milliseconds of the processor for each of count repetitions of the work."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    work()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) / count


def lineage_store(folder):
    from lineage import Store

    return Store(folder, create=True, direction="higher", noise_std=0.1, noise_seeds=1)


def lineage_append(store, trial, sync=False):
    store.append(
        hypothesis=f"trial {trial['number']}", specialist="a", status="discard", score=trial["score"], sync=sync,
        params={"alpha": trial["alpha"], "gamma": trial["gamma"]},
    )  # fmt: skip


def tsv(rows):
    with lineage_store("table") as store:
        for trial in trials(rows):
            lineage_append(store, trial)
        store.query(limit=1)
    return "table/results.tsv"


# ---- appending ----


def append_lineage(rows):
    store = lineage_store("s")
    return timed(lambda: [lineage_append(store, trial) for trial in trials(rows)], rows)


def append_lineage_synced(rows):
    store = lineage_store("s")
    return timed(lambda: [lineage_append(store, trial, True) for trial in trials(rows)], rows)


def append_fieldkit(rows):
    from pathlib import Path

    from fieldkit.lineage import LineageStore, Trial

    store = LineageStore(Path("f"))

    def work():
        for trial in trials(rows):
            store.append(Trial(
                exp_id=f"{trial['number']:05}", timestamp="2026-01-01T00:00:00Z", specialist="a", parent_exp=None, baseline_exp=None,
                domain="qa", hypothesis=f"trial {trial['number']}", expected_delta="", status="discard", core_metric=trial["score"],
                val_bpb=None, delta_vs_best=None, train_s=None, total_s=None, job_name="", snapshot_path="",
                notes=f"alpha={trial['alpha']}, gamma={trial['gamma']}",
            ))  # fmt: skip

    return timed(work, rows)


def append_sqlite3(rows):
    import sqlite3

    base = sqlite3.connect("s.db")
    base.execute("CREATE TABLE t (number INTEGER, alpha REAL, gamma REAL, score REAL)")

    def work():
        for trial in trials(rows):
            with base:
                base.execute("INSERT INTO t VALUES (:number, :alpha, :gamma, :score)", trial)

    return timed(work, rows)


def optuna_study(rows):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", storage="sqlite:///o.db")
    space = {name: optuna.distributions.FloatDistribution(0, 1) for name in ("alpha", "gamma")}

    def work():
        for trial in trials(rows):
            params = {"alpha": trial["alpha"], "gamma": trial["gamma"]}
            study.add_trial(optuna.create_trial(params=params, distributions=space, value=trial["score"]))

    return study, work


def append_optuna(rows):
    return timed(optuna_study(rows)[1], rows)


def append_mlflow(rows):
    import mlflow

    logging.disable(logging.WARNING)
    mlflow.set_tracking_uri("sqlite:///m.db")
    mlflow.set_experiment("e")

    def work():
        for trial in trials(rows):
            with mlflow.start_run():
                mlflow.log_params({"alpha": trial["alpha"], "gamma": trial["gamma"]})
                mlflow.log_metric("score", trial["score"])

    return timed(work, rows)


def append_sacred(rows):
    import sacred
    from sacred.observers import FileStorageObserver

    sacred.SETTINGS["CAPTURE_MODE"] = "no"
    logging.disable(logging.CRITICAL)
    experiment = sacred.Experiment("e", save_git_info=False)
    experiment.observers.append(FileStorageObserver("sacred"))
    experiment.add_config(alpha=0.0, gamma=0.0, score=0.0)
    experiment.main(lambda score: score)

    def work():
        for trial in trials(rows):
            experiment.run(config_updates={name: trial[name] for name in ("alpha", "gamma", "score")})

    return timed(work, rows)


def append_trackio(rows):
    import trackio

    def work():
        for trial in trials(rows):
            trackio.init(project="p", config={"alpha": trial["alpha"], "gamma": trial["gamma"]}, embed=False)
            trackio.log({"score": trial["score"]})
            trackio.finish()

    return timed(work, rows)


def append_wandb(rows):
    import wandb

    def work():
        for trial in trials(rows):
            with wandb.init(project="p", config={"alpha": trial["alpha"], "gamma": trial["gamma"]}) as run:
                run.log({"score": trial["score"]})

    return timed(work, rows)


# ---- the ten best with 0.3 <= alpha <= 0.7 and gamma >= 0.94 ----


def ask(question):
    first = question()
    assert len(first) == 10, first
    return timed(lambda: [question() for _ in range(QUESTIONS)], QUESTIONS)


def ask_lineage(rows):
    from lineage import Store

    tsv(rows)
    store = Store("table")
    return ask(lambda: store.query(alpha="0.3:0.7", gamma="0.94:", sort="-score", limit=10))


def ask_sqlite3(rows):
    import sqlite3

    base = sqlite3.connect("s.db")
    base.execute("CREATE TABLE t (number INTEGER, alpha REAL, gamma REAL, score REAL)")
    with base:
        base.executemany("INSERT INTO t VALUES (:number, :alpha, :gamma, :score)", trials(rows))
    base.execute("CREATE INDEX i ON t (score)")
    sql = "SELECT * FROM t WHERE alpha BETWEEN 0.3 AND 0.7 AND gamma >= 0.94 ORDER BY score DESC LIMIT 10"
    return ask(lambda: base.execute(sql).fetchall())


def ask_duckdb(rows):
    import duckdb

    path = tsv(rows)
    number = "CAST(regexp_extract(notes, '{}=([0-9.]+)', 1) AS DOUBLE)"
    sql = (
        f"SELECT * FROM read_csv('{path}', delim='\t', header=true, all_varchar=true) WHERE {number.format('alpha')} BETWEEN 0.3 AND 0.7 "
        f"AND {number.format('gamma')} >= 0.94 ORDER BY CAST(core_metric AS DOUBLE) DESC LIMIT 10"
    )
    return ask(lambda: duckdb.sql(sql).fetchall())


def ask_polars(rows):
    import polars

    path = tsv(rows)
    number = {name: polars.col("notes").str.extract(name + "=([0-9.]+)").cast(polars.Float64) for name in ("alpha", "gamma")}

    def question():
        frame = polars.read_csv(path, separator="\t", infer_schema=False, quote_char=None)
        frame = frame.filter(number["alpha"].is_between(0.3, 0.7), number["gamma"] >= 0.94)
        return frame.sort(polars.col("core_metric").cast(polars.Float64), descending=True).head(10)

    return ask(question)


def ask_fieldkit(rows):
    import re
    from pathlib import Path

    from fieldkit.lineage import LineageStore

    store = LineageStore(Path(tsv(rows)).parent)

    def value(trial, name):
        found = re.search(name + "=([0-9.]+)", trial.notes or "")
        return float(found[1]) if found else -1

    def question():
        found = [t for t in store.all_trials() if 0.3 <= value(t, "alpha") <= 0.7 and value(t, "gamma") >= 0.94]
        return sorted(found, key=lambda t: t.core_metric, reverse=True)[:10]

    return ask(question)


def ask_optuna(rows):
    import optuna

    study, work = optuna_study(rows)
    work()

    def question():
        loaded = optuna.load_study(study_name=study.study_name, storage="sqlite:///o.db")
        found = [t for t in loaded.get_trials(deepcopy=False) if 0.3 <= t.params["alpha"] <= 0.7 and t.params["gamma"] >= 0.94]
        return sorted(found, key=lambda t: t.value, reverse=True)[:10]

    return ask(question)


APPENDS = {
    "lineage": (append_lineage, 5000), "lineage, synced": (append_lineage_synced, 2000), "sqlite3, synced": (append_sqlite3, 2000),
    "fieldkit": (append_fieldkit, 5000), "optuna": (append_optuna, 200), "mlflow": (append_mlflow, 100), "sacred": (append_sacred, 100),
    "trackio": (append_trackio, 20), "wandb": (append_wandb, 10),
}  # fmt: skip
QUESTIONS_BY = {
    "lineage": ask_lineage, "sqlite3, a table of numbers": ask_sqlite3, "duckdb": ask_duckdb, "polars": ask_polars,
    "fieldkit": ask_fieldkit, "optuna": ask_optuna,
}  # fmt: skip


REMARKS = {
    ("append", "wandb"): "its core process is not counted", ("ask", "duckdb"): "reads the file for each question",
    ("ask", "polars"): "reads the file for each question", ("ask", "fieldkit"): "reads the file for each question",
    ("ask", "optuna"): "loads the study for each question",
}  # fmt: skip


def version(tool):
    try:
        return f"{tool} {metadata.version(tool)}"
    except metadata.PackageNotFoundError:
        return tool


def measure(rows, work, tool):
    folder = f"{work}-{tool}".replace(" ", "-")
    os.mkdir(folder)
    command = [sys.executable, __file__, str(rows), work, tool]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900)
        if not done.returncode:
            return json.loads(done.stdout.splitlines()[-1])
        reason = (done.stderr.strip().splitlines() or ["it failed"])[-1]
    except subprocess.TimeoutExpired as timeout:
        reason = f"not done after {timeout.timeout} s"
    print(f"table.py: {work} by {tool}: {reason}", file=sys.stderr)
    return None


def main():
    rows = int(sys.argv[1])
    if len(sys.argv) > 2:
        work, tool = sys.argv[2:]
        took = APPENDS[tool][0](APPENDS[tool][1]) if work == "append" else QUESTIONS_BY[tool](rows)
        print(json.dumps(took))
        return
    for work, tools, title in (
        ("append", APPENDS, "a row, or a run with two parameters and a score, in one process"),
        ("ask", QUESTIONS_BY, f"the ten best of {rows} with two conditions"),
    ):
        first = None
        print(f"| {title} | times done | ms of the processor | times lineage |\n|---|---|---|---|")
        for tool in tools:
            took = measure(rows, work, tool)
            if tool == "lineage":
                first = took
            name = version(tool) + (f" ({REMARKS[work, tool]})" if (work, tool) in REMARKS else "")
            count = APPENDS[tool][1] if work == "append" else QUESTIONS
            ratio = f"{took / first:.3g}" if took and first else ""
            print(f"| {name} | {count} | {'failed' if took is None else f'{took:.3g}'} | {ratio} |", flush=True)
        print()


main()
