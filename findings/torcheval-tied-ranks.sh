#!/bin/sh
# One would guess: a model that gives every item the same score has a low reciprocal rank and a low hit rate, of about 1/n or the mean over the
# possible orders, as metrics for rankings have it, so that a collapsed model is seen.
# In fact reciprocal_rank and hit_rate of TorchEval count the items with a higher score than the right one, so all of 1000 equal scores have rank 1:
# both metrics are 1.0, better than each trained model's. Scores that saturate, or that bfloat16 makes equal, gain in the same way: of 0.9 and
# 1.0 for 500 items each, an item with 1.0 has rank 1. sklearn's label_ranking_average_precision_score has 0.001 for the equal ones.
# Version: torcheval 0.0.7. Source: torcheval/metrics/functional/ranking/reciprocal_rank.py and hit_rate.py, torch.gt(input, y_score).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile torcheval==0.0.7 torch==2.15.0 numpy==2.4.6 scikit-learn==1.9.1
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import numpy as np
import torch
from sklearn.metrics import label_ranking_average_precision_score
from torcheval.metrics.functional import hit_rate, reciprocal_rank
print("torcheval", version("torcheval"))
seen = []
target = torch.tensor([999])
for name, scores in (("equal", torch.full((1, 1000), 0.5)), ("two values", torch.tensor([[0.9] * 500 + [1.0] * 500])),
                     ("the right one last", torch.linspace(1, 0, 1000)[None])):
    usual = label_ranking_average_precision_score(np.eye(1000)[[999]], scores.numpy())
    seen.append([round(float(reciprocal_rank(scores, target)), 3), float(hit_rate(scores, target, k=1)), round(float(usual), 3)])
    print(name, "reciprocal rank", seen[-1][0], "hit rate at 1", seen[-1][1], "scikit-learn", seen[-1][2])
sys.exit(seen != [[1.0, 1.0, 0.001], [1.0, 1.0, 0.002], [0.001, 0.0, 0.001]])
END
