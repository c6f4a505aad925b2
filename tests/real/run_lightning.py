# pip: lightning==2.6.6 torch==2.15.0
# keep: logs/csv/version_0/metrics.csv
"""Trainer of Lightning: its table after validation, and metrics.csv of CSVLogger."""
import lightning
import torch
from lightning.pytorch.loggers import CSVLogger
from torch.utils.data import DataLoader
from tiny import right, rows


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def step(self, batch, name):
        x, y = batch
        loss = torch.nn.functional.cross_entropy(self.layer(x), y)
        self.log(name, loss, prog_bar=True)
        return loss

    def training_step(self, batch, _):
        return self.step(batch, "train_loss")

    def validation_step(self, batch, _):
        self.step(batch, "val_loss")

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.05)


lightning.seed_everything(1)
data = [(torch.tensor(x), y) for x, y in rows()]
net = Net()
trainer = lightning.Trainer(max_epochs=3, logger=CSVLogger("logs", "csv"), log_every_n_steps=2, enable_checkpointing=False, accelerator="cpu")
trainer.fit(net, DataLoader(data[:150], 16, num_workers=0), DataLoader(data[150:], 16, num_workers=0))
last = trainer.validate(net, DataLoader(data[150:], 16, num_workers=0))[0]["val_loss"]
right(("val_loss", "-", last), ("val_loss", "logs/csv/version_0/metrics.csv", last))
