#!/bin/sh
# One would guess: OpenEvolve, when an evaluator returns {"accuracy": .., "seconds": ..} and no combined_score, takes the first metric, or
# accuracy, or refuses; or that a metric named loss is minimised.
# In fact the fitness is the mean of all numbers that were returned, whatever they are, and more is better: a program with accuracy 0.2 that
# runs for 60 seconds is the best one, ahead of accuracy 0.9 in 10 seconds, and of two losses the greater one wins. An evaluator to which
# somebody adds a count or a time changes what the whole search looks for.
# Version: openevolve 0.4.1. Source: openevolve/utils/metrics_utils.py, get_fitness_score, and ProgramDatabase.get_best_program.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check openevolve==0.4.1
HOME=$dir "$dir/venv/bin/python" -W ignore - <<'END'
import logging, sys
from importlib.metadata import version
from openevolve.config import DatabaseConfig
from openevolve.database import Program, ProgramDatabase
logging.disable(logging.CRITICAL)
print("openevolve", version("openevolve"))


def best(programs):
    database = ProgramDatabase(DatabaseConfig())
    for name, metrics in programs.items():
        database.add(Program(id=name, code=f"name = '{name}'", language="python", metrics=metrics), iteration=1)
    name = database.get_best_program().id
    print("best of", programs, "is", name)
    return name


found = [best({"good": {"accuracy": 0.9, "seconds": 10.0}, "bad": {"accuracy": 0.2, "seconds": 60.0}}),
         best({"good": {"loss": 0.1}, "bad": {"loss": 2.0}})]
sys.exit(found != ["bad", "bad"])
END
