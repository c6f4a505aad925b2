#!/bin/sh
# One would guess: ROUGE-1 of the package rouge counts each occurrence of a word, as the paper and rouge-score do, so that an answer
# that repeats one word of the reference has little precision.
# In fact it compares sets of words, unless Rouge(exclusive=False) is asked for: "the" six times has precision 1.0 (rouge-score: 0.333), and a
# right answer with "the" appended five times still has F1 1.0 (0.706). ROUGE-L is computed from sets, too. A model that loops
# loses nothing, and as a reward it teaches to loop.
# Version: rouge 1.0.1, rouge-score 0.1.2. Source: rouge/rouge_score.py, Ngrams; rouge_score/rouge_scorer.py.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check rouge==1.0.1 rouge-score==0.1.2
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
from importlib.metadata import version
from rouge import Rouge
from rouge_score import rouge_scorer

print("rouge", version("rouge"), "rouge-score", version("rouge-score"))
reference = "the cat sat on the mat"
other = rouge_scorer.RougeScorer(["rouge1", "rougeL"])
seen = []
for answer in ("the the the the the the", reference + " the" * 5):
    of_rouge, of_other = Rouge().get_scores(answer, reference)[0], other.score(reference, answer)
    seen += [round(of_rouge["rouge-1"]["p"], 3), round(of_other["rouge1"].precision, 3), round(of_rouge["rouge-1"]["f"], 3),
             round(of_other["rouge1"].fmeasure, 3), round(of_rouge["rouge-l"]["f"], 3), round(of_other["rougeL"].fmeasure, 3)]
    print("%r: precision %s, rouge-score %s; F1 %s, rouge-score %s; ROUGE-L %s, rouge-score %s" % (answer, *seen[-6:]))
sys.exit(seen != [1.0, 0.333, 0.333, 0.333, 0.333, 0.333, 1.0, 0.545, 1.0, 0.706, 1.0, 0.706])
END
