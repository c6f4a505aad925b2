#!/bin/sh
# One would guess: what the main function returns is a number in run.json, "result": 0.25, for a Python float and for a number of NumPy
# alike, since log_scalar writes both as plain numbers into metrics.json beside it.
# In fact a NumPy number, which most losses are, becomes an object of jsonpickle: {"dtype": "float32", "py/object": "numpy.float32", "value":
# 0.25}. A script that reads result from run.json gets a number or an object, depending on how the loss was computed; and nan is bare NaN
# in both files, which is not JSON.
# Version: sacred 0.8.7, NumPy 2.4.6. Source: sacred/serializer.py, which hands over to jsonpickle.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check sacred==0.8.7 numpy==2.4.6 setuptools==80.9.0
cat >probe.py <<'END'
import json, sys
import numpy, sacred
from sacred.observers import FileStorageObserver
print("sacred", sacred.__version__)
seen = []
for value in (0.25, numpy.float32(0.25), numpy.float64(0.25)):
    experiment = sacred.Experiment("e", save_git_info=False)
    experiment.observers.append(FileStorageObserver("runs"))
    @experiment.main
    def main(_run):
        _run.log_scalar("loss", value)
        return value
    run = experiment.run()
    result = json.load(open("runs/%s/run.json" % run._id))["result"]
    curve = json.load(open("runs/%s/metrics.json" % run._id))["loss"]["values"]
    seen.append(result)
    print(type(value).__name__, "0.25: run.json has", json.dumps(result), "and metrics.json", curve)
sys.exit(not (seen[0] == 0.25 and all(isinstance(result, dict) and result["value"] == 0.25 for result in seen[1:])))
END
venv/bin/python probe.py 2>/dev/null
