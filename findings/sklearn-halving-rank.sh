#!/bin/sh
# One would guess: in cv_results_ of a halving search the row with rank_test_score 1 is the one that best_params_ and best_score_ come from, as
# in GridSearchCV and RandomizedSearchCV.
# In fact all rows of all rounds are ranked together, and the best is taken from the last round only. A setting that was lucky on 48 rows has
# rank 1, and the one that was chosen, measured on 96 rows, has rank 10 here. A table of results that is sorted by its own rank, or by its
# mean score, names another winner than the search, and rows of one setting are there once for each round.
# Version: scikit-learn 1.9.1. Source: sklearn/model_selection/_search_successive_halving.py, _select_best_index; _search.py, _format_results.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check scikit-learn==1.9.1 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - <<'END'
import sys
import numpy as np
import sklearn
from sklearn.experimental import enable_halving_search_cv
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV
from sklearn.tree import DecisionTreeClassifier
print("scikit-learn", sklearn.__version__)
random = np.random.default_rng(0)
x = random.normal(size=(400, 3))
y = (x[:, 0] + 0.8 * random.normal(size=400) > 0).astype(int)
grid = {"max_depth": [1, 2, 3, 5, 8, 12]}
plain = GridSearchCV(DecisionTreeClassifier(random_state=0), grid, cv=3).fit(x, y)
print("GridSearchCV: the best row has rank", plain.cv_results_["rank_test_score"][plain.best_index_])
search = HalvingGridSearchCV(DecisionTreeClassifier(random_state=0), grid, cv=3, random_state=0, min_resources=24, factor=2).fit(x, y)
table = search.cv_results_
first = int(np.argmin(table["rank_test_score"]))
rank = int(table["rank_test_score"][search.best_index_])
for name, i in (("rank 1:", first), ("chosen:", search.best_index_)):
    print(name, table["params"][i], "round", table["iter"][i], "on", table["n_resources"][i], "rows, score", round(table["mean_test_score"][i], 3),
          "rank", table["rank_test_score"][i])
as_guessed = rank == 1 or table["params"][first] == search.best_params_
sys.exit(int(as_guessed or plain.cv_results_["rank_test_score"][plain.best_index_] != 1))
END
