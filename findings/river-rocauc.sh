#!/bin/sh
# One would guess: river's metrics.ROCAUC is close to the area under the curve that scikit-learn computes from the same probabilities;
# its page says that it approximates, and that it can be used to compare models "in any case".
# In fact it counts at ten thresholds between 0 and 1 and sees nothing of the order below 0.11. A model of a rare event, whose probabilities
# are all small, gets 0.5 although it ranks every positive above every negative (1.0); one that ranks them the other way round gets 0.5, too.
# Version: river 0.26.1, scikit-learn 1.9.1. Source: river/metrics/roc_auc.py, n_thresholds=10.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check river==0.26.1 scikit-learn==1.9.1
"$dir/venv/bin/python" - <<'END'
import sys
import river
from river import metrics
from sklearn.metrics import roc_auc_score

print("river", river.__version__)
truth = [False] * 950 + [True] * 50
seen = []
for name, scores in (("perfect ranking", [0.0001 * i for i in range(1000)]), ("reversed ranking", [0.0001 * (999 - i) for i in range(1000)])):
    auc, finer = metrics.ROCAUC(), metrics.ROCAUC(n_thresholds=1000)
    for true, score in zip(truth, scores):
        auc.update(true, {True: score, False: 1 - score})
        finer.update(true, {True: score, False: 1 - score})
    seen.append((auc.get(), roc_auc_score(truth, scores)))
    print("%s: river %.3f, with 1000 thresholds %.3f, scikit-learn %.3f" % (name, auc.get(), finer.get(), seen[-1][1]))
sys.exit(seen != [(0.5, 1.0), (0.5, 0.0)])
END
