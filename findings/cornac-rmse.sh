#!/bin/sh
# One would guess: the RMSE in the table that an Experiment of Cornac prints is the root of the mean squared error over all ratings of the test
# set, as in Surprise, in scikit-learn and in the papers that it is compared with.
# In fact an RMSE is computed for each user, and these are averaged, so a user with one rating weighs as much as one with a thousand: 1.6613
# instead of 1.5940 for the same predictions. MAE and MSE are averaged so, too. Experiment(.., user_based=False) is the one over all ratings;
# both say RMSE in the table and in the log.
# Version: cornac 3.0.1. Source: cornac/eval_methods/base_method.py, rating_eval.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check cornac==3.0.1 numpy==2.4.6
cat >probe.py <<'END'
import importlib.metadata, random, sys
import cornac
import numpy as np
print("cornac", importlib.metadata.version("cornac"))
random.seed(0)
ratings = {(random.randrange(20), random.randrange(15)): float(random.randint(1, 5)) for _ in range(300)}
split = cornac.eval_methods.RatioSplit([(f"u{u}", f"i{i}", r) for (u, i), r in ratings.items()], test_size=0.2, seed=1)
model = cornac.models.GlobalAvg()
experiment = cornac.Experiment(split, [model], [cornac.metrics.RMSE()])
experiment.run()
printed = experiment.result[0].metric_avg_results["RMSE"]
users, items, truth = split.test_set.uir_tuple
errors = np.array([model.rate(u, i) - r for u, i, r in zip(users, items, truth)]) ** 2
over_rows = np.sqrt(errors.mean())
over_users = np.mean([np.sqrt(errors[users == u].mean()) for u in np.unique(users)])
print(f"RMSE in the table {printed:.4f}, over all ratings {over_rows:.4f}, mean of the users' RMSE {over_users:.4f}")
sys.exit(not (abs(printed - over_users) < 1e-6 and abs(printed - over_rows) > 0.05))
END
HOME=$dir venv/bin/python probe.py 2>err || { cat err; exit 1; }
