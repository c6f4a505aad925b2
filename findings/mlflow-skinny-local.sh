#!/bin/sh
# One would guess that mlflow-skinny, "MLflow tracking without the SQL storage", logs a run to a local directory without settings, as it
# did for years, and that a URI whose scheme its error message lists as supported works.
#
# What is so in mlflow-skinny 3.17.2 (PyPI): the default tracking URI is sqlite:///.../mlflow.db, which the package cannot open, so start_run
# fails with UnsupportedModelRegistryStoreURIException. Its message lists the schemes that are supported, "file" among them; but a file:
# URI is refused as well ("maintenance mode"), unless MLFLOW_ALLOW_FILE_STORE=true is set. So of the schemes in the message no local one
# works without that variable, and a script that ran with an older release leaves no run. Source: mlflow/store/tracking/file_store.py and
# mlflow/store/model_registry of that release; https://mlflow.org/docs/latest/self-hosting/migrate-from-file-store
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
python3 -m venv venv && venv/bin/python3 -m pip install -q --disable-pip-version-check mlflow-skinny==3.17.2 || exit 2
cat >log.py <<'END'
import sys
import mlflow
if len(sys.argv) > 1:
    mlflow.set_tracking_uri(sys.argv[1])
try:
    with mlflow.start_run():
        mlflow.log_metric("loss", 0.5)
    print("logged")
except Exception as error:
    print(type(error).__name__ + ":", " ".join(str(error).split())[:400])
END
venv/bin/python3 -c 'import mlflow; print("mlflow-skinny", mlflow.__version__)'
default=$(venv/bin/python3 log.py 2>/dev/null)
file=$(venv/bin/python3 log.py file:runs 2>/dev/null)
allowed=$(MLFLOW_ALLOW_FILE_STORE=true venv/bin/python3 log.py file:runs 2>/dev/null)
printf 'default URI:   %s\nfile:runs:     %s\nwith variable: %s\n' "$default" "$file" "$allowed"
case $default in *"Supported URI schemes are:"*"'file'"*) ;; *) echo "the default URI behaves otherwise now"; exit 1 ;; esac
case $file in *"maintenance mode"*) ;; *) echo "a file: URI behaves otherwise now"; exit 1 ;; esac
[ "$allowed" = logged ] || { echo "MLFLOW_ALLOW_FILE_STORE behaves otherwise now"; exit 1; }
