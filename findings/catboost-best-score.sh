#!/bin/sh
# One would guess: after fit(.., eval_set=..) of CatBoost, best_score_ has the metrics of the best iteration, the one that best_iteration_
# names and that the model was cut back to.
# In fact each metric has the best value that it had in any iteration: the Logloss that chose the model is that of iteration 0, the AUC
# beside it that of a later one, 0.640, although the model that is kept has 0.569; and the training loss, 0.005, is that of the last
# iteration, whose trees are gone. A table that takes the AUC from best_score_ ranks models that do not exist.
# Version: catboost 1.2.10. Source: catboost/core.py, best_score_, which returns what the trainer tracked for each metric.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check catboost==1.2.10
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
import catboost
import numpy
random = numpy.random.default_rng(0)
rows = random.normal(size=(400, 5))
label = (rows[:, 0] + random.normal(size=400) * 1.5 > 0).astype(int)
model = catboost.CatBoostClassifier(iterations=200, eval_metric="Logloss", custom_metric=["AUC"], learning_rate=0.3, verbose=0,
                                    allow_writing_files=False, random_seed=0, thread_count=1)
model.fit(rows[:200], label[:200], eval_set=(rows[200:], label[200:]))
kept, seen, best = model.best_iteration_, model.evals_result_, model.best_score_
values = {f"{name} {metric}": (best[name][metric], seen[name][metric][kept])
          for name, metric in (("validation", "Logloss"), ("validation", "AUC"), ("learn", "Logloss"))}
print("catboost", catboost.__version__, "- trees:", model.tree_count_, "- best_iteration_:", kept)
for name, (said, true) in values.items():
    print(f"{name}: best_score_ {said:.4f}, of the model that is kept {true:.4f}")
sys.exit([abs(said - true) > 0.05 for said, true in values.values()] != [False, True, True])
END
