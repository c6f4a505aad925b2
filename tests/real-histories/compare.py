"""Makes histories with the real tools, imports them, and compares every row with what the tool's own API answers.

By hand, in an environment that has the newest releases: pip install optuna wandb trackio mlflow tensorboardX tensorboard fieldkit 'ray[tune]' sacred smac nevergrad comet_ml swanlab
    python3 tests/real-histories/compare.py build/cli/lineage [TOOL...]

A tool that is not installed is named and left out. Prints the versions, the number of rows of each history and each difference;
exits with 1 if there is any. `many` makes 10,000 trials and is run only by its name.
"""
import datetime
import importlib.metadata
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

LINEAGE = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else "lineage"
SCORED = ("keep", "discard", "baseline")
NAN, INF = float("nan"), float("inf")
differences = 0


def lineage(*arguments):
    return subprocess.run([LINEAGE, *arguments], capture_output=True, text=True)


def differ(what, *texts):
    global differences
    differences += 1
    print("  DIFFERS", what, *texts)


def check(name, path, direction, expected, *arguments):
    """expected: key -> (label, score, settings); label "scored" is one of SCORED. A run without an entry must have no row."""
    store = tempfile.mkdtemp(dir=".")
    lineage("init", store, "--direction", direction)
    for again in range(2):
        result = lineage("-C", store, "import", path, *arguments)
        if result.returncode:
            differ(name, result.stderr.strip())
            return
    if "0 runs imported" not in result.stdout:
        differ(name, "the second import changed something:", result.stdout)
    rows = {}
    for line in lineage("-C", store, "export", "--format", "jsonl").stdout.splitlines():
        row = json.loads(line)
        rows[row["job_name"].split(":", 1)[1].rsplit("/", 1)[-1]] = row
    for key in sorted(set(expected) - set(rows)):
        differ(name, key, "has no row")
    for key in sorted(set(rows) - set(expected)):
        differ(name, key, "has a row", rows[key]["status"])
    best = None
    for key in sorted(set(expected) & set(rows)):
        label, score, settings = expected[key]
        row = rows[key]
        if row["status"] not in SCORED if label == "scored" else row["status"] != label:
            differ(name, key, "is", row["status"], "and not", label, row.get("notes"))
        if label == "scored" and row.get("core_metric") != score:
            differ(name, key, "has the score", row.get("core_metric"), "and not", score)
        if label == "scored" and (best is None or (score > best if direction == "higher" else score < best)):
            best = score
        for setting, value in settings.items():
            if row.get("params", {}).get(setting) != value:
                differ(name, key, setting, "is", row.get("params", {}).get(setting), "and not", value)
    shown = lineage("-C", store, "best", "--format", "json").stdout
    if best is not None and json.loads(shown)["core_metric"] != best:
        differ(name, "the best is", json.loads(shown)["core_metric"], "and not", best)
    print(" ", name, len(expected), "rows")


def label_of(value):
    return "harness_abort" if value is None else "scored" if math.isfinite(value) else "crash"


# ---- Optuna ----

def optuna_objective(sign):
    import optuna

    def objective(trial):
        x = trial.suggest_float("x", 1e-5, 1, log=True)
        trial.suggest_int("层数", 1, 9)
        trial.suggest_categorical("act", ["relu", None, True, 0.5])
        trial.report(x, 0)
        if trial.number % 10 == 3:
            raise ValueError("boom")
        if trial.number % 10 == 4:
            raise optuna.TrialPruned()
        return {5: NAN, 6: INF, 7: -INF}.get(trial.number % 10, sign * x)
    return objective


def optuna_expected(study, feasible=lambda trial: True):
    from optuna.trial import TrialState
    expected = {}
    for trial in study.trials:
        if trial.state in (TrialState.RUNNING, TrialState.WAITING):
            continue
        label = {TrialState.FAIL: "crash", TrialState.PRUNED: "discard"}.get(trial.state)
        if trial.state == TrialState.COMPLETE:
            label = label_of(trial.value) if feasible(trial) else "disqualified"
        settings = {"x": trial.params["x"]} if "x" in trial.params else {}
        expected[str(trial.number)] = (label, trial.value, settings)
    return expected


def make_optuna():
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    stores = {"optuna.db": "sqlite:///optuna.db", "optuna.log": JournalStorage(JournalFileBackend("optuna.log"))}
    for path, storage in stores.items():
        for direction, sign, name in (("minimize", 1, "down"), ("maximize", -1, "up")):
            study = optuna.create_study(study_name=name, storage=storage, direction=direction, sampler=optuna.samplers.RandomSampler(seed=1))
            study.optimize(optuna_objective(sign), n_trials=40, catch=(ValueError,))
            study.enqueue_trial({"x": 0.5})
            study.enqueue_trial({"x": 0.25})
            study.ask()
            study.add_trial(optuna.trial.create_trial(value=0.125, params={"x": 0.5}, distributions={"x": optuna.distributions.FloatDistribution(1e-5, 1, log=True)}))
            check(f"{path} {name}", path, "lower" if sign > 0 else "higher", optuna_expected(study), "--study", name)
        study = optuna.create_study(study_name="walls", storage=storage, sampler=optuna.samplers.RandomSampler(seed=2))

        def objective(trial):
            x = trial.suggest_float("x", 0, 1)
            trial.set_constraint("memory", 0.5 - x)
            trial.set_constraint("time", x - 0.9)
            return x
        study.optimize(objective, n_trials=30)
        check(f"{path} constraints", path, "lower", optuna_expected(study, lambda trial: 0.5 <= trial.value <= 0.9), "--study", "walls")
        several = optuna.create_study(study_name="several", storage=storage, directions=["maximize", "minimize"], sampler=optuna.samplers.RandomSampler(seed=3))
        several.set_metric_names(["accuracy", "latency/ms"])
        several.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 10 * trial.params["x"]), n_trials=10)
        for i, metric in enumerate(("accuracy", "latency/ms")):
            expected = {str(t.number): ("scored", t.values[i], {"x": t.params["x"]}) for t in several.trials}
            check(f"{path} {metric}", path, "lower" if i else "higher", expected, "--study", "several", "--metric", metric)
    study = optuna.load_study(study_name="several", storage="sqlite:///optuna.db")
    study.trials_dataframe().to_csv("optuna.csv", index=False)
    expected = {f"{t.number}@{t.datetime_start.timestamp():.0f}": ("scored", t.values[0], {"x": t.params["x"]}) for t in study.trials}
    check("trials_dataframe", "optuna.csv", "higher", expected, "--metric", "values_accuracy")


def make_many():
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(study_name="many", storage=JournalStorage(JournalFileBackend("many.log")), sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(optuna_objective(1), n_trials=10000, catch=(ValueError,))
    check("10,000 trials", "many.log", "lower", optuna_expected(study))


# ---- MLflow ----

def make_mlflow():
    import mlflow
    for path, uri in (("mlflow.db", "sqlite:///mlflow.db"), ("mlruns", "file:" + os.path.abspath("mlruns"))):
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        mlflow.set_tracking_uri(uri)
        try:
            mlflow.set_experiment("e")
        except Exception as error:
            print("  left out:", path, str(error).splitlines()[0])
            continue
        client, killed = mlflow.MlflowClient(), []
        endings = {"nan": [1.0, NAN], "inf": [1.0, INF], "-inf": [1.0, -INF], "plain": [1.0, 0.5], "none": [], "ünicode": [0.25]}
        with mlflow.start_run(run_name="group"):
            for name, values in endings.items():
                with mlflow.start_run(run_name=name, nested=True):
                    mlflow.log_params({"lr": 0.1, "opt/name": "adam", "名": "值"})
                    for step, value in enumerate(values):
                        mlflow.log_metric("val/loss", value, step=step)
        with mlflow.start_run(run_name="order"):
            for step, value in ((0, 3.0), (2, 1.0), (1, 2.0)):
                mlflow.log_metric("val/loss", value, step=step)
        with mlflow.start_run(run_name="resumed") as run:
            mlflow.log_metric("val/loss", 0.9, step=0)
        with mlflow.start_run(run_id=run.info.run_id):
            mlflow.log_metric("val/loss", 0.3, step=1)
        for status in ("FAILED", "KILLED", "RUNNING"):
            run = client.create_run(mlflow.get_experiment_by_name("e").experiment_id, run_name=status)
            client.log_metric(run.info.run_id, "val/loss", 0.0625)
            if status != "RUNNING":
                client.set_terminated(run.info.run_id, status)
        with mlflow.start_run(run_name="deleted") as run:
            mlflow.log_metric("val/loss", 0.01)
        client.delete_run(run.info.run_id)
        expected = {}
        for run in client.search_runs([mlflow.get_experiment_by_name("e").experiment_id]):
            value = run.data.metrics.get("val/loss")
            value = INF if value == sys.float_info.max else -INF if value == -sys.float_info.max else value
            if run.info.run_name == "group" or run.info.status == "RUNNING":
                continue
            label = {"FAILED": "crash", "KILLED": "harness_abort"}.get(run.info.status, label_of(value))
            expected[run.info.run_id] = (label, value, {"lr": 0.1, "opt.name": "adam"} if "lr" in run.data.params else {})
        check(path, path, "lower", expected, "--metric", "val/loss")


# ---- W&B ----

def make_wandb():
    os.environ.update(WANDB_MODE="offline", WANDB_SILENT="true", WANDB_DISABLE_GIT="true", WANDB_DISABLE_CODE="true", WANDB_CONSOLE="off")
    import wandb
    expected, settings = {}, wandb.Settings(x_disable_meta=True, x_disable_stats=True)
    for name, values in (("plain", [1.0, 0.5]), ("nan", [1.0, NAN]), ("inf", [1.0, INF]), ("-inf", [1.0, -INF]), ("none", []), ("ünicode", [0.25]),
                         ("long", [1 / (i + 1) for i in range(3000)])):
        with wandb.init(project="p", name=name, config={"lr": 1e-4, "opt": {"betas": [0.9, 0.99]}, "名": "值"}, settings=settings) as run:
            for value in values:
                run.log({"val_loss": value, "nested": {"acc": 1 - value}, "long name " * 8: value})
            score = dict(run.summary).get("val_loss")
        expected[run.id] = (label_of(score), score, {"lr": 1e-4, "opt.betas": "[0.9,0.99]"})
    try:
        with wandb.init(project="p", name="failed", settings=settings) as run:
            run.log({"val_loss": 0.125})
            raise ValueError("boom")
    except ValueError:
        expected[run.id] = ("crash", None, {})
    code = """import os, wandb
run = wandb.init(project="p", name="killed")
for i in range(10): run.log({"val_loss": 0.0625})
print(run.id, flush=True)
os._exit(9)"""
    subprocess.run([sys.executable, "-c", code], capture_output=True)
    check("wandb", "wandb", "lower", expected, "--study", "p", "--metric", "val_loss")
    with wandb.init(project="q", name="best", settings=settings) as run:
        run.define_metric("acc", summary="max")
        for value in (0.5, 0.9, 0.7):
            run.log({"acc": value})
    make_wandb_resumed(wandb, settings)
    print("  summary of define_metric(summary=max):", dict(run.summary))
    result = lineage("import", "wandb", "--study", "q", "--dry-run")
    print("  ", result.stdout.strip().replace("\n", "\n   "), result.stderr.strip())


def wandb_records(path):
    """The records of a run log: blocks of 32,768 bytes behind 7 of the file, each part with CRC-32, length and type."""
    from wandb.proto import wandb_internal_pb2
    with open(path, "rb") as file:
        data = file.read()
    at, record = 7, b""
    while at + 7 <= len(data):
        left, length, kind = 32768 - at % 32768, int.from_bytes(data[at + 4:at + 6], "little"), data[at + 6]
        if left < 7 or kind == 0:
            at += left
            continue
        record, at = record + data[at + 7:at + 7 + length], at + 7 + length
        if kind in (1, 4):
            yield wandb_internal_pb2.Record.FromString(record)
            record = b""


def make_wandb_resumed(wandb, settings):
    """Offline, resume="allow" begins a new log with the same id. W&B 0.31 has no reader of logs in Python; its messages parse them here."""
    for name, parts in (("better", ([1.0, 0.8], [0.6])), ("worse", ([0.5], [0.9, 0.95])), ("nothing", ([0.7], []))):
        for i, values in enumerate(parts):
            with wandb.init(project="r", id=name, name=name, resume="allow", config={"lr": 0.1 + i}, settings=settings) as run:
                for step, value in enumerate(values):
                    run.log({"val_loss": value}, step=step + 10 * i)
    read = {}
    for path in sorted(pathlib.Path("wandb").glob("*/*.wandb")):
        run = None
        for record in wandb_records(path):
            if record.HasField("run"):
                run = read.setdefault(record.run.run_id, {"history": [], "config": {}}) if record.run.project == "r" else None
                if run is not None:
                    run["config"].update({item.key: json.loads(item.value_json) for item in record.run.config.update if item.key == "lr"})
            elif run is not None and record.HasField("history"):
                items = {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
                run["history"] += [(items["_step"], items["val_loss"])] if "val_loss" in items else []
            elif run is not None and record.HasField("exit"):
                run["exit"] = record.exit.exit_code
    expected = {key: ("scored" if run["exit"] == 0 else "crash", max(run["history"])[1], run["config"]) for key, run in read.items()}
    check("wandb resumed", "wandb", "lower", expected, "--study", "r", "--metric", "val_loss")


# ---- SwanLab ----

def make_swanlab():
    """Each run is a process of its own, because a killed one takes its process with it; the library's own reader says what is in the logs."""
    code = """import os, sys, time, swanlab
name, values = sys.argv[1], [float(value) for value in sys.argv[2:]]
swanlab.init(project="p", experiment_name=name, id=name[:7] + "00000" if name.startswith("resumed") else None, resume="allow",
             config={"lr": 0.1, "opt": {"name": "adam"}, "flag": True}, mode="offline", logdir="swanlog")
for step, value in enumerate(values):
    swanlab.log({"val/loss": value}, step=step + 10 * name.endswith("again"))
if name == "failed": raise ValueError("boom")
if name == "killed": time.sleep(3), os._exit(9)
swanlab.finish(**({"state": "aborted"} if name == "aborted" else {}))"""
    runs = {"plain": (1.0, 0.5), "nan": (1.0, NAN), "inf": (INF,), "none": (), "ünicode": (0.25,), "failed": (0.125,), "killed": (0.0625,), "aborted": (0.75,),
            "resumed": (0.9,), "zero": (1.0, 0.0), "long": [1 / (i + 1) for i in range(3000)]}
    started = [subprocess.Popen([sys.executable, "-c", code, name, *map(str, values)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for name, values in runs.items()]
    for process in started:
        process.wait()
    subprocess.run([sys.executable, "-c", code, "resumed again", "0.3", "0.4"], capture_output=True)
    from swanlab.proto.swanlab.record.v1 import record_pb2
    from swanlab.sdk.internal.core_python.store import DataStoreReader
    labels, expected, last = {2: "crash", 3: "harness_abort"}, {}, {}
    for path in sorted(pathlib.Path("swanlog").glob("*/*.swanlab")):
        key, reader = None, DataStoreReader()
        if path.stat().st_size == 0:
            continue
        reader.open(str(path))
        for data in reader:
            record = record_pb2.Record.FromString(data if isinstance(data, bytes) else data[0])
            if record.HasField("start"):
                key = record.start.id
            elif record.HasField("scalar") and record.scalar.key == "val/loss":
                last[key] = max(last.get(key, (-1, None)), (record.scalar.step, record.scalar.value.number), key=lambda pair: pair[0])
            elif record.HasField("finish"):
                score = last.get(key, (0, None))[1]
                expected[key] = (labels.get(record.finish.state) or label_of(score), score, {"lr": 0.1, "opt.name": "adam", "flag": "true"})
    check("swanlab", "swanlog", "lower", expected, "--metric", "val/loss")


# ---- trackio ----

def make_trackio():
    os.environ["TRACKIO_DIR"] = os.path.abspath("trackio")
    import trackio
    expected = {}
    for name, lr, values in (("sweep", 0.01, (0.9, 0.6)), ("sweep", 0.02, (0.95, 0.65, 0.7)), ("nan", 0.03, (1.0, NAN)), ("inf", 0.04, (INF,)), ("ünicode", 0.05, (0.5,))):
        trackio.init(project="p", name=name, config={"lr": lr, "betas": [0.9, 0.99]})
        for value in values:
            trackio.log({"val/loss": value, "nested": {"acc": 0.5}})
        trackio.finish()
    for run in trackio.Api().runs("p"):
        values = {0.01: 0.6, 0.02: 0.7, 0.03: NAN, 0.04: INF, 0.05: 0.5}
        score = values[run.config["lr"]]
        expected[run.id] = (label_of(score), score, {"lr": run.config["lr"], "betas": "[0.9,0.99]"})
    check("trackio", os.path.join("trackio", "p.db"), "lower", expected, "--metric", "val/loss")


# ---- TensorBoard ----

def make_tensorboard():
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboardX import SummaryWriter
    runs = {"plain": [1.0, 0.5], "nan": [1.0, NAN], "inf": [1.0, INF], "a/b": [0.25], "ünicode": [0.125]}
    for name, values in runs.items():
        writer = SummaryWriter(os.path.join("tb", name))
        for step, value in enumerate(values):
            writer.add_scalar("val/loss", value, step)
        writer.close()
    writer = SummaryWriter(os.path.join("tb", "resumed"))
    for step in range(10):
        writer.add_scalar("val/loss", 1.0 - step / 100, step)
    writer.close()
    writer = SummaryWriter(os.path.join("tb", "resumed"), purge_step=5, filename_suffix=".resumed")
    for step in range(5, 8):
        writer.add_scalar("val/loss", 2.0, step)
    writer.close()
    expected = {}
    for name in list(runs) + ["resumed"]:
        accumulator = EventAccumulator(os.path.join("tb", name)).Reload()
        score = accumulator.Scalars("val/loss")[-1].value
        expected[name.split("/")[-1]] = (label_of(score), score, {})
    check("tensorboard", "tb", "lower", expected, "--metric", "val/loss")


# ---- Ray Tune ----

def make_ray():
    import ray
    from ray import tune
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)

    def train(config):
        for i in range(2):
            if config["k"] == 2 and i == 1:
                raise ValueError("boom")
            if config["k"] == 3:
                raise ValueError("before the first report")
            tune.report({"loss": NAN if config["k"] == 1 else (0.3 - 0.01 * config["k"]) / (i + 1), "nest": {"a": 1.0}})
    results = tune.Tuner(train, param_space={"lr": 0.1, "opt": {"name": "adam"}, "k": tune.grid_search([0, 1, 2, 3, 4])},
                         tune_config=tune.TuneConfig(metric="loss", mode="min", max_concurrent_trials=1),
                         run_config=tune.RunConfig(name="exp", storage_path=os.path.abspath("rayr"), verbose=0)).fit()
    expected = {}
    for result in results:
        metrics = result.metrics or {}
        key = metrics.get("trial_id") or os.path.basename(result.path)
        label = "crash" if result.error else label_of(metrics.get("loss"))
        expected[key] = (label, metrics.get("loss"), {"lr": 0.1, "opt.name": "adam", "k": float(result.config["k"]) if result.config else None})
    check("ray", os.path.join("rayr", "exp"), "lower", expected, "--metric", "loss")


# ---- searches ----

def make_sacred():
    from sacred import Experiment
    from sacred.observers import FileStorageObserver
    expected = {}
    for how, values, label in (("plain", [0.9, 0.5], "scored"), ("nan", [0.9, NAN], "crash"), ("inf", [INF], "crash"), ("none", [], "harness_abort"),
                               ("fail", [0.01], "crash"), ("stop", [0.02], "harness_abort")):
        experiment = Experiment("e", save_git_info=False)
        experiment.observers.append(FileStorageObserver("sacred"))
        experiment.add_config(lr=0.1, flag=True, how=how)

        @experiment.main
        def main(_run, how=how, values=values):
            for value in values:
                _run.log_scalar("loss", value)
            if how in ("fail", "stop"):
                raise ValueError if how == "fail" else KeyboardInterrupt
        try:
            run = experiment.run()
        except (ValueError, KeyboardInterrupt):
            run = experiment.current_run
        expected[f"{run._id}@{run.start_time.replace(tzinfo=datetime.timezone.utc).timestamp():.6f}"] = (label, values[-1] if values else None, {"lr": 0.1, "flag": "true"})
    check("sacred", "sacred", "lower", expected, "--metric", "loss")


def make_nevergrad():
    import nevergrad as ng
    optimizer = ng.optimizers.OnePlusOne(ng.p.Instrumentation(lr=ng.p.Log(lower=1e-4, upper=1), act=ng.p.Choice(["relu", True])), budget=8)
    optimizer.register_callback("tell", ng.callbacks.ParametersLogger("nevergrad.jsonl"))
    expected = {}
    for i in range(8):
        candidate = optimizer.ask()
        loss = {3: NAN, 4: INF}.get(i, candidate.kwargs["lr"])
        optimizer.tell(candidate, loss)
        expected[candidate.uid] = (label_of(loss), loss, {"lr": candidate.kwargs["lr"]})
    check("nevergrad", "nevergrad.jsonl", "lower", expected)


def make_smac():
    from ConfigSpace import ConfigurationSpace
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.enumerations import StatusType

    def cost(config, seed=0):
        if config["n"] == 5:
            raise ValueError("boom")
        return config["x"]
    scenario = Scenario(ConfigurationSpace({"x": (0.0, 1.0), "n": (1, 9)}, seed=0), n_trials=10, deterministic=True, output_directory="smac", crash_cost=10.0)
    smac = HyperparameterOptimizationFacade(scenario, cost, overwrite=True, logging_level=40)
    smac.optimize()
    expected = {}
    for key, value in smac.runhistory.items():
        config = smac.runhistory.get_config(key.config_id)
        label = "scored" if value.status == StatusType.SUCCESS else "crash"
        expected[f"{key.config_id}@{value.starttime:.6f}"] = (label, value.cost, {"x": config["x"], "n": float(config["n"])})
    check("smac", "smac", "lower", expected)


def make_comet():
    import zipfile
    import comet_ml
    expected = {}
    for name, values in (("plain", [0.9, 0.5]), ("nan", [0.9, NAN]), ("inf", [INF]), ("none", [])):
        run = comet_ml.OfflineExperiment(project_name="p", workspace="w", offline_directory="archives", log_code=False, log_env_details=False,
                                         auto_output_logging=False, parse_args=False, log_git_metadata=False, display_summary_level=0)
        run.set_name(name)
        run.log_parameters({"lr": 0.1, "betas": [0.9, 0.99], "none": None})
        for step, value in enumerate(values):
            run.log_metric("loss", value, step=step)
        run.log_metric("other", 1, step=0)
        run.end()
        expected[run.get_key()] = ("harness_abort" if not values else label_of(values[-1]), values[-1] if values else None, {"lr": 0.1, "betas": "[0.9,0.99]"})
    for archive in pathlib.Path("archives").glob("*.zip"):
        zipfile.ZipFile(archive).extractall(pathlib.Path("comet") / archive.stem)
    check("comet", "comet", "lower", expected, "--metric", "loss")


# ---- logs of agents ----


def make_fieldkit():
    from fieldkit.lineage import FailureLabel, LineageStore, Trial
    for higher in (False, True):
        store = LineageStore(pathlib.Path(f"fieldkit-{higher}"), lower_is_better=not higher)
        labels = [label for label in FailureLabel]
        for i in range(400):
            label = labels[i * 7 % len(labels)] if i % 3 else FailureLabel("keep")
            score = {5: NAN, 6: INF, 7: -INF}.get(i % 11, None if label.value not in SCORED else 1 / (i + 1) if i % 2 else i / 7)
            store.append(Trial(exp_id=f"{i:03d}", timestamp="2026-11-28T10:00:00Z", specialist="optimizer", parent_exp="" if i % 4 else "000", baseline_exp="", domain="",
                               hypothesis=f'"größer", no. {i}\u2028', expected_delta="", status=label, core_metric=score, val_bpb=None, delta_vs_best=None, train_s=None,
                               total_s=float(i), job_name=f"job:{i:03d}", snapshot_path="", notes=f"lr={i}"))
        expected = {t.exp_id: (t.status.value, t.core_metric, t.hypothesis) for t in store.all_trials()}
        for key, (label, score, hypothesis) in expected.items():
            if score is not None and not math.isfinite(score): # fieldkit ranks nan and infinity; here the trial crashed
                expected[key] = ("crash" if label in SCORED + ("discard",) else label, None, hypothesis)
        finite = [(score, key) for key, (label, score, _) in expected.items() if label == "keep" and score is not None]
        best = (max if higher else min)(finite)[1]
        check_log(f"fieldkit, {'higher' if higher else 'lower'}", f"fieldkit-{higher}/results.tsv", "higher" if higher else "lower", expected, best)


def check_log(name, path, direction, expected, best=None):
    """expected: id -> (label, score, hypothesis), as the tool itself reads the log."""
    store = tempfile.mkdtemp(dir=".")
    lineage("init", store, "--direction", direction)
    result = lineage("-C", store, "import", path)
    if result.returncode:
        differ(name, result.stderr.strip())
    rows = {row["exp_id"]: row for row in map(json.loads, lineage("-C", store, "export", "--format", "jsonl").stdout.splitlines())}
    for key in sorted(set(expected) ^ set(rows)):
        differ(name, key, "has no row" if key in expected else "has a row")
    for key in sorted(set(expected) & set(rows)):
        label, score, hypothesis = expected[key]
        row, same = rows[key], rows[key].get("core_metric") == score
        if row["status"] != label or row["hypothesis"] != hypothesis or not same:
            differ(name, key, "is", [row.get(field) for field in ("status", "core_metric", "hypothesis")], "and not", expected[key])
    shown = lineage("-C", store, "best", "--format", "json").stdout
    if best is not None and json.loads(shown)["exp_id"] != best:
        differ(name, "the best is", json.loads(shown)["exp_id"], "and not", best)
    print(" ", name, len(expected), "rows")


def make_karpathy():
    """The log of autoresearch, read by pandas as its analysis.ipynb does."""
    import pandas
    with open("autoresearch.tsv", "w") as log:
        log.write("commit\tval_bpb\tmemory_gb\tstatus\tdescription\n")
        for i in range(300):
            status = ("keep", "discard", "discard", "crash")[i % 4]
            log.write(f"{i * 7919 + 0x1000000:07x}\t{0 if status == 'crash' else 1 - i / 1000:.6f}\t{44 + i / 10:.1f}\t{status}\tidea {i}, größer\n")
    table = pandas.read_csv("autoresearch.tsv", sep="\t", dtype={"commit": str})
    table["val_bpb"] = pandas.to_numeric(table["val_bpb"], errors="coerce")
    expected = {row.commit: (row.status, None if row.status == "crash" else row.val_bpb, row.description) for row in table.itertuples()}
    kept = table[table.status == "keep"]
    check_log("autoresearch", "autoresearch.tsv", "lower", expected, kept.loc[kept.val_bpb.idxmin()].commit)


def main():
    makers = {name[5:]: make for name, make in globals().items() if name.startswith("make_") and name != "make_wandb_resumed"}
    packages = {"many": "optuna", "comet": "comet-ml", "tensorboard": "tensorboardX", "karpathy": "pandas"}
    wanted = sys.argv[2:] or [name for name in makers if name != "many"]
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = directory
        for name in wanted:
            try:
                print(name, importlib.metadata.version(packages.get(name, name)))
            except importlib.metadata.PackageNotFoundError:
                print(name, "is not installed: left out")
                continue
            makers[name]()
        os.chdir("/")
    print(differences, "differences")
    return differences > 0


sys.exit(main())
