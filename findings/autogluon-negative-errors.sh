#!/bin/sh
# One would guess: {"root_mean_squared_error": ..} of TabularPredictor.evaluate() is the error, a number that is not negative, so that less is
# better; its name has no neg_ in front, as scikit-learn's scorers have for that reason.
# In fact each error is negative, and more is better: -0.2995, also mean_squared_error, mean_absolute_error, and score_val and score_test of
# the leaderboard, whose column eval_metric says root_mean_squared_error. A search that minimises the metric of that name picks the worst
# model, and a comparison with another library's error is won by AutoGluon each time.
# Version: autogluon.tabular 1.6.3. Source: autogluon/core/metrics, Scorer: the sign is that of greater_is_better.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check 'autogluon.tabular[lightgbm]==1.6.3'
cd "$dir"
OPENBLAS_NUM_THREADS=1 venv/bin/python -W ignore - 2>err <<'END' || { cat err; exit 1; }
import sys
from importlib.metadata import version
import numpy as np
import pandas as pd
from autogluon.tabular import TabularPredictor
print("autogluon.tabular", version("autogluon.tabular"))
x = np.random.default_rng(0).normal(size=(300, 2))
data = pd.DataFrame(x, columns=["a", "b"])
data["y"] = data.a + 0.1 * data.b
model = TabularPredictor("y", path="models", verbosity=0).fit(data[:200], hyperparameters={"GBM": {}}, fit_weighted_ensemble=False)
error = float(model.evaluate(data[200:])["root_mean_squared_error"])
own = float(np.sqrt(np.mean((model.predict(data[200:]) - data.y[200:]) ** 2)))
board = model.leaderboard(data[200:], silent=True)
print(f"root_mean_squared_error {error:.4f}, computed by hand {own:.4f}; leaderboard: {board.eval_metric[0]} {board.score_test[0]:.4f}")
sys.exit(not (error < 0 and abs(error + own) < 1e-6 and abs(board.score_test[0] - error) < 1e-6))
END
