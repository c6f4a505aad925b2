#!/bin/sh
# One would guess: hp.quniform("batch", 1, 100, 64) of hyperopt draws whole steps between its two bounds, or none outside of them, as
# uniform(1, 100) and randint do.
# In fact the draw is rounded to the nearest multiple of q and not cut back to the bounds: 0, 64 and 128 come out, so a search asks for a batch
# of 0, for 128 where the memory was known to hold 100, or for dropout 1.0 from quniform(0.1, 0.9, 0.25). qloguniform(log 1, log 100, 32) also
# gives 0. The steps are not counted from the lower bound either: quniform(2, 7, 4) never gives 2, but gives 8.
# Version: hyperopt 0.3.0. Source: hyperopt/pyll/stochastic.py, quniform and qloguniform.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check hyperopt==0.3.0 numpy==2.4.6 setuptools==80.9.0
"$dir/venv/bin/python" -W ignore - <<'END'
import math, sys
from importlib.metadata import version
import numpy
from hyperopt import fmin, hp, rand

print("hyperopt", version("hyperopt"))


def drawn(space):
    tried = []
    fmin(lambda x: tried.append(float(x)) or 0.0, space, algo=rand.suggest, max_evals=150, rstate=numpy.random.default_rng(0),
         show_progressbar=False, verbose=False)
    return sorted(set(tried))


seen = [drawn(hp.quniform("x", *given)) for given in ((1, 100, 64), (0.1, 0.9, 0.25), (2, 7, 4))]
seen.append(drawn(hp.qloguniform("x", math.log(1), math.log(100), 32)))
for name, values in zip(("quniform(1, 100, 64)", "quniform(0.1, 0.9, 0.25)", "quniform(2, 7, 4)", "qloguniform(log 1, log 100, 32)"), seen):
    print(name, values)
sys.exit(seen != [[0.0, 64.0, 128.0], [0.0, 0.25, 0.5, 0.75, 1.0], [4.0, 8.0], [0.0, 32.0, 64.0, 96.0]])
END
