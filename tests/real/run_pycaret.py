# pip: pycaret==3.3.2 six setuptools
"""PyCaret: a table with a row for each fold, closed by their mean and its deviation, and the table of setup before it."""
import pandas
from pycaret.classification import create_model, pull, setup
from tiny import right, rows

table = pandas.DataFrame([(x, y, int(label)) for (x, y), label in rows(90)], columns=["x", "y", "label"])
setup(table, target="label", fold=3, session_id=1, n_jobs=1, html=False, system_log=False)
create_model("lr")
mean = pull().loc["Mean"]
right(*((name, "-", f"{mean[name]:.4f}") for name in ("Accuracy", "AUC", "Kappa")))
