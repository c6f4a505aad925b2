# pip: vowpalwabbit==9.11.9
"""Two passes of Vowpal Wabbit: names in two lines, an h behind each row, and at the end "average loss = undefined (no holdout)"."""
import random

import vowpalwabbit
from tiny import right

random.seed(0)
workspace = vowpalwabbit.Workspace("--loss_function squared -l 0.5 -P 50 --passes 2 --cache_file cache -k")
for _ in range(200):
    a, b = random.random(), random.random()
    workspace.learn(f"{a + 2 * b:.3f} | a:{a:.3f} b:{b:.3f}")
workspace.finish()
row = [line.split() for line in open("output.txt", encoding="utf-8") if line.rstrip().endswith(" h")][-1]
right(("average loss", "-", row[0]), ("since last", "-", row[1]))
