#!/bin/sh
# One would guess: sMAPE goes from 0 to 2 (or 200 %), as the competition M4 defined it: twice the error over |y| + |forecast|. The libraries
# around Nixtla's are compared with its figures.
# In fact smape of utilsforecast, which evaluates statsforecast, mlforecast and neuralforecast, leaves the factor 2 out and ends at 1. For the
# same three forecasts it says 0.2222 and sktime 0.4444, so a model is twice as good in one library as in the other.
# Version: utilsforecast 0.2.17, sktime 1.2.0. Source: utilsforecast/losses.py, smape.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile utilsforecast==0.2.17 sktime==1.2.0
"$dir/venv/bin/python" - <<'END'
import sys
from importlib.metadata import version
import pandas
from sktime.performance_metrics.forecasting import mean_absolute_percentage_error
from utilsforecast.losses import smape

true, forecast = [1.0, 2.0, 4.0], [2.0, 2.0, 2.0]
frame = pandas.DataFrame({"unique_id": ["a"] * 3, "ds": [1, 2, 3], "y": true, "model": forecast})
other = pandas.DataFrame({"unique_id": ["a"], "ds": [1], "y": [3.0], "model": [0.0]})
by_nixtla = float(smape(frame, ["model"])["model"].iloc[0])
by_sktime = float(mean_absolute_percentage_error(true, forecast, symmetric=True))
most = float(smape(other, ["model"])["model"].iloc[0]), float(mean_absolute_percentage_error([3.0], [0.0], symmetric=True))
print("utilsforecast", version("utilsforecast"), "sktime", version("sktime"))
print("sMAPE of three forecasts: utilsforecast %.4f, sktime %.4f" % (by_nixtla, by_sktime))
print("a forecast of 0 for 3:    utilsforecast %.4f, sktime %.4f" % most)
sys.exit(not (abs(2 * by_nixtla - by_sktime) < 1e-12 and most == (1.0, 2.0)))
END
