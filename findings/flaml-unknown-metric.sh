#!/bin/sh
# One would guess: AutoML.fit() of FLAML raises ValueError at once for a metric that it does not know, as it does for an unknown task.
# In fact it catches its own error in each evaluation, sets the loss to infinity and searches on until the time budget is used up. fit() returns
# as if all were well and the exit status is 0; best_loss is inf and model is None. A misspelt metric costs the whole budget, a night perhaps.
# Version: flaml 2.8.0 with scikit-learn 1.9.1. Source: flaml/automl/ml.py, metric_loss_score, and compute_estimator.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check 'flaml[automl]==2.8.0' scikit-learn==1.9.1
"$dir/venv/bin/python" - 2>"$dir/err" <<'END'
import sys, time
import flaml
from flaml import AutoML
from sklearn.datasets import make_classification

x, y = make_classification(200, 5, random_state=0)
began = time.time()
automl = AutoML()
automl.fit(x, y, task="classification", metric="acuracy", time_budget=5, estimator_list=["rf"], verbose=0)
took = time.time() - began
print("flaml", flaml.__version__)
print("metric acuracy: fit returned after %.1f s of 5, best_loss %s, model %s" % (took, automl.best_loss, automl.model))
sys.exit(not (automl.best_loss == float("inf") and automl.model is None and took > 3))
END
