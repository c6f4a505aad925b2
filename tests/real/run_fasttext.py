# pip: fasttext-wheel==0.9.2 numpy==1.26.4
"""fastText: a progress bar with avg.loss, and P@1 behind a tab, as its command prints it."""
import random

import fasttext
from tiny import right

random.seed(0)
with open("train.txt", "w", encoding="utf-8") as out:
    for i in range(2000):
        out.write(f"__label__{i % 2} w{i % 2 * 3 + random.randrange(5)} w{random.randrange(9)}\n")
model = fasttext.train_supervised("train.txt", lr=0.5, epoch=5, verbose=2, thread=1)
n, precision, recall = model.test("train.txt")
print(f"N\t{n}\nP@1\t{precision:.3f}\nR@1\t{recall:.3f}")
right(("P@1", "-", f"{precision:.3f}"), ("R@1", "-", f"{recall:.3f}"))
