#!/bin/sh
# One would guess: a model of LightGBM that was trained on a DataFrame finds the columns of the test DataFrame by their names, or refuses another order,
# as XGBoost does.
# In fact predict() takes the columns by position, though the model knows their names: a test table with the columns b and a has an accuracy of
# 0.53 where the same rows with a and b have 1.0. No warning. A number like this is taken for a bad model, not for a column that moved.
# predict(.., validate_features=True) refuses it.
# Version: lightgbm 4.7.0, xgboost 3.2.0 (PyPI: xgboost-cpu), pandas 3.1.1. Source: lightgbm/basic.py, Booster.predict, validate_features=False.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile lightgbm==4.7.0 xgboost-cpu==3.2.0 pandas==3.1.1 numpy==2.4.6 scikit-learn==1.9.1
"$dir/venv/bin/python" - <<'END'
import sys
import lightgbm
import numpy
import pandas
import xgboost
print("lightgbm", lightgbm.__version__, "xgboost", xgboost.__version__, "pandas", pandas.__version__)
draw = numpy.random.default_rng(0)
rows = pandas.DataFrame({"a": draw.normal(size=400), "b": draw.normal(size=400)})
label = (rows.a > 0).astype(int)
moved = rows[["b", "a"]]
model = lightgbm.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(rows, label)
seen = [round(float((model.predict(table) == label).mean()), 2) for table in (rows, moved)]
print("LightGBM knows the names", model.feature_name_, "and has an accuracy of", seen[0], "with them,", seen[1], "with", list(moved))


def refusal(call):
    try:
        call()
        return ""
    except (ValueError, lightgbm.basic.LightGBMError) as error:
        return str(error).splitlines()[0]


other = xgboost.XGBClassifier(n_estimators=20, n_jobs=1).fit(rows, label)
refused = refusal(lambda: other.predict(moved)), refusal(lambda: model.predict(moved, validate_features=True))
print("XGBoost:", refused[0])
print("LightGBM with validate_features=True:", refused[1])
sys.exit(not (seen[0] == 1.0 and 0.4 < seen[1] < 0.6 and all(refused)))
END
