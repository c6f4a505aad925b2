#!/bin/sh
# One would guess: ROUGE of an answer that equals the reference is 1.0, in every language.
# In fact rouge-score keeps only a to z and digits, so a text in Chinese, Russian, Greek or Arabic has no words, and the score of a perfect
# answer is 0.0; no warning. Only its Latin letters and digits count: a wrong sentence with the right year has 1.0. A letter such as ö ends the
# word, and größe equals gräße. A mean over languages then says how much Latin they have; callers must hand over a tokenizer of their own.
# Version: rouge-score 0.1.2. Source: rouge_score/tokenize.py, NON_ALPHANUM_PATTERN.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check rouge-score==0.1.2
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
from importlib.metadata import version
from rouge_score import rouge_scorer

print("rouge-score", version("rouge-score"))
scorer, seen = rouge_scorer.RougeScorer(["rouge1", "rougeL"]), []
for reference, answer in (("the model is trained", "the model is trained"), ("模型训练完成", "模型训练完成"), ("модель обучена", "модель обучена"),
                          ("модель обучена в 2026", "рецепт супа, 2026"), ("größe", "gräße")):
    scores = scorer.score(reference, answer)
    seen.append((float(scores["rouge1"].fmeasure), float(scores["rougeL"].fmeasure)))
    print("%s / %s: ROUGE-1 %.2f, ROUGE-L %.2f" % (reference, answer, *seen[-1]))
sys.exit(seen != [(1.0, 1.0), (0.0, 0.0), (0.0, 0.0), (1.0, 1.0), (1.0, 1.0)])
END
