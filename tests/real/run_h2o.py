# pip: h2o==3.46.0.12 pandas==2.3.3
"""H2O: tables of maximum metrics, with the threshold before the value, for training and validation."""
import h2o
import numpy
import pandas
from h2o.estimators import H2OGradientBoostingEstimator

from tiny import right

rng = numpy.random.default_rng(7)
x = rng.normal(size=(300, 5))
h2o.init(max_mem_size="1G", nthreads=1, verbose=False)
frame = h2o.H2OFrame(pandas.DataFrame(x).assign(y=(x.sum(1) + rng.normal(size=300) > 0).astype(int)))
frame["y"] = frame["y"].asfactor()
model = H2OGradientBoostingEstimator(ntrees=5, seed=1)
model.train(y="y", training_frame=frame[:200, :], validation_frame=frame[200:, :])
valid = model.model_performance(valid=True)
print(valid)
right(("AUC", "-", valid.auc()), ("LogLoss", "-", valid.logloss()), ("max f1", "-", f"{valid.F1()[0][1]:.6f}"),
      ("max accuracy", "-", f"{valid.accuracy()[0][1]:.6g}"))
h2o.cluster().shutdown()
