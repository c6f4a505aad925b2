#!/bin/sh
# One would guess: early stopping of xgboost.train with a custom metric minimises it unless maximize=True is given, as the page of train()
# suggests (that of EarlyStopping says only auto), or knows the names of its own metrics, auc, aucpr, pre, map and ndcg.
# In fact every name that begins with these letters is maximised: an error called precision_error, prediction_loss, mapping_loss or auc_gap is best
# in the first round, so the training stops after a few rounds and best_iteration is 0. The same numbers called loss train on to the last round. Only
# mape is named as an exception.
# Version: xgboost 3.2.0 (PyPI: xgboost-cpu). Source: xgboost/callback.py, EarlyStopping._update_rounds, metric.startswith(x) for x in
# maximize_metrics.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile xgboost-cpu==3.2.0 numpy==2.4.6
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
import numpy
import xgboost
print("xgboost", xgboost.__version__)
draw = numpy.random.default_rng(0)
x = draw.normal(size=(200, 1))
data = xgboost.DMatrix(x, x[:, 0] + draw.normal(size=200) * 0.1)


def best(name):
    def metric(said, rows):
        return name, float(numpy.mean((said - rows.get_label()) ** 2))

    model = xgboost.train({"nthread": 1}, data, 30, evals=[(data, "rows")], custom_metric=metric, early_stopping_rounds=3, verbose_eval=False)
    print(name, "best iteration", model.best_iteration, "of", model.num_boosted_rounds(), "error", round(model.best_score, 3))
    return model.best_iteration, model.num_boosted_rounds()


seen = [best(name) for name in ("loss", "precision_error", "prediction_loss", "mapping_loss", "auc_gap")]
sys.exit(seen[0][0] < 20 or any(pair != (0, 4) for pair in seen[1:]))
END
