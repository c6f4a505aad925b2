#!/bin/sh
# One would guess: documents with equal scores are ranked by ranx as by trec_eval, by their id, or in some other way that does not depend on how the
# run was built.
# In fact they keep the order in which they were put into the run. A retriever that returns one score for everything has an MRR of 1.0 if the relevant
# document was put in first, as in a script that adds the positive passage before the negatives, and 0.333 if last; pytrec_eval has 0.5 for both.
# Version: ranx 0.3.21, pytrec-eval-terrier 0.5.11. Source: ranx/data_structures/run.py, sort.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile ranx==0.3.21 pytrec-eval-terrier==0.5.11 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import pytrec_eval
from ranx import Qrels, Run, evaluate
print("ranx", version("ranx"), "pytrec-eval-terrier", version("pytrec-eval-terrier"))
judged = {"q": {"b": 1}}
seen = []
for order in ("bac", "acb"):
    run = {"q": {document: 0.5 for document in order}}
    trec = pytrec_eval.RelevanceEvaluator(judged, {"recip_rank"}).evaluate(run)["q"]["recip_rank"]
    seen.append([round(float(evaluate(Qrels(judged), Run(run), "mrr")), 3), trec])
    print("put in as", *order, "with equal scores, b is relevant: MRR of ranx", seen[-1][0], "of pytrec_eval", seen[-1][1])
sys.exit(seen != [[1.0, 0.5], [0.333, 0.5]])
END
