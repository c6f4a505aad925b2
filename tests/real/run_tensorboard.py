# pip: tensorboard==2.21.0 torch==2.15.0
# keep: runs/events.out.tfevents.*
"""SummaryWriter of PyTorch: event files with numbers of single precision."""
import glob
import numpy
from torch.utils.tensorboard import SummaryWriter
from tiny import right

with SummaryWriter("runs") as writer:
    for step in range(5):
        writer.add_scalar("eval/loss", 1 / (3 + step), step)
right(("eval/loss", glob.glob("runs/events*")[0], float(numpy.float32(1 / 7))))
