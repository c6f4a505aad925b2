#!/bin/sh
# One would guess: with params.maxDets = [1, 10, 500], which COCOeval takes for crowded images, each line that summarize() prints is computed with
# 500 detections, and stats[0], the AP that papers and loggers read, is at least as high as with 100.
# In fact the first line alone asks for 100 detections, whatever maxDets is. There is no such column, and its value is -1.000, the one that means
# "no ground truth"; the eleven other lines follow maxDets. A perfect detector has an AP of -1.000 beside an AP50 and an AP75 of 1.000, and a search
# for the best stats[0] sees equal runs. No message.
# Version: pycocotools 2.0.11. Source: pycocotools/cocoeval.py, _summarizeDets: stats[0] = _summarize(1), whose maxDets is 100 by default.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check pycocotools==2.0.11 numpy==2.4.6
"$dir/venv/bin/python" - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import contextlib, io, sys
from importlib.metadata import version
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
print("pycocotools", version("pycocotools"))
# One image with 150 cats, each of which is found.
boxes = [{"image_id": 1, "category_id": 1, "bbox": [20 * (i % 15), 20 * (i // 15), 10, 10]} for i in range(150)]
results = []
for most in (100, 500):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        truth = COCO()
        truth.dataset = {"info": {}, "images": [{"id": 1, "width": 400, "height": 400}], "categories": [{"id": 1, "name": "cat"}],
                         "annotations": [dict(box, id=i + 1, area=100, iscrowd=0) for i, box in enumerate(boxes)]}
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes([dict(box, score=0.9) for box in boxes]), "bbox")
        evaluation.params.maxDets = [1, 10, most]
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    print(*[line for line in printed.getvalue().splitlines() if "Average Precision" in line][:3], sep="\n")
    results.append([round(float(value), 3) for value in evaluation.stats[:2]])
sys.exit(results != [[0.663, 0.663], [-1.0, 1.0]])
END
