#!/bin/sh
# One would guess: NumericDiff of autoevals, and JSONDiff, which uses it for each number, give a wrong number little or nothing, in proportion to how far
# it is from the expected one.
# In fact the error is divided by the sum of both: twice the expected number has 0.667, ten times as much still 0.182, and as a class, year or
# count, 7 for 8 has 0.933 and 2025 for 2026 nearly 1. An answer with each number doubled passes a threshold of 0.6, and a model that learns
# the right answers only moves by the last third of the scale. The same number as a text has 0.333 in JSONDiff, less than a wrong number.
# Version: autoevals 0.4.1. Source: autoevals/number.py, NumericDiff.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile autoevals==0.4.1
"$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from autoevals import JSONDiff, NumericDiff
print("autoevals", version("autoevals"))
seen = []
for output, expected in ((10, 5), (50, 5), (7, 8), (2025, 2026)):
    seen.append(round(NumericDiff()(output, expected).score, 3))
    print("NumericDiff", output, "for", expected, seen[-1])
for output, expected in (({"id": 2}, {"id": 1}), ({"id": "1"}, {"id": 1})):
    seen.append(round(JSONDiff()(output, expected).score, 3))
    print("JSONDiff", output, "for", expected, seen[-1])
sys.exit(seen != [0.667, 0.182, 0.933, 1.0, 0.667, 0.333])
END
