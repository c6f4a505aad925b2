# pip: ultralytics==8.4.190 torch==2.15.0
# keep: runs/detect/train/results.csv
"""train of ultralytics with a tiny data set, and its results.csv."""
import csv
import random
from pathlib import Path
from PIL import Image, ImageDraw
from ultralytics import YOLO
from tiny import right

random.seed(1)
for part, n in (("train", 8), ("val", 4)):
    for kind in ("images", "labels"):
        Path("data", kind, part).mkdir(parents=True)
    for i in range(n):
        picture = Image.new("RGB", (64, 64), "white")
        x, y = random.randrange(40), random.randrange(40)
        ImageDraw.Draw(picture).rectangle((x, y, x + 20, y + 20), fill="red")
        picture.save(f"data/images/{part}/{i}.png")
        Path(f"data/labels/{part}/{i}.txt").write_text(f"0 {(x + 10) / 64} {(y + 10) / 64} {20 / 64} {20 / 64}\n")
Path("data.yaml").write_text(f"path: {Path('data').resolve()}\ntrain: images/train\nval: images/val\nnames: [box]\n")
YOLO("yolov8n.yaml").train(data="data.yaml", epochs=2, imgsz=64, batch=4, plots=False, device="cpu", workers=0, seed=1, project=str(Path("runs/detect").resolve()), name="train")
last = list(csv.DictReader(open("runs/detect/train/results.csv"), skipinitialspace=True))[-1]
right(*((name, "runs/detect/train/results.csv", last[name]) for name in ("metrics/mAP50(B)", "val/box_loss", "train/cls_loss")))
