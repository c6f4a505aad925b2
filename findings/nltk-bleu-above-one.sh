#!/bin/sh
# One would guess: BLEU is between 0 and 1 with each way of smoothing, and a sentence that equals its reference has 1.
# In fact method5 of NLTK's SmoothingFunction, which averages the precision of each length with those beside it, takes one above 1 for the
# first: an equal sentence of six words has a BLEU of 1.117, and one whose last word is wrong 0.849, where BLEU without smoothing has 0.760. A score
# above 1 in a table need not be a slip, and a gain of a few points over a published number may come from the smoothing.
# Version: nltk 3.10.4. Source: nltk/translate/bleu_score.py, SmoothingFunction.method5, m[-1] = p_n[0] + 1.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile nltk==3.10.4
"$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
print("nltk", version("nltk"))
reference = "the cat sat on the mat".split()
seen = []
for text in ("the cat sat on the mat", "the cat sat on the rug"):
    for method in ("method0", "method1", "method5"):
        score = sentence_bleu([reference], text.split(), smoothing_function=getattr(SmoothingFunction(), method))
        print(text, "|", method, round(score, 3))
        seen.append(round(score, 3))
sys.exit(seen != [1.0, 1.0, 1.117, 0.76, 0.76, 0.849])
END
