#!/bin/sh
# One would guess: conf_int() of arch's bootstraps, called without a method, returns the 2.5 % and 97.5 % points of the resampled statistic, as a
# bootstrap interval is usually explained, or BCa as in SciPy; either lies within the values that the statistic can have.
# In fact the default is "basic", which mirrors these points at the estimate: for 97 right answers of 100 the interval of the accuracy is 0.94 to
# 1.01, above what is possible, and its long side points up, where the percentile interval, 0.93 to 1.0, has it below. The lower end
# decides whether a model beats a threshold of 0.935: it does by one method and does not by the other.
# Version: arch 8.0.0. Source: arch/bootstrap/base.py, IIDBootstrap.conf_int.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile arch==8.0.0 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import numpy as np
from arch.bootstrap import IIDBootstrap
print("arch", version("arch"))
right = np.repeat([1.0, 0.0], [97, 3])
ends = {}
for method in ("default", "basic", "percentile", "bca"):
    option = {} if method == "default" else {"method": method}
    interval = IIDBootstrap(right, seed=0).conf_int(lambda rows: np.array([rows.mean()]), 2000, **option)
    ends[method] = [round(float(end), 3) for end in interval.ravel()]
    print("accuracy 0.97,", method, ends[method])
sys.exit(ends["default"] != ends["basic"] or not ends["default"][1] > 1.0 or not ends["percentile"][1] <= 1.0
         or not ends["percentile"][0] < 0.935 < ends["default"][0])
END
