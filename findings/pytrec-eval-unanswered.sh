#!/bin/sh
# One would guess: a query for which a retriever finds nothing counts as 0.0 in the mean of its scores, and two packages that compute with the
# same trec_eval agree on the mean.
# In fact pytrec_eval leaves a query that is missing from the run out of its result, and the mean that callers take over the result is one over
# answered queries: a retriever that answers one of two, rightly, has an NDCG of 1.0. ir_measures, which calls pytrec_eval, adds the missing ones
# as 0.0 and has 0.5. BEIR takes the mean over the result, so it has 1.0 as well. A retriever with a threshold, or one that fails on long queries,
# gains by each query that it does not answer; one that returns an empty dictionary for the query, which looks like the same thing, does not.
# Version: pytrec-eval-terrier 0.5.11, ir-measures 0.4.3, beir 2.2.0. Source: pytrec_eval's evaluate loops over the run;
# ir_measures/providers/base.py, Evaluator.iter_calc; beir/retrieval/evaluation.py, EvaluateRetrieval.evaluate, len(scores).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile pytrec-eval-terrier==0.5.11 ir-measures==0.4.3 numpy==2.4.6 tqdm==4.70.1
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-deps beir==2.2.0
"$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import ir_measures, pytrec_eval
from beir.retrieval.evaluation import EvaluateRetrieval
print("pytrec-eval-terrier", version("pytrec-eval-terrier"), "ir-measures", version("ir-measures"), "beir", version("beir"))
judged = {"easy": {"a": 1}, "hard": {"b": 1}}
values = []
for name, found in (("missing", {"easy": {"a": 1.0}}), ("empty", {"easy": {"a": 1.0}, "hard": {}})):
    scores = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(found)
    values.append([sum(score["ndcg_cut_10"] for score in scores.values()) / len(scores),
                   EvaluateRetrieval.evaluate(judged, found, [10])[0]["NDCG@10"],
                   ir_measures.calc_aggregate([ir_measures.nDCG @ 10], judged, found)[ir_measures.nDCG @ 10]])
    print(f"the hard query is {name}: pytrec_eval {values[-1][0]} BEIR {values[-1][1]} ir_measures {values[-1][2]}")
sys.exit(values != [[1.0, 1.0, 0.5], [0.5, 0.5, 0.5]])
END
