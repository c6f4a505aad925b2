#!/bin/sh
# One would guess: the summary that W&B prints when a run ends repeats the last values, perhaps with fewer digits, so that a program that
# reads scores from the output may take it.
# In fact numbers are rounded to five decimals, however small they are: a loss of 1.13e-06, printed by the program a line before, is
# "loss 0.0" there. It comes last in the output, and no loss beats 0.0. The run log on disk has all digits.
# Version: wandb 0.31.0, offline. Source: wandb/sdk/wandb_run.py, the footer of summary values.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check wandb==0.31.0
cat >probe.py <<'END'
import wandb
print("wandb", wandb.__version__)
run = wandb.init(project="p", mode="offline")
print("loss", 1.13e-06)
run.log({"loss": 1.13e-06, "acc": 0.123456789})
run.finish()
END
HOME=$dir venv/bin/python probe.py >out 2>&1 || { cat out; exit 1; }
sed -n '1p; /^loss/p; /summary/,/^wandb: $/p' out
grep -q '^wandb: *loss 0\.0$' out && grep -q '^wandb: *acc 0\.12346$' out && grep -q '^loss 1.13e-06' out
