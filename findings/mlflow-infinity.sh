#!/bin/sh
# One would guess: a metric that is logged as inf reads back as inf, as MLflow's file store returns it.
# In fact the SQL store of mlflow 3.17.2 keeps inf as 1.7976931348623157e+308 and -inf as -1.7976931348623157e+308 (nan has a
# column of its own, is_nan), and the client returns these finite numbers. A run that diverged to -inf is the best of
# search_runs(order_by=["metrics.loss ASC"]), passes math.isfinite, and the mean over runs is 1e+308 or inf instead of nan.
# Source: mlflow 3.17.2, mlflow/store/tracking/sqlalchemy_store.py, sanitize_metric_value.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check mlflow-skinny==3.17.2 sqlalchemy==2.1.9 alembic
cat >probe.py <<'END'
import logging, math, os, sys
import mlflow
logging.disable(logging.CRITICAL)
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
print("mlflow", mlflow.__version__)
seen = {}
for kind, uri in (("sql", "sqlite:///m.db"), ("file", "file:" + os.path.abspath("mlruns"))):
    client = mlflow.MlflowClient(tracking_uri=uri)
    experiment = client.create_experiment("e")
    for value in (math.inf, -math.inf):
        run = client.create_run(experiment)
        client.log_metric(run.info.run_id, "loss", value)
        seen[kind, value] = client.get_run(run.info.run_id).data.metrics["loss"]
        print(kind, "store: logged", value, "read", seen[kind, value])
big = sys.float_info.max
sys.exit(not (seen["sql", math.inf] == big and seen["sql", -math.inf] == -big and seen["file", math.inf] == math.inf))
END
venv/bin/python probe.py
