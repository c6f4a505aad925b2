#!/bin/sh
# One would guess: the word error rate of a clip without speech, whose reference is empty, is refused, or is 1.0 if anything was recognised in it.
# In fact it is the number of words: ten words that a model imagined in silence have an error rate of 10.0. A mean over the clips, of
# which nine of ten are right word for word, is 1.0, as if nothing had been recognised; the rate of all clips together is 0.111.
# Version: jiwer 4.0.0. Source: jiwer/process.py, process_words.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile jiwer==4.0.0
"$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from jiwer import wer
print("jiwer", version("jiwer"))
said = "one two three four five six seven eight nine ten"
references, texts = [said] * 9 + [""], [said] * 10
rates = [wer(reference, text) for reference, text in zip(references, texts)]
print("the silent clip", rates[-1], "mean of the clips", sum(rates) / 10, "all together", round(wer(references, texts), 3))
sys.exit([rates[-1], sum(rates) / 10, round(wer(references, texts), 3), wer("", "")] != [10, 1.0, 0.111, 0])
END
