# pip: sacred==0.8.7 numpy==2.4.6 setuptools==80.9.0
# keep: runs/1/*.json
"""An experiment of Sacred: "Result: 0.2025", and metrics.json with steps and values."""
from sacred import Experiment
from sacred.observers import FileStorageObserver
from tiny import right

experiment = Experiment("tiny", save_git_info=False)
experiment.observers.append(FileStorageObserver("runs"))


@experiment.config
def config():
    lr = 0.1  # noqa: F841


@experiment.main
def main(_run, lr):
    for step in range(5):
        _run.log_scalar("val.loss", lr / (step + 1), step)
    return lr / 7


experiment.run()
right(("Result", "-", 0.1 / 7), ("val.loss", "runs/1/metrics.json", 0.1 / 5), ("result", "runs/1/run.json", 0.1 / 7))
