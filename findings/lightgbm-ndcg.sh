#!/bin/sh
# One would guess: the ndcg@3 that LightGBM prints for a validation set is ndcg_score(labels, predictions, k=3) of scikit-learn.
# In fact two things differ. The gain of a label is 2^label - 1 in LightGBM and the label itself in scikit-learn, which shows as soon as labels
# have more than two values; and a query without a relevant row counts as 1.0 in the mean of LightGBM, and as 0.0 in that of scikit-learn. The
# same predictions have 0.844 and 0.695 here. XGBoost's ndcg@3 is as LightGBM's, and ndcg@3- has 0.0 for such queries. A ranking model that
# was tuned with one library wins or loses against one of another by this alone.
# Version: lightgbm 4.7.0, xgboost 3.2.0 (PyPI: xgboost-cpu), scikit-learn 1.9.1. Source: src/metric/rank_metric.hpp and dcg_calculator.cpp of
# LightGBM; sklearn/metrics/_ranking.py, _ndcg_sample_scores.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check lightgbm==4.7.0 xgboost-cpu==3.2.0 scikit-learn==1.9.1 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - <<'END'
import sys
import lightgbm
import numpy as np
import sklearn
import xgboost
from sklearn.metrics import ndcg_score
print("lightgbm", lightgbm.__version__, "xgboost", xgboost.__version__, "scikit-learn", sklearn.__version__)
random = np.random.default_rng(0)
labels = random.integers(0, 4, size=(50, 8))
labels[::5] = 0  # a fifth of the queries has nothing relevant
x = labels.reshape(-1, 1) + 2 * random.normal(size=(400, 1))
rows, logged, other = lightgbm.Dataset(x, labels.ravel(), group=[8] * 50), {}, {}
model = lightgbm.train({"objective": "lambdarank", "metric": "ndcg", "eval_at": [3], "num_leaves": 4, "verbose": -1}, rows, 5,
                       valid_sets=[rows], valid_names=["v"], callbacks=[lightgbm.record_evaluation(logged)])
printed = logged["v"]["ndcg@3"][-1]


def in_order(predictions):  # of equal predictions the first row is in front, so that no tie decides
    return predictions.reshape(50, 8) - np.arange(8) * 1e-7


def sklearn_ndcg(gain, scores):
    return ndcg_score(gain, scores, k=3, ignore_ties=True)


scores, some = in_order(model.predict(x)), labels.any(1)
plain, gain = sklearn_ndcg(labels, scores), sklearn_ndcg(2 ** labels - 1, scores)
explained = 0.2 + 0.8 * sklearn_ndcg(2 ** labels[some] - 1, scores[some])
print(f"ndcg@3 of LightGBM {printed:.6f}, of scikit-learn {plain:.6f}, with 2^label - 1 {gain:.6f}, and 1.0 for empty queries {explained:.6f}")
data = xgboost.DMatrix(x, labels.ravel())
data.set_group([8] * 50)
model = xgboost.train({"objective": "rank:ndcg", "eval_metric": ["ndcg@3", "ndcg@3-"], "max_depth": 2}, data, 5, evals=[(data, "v")],
                      evals_result=other, verbose_eval=False)
boosted = {name: values[-1] for name, values in other["v"].items()}
again = sklearn_ndcg(2 ** labels - 1, in_order(model.predict(data)))
print("XGBoost:", boosted, f"scikit-learn with 2^label - 1 {again:.6f}")
sys.exit(not (abs(printed - explained) < 1e-6 and printed - plain > 0.1 and abs(boosted["ndcg@3-"] - again) < 1e-6 and
              abs(boosted["ndcg@3"] - again - 0.2) < 1e-6))
END
