# pip: lightgbm==4.7.0
"""train of LightGBM: [10]	valid_0's binary_logloss: 0.3; the best iteration is printed at the end."""
import lightgbm
import numpy as np
from tiny import right, rows

data = rows()
x, y = np.array([r[0] for r in data]), np.array([r[1] for r in data])
train = lightgbm.Dataset(x[:150], y[:150])
model = lightgbm.train({"objective": "binary", "num_threads": 1, "seed": 1, "min_data_in_leaf": 5, "learning_rate": 0.3}, train, 40,
                       valid_sets=[lightgbm.Dataset(x[150:], y[150:], reference=train)],
                       callbacks=[lightgbm.early_stopping(5), lightgbm.log_evaluation(5)])
right(("valid_0's binary_logloss", "-", f"{model.best_score['valid_0']['binary_logloss']:.6g}"),
      ("binary_logloss", "-", f"{model.best_score['valid_0']['binary_logloss']:.6g}"))
