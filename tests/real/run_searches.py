# pip: hyperopt==0.3.0 bayesian-optimization==3.4.0 scikit-optimize==0.10.2 numpy==2.4.6 setuptools==80.9.0
"""Searches: hyperopt's bar has the best loss, bayesian-optimization a table with colours, scikit-optimize a line a value."""
import numpy
from bayes_opt import BayesianOptimization
from hyperopt import fmin, hp, tpe
from skopt import gp_minimize

from tiny import right

best = fmin(lambda x: (x - 1) ** 2 + 0.1, hp.uniform("x", -5, 5), algo=tpe.suggest, max_evals=20, rstate=numpy.random.default_rng(0))
bayes = BayesianOptimization(lambda x, y: -x ** 2 - (y - 1) ** 2 + 1, {"x": (2, 4), "y": (-3, 3)}, random_state=1, verbose=2)
bayes.maximize(init_points=2, n_iter=4)
skopt = gp_minimize(lambda x: (x[0] - 1) ** 2 + 0.5, [(-2.0, 2.0)], n_calls=12, random_state=0, verbose=True)
right(("best loss", "-", (best["x"] - 1) ** 2 + 0.1), ("target", "-", f"{bayes.res[-1]['target']:.6f}"),
      ("Function value obtained", "-", f"{skopt.func_vals[-1]:.4f}"), ("Current minimum", "-", f"{skopt.fun:.4f}"))
