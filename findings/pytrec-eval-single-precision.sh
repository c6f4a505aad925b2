#!/bin/sh
# One would guess: pytrec_eval ranks the documents of a query by the scores in the dictionary, floats of Python, and keeps the order given for
# ties, if any.
# In fact scores are kept in single precision, as in trec_eval, so two that differ after the seventh digit are a tie, and among ties the document
# whose name is last in the alphabet is first. 0.900000002 before 0.900000001 is turned round: precision at 1 is 0.0 instead of 1.0.
# Probabilities of a confident reranker all lie that close to 1, and what is then measured is the order of the names.
# Version: pytrec-eval-terrier 0.5.11. Source: trec_eval, trec_format.h, TEXT_RESULTS.sim, and form_res_rels.c, comp_sim_docno.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check pytrec-eval-terrier==0.5.11 numpy==2.4.6
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
from importlib.metadata import version
import pytrec_eval

print("pytrec-eval-terrier", version("pytrec-eval-terrier"))
evaluator = pytrec_eval.RelevanceEvaluator({"question": {"doc1": 1, "doc2": 0}}, {"P_1", "recip_rank"})
seen = []
for right, wrong in ((0.9002, 0.9001), (0.900000002, 0.900000001), (0.99999999, 0.99999998), (-0.900000001, -0.900000002)):
    values = evaluator.evaluate({"question": {"doc1": right, "doc2": wrong}})["question"]
    seen.append((values["P_1"], values["recip_rank"]))
    print("relevant %.9f, other %.9f: precision at 1 %.1f, reciprocal rank %.1f" % (right, wrong, *seen[-1]))
sys.exit(seen != [(1.0, 1.0), (0.0, 0.5), (0.0, 0.5), (0.0, 0.5)])
END
