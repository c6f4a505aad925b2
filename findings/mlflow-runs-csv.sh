#!/bin/sh
# One would guess: mlflow.search_runs() returns a frame that tells a run whose loss became nan from one that never logged a loss.
# In fact both are NaN in the column metrics.loss, and in its CSV both are empty cells, with the state FINISHED for both. Nobody can say
# from such an export which training diverged and which one only stopped before its first evaluation. The store has a column is_nan.
# Version: mlflow 3.17.2. Source: mlflow/tracking/fluent.py, search_runs.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check mlflow-skinny==3.17.2 sqlalchemy==2.1.9 alembic pandas==2.3.3
cat >probe.py <<'END'
import csv, logging, math, sqlite3, sys
import mlflow
logging.disable(logging.CRITICAL)
mlflow.set_tracking_uri("sqlite:///m.db")
for name, loss in (("diverged", math.nan), ("silent", None), ("good", 0.5)):
    with mlflow.start_run(run_name=name):
        mlflow.log_param("lr", 1)
        if loss is not None:
            mlflow.log_metric("loss", loss)
mlflow.search_runs().to_csv("runs.csv", index=False)
cells = {row["tags.mlflow.runName"]: (row["status"], row["metrics.loss"]) for row in csv.DictReader(open("runs.csv"))}
print("mlflow", mlflow.__version__)
for name in cells:
    print(name, cells[name])
print("is_nan in the store:", sqlite3.connect("m.db").execute("SELECT value, is_nan FROM latest_metrics ORDER BY value").fetchall())
sys.exit(not (cells["diverged"] == cells["silent"] == ("FINISHED", "") and cells["good"] == ("FINISHED", "0.5")))
END
venv/bin/python probe.py
