#!/bin/sh
# One would guess: detections that equal the ground truth have an AP of 1.0, whatever numbers the annotations have, and that ids of annotations,
# which must only differ from each other, may begin at 0, as every enumerate() of a converter makes them.
# In fact COCOeval notes the id of the annotation in a table in which 0 means "not matched", so the detection that finds the annotation with id 0
# counts as a false alarm: of four perfect detections AP is 0.564 instead of 1.0, and recall is 0.75. No message. The smaller the data set or the
# rarer the class, the greater is the loss. ids that begin at 1 are right.
# Version: pycocotools 2.0.11. Source: pycocotools/cocoeval.py, evaluateImg, dtm[tind,dind] = gt[m]['id'], and accumulate, logical_not(dtm).
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

def evaluate(first_id):
    boxes = [{"image_id": image, "category_id": 1, "bbox": [10, 10, 40, 40]} for image in range(1, 5)]
    truth, found = COCO(), [dict(box, score=0.9) for box in boxes]
    truth.dataset = {"info": {}, "images": [{"id": image, "width": 100, "height": 100} for image in range(1, 5)],
                     "categories": [{"id": 1, "name": "cat"}],
                     "annotations": [dict(box, id=first_id + i, area=1600, iscrowd=0) for i, box in enumerate(boxes)]}
    truth.createIndex()
    evaluation = COCOeval(truth, truth.loadRes(found), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    return evaluation.stats[0], evaluation.stats[8]

results = []
for first_id in (0, 1):
    with contextlib.redirect_stdout(io.StringIO()):
        results.append(evaluate(first_id))
    print(f"ids from {first_id}: AP {results[-1][0]:.4f} recall {results[-1][1]:.4f}")
sys.exit([[round(float(value), 4) for value in pair] for pair in results] != [[0.5644, 0.75], [1.0, 1.0]])
END
