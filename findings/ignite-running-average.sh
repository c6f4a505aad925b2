#!/bin/sh
# One would guess: RunningAverage of PyTorch-Ignite, made for showing the loss in a progress bar, is the mean of the epoch so far, or at least
# begins anew with each epoch.
# In fact it is 0.98 of the old value and 0.02 of the new one, begins at the first batch's value without a correction, and runs on through all
# epochs: with losses 1, 2, 3, 4 in an epoch it ends at 1.118, where the mean is 2.5, and the next epoch goes on from there. With 20 batches an
# epoch, a loss that fell from 10 to 1 in one step after the first batch is still logged as 7.1 at the end of it.
# Version: pytorch-ignite 0.5.5. Source: ignite/metrics/running_average.py, compute and attach, usage RunningBatchWise.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile pytorch-ignite==0.5.5 torch==2.15.0 numpy==2.4.6
"$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from ignite.engine import Engine, Events
from ignite.metrics import Average, RunningAverage
print("pytorch-ignite", version("pytorch-ignite"))
seen = []
for losses, epochs in (([1.0, 2.0, 3.0, 4.0], 2), ([10.0] + [1.0] * 19, 1)):
    engine = Engine(lambda engine, batch: batch)
    RunningAverage(output_transform=lambda loss: loss).attach(engine, "running")
    Average().attach(engine, "mean")

    @engine.on(Events.EPOCH_COMPLETED)
    def log(engine):
        seen.append([round(float(engine.state.metrics[name]), 3) for name in ("running", "mean")])
        print("end of epoch", engine.state.epoch, "running average", seen[-1][0], "mean", seen[-1][1])

    engine.run(losses, max_epochs=epochs)
sys.exit(seen != [[1.118, 2.5], [1.228, 2.5], [7.131, 1.45]])
END
