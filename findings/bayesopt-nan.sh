#!/bin/sh
# One would guess: a setting whose value is nan, such as a training that diverged, is never the best of a search, as in Optuna and
# hyperopt; or that the search refuses the value when it is registered.
# In fact optimizer.max of bayesian-optimization is the point that was nan, whatever the others are, as soon as there is one; and the value is
# kept until the next suggestion of the Gaussian process, which raises ValueError: "Input y contains NaN". A search with more random points than
# budget ends well and reports the setting that diverged as its best.
# Version: bayesian-optimization 3.4.0. Source: bayes_opt/target_space.py, max, which asks numpy's max.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check bayesian-optimization==3.4.0 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - <<'END'
import importlib.metadata, math, sys
from bayes_opt import BayesianOptimization
print("bayesian-optimization", importlib.metadata.version("bayesian-optimization"))
calls = []


def score(x):
    calls.append(x)
    return math.nan if len(calls) == 2 else -(x - 1) ** 2


search = BayesianOptimization(score, {"x": (-2, 2)}, random_state=1, verbose=0)
search.maximize(init_points=4, n_iter=0)
print("targets", *(round(float(result["target"]), 3) for result in search.res))
print("max", search.max)
try:
    search.maximize(init_points=0, n_iter=1)
    raised = ""
except ValueError as error:
    raised = str(error).splitlines()[0]
print("next suggestion:", raised or "no error")
sys.exit(not (math.isnan(search.max["target"]) and "NaN" in raised))
END
