#!/bin/sh
# One would guess: score_answer of a reasoning-gym task whose answer is a number returns 1.0 for this number and 0.0, or next to nothing, for
# another number.
# In fact the score of an answer that merely holds the right digits is their share of its length: if 286 is right, 1286, 2860 and -286
# have 0.75 each, and 285 has 0.0. The right number in a sentence has 0.3 and less, so it is worth less than a wrong number. As a reward this
# teaches to add digits, and a mean score of 0.5 may be that of a model that is never right. Other tasks of the same package give 0.01.
# Version: reasoning-gym 0.1.25. Source: reasoning_gym/dataset.py, ProceduralDataset.score_answer, which leg_counting, chain_sum and others keep.
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
data = reasoning_gym.create_dataset("leg_counting", seed=42, size=3)
entry = data[2]
right = entry["answer"]
scores = {said: data.score_answer(said, entry) for said in (right, "1" + right, right + "0", "-" + right, "285", f"Final: {right}")}
print("right is", right, "- scores:", scores)
sys.exit(list(scores.values()) != [1.0, 0.75, 0.75, 0.75, 0.0, 0.3])
END
