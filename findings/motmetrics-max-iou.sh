#!/bin/sh
# One would guess: iou_matrix(objects, hypotheses, max_iou=0.7) is about an overlap (intersection over union) of 0.7, and returns overlaps.
# In fact it returns distances, 1 - IoU, and max_iou is the largest distance: with 0.7 boxes match from an overlap of 0.3 on. Whoever wants
# the usual overlap of at least 0.7 has to say 0.3; with max_iou=0.7 a tracker whose boxes overlap by 0.4 has MOTA 1 instead of -1.
# Version: motmetrics 1.4.0 with numpy 1.26.4. Source: motmetrics/distances.py, iou_matrix.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile motmetrics==1.4.0 numpy==1.26.4 pandas==2.3.3
"$dir/venv/bin/python" - <<'END'
import sys
import motmetrics
import numpy

true, found = numpy.array([[0.0, 0.0, 10.0, 10.0]]), numpy.array([[0.0, 0.0, 10.0, 4.0]])  # their overlap is 0.4
seen = {}
for limit in (0.7, 0.3):
    distances = motmetrics.distances.iou_matrix(true, found, max_iou=limit)
    events = motmetrics.MOTAccumulator(auto_id=True)
    events.update([1], [1], distances)
    mota = motmetrics.metrics.create().compute(events, metrics=["mota"], name="one frame")["mota"].iloc[0]
    seen[limit] = float(distances[0, 0]), float(mota)
print("motmetrics", motmetrics.__version__, "numpy", numpy.__version__)
for limit, (distance, mota) in seen.items():
    print("overlap 0.4, max_iou=%s: iou_matrix %.1f, MOTA %g" % (limit, distance, mota))
sys.exit(not (abs(seen[0.7][0] - 0.6) < 1e-12 and seen[0.7][1] == 1 and numpy.isnan(seen[0.3][0]) and seen[0.3][1] == -1))
END
