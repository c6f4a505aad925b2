"""A program that the tests kill: it runs trials in the store of its first argument, one after another, and prints a line
within the block of each, so that the test knows which ones began.

It starts a process for each number that it reads, so that Python and the library are loaded once: that process prints its id, and
numbers its trials with the number. A process that ends is reported by the signal that ended it, as `ended SIGNAL`."""

import os
import sys

from lineage import Store


def run_trials(path, number):
    store = Store(path)
    for count in range(1000):
        name = f"{number}.{count}"
        with store.trial(hypothesis=name, params={"alpha": 0.5, "optimizer": "adam"}) as trial:
            print(name, flush=True)
            for step in range(3):
                trial.log(step, loss=1.0 / (step + 1))
            trial.param("layers", count)
            trial.score(1.0)


for line in sys.stdin:
    child = os.fork()
    if child == 0:
        run_trials(sys.argv[1], line.strip())
        os._exit(0)
    print(f"started {child}", flush=True)
    status = os.waitpid(child, 0)[1]
    print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)
