# pip: clu==0.0.12 jax==0.10.2 tensorflow-cpu==2.21.0 tensorboard==2.21.0 numpy==2.4.6
# keep: log/events*
"""clu's metric writers: lines of the log, with six digits, and event files whose values are tensors."""
from absl import logging
from clu import metric_writers

from tiny import right

logging.set_verbosity(logging.INFO)
writer = metric_writers.create_default_writer("log", asynchronous=False)
for step in range(1, 4):
    writer.write_scalars(step, {"train/loss": 1 / step, "eval/accuracy": 0.5 + step / 16})
writer.flush()
right(("train/loss", "-", f"{1 / 3:.6f}"), ("eval/accuracy", "-", 0.6875), ("eval/accuracy", "log", 0.6875))
