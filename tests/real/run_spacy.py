# pip: spacy==3.8.18
# run: python3 "$SCRIPT" && python3 -m spacy train config.cfg --output out && python3 "$SCRIPT" right
# keep: out/model-last/meta.json
"""spacy train: a table whose names have blanks; meta.json of the model has all digits."""
import json
import random
import sys
from tiny import right

if len(sys.argv) > 1:
    scores = json.load(open("out/model-last/meta.json"))["performance"]
    table = [line.split() for line in open("output.txt") if line.strip()[:1].isdigit()]
    right(("SCORE", "-", table[-1][-1]), ("CATS_SCORE", "-", table[-1][-2]), ("cats_score", "out/model-last/meta.json", scores["cats_score"]))
    sys.exit()
import spacy
from spacy.cli.init_config import init_config
from spacy.tokens import DocBin

random.seed(1)
blank = spacy.blank("en")
for name, n in (("train", 40), ("dev", 20)):
    docs = DocBin()
    for _ in range(n):
        good = random.random() < 0.5
        doc = blank(" ".join(random.choice(["good fine"] if good else ["bad awful"]).split() + random.sample(["film", "plot", "cast", "end"], 2)))
        doc.cats = {"GOOD": float(good), "BAD": float(not good)}
        docs.add(doc)
    docs.to_disk(f"{name}.spacy")
config = init_config(lang="en", pipeline=["textcat"], optimize="efficiency")
config["paths"].update({"train": "train.spacy", "dev": "dev.spacy"})
config["training"].update({"max_steps": 40, "eval_frequency": 10})
config.to_disk("config.cfg")
