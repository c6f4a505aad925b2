#!/bin/sh
# One would guess: a document that a query's judgements call relevant and a retriever ranks first counts as a hit in BEIR's evaluation, whatever
# the two are called; ids of queries and of documents are separate, as in trec_eval.
# In fact evaluate() first deletes from the results each document whose id equals that of the query (ignore_identical_ids=True, meant for data sets
# whose queries are documents). Where both are numbered from 0, which many make for their own data, right answers vanish: NDCG@1 of a perfect
# retriever is 0.5 here. The dictionary that the caller passed is changed, too, so a second evaluation without the option has 0.5 again. One line
# at level INFO of the log tells.
# Version: beir 2.2.0, pytrec-eval-terrier 0.5.11. Source: beir/retrieval/evaluation.py, EvaluateRetrieval.evaluate.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check pytrec-eval-terrier==0.5.11 numpy==2.4.6 tqdm==4.70.1
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-deps beir==2.2.0
"$dir/venv/bin/python" - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import copy, sys
from importlib.metadata import version
from beir.retrieval.evaluation import EvaluateRetrieval
print("beir", version("beir"))
judged = {"1": {"1": 1}, "2": {"7": 1}}
found = {"1": {"1": 0.9, "5": 0.5}, "2": {"7": 0.9, "5": 0.1}}
untouched = copy.deepcopy(found)
values = [EvaluateRetrieval.evaluate(judged, found, [1])[0]["NDCG@1"],
          EvaluateRetrieval.evaluate(judged, found, [1], ignore_identical_ids=False)[0]["NDCG@1"],
          EvaluateRetrieval.evaluate(judged, untouched, [1], ignore_identical_ids=False)[0]["NDCG@1"]]
for name, value in zip(("default", "same results again, identical ids counted", "fresh results, identical ids counted"), values):
    print("NDCG@1,", name + ":", value)
print("results after the first call", found)
sys.exit(values != [0.5, 0.5, 1.0] or found["1"] != {"5": 0.5})
END
