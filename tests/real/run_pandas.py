# pip: pandas==3.1.1
"""pandas: the name of the index is in a line of its own below the names of the columns."""
import pandas
from tiny import right, rows

table = pandas.DataFrame([{"epoch": i // 20, "val_loss": (x - y) ** 2, "acc": float(label)} for i, ((x, y), label) in enumerate(rows(60))])
means = table.groupby("epoch").mean()
print(means)
right(*((name, "-", f"{means[name].iloc[-1]:.6f}") for name in means.columns))
