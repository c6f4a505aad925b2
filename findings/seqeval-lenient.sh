#!/bin/sh
# One would guess: f1_score of seqeval counts an entity as found if it is tagged as IOB2 has it, so a model that never learned to begin one (B-) is
# far from perfect.
# In fact tags are read leniently, unless mode="strict" and a scheme are given: I- begins an entity too. A model
# whose tags are all I- has an F1 of 1.0, where the strict one is 0.0, as long as no two entities of a type touch; where two do, it loses
# both.
# Version: seqeval 1.2.2. Source: seqeval/metrics/sequence_labeling.py, start_of_chunk, and v1.py for the strict mode.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile seqeval==1.2.2 numpy==2.4.6 scikit-learn==1.9.1
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2
print("seqeval", version("seqeval"))
seen = []
for truth, tags in (("B-PER I-PER O B-LOC O", "I-PER I-PER O I-LOC O"), ("B-PER B-PER O O O", "I-PER I-PER O O O")):
    truth, tags = [truth.split()], [tags.split()]
    seen.append([float(f1_score(truth, tags)), float(f1_score(truth, tags, mode="strict", scheme=IOB2, zero_division=0))])
    print(*truth[0], "tagged as", *tags[0], "F1", seen[-1][0], "strict", seen[-1][1])
sys.exit(seen != [[1.0, 0.0], [0.0, 0.0]])
END
