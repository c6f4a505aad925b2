#!/bin/sh
# One would guess: the interquartile mean of rliable, which papers on reinforcement learning report because outliers do not move it, leaves out the
# lowest and the highest quarter of the runs, also of the three or five runs that such papers have.
# In fact it leaves out the whole number below a quarter at each end: none of three runs, and one of five or of seven. So the IQM of three seeds is
# their mean, and a run with the score 1000 beside 1 and 2 makes it 334.333; of five it is the mean of the middle 60 %, of seven that of 71 %. Values
# of three and of four seeds are not comparable: with a fourth run, whose score is 3, it is 2.5.
# Version: rliable 1.2.0, SciPy 1.17.1. Source: rliable/metrics.py, aggregate_iqm, and trim_mean of scipy.stats, int(proportiontocut * nobs).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check scipy==1.17.1 numpy==2.4.6
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-deps rliable==1.2.0
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import numpy as np
from rliable import metrics
print("rliable", version("rliable"), "scipy", version("scipy"))
values = []
for scores in ([1, 2, 1000], [1, 2, 3, 1000], [1, 2, 3, 4, 1000], [1, 2, 3, 4, 5, 6, 1000]):
    runs = np.array(scores, dtype=float)[:, None]
    values += [round(float(metrics.aggregate_iqm(runs)), 3)]
    print("runs", scores, "IQM", values[-1], "mean", round(float(metrics.aggregate_mean(runs)), 3))
sys.exit(values != [334.333, 2.5, 3.0, 4.0])
END
