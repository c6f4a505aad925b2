#!/bin/sh
# One would guess: Accuracy(task="multiclass", num_classes=2) and MulticlassAccuracy(num_classes=2) of TorchMetrics are the same metric: the
# first one returns an object of the second's class, so logs of a MetricCollection name both MulticlassAccuracy.
# In fact the first counts over all rows (average="micro") and the second takes the mean over classes (average="macro"): 0.9 and 0.5 for a
# model that always says the class which 90 % of the rows have. Two trainings that log MulticlassAccuracy cannot be compared unless one knows
# how each of them made the object.
# Version: torchmetrics 1.9.0 with torch 2.15.0. Source: torchmetrics/classification/accuracy.py, defaults of Accuracy.__new__ and
# of MulticlassStatScores.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check torchmetrics==1.9.0 torch==2.15.0
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
import torch
import torchmetrics
from torchmetrics.classification import MulticlassAccuracy
print("torchmetrics", torchmetrics.__version__, "torch", torch.__version__)
said, true = torch.zeros(100, dtype=torch.int64), torch.tensor([0] * 90 + [1] * 10)
one, other = torchmetrics.Accuracy(task="multiclass", num_classes=2), MulticlassAccuracy(num_classes=2)
values = [round(metric(said, true).item(), 6) for metric in (one, other)]
print("Accuracy:", type(one).__name__, values[0], "; MulticlassAccuracy:", type(other).__name__, values[1])
sys.exit(values != [0.9, 0.5] or type(one) is not type(other))
END
