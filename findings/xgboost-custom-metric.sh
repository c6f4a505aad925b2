#!/bin/sh
# One would guess: evals_result of xgboost.train holds what each metric returned, with all digits, as it does for rmse and the others that
# are built in; five decimals are only how a line of the log is printed.
# In fact the value of custom_metric is written into a line by "%f", six decimals, and read back from there. A validation loss of
# 1.23456789e-07 is 0.0 in evals_result, in each round, and so it is for callbacks. Early stopping by such a metric sees no progress.
# Version: xgboost 3.2.0 (PyPI: xgboost-cpu). Source: Booster.eval_set in xgboost/core.py.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check xgboost-cpu==3.2.0
"$dir/venv/bin/python" - <<'END'
import sys
import numpy
import xgboost

rows = numpy.arange(40.0).reshape(20, 2)
data = xgboost.DMatrix(rows, rows[:, 0])
seen = {}
xgboost.train({"verbosity": 0}, data, 2, evals=[(data, "train")], custom_metric=lambda p, d: ("tiny", 1.23456789e-07),
              evals_result=seen, verbose_eval=False)
print("xgboost", xgboost.__version__)
print("returned 1.23456789e-07, evals_result has", seen["train"]["tiny"])
print("rmse, which is built in:", seen["train"]["rmse"])
sys.exit(not (seen["train"]["tiny"] == [0.0, 0.0] and seen["train"]["rmse"][0] != round(seen["train"]["rmse"][0], 5)))
END
