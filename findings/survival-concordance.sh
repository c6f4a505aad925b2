#!/bin/sh
# One would guess: the concordance index of two libraries for survival analysis is the same number for the same predictions.
# In fact concordance_index of lifelines takes predicted times, where more means that the event comes later, and scikit-survival's
# concordance_index_censored takes risks, where more means sooner. Both accept any numbers: perfect risks have 1.0 in one and 0.0 in
# the other, and a model that scores 0.7 is one that scores 0.3. What Cox models predict is a risk, also in lifelines, whose own function then
# needs a minus sign. A search that maximises the wrong one ends with the worst model.
# Version: lifelines 0.30.3, scikit-survival 0.28.0. Source: lifelines/utils/concordance.py, sksurv/metrics.py.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check lifelines==0.30.3 scikit-survival==0.28.0
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
import lifelines
import numpy
import sksurv
from lifelines.utils import concordance_index
from sksurv.metrics import concordance_index_censored
time, risk, died = numpy.arange(1.0, 6.0), numpy.arange(5.0, 0.0, -1.0), numpy.ones(5, dtype=bool)
values = [concordance_index(time, risk, died), concordance_index_censored(died, time, risk)[0]]
print("lifelines", lifelines.__version__, values[0], "; scikit-survival", sksurv.__version__, values[1])
sys.exit(values != [0.0, 1.0])
END
