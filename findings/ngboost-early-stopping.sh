#!/bin/sh
# One would guess: after fit(.., X_val, Y_val) with early_stopping_rounds, NGBoost predicts with the iterations up to the best one, as the
# models of XGBoost, LightGBM, CatBoost and Keras's restore_best_weights do; or that max_iter=model.best_val_loss_itr does so.
# In fact predict and pred_dist use every iteration, those after the best one, too: the loss on the very validation set that stopped it is 3.34 to 3.36, which
# differs from run to run, where the best was 1.55. And best_val_loss_itr counts from 0 while max_iter is a number of iterations, so the best one is
# max_iter=best_val_loss_itr + 1; without the 1 it is 1.57.
# Version: ngboost 0.5.11 with scikit-learn 1.9.1. Source: ngboost/ngboost.py, partial_fit and pred_param.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check ngboost==0.5.11 scikit-learn==1.9.1 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - <<'END'
import importlib.metadata, sys
import numpy as np
from ngboost import NGBRegressor
print("ngboost", importlib.metadata.version("ngboost"))
random = np.random.RandomState(0)
x, noise, x_val, noise_val = (random.normal(size=shape) for shape in ((60, 3), 60, (60, 3), 60))
y, y_val = x[:, 0] + noise, x_val[:, 0] + noise_val
model = NGBRegressor(n_estimators=400, learning_rate=0.1, verbose=False, random_state=1, early_stopping_rounds=20)
model.fit(x, y, X_val=x_val, Y_val=y_val)


def loss(iterations):
    return -model.pred_dist(x_val, max_iter=iterations).logpdf(y_val).mean()


curve, best = model.evals_result["val"]["LOGSCORE"], model.best_val_loss_itr
print(f"stopped after {len(curve)} iterations; best_val_loss_itr {best}, least validation loss {min(curve):.4f}")
print(f"loss of its predictions on the same rows {loss(None):.4f}, with max_iter={best} {loss(best):.4f}, with max_iter={best + 1} {loss(best + 1):.4f}")
sys.exit(not (abs(loss(best + 1) - min(curve)) < 1e-9 and loss(None) > min(curve) + 0.5 and loss(best) > min(curve) + 0.001))
END
