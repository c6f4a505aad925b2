#!/bin/sh
# One would guess: the questions of reasoning-gym for seed=43 are others than those for seed=42, so that one seed makes the training set, the
# next one the test set, and runs with seeds 0, 1 and 2 are independent of each other.
# In fact question i of a data set is drawn from a generator with the seed seed + i, so the data set of the next seed is the same one, shifted by
# one: 99 of 100 questions of a test set with seed 43 are in the training set with seed 42, and a model that learnt them by heart
# seems to reason. Seeds must lie further apart than the data set is long.
# Version: reasoning-gym 0.1.25. Source: reasoning_gym/arithmetic/leg_counting.py, __getitem__, and likewise in about a hundred others.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check reasoning-gym==0.1.25
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
from importlib.metadata import version
import reasoning_gym
print("reasoning-gym", version("reasoning-gym"))


def questions(name, seed):
    return [entry["question"] for entry in reasoning_gym.create_dataset(name, seed=seed, size=100)]


seen = {}
for name in ("leg_counting", "simple_equations", "basic_arithmetic"):
    train = set(questions(name, 42))
    seen[name] = [sum(question in train for question in questions(name, seed)) for seed in (43, 1042)]
    print(name, "- questions of seed 42 among 100 of seed 43 and of seed 1042:", *seen[name])
sys.exit(any(shared != [99, 0] for shared in seen.values()))
END
