# pip: pycocotools==2.0.11 numpy==2.4.6
"""pycocotools, which detectron2, mmdetection and torchvision's detection references print: twelve lines with conditions."""
import json

from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from tiny import right

boxes = [{"id": i + 1, "image_id": i, "category_id": 1, "bbox": [10, 10, 40, 40], "area": 1600, "iscrowd": 0} for i in range(4)]
with open("truth.json", "w", encoding="utf-8") as out:
    json.dump({"images": [{"id": i, "width": 100, "height": 100} for i in range(4)], "categories": [{"id": 1, "name": "a"}],
               "annotations": boxes}, out)
with open("found.json", "w", encoding="utf-8") as out:
    json.dump([{"image_id": i, "category_id": 1, "bbox": [10 + 3 * i, 10, 40, 40], "score": 0.9 - 0.1 * i} for i in range(4)], out)
truth = COCO("truth.json")
evaluation = COCOeval(truth, truth.loadRes("found.json"), "bbox")
evaluation.evaluate()
evaluation.accumulate()
evaluation.summarize()
right(("Average Precision", "-", f"{evaluation.stats[0]:.3f}"), ("AP", "-", f"{evaluation.stats[0]:.3f}"),
      ("AR", "-", f"{evaluation.stats[8]:.3f}"))
