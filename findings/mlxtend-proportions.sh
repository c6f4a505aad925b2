#!/bin/sh
# One would guess: the p-value that mlxtend.evaluate.proportion_difference returns for the accuracies of two models is that of the usual test of two
# proportions, small if they differ, and the same whichever model is named first.
# In fact it is the share of the normal distribution below z: with the better model first, 0.90 to 0.85 of 200 has p = 0.935 where the test of
# statsmodels has 0.131, and 0.90 to 0.70 has p = 1.0, which is a difference beyond doubt that reads as none. With the worse model first
# it is one-sided, half of the usual value: 0.84 to 0.90 has 0.037, where the test has 0.074.
# Version: mlxtend 0.25.0, statsmodels 0.15.0. Source: mlxtend/evaluate/proportion_difference.py, p = scipy.stats.norm.cdf(z).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile mlxtend==0.25.0 statsmodels==0.15.0 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - <<'END'
import sys
from importlib.metadata import version
from mlxtend.evaluate import proportion_difference
from statsmodels.stats.proportion import proportions_ztest
print("mlxtend", version("mlxtend"), "statsmodels", version("statsmodels"))
seen = []
for one, other in ((0.90, 0.85), (0.90, 0.70), (0.70, 0.90), (0.84, 0.90)):
    p = proportion_difference(one, other, n_1=200, n_2=200)[1]
    usual = proportions_ztest([round(one * 200), round(other * 200)], [200, 200])[1]
    seen.append((round(float(p), 3), round(float(usual), 3)))
    print(one, "and", other, "of 200: mlxtend p =", seen[-1][0], " statsmodels p =", seen[-1][1])
sys.exit(seen != [(0.935, 0.131), (1.0, 0.0), (0.0, 0.0), (0.037, 0.074)])
END
