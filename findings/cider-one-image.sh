#!/bin/sh
# One would guess: CIDEr of a caption that equals its reference is the greatest value there is, and that of one caption does not depend on which
# other captions are scored with it.
# In fact the words are weighted by how rare they are among the references of the same call. Of one image none is rare, all weights are log(1) =
# 0, and a perfect caption has 0.0; with a second image it has 7.5 or 10.0, and the mean is 8.75. So a reward that is computed for each sample
# alone is 0.0 forever, the score of a subset is not that of its rows in the whole, and runs over other numbers of images cannot be compared.
# Version: pycocoevalcap 1.2. Source: pycocoevalcap/cider/cider_scorer.py, counts2vec and compute_score, ref_len and document_frequency.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-deps pycocoevalcap==1.2
"$dir/venv/bin/python" - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from pycocoevalcap.cider.cider import Cider
print("pycocoevalcap", version("pycocoevalcap"))
captions = {0: ["a cat sits on the mat"], 1: ["two dogs run"]}
values = []
for images in ([0], [0, 1]):
    perfect = {image: captions[image] for image in images}
    mean, each = Cider().compute_score(perfect, perfect)
    values.append([round(float(mean), 4)] + [round(float(value), 4) for value in each])
    print(len(images), "perfect captions: CIDEr", values[-1][0], "each", values[-1][1:])
sys.exit(values != [[0.0, 0.0], [8.75, 10.0, 7.5]])
END
