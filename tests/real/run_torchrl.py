# pip: torchrl==0.14.1 torch==2.15.0 tensordict==0.14.3 numpy==2.4.6
# keep: logs/*/scalars/*
"""TorchRL: its CSVLogger writes a file without names for each metric."""
from torchrl.record.loggers.csv import CSVLogger

from tiny import right

logger = CSVLogger("run", log_dir="logs")
for step in range(3):
    logger.log_scalar("eval/reward", step / 7, step=step)
    logger.log_scalar("loss", 1 / (3 + step), step=step)
right(("eval/reward", "logs/run/scalars/eval/reward.csv", 2 / 7), ("reward", "logs/run/scalars/eval/*.csv", 2 / 7),
      ("loss", "logs/run/scalars/loss.csv", 1 / 5))
