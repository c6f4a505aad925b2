#!/bin/sh
# One would guess: CMAEvolutionStrategy with {"seed": 0} gives the same search each time, as it does with {"seed": 1}, and as seed 0 does
# in NumPy, PyTorch, Optuna and nearly everything else.
# In fact 0 counts as "no seed": a new one is drawn from the clock, without a warning. A study over seeds 0 to 4 has one member that nobody can
# repeat. Each search also calls numpy.random.seed, whatever its seed is, and so resets the random numbers of the program around it.
# Version: cma 4.5.0. Source: cma/evolution_strategy.py, "if not opts['seed']".
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check cma==4.5.0
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
import cma
import numpy


def first(seed):
    search = cma.CMAEvolutionStrategy([1.0, 1.0], 0.5, {"seed": seed, "verbose": -9})
    return search.ask()[0].tolist(), search.opts["seed"]


print("cma", cma.__version__)
same = [first(seed) == first(seed) for seed in (0, 1)]
print("two searches with seed 0 are equal:", same[0], "; seed that was used:", first(0)[1])
print("two searches with seed 1 are equal:", same[1])
numpy.random.seed(7)
plain = numpy.random.rand()
numpy.random.seed(7)
first(1)
print("numpy.random after a search is as without it:", numpy.random.rand() == plain)
numpy.random.seed(7)
first(1)
sys.exit(same != [False, True] or numpy.random.rand() == plain)
END
