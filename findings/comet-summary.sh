#!/bin/sh
# One would guess: the summary that Comet prints when an experiment ends has the last value of each metric, as that of W&B has.
# In fact `loss [4] : (0.25, 1.0)` is the number of values, the least and the greatest one; the last value is not there. A loss that
# fell to 0.25 and then rose to 0.9 has the same line, and values that are nan do not show, so a diverged run does not either. A metric with
# one value has another form, `loss : 0.25`. It is the last line with the name in the output, after what the program printed itself.
# Version: comet_ml 3.58.8, OfflineExperiment. Source: comet_ml/summary.py.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check comet_ml==3.58.8
cat >probe.py <<'END'
import math
import comet_ml
print("comet_ml", comet_ml.__version__)
run = comet_ml.OfflineExperiment(offline_directory="archive", project_name="p", workspace="w", log_code=False, log_git_metadata=False)
series = {"falls": (1.0, 0.5, 0.3, 0.25), "rises": (1.0, 0.25, 0.5, 0.9), "diverges": (1.0, 0.25, math.nan, math.nan), "once": (0.25,)}
for name, values in series.items():
    for step, value in enumerate(values):
        run.log_metric(name, value, step=step)
    print(name, *values)
run.end()
END
HOME=$dir venv/bin/python probe.py >out 2>&1 || { cat out; exit 1; }
grep -E '^comet_ml |^[a-z]+ [01]|falls|rises|diverges|once' out
for name in falls rises diverges; do
    grep -qE "^COMET INFO: +$name \[4\] +: \(0\.25, 1\.0\)" out || { echo "the line of $name is another one now"; exit 1; }
done
grep -qE '^COMET INFO: +once +: 0\.25' out
