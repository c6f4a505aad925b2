#!/bin/sh
# One would guess: the mean absolute percentage error of two forecasts that are 10 % off is 0.1 in each library, as in scikit-learn (and
# in GluonTS), or that those which say per cent all do.
# In fact mape, smape, wmape and marre of Darts are multiplied by 100: 10.0 for the forecast of which scikit-learn says 0.1. A store or a search
# that takes forecasts of both sees a model a hundred times better, and a threshold such as 0.2 means 20 % in one and 0.2 % in the other.
# Version: darts 0.48.1, scikit-learn 1.9.1. Source: darts/metrics/metrics.py, ape: 100.0 * np.abs(..).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check darts==0.48.1 scikit-learn==1.9.1
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import numpy as np
from darts import TimeSeries, metrics
from sklearn.metrics import mean_absolute_percentage_error
print("darts", version("darts"), "scikit-learn", version("scikit-learn"))
true, forecast = np.array([100.0, 200.0]), np.array([110.0, 180.0])
of_darts = metrics.mape(TimeSeries.from_values(true), TimeSeries.from_values(forecast))
of_sklearn = mean_absolute_percentage_error(true, forecast)
print("darts mape", of_darts, "scikit-learn mean_absolute_percentage_error", of_sklearn)
sys.exit(abs(of_darts - 10.0) > 1e-9 or abs(of_sklearn - 0.1) > 1e-9)
END
