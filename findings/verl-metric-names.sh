#!/bin/sh
# One would guess: a metric that a trainer of verl collects over the batches of a step is logged as their mean, unless its name begins
# or ends with min or max.
# In fact the letters decide, also within a word: "max" anywhere logs the greatest value, "min" anywhere the least one. A reward of a
# judge called gemini is that of the worst batch, a loss of a minibatch is the least one, and an entropy of a softmax the greatest one.
# The same numbers under another name are another curve, and a run with such a name cannot be compared with one without.
# Version: verl 0.9.1, NumPy 2.4.6. Source: verl/utils/metric/utils.py, reduce_metrics, which is run here from its own file: it needs only
# NumPy, and from torch a type, for which an empty class is put in.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-deps verl==0.9.1
"$dir/venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6
"$dir/venv/bin/python" -W ignore - <<'END'
import importlib.util, sys, types
from importlib.metadata import distribution
sys.modules["torch"] = types.ModuleType("torch")
sys.modules["torch"].Tensor = type("Tensor", (), {})
verl = distribution("verl")
spec = importlib.util.spec_from_file_location("metric", verl.locate_file("verl/utils/metric/utils.py"))
metric = importlib.util.module_from_spec(spec)
spec.loader.exec_module(metric)
names = ("reward/judge", "reward/gemini", "actor/minibatch_loss", "actor/softmax_entropy")
logged = {name: float(value) for name, value in metric.reduce_metrics({name: [0.0, 0.5, 1.0] for name in names}).items()}
print("verl", verl.version, "- logged for the values 0, 0.5 and 1:", logged)
sys.exit(list(logged.values()) != [0.5, 0.0, 0.0, 1.0])
END
