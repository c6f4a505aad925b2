#!/bin/sh
# One would guess: f1_score, precision_score and recall_score of confidenceinterval, which follow the names and the interface of scikit-learn and
# add an interval, return for labels 0 and 1 what its functions of these names return: the numbers of the class 1.
# In fact they average over both classes by counting (average="micro", for which scikit-learn has "binary"), and so all three are the accuracy:
# 0.7 where F1 is 0.4, precision 0.5 and recall 0.333. A model that never finds the rare class has a recall of 0.9 with a narrow interval around
# it. average="binary" gives the usual F1; for the other two it is an AssertionError unless a method such as "wilson" is given as well.
# Version: confidenceinterval 1.0.5, scikit-learn 1.9.1. Source: confidenceinterval/takahashi_methods.py, the default of average.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile confidenceinterval==1.0.5 scikit-learn==1.9.1 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import confidenceinterval
from sklearn import metrics
print("confidenceinterval", version("confidenceinterval"), "scikit-learn", version("scikit-learn"))
truth = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
predicted = [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
changed = False
wilson = {"method": "wilson"}
for name, usual, method in (("f1_score", 0.4, {}), ("precision_score", 0.5, wilson), ("recall_score", 1 / 3, wilson)):
    with_interval, plain = getattr(confidenceinterval, name), getattr(metrics, name)
    value, (low, high) = with_interval(truth, predicted)
    binary, _ = with_interval(truth, predicted, average="binary", **method)
    print(f"{name}: {value:.3f} ({low:.3f} to {high:.3f}), average='binary' {binary:.3f}, scikit-learn {plain(truth, predicted):.3f}")
    changed |= abs(value - 0.7) > 1e-9 or abs(plain(truth, predicted) - usual) > 1e-9 or abs(binary - usual) > 1e-6
sys.exit(bool(changed))
END
