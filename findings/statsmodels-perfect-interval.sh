#!/bin/sh
# One would guess: the 95 % interval of a model that solved 10 of 10 tasks reaches below 1, as ten tasks cannot show that none is ever failed.
# In fact proportion_confint of statsmodels, called without a method, returns 1.0 to 1.0, and 0.0 to 0.0 for none of 10: the default is the
# normal approximation, whose width is then 0. Such a model is "significantly better" than one with 9 of 10, which has 0.714 to 1.0.
# method="wilson" has 0.722 to 1.0. binomtest(10, 10).proportion_ci() of SciPy, without a method as well, has 0.692.
# Version: statsmodels 0.15.0. Source: statsmodels/stats/proportion.py, proportion_confint.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile statsmodels==0.15.0 scipy==1.17.1 numpy==2.4.6 pandas==2.3.3
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint
print("statsmodels", version("statsmodels"))
seen = []
for solved, option in ((10, {}), (9, {}), (0, {}), (10, {"method": "wilson"})):
    seen.append([round(float(end), 3) for end in proportion_confint(solved, 10, **option)])
    print(solved, "of 10", option, seen[-1])
seen.append(round(float(binomtest(10, 10).proportion_ci().low), 3))
print("SciPy's lower end", seen[-1])
sys.exit(seen != [[1.0, 1.0], [0.714, 1.0], [0.0, 0.0], [0.722, 1.0], 0.692])
END
