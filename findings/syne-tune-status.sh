#!/bin/sh
# One would guess: the column st_status of Syne Tune's results.csv.zip, which load_experiment returns, says how each trial ended.
# In fact it is what was known when a value was reported: lines are written when values arrive, and later lines of the trial are not there
# if it died. A trial that failed after its report stays InProgress, as one that still runs, or one that the clock stopped.
# Version: syne-tune 0.16.0. Source: syne_tune/results_callback.py, StoreResultsCallback.on_trial_result.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check syne-tune==0.16.0
cat >train.py <<'END'
import argparse, time
from syne_tune import Reporter
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float)
args, _ = p.parse_known_args()
report = Reporter()
report(epoch=1, loss=args.lr)
time.sleep(4)  # the tuner sees the value before the end
if args.lr > 0.5:
    raise ValueError("lr too high")
END
cat >tune.py <<'END'
import logging, sys, zipfile
from pathlib import Path
import pandas
from syne_tune import StoppingCriterion, Tuner
from syne_tune.backend import LocalBackend
from syne_tune.config_space import choice
from syne_tune.optimizer.baselines import RandomSearch
logging.disable(logging.CRITICAL)
tuner = Tuner(LocalBackend("train.py"), RandomSearch({"lr": choice([0.9, 0.8])}, metrics=["loss"], random_seed=1),
              StoppingCriterion(max_num_trials_started=2), n_workers=1, tuner_name="t", sleep_time=0.2, max_failures=9, save_tuner=False)
tuner.run()
[found] = Path.home().glob("syne-tune/*/results.csv.zip")
table = pandas.read_csv(found)
print(table[["trial_id", "loss", "st_status"]].to_string())
died = [log for log in sorted(found.parent.glob("*/std.err")) if "lr too high" in log.read_text()]
print(len(died), "trials ended with ValueError")
sys.exit(not (len(died) >= 2 and set(table["st_status"]) == {"InProgress"}))
END
HOME=$dir PATH=$dir/venv/bin:$PATH venv/bin/python -W ignore tune.py >out 2>/dev/null && status=0 || status=$?
tail -n 4 out
exit $status
