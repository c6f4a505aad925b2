# pip: timm==1.0.31 torch==2.15.0 numpy==2.4.6
# keep: summary.csv
"""timm: the table of its train script, whose lines have the last batch first and the average in brackets."""
from timm.utils import update_summary

from tiny import right

for epoch in range(3):
    evaluated = {"loss": 0.9 / (epoch + 1), "top1": 50 + 100 * epoch / 7}
    update_summary(epoch, {"loss": 1 / (epoch + 1)}, evaluated, filename="summary.csv", lr=0.1, write_header=epoch == 0)
right(("eval_top1", "summary.csv", evaluated["top1"]), ("eval_loss", "summary.csv", evaluated["loss"]))
