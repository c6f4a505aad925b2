# pip: fastai==2.8.12 torch==2.15.0
# keep: history.csv
"""fit of fastai: a table between progress bars, and the table of CSVLogger."""
import csv
import pandas
from fastai.tabular.all import CSVLogger, Normalize, TabularDataLoaders, accuracy, set_seed, tabular_learner
from tiny import right, rows

set_seed(1)
frame = pandas.DataFrame([{"a": x[0], "b": x[1], "y": y} for x, y in rows()])
loaders = TabularDataLoaders.from_df(frame, cont_names=["a", "b"], y_names="y", procs=[Normalize], bs=32, y_block=None, valid_idx=list(range(150, 200)), num_workers=0)
learner = tabular_learner(loaders, layers=[8], metrics=[], cbs=CSVLogger("history.csv"), n_out=1)
learner.fit(3, 1e-2)
values = learner.recorder.values[-1]
right(("valid_loss", "-", f"{values[1]:.6f}"), ("train_loss", "-", f"{values[0]:.6f}"), ("valid_loss", "history.csv", list(csv.DictReader(open("history.csv")))[-1]["valid_loss"]))
