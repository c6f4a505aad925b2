# pip: ydf==0.16.1 ngboost==0.5.11 scikit-learn==1.9.1 pandas==3.1.1 numpy==2.4.6
"""Yggdrasil Decision Forests: lines of the training and a report; NGBoost: a line for some iterations."""
import numpy
import pandas
import ydf
from ngboost import NGBRegressor

from tiny import right, rows

data = pandas.DataFrame([[*xy, "yes" if label else "no"] for xy, label in rows(300)], columns=["a", "b", "y"])
model = ydf.GradientBoostedTreesLearner(label="y", num_trees=20).train(data[:200], verbose=2)
report = model.evaluate(data[200:])
print(report)
x = numpy.array(data[["a", "b"]])
boost = NGBRegressor(n_estimators=16, verbose=True, verbose_eval=5, random_state=1).fit(x[:200], x[:200, 0] + x[:200, 1], X_val=x[200:],
                                                                                      Y_val=x[200:, 0] + x[200:, 1])
right(("accuracy", "-", report.accuracy), ("ROC AUC", "-", f"{report.characteristics[0].roc_auc:.6g}"),
      ("val_loss", "-", f"{boost.evals_result['val']['LOGSCORE'][15]:.4f}"))
