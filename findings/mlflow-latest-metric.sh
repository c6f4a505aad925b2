#!/bin/sh
# One would guess: the value of a metric that a run has, run.data.metrics, is the one that was logged last.
# In fact MLflow takes the greatest (step, timestamp, value). Values without a step all have step 0, times are milliseconds, and log_batch
# is usually called with one time: of losses 3, 2, 1 in one batch the run has 3.0, and after a nan it still has 3.0, although the
# history is complete. So is a loss that is logged twice within a millisecond the worse one, and search_runs sorts by it.
# Version: mlflow 3.17.2 (mlflow-skinny with SQLAlchemy). Source: mlflow/store/tracking/sqlalchemy_store.py,
# _update_latest_metrics_if_necessary.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check mlflow-skinny==3.17.2 sqlalchemy==2.1.9 alembic
cat >probe.py <<'END'
import logging, math, sys, time
import mlflow
from mlflow.entities import Metric
logging.disable(logging.CRITICAL)
client = mlflow.MlflowClient(tracking_uri="sqlite:///m.db")
experiment = client.create_experiment("e")
print("mlflow", mlflow.__version__)
seen = []
for values in ((3.0, 2.0, 1.0), (3.0, 1.0, math.nan), (1.0, 2.0, 3.0)):
    run = client.create_run(experiment).info.run_id
    now = int(time.time() * 1000)
    client.log_batch(run, [Metric("loss", value, now, 0) for value in values])
    seen.append(client.get_run(run).data.metrics["loss"])
    print("logged", values, "the run has", seen[-1], "of", len(client.get_metric_history(run, "loss")), "values")
sys.exit(seen != [3.0, 3.0, 3.0])
END
venv/bin/python probe.py
