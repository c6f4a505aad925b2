#!/bin/sh
# One would guess: the only document that holds the word of a query has a score above 0 in BM25, and one without the word has less; a small corpus,
# as a unit test or an agent's memory of a few notes has it, is ranked like a large one.
# In fact BM25Okapi of rank_bm25 uses the weight of the original formula, log((N - n + 0.5) / (n + 0.5)), which is 0 for a word in half of the
# documents: both of two documents have 0.0, and the order is that of the list. A word in more than half of them gets a quarter of the mean weight,
# which is 0.0 as well with the three documents here. BM25Plus of the same package puts the documents with the word first.
# Version: rank-bm25 0.2.2. Source: rank_bm25.py, BM25Okapi._calc_idf.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check rank-bm25==0.2.2 numpy==2.4.6
"$dir/venv/bin/python" - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from rank_bm25 import BM25Okapi, BM25Plus
print("rank-bm25", version("rank-bm25"))
two = [["cat", "sits"], ["dog", "runs"]]
three = [["cat", "sits"], ["cat", "runs"], ["dog", "runs"]]
values = []
for corpus in (two, three):
    for method in (BM25Okapi, BM25Plus):
        values.append([round(float(score), 3) for score in method(corpus).get_scores(["cat"])])
        print(len(corpus), "documents,", method.__name__, values[-1])
sys.exit(values[0] != [0.0, 0.0] or values[2] != [0.0, 0.0, 0.0] or not values[1][0] > values[1][1] or not values[3][0] > values[3][2])
END
