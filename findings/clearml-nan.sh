#!/bin/sh
# One would guess: a loss that becomes nan or infinite is stored as such, or not at all, as every other tracker does it.
# In fact Logger.report_scalar and report_single_value of ClearML store 0.0 in its place (set_reporting_nan_value and
# set_reporting_inf_value have this default), for -inf too. One line of the log says so, at the first one. A run that diverged ends with the
# loss 0.0, which is the best of every table and plot that is sorted by it, and no reader of the stored values can tell.
# Version: clearml 2.1.12, offline mode. Source: clearml/backend_interface/metrics/events.py, MetricsEventAdapter.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check clearml==2.1.12 setuptools==80.9.0
cat >probe.py <<'END'
import json, math, os, sys
import clearml
clearml.Task.set_offline(True)
task = clearml.Task.init("p", "t", auto_connect_frameworks=False, auto_resource_monitoring=False, auto_connect_streams=False)
for step, value in enumerate((0.5, math.nan, math.inf, -math.inf)):
    task.get_logger().report_scalar("loss", "val", value, step)
task.get_logger().report_single_value("final loss", math.nan)
task.flush(True)
task.close()
stored = []
for line in open(os.path.join(str(task.get_offline_mode_folder()), "metrics.jsonl")):
    stored += [event["value"] for event in json.loads(line)]
print("clearml", clearml.__version__)
print("reported 0.5, nan, inf, -inf and a single nan; stored", stored)
sys.exit(stored != [0.5, 0.0, 0.0, 0.0, 0.0])
END
HOME=$dir CLEARML_CACHE_DIR=$dir/cache venv/bin/python probe.py
