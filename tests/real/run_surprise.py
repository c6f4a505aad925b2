# pip: scikit-surprise==1.1.5 pandas==2.3.3
"""Surprise: cross_validate prints the folds, their mean and their standard deviation in the row of each measure."""
import numpy
import pandas
from surprise import SVD, Dataset, Reader
from surprise.model_selection import cross_validate

from tiny import right

rng = numpy.random.default_rng(7)
table = pandas.DataFrame({"user": rng.integers(0, 30, 600), "item": rng.integers(0, 40, 600), "rating": rng.integers(1, 6, 600)})
data = Dataset.load_from_df(table, Reader(rating_scale=(1, 5)))
found = cross_validate(SVD(random_state=0, n_epochs=3), data, measures=["RMSE", "MAE"], cv=3, verbose=True)
right(("RMSE (testset)", "-", f"{found['test_rmse'].mean():.4f}"), ("MAE (testset)", "-", f"{found['test_mae'].mean():.4f}"))
