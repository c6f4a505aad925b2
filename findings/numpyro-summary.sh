#!/bin/sh
# One would guess: the columns 5.0% and 95.0% of print_summary() are quantiles of the samples, as the columns of these names are in Stan's
# summary, in R's quantile() and in pandas' describe().
# In fact they are the ends of the narrowest interval that holds 90 % of the samples (HPDI). For a skewed variable, as a scale is, both are
# others: of an exponential one 0.0 and 2.29, where the quantiles are 0.05 and 2.99. summary() has the same keys; Pyro's summary does it, too.
# A script that compares runs of Stan and numpyro by these columns compares two things.
# Version: numpyro 0.22.0 with jax 0.10.2. Source: numpyro/diagnostics.py, summary, which calls hpdi.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check numpyro==0.22.0 jax==0.10.2 numpy==2.4.6
JAX_PLATFORMS=cpu "$dir/venv/bin/python" -W ignore - <<'END'
import sys
import numpy as np
import numpyro
from numpyro.diagnostics import hpdi, print_summary, summary
print("numpyro", numpyro.__version__)
samples = np.random.default_rng(0).exponential(size=(1, 20000))
print_summary({"scale": samples})
row = summary({"scale": samples}, prob=0.9)["scale"]
quantiles, narrowest = np.quantile(samples, [0.05, 0.95]), hpdi(samples[0], 0.9)
print("quantiles", *quantiles.round(2), "narrowest interval", *narrowest.round(2))
ends = np.array([row["5.0%"], row["95.0%"]])
sys.exit(not (np.allclose(ends, narrowest) and abs(ends[1] - quantiles[1]) > 0.5 and ends[0] < quantiles[0] / 10))
END
