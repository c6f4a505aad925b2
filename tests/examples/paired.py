"""paired.py TEMPERATURE: logistic regression on 40 points that LINEAGE_SEED draws, and the loss of each of 400 others, with its logits
divided by TEMPERATURE. The loss varies with the points that were drawn; the temperature changes it for all examples alike.
For `lineage run --examples examples.jsonl`."""
import json
import math
import os
import random
import sys

temperature = float(sys.argv[1])


def points(seed, n):
    source = random.Random(seed)
    for _ in range(n):
        label = source.random() < 0.5
        yield label, [source.gauss(0.5 if label and i < 3 else 0, 1) for i in range(8)] + [1]


weights, train = [0.0] * 9, list(points(1000 + int(os.environ["LINEAGE_SEED"]), 40))
for step in range(4000):
    label, x = train[step % 40]
    error = 1 / (1 + math.exp(-sum(w * v for w, v in zip(weights, x)))) - label
    weights = [w - 0.1 * error * v for w, v in zip(weights, x)]
losses = []
for label, x in points(0, 400):
    logit = sum(w * v for w, v in zip(weights, x)) / temperature
    losses.append(round(math.log1p(math.exp(-logit if label else logit)), 6))
with open("examples.jsonl", "w") as out:
    for number, loss in enumerate(losses):
        out.write(json.dumps({"id": number, "score": loss}) + "\n")
print("METRIC val_loss=%.8f" % (sum(losses) / 400))
