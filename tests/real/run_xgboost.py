# pip: xgboost==3.2.0
"""train of XGBoost: [9]	train-logloss:0.1	eval-logloss:0.2."""
import numpy as np
import xgboost
from tiny import right, rows

data = rows()
x, y = np.array([r[0] for r in data]), np.array([r[1] for r in data])
train, test = xgboost.DMatrix(x[:150], y[:150]), xgboost.DMatrix(x[150:], y[150:])
results = {}
xgboost.train({"objective": "binary:logistic", "max_depth": 2, "nthread": 1}, train, 10, evals=[(train, "train"), (test, "eval")], evals_result=results)
right(("eval-logloss", "-", f"{results['eval']['logloss'][-1]:.5f}"), ("train-logloss", "-", f"{results['train']['logloss'][-1]:.5f}"))
