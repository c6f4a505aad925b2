# pip: ray[tune]==2.60.0
# keep: exp/f_*/result.json exp/f_*/progress.csv exp/f_*/events.out.tfevents.*
"""One trial of Ray Tune: its table, result.json and progress.csv."""
import glob
import json
from pathlib import Path
import numpy
import ray
from ray import tune
from tiny import right


def f(config):
    for step in range(5):
        tune.report({"loss": 1 / (1 + step) + config["k"] / 7, "step": step})


ray.init(num_cpus=1, include_dashboard=False, logging_level="ERROR")
tune.Tuner(f, param_space={"k": tune.grid_search([1])}, run_config=tune.RunConfig(name="exp", storage_path=str(Path.cwd()))).fit()
path = glob.glob("exp/f_*/result.json")[0]
last = json.loads(open(path).read().splitlines()[-1])["loss"]
right(("loss", path, last), ("loss", path.replace("result.json", "progress.csv"), last), ("loss", glob.glob("exp/f_*/events*")[0], float(numpy.float32(last))))
