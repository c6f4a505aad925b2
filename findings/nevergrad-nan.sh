#!/bin/sh
# One would guess: a candidate whose loss is nan or infinite is recorded with that loss, or refused.
# In fact Optimizer.tell replaces a loss that is nan, infinite or above 5e20 by 5e20, with a warning, before callbacks see it: the log of
# ParametersLogger, the archive and the recommendation have a finite loss of 5e20 for a training that diverged, as for one that did not.
# Version: nevergrad 1.0.12. Source: nevergrad/optimization/base.py, Optimizer.tell.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check nevergrad==1.0.12
cat >probe.py <<'END'
import importlib.metadata, json, math, sys, warnings
import nevergrad as ng
warnings.simplefilter("ignore")
optimizer = ng.optimizers.OnePlusOne(ng.p.Instrumentation(lr=ng.p.Scalar(lower=0, upper=1)), budget=4)
optimizer.register_callback("tell", ng.callbacks.ParametersLogger("log.jsonl"))
for loss in (0.5, math.nan, math.inf, 1e30):
    optimizer.tell(optimizer.ask(), loss)
stored = [json.loads(line)["#loss"] for line in open("log.jsonl")]
print("nevergrad", importlib.metadata.version("nevergrad"))
print("told 0.5, nan, inf and 1e30; logged", stored)
sys.exit(stored != [0.5, 5e20, 5e20, 5e20])
END
venv/bin/python probe.py
