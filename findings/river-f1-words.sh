#!/bin/sh
# One would guess: F1, Precision and Recall of river, fed with the labels of a classifier that is always right, are 1.0, or refuse labels of which
# they do not know the positive one, as scikit-learn's do.
# In fact only labels that equal True or 1 are counted: with "spam" and "ham" the three metrics are 0.0 beside an accuracy of 1.0, for a perfect model
# as for a useless one, and pos_val="spam", the parameter that is made for this, changes nothing: labels are compared with it, the results are
# kept under True, and get() looks for them under "spam". No message. A search that maximises F1 sees equal trials.
# Version: river 0.26.1, scikit-learn 1.9.1. Source: river/metrics/base.py, BinaryMetric.update, y_true == self.pos_val.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile river==0.26.1 scikit-learn==1.9.1
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version
from river import metrics
from sklearn.metrics import f1_score
print("river", version("river"), "scikit-learn", version("scikit-learn"))
seen = []
for truth, arguments in (((1, 0), {}), (("spam", "ham"), {}), (("spam", "ham"), {"pos_val": "spam"})):
    measured = metrics.F1(**arguments), metrics.Precision(**arguments), metrics.Recall(**arguments), metrics.Accuracy()
    for label in truth * 5:
        for metric in measured:
            metric.update(label, label)
    seen.append([metric.get() for metric in measured])
    print(truth, arguments or "", "F1, precision, recall, accuracy:", *seen[-1])
try:
    refused = f1_score(["spam", "ham"], ["spam", "ham"])
except ValueError as error:
    refused = str(error)
print("scikit-learn:", refused)
sys.exit(seen != [[1.0] * 4, [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 1.0]] or "pos_label" not in str(refused))
END
