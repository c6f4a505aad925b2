"""A program that the tests kill: it runs trials in the store of its first argument, one after another, and prints a line
within the block of each, so that the test knows which ones began. The second argument numbers its trials."""

import sys

from lineage import Store

store = Store(sys.argv[1])
for number in range(1000):
    name = f"{sys.argv[2]}.{number}"
    with store.trial(hypothesis=name, params={"alpha": 0.5, "optimizer": "adam"}) as trial:
        print(name, flush=True)
        for step in range(3):
            trial.log(step, loss=1.0 / (step + 1))
        trial.param("layers", number)
        trial.score(1.0)
