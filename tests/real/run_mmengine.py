# pip: mmengine==0.10.7 torch==2.15.0 numpy==2.4.6 setuptools==84.2.1
# keep: out/*/vis_data/scalars.json
"""MMEngine, on which mmdetection and the others build: lines of each interval, and scalars.json with all digits."""
import torch
from mmengine.evaluator import BaseMetric
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch.utils.data import DataLoader, TensorDataset

from tiny import right

seen = []


class Tiny(BaseModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(5, 2)

    def forward(self, x, y, mode):
        out = self.layer(x)
        return {"loss": torch.nn.functional.cross_entropy(out, y)} if mode == "loss" else (out, y)


class Accuracy(BaseMetric):
    def process(self, data_batch, data_samples):
        out, y = data_samples
        self.results.append((out.argmax(1) == y).float().mean().item())

    def compute_metrics(self, results):
        seen.append(100 * sum(results) / len(results))
        return {"accuracy": seen[-1]}


torch.manual_seed(0)
x = torch.randn(210, 5)
data = TensorDataset(x, (x[:, 0] > 0).long())
Runner(model=Tiny(), work_dir="out", train_dataloader=DataLoader(data, 30), val_dataloader=DataLoader(data, 30),
       train_cfg={"by_epoch": True, "max_epochs": 2, "val_interval": 1}, val_cfg={}, val_evaluator=[Accuracy()],
       optim_wrapper={"optimizer": {"type": torch.optim.SGD, "lr": 0.1}}, default_hooks={"logger": {"type": "LoggerHook", "interval": 5}}).train()
right(("accuracy", "-", f"{seen[-1]:.4f}"), ("accuracy", "out/*/vis_data/scalars.json", seen[-1]))
