#!/bin/sh
# One would guess: NDCG is normalised so that the best possible ranking of a user's test items has 1.0, which is what the N
# means.
# In fact NDCG of RecTools divides by the gain of k relevant items, also for a user who has fewer: one test item, recommended first, has an
# NDCG@10 of 0.220, beside a MAP and an MRR of 1.0. With leave-one-out, the usual split, no model exceeds 0.220, and numbers from papers look out
# of reach; NDCG@5 of the same list is higher, 0.339. NDCG(k=10, divide_by_achievable=True) is the usual one.
# Version: rectools 0.19.0. Source: rectools/metrics/ranking.py, NDCG, idcg = discounted_gains.sum().
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile rectools==0.19.0
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import pandas as pd
from rectools import Columns
from rectools.metrics import MAP, MRR, NDCG
print("rectools", version("rectools"))
recommended = pd.DataFrame({Columns.User: 1, Columns.Item: range(10), Columns.Rank: range(1, 11)})
tested = pd.DataFrame({Columns.User: [1], Columns.Item: [0]})
metrics = {"NDCG@10": NDCG(k=10), "NDCG@5": NDCG(k=5), "NDCG@10 divide_by_achievable": NDCG(k=10, divide_by_achievable=True),
           "MAP@10": MAP(k=10), "MRR@10": MRR(k=10)}
values = {name: round(float(metric.calc(recommended, tested)), 3) for name, metric in metrics.items()}
for name, value in values.items():
    print(name, value)
sys.exit(list(values.values()) != [0.22, 0.339, 1.0, 1.0, 1.0])
END
