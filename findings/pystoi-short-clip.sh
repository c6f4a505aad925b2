#!/bin/sh
# One would guess: the short-time intelligibility of a clip against itself is 1, and where a clip is too short to be measured, an error or NaN
# says so, which a mean over clips shows or leaves out.
# In fact a clip of less than 30 frames (384 ms) that are not silent gives 1e-05, the score of speech that nobody understands, also for a
# perfect copy, with a RuntimeWarning that Python prints once for all clips. Commands of one word pull the mean of a test set down, and the
# same model looks worse on the set with shorter clips: 0.5 instead of 1 where half of them are short.
# Version: pystoi 0.4.1, numpy 2.4.6. Source: pystoi/stoi.py, "Not enough STFT frames".
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile pystoi==0.4.1 numpy==2.4.6
"$dir/venv/bin/python" - <<'END'
import sys
import warnings
from importlib.metadata import version
import numpy
from pystoi import stoi

rate = 10000
sound = numpy.random.default_rng(1).standard_normal(rate)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("default")
    scores = [stoi(sound[:n], sound[:n], rate) for n in (rate, rate // 2, 3 * rate // 10, rate // 5)]
print("pystoi", version("pystoi"))
for seconds, score in zip((1, 0.5, 0.3, 0.2), scores):
    print("a clip of %s s against itself: %.5f" % (seconds, score))
print("mean: %.2f; warnings: %d (%s)" % (numpy.mean(scores), len(told), told[0].category.__name__))
sys.exit(not (min(scores[:2]) > 0.999 and scores[2:] == [1e-05, 1e-05] and len(told) == 1))
END
