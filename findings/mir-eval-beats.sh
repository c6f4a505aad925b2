#!/bin/sh
# One would guess: mir_eval.beat.evaluate(), which runs all metrics for beats, has under "F-measure" what mir_eval.beat.f_measure() returns for the
# same two lists.
# In fact evaluate() first drops every beat of the first five seconds from both lists, and f_measure() drops none: a tracker that is wrong until it
# has found the tempo has 0.513 by one and 1.0 by the other. Of a clip of four seconds nothing is left, and perfect beats have 0.0 from evaluate(),
# with a warning about empty annotations. Two papers that say "F-measure of mir_eval" may differ in this alone.
# Version: mir_eval 0.8.2. Source: mir_eval/beat.py, evaluate, which calls trim_beats.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check mir_eval==0.8.2 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import numpy as np
from mir_eval import beat
print("mir_eval", version("mir_eval"))
true = np.arange(0.5, 10, 0.5)
late = np.concatenate([np.arange(0.25, 5, 0.5), true[true >= 5]])
short = true[true < 4]
values = []
for name, reference, estimate in (("wrong for five seconds", true, late), ("perfect, four seconds long", short, short)):
    values += [round(float(beat.f_measure(reference, estimate)), 3), round(float(beat.evaluate(reference, estimate)["F-measure"]), 3)]
    print(name + ": f_measure", values[-2], "evaluate", values[-1])
sys.exit(values != [0.513, 1.0, 1.0, 0.0])
END
