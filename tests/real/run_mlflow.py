# pip: mlflow-skinny==3.17.2
# run: MLFLOW_ALLOW_FILE_STORE=true python3 -u "$SCRIPT"
# keep: mlruns/*/*/metrics/* mlruns/*/*/meta.yaml mlruns/*/meta.yaml
"""The directory mlruns of MLflow."""
import mlflow
from tiny import right

mlflow.set_tracking_uri("file:mlruns")
with mlflow.start_run():
    for step in range(5):
        mlflow.log_metric("val_loss", 1 / (3 + step), step=step)
right(("val_loss", "mlruns", 1 / 7))
