# pip: pytorch-forecasting==1.8.0 lightning==2.6.6 torch==2.15.0 pandas==2.3.3 numpy==2.4.6
# keep: logs/*/*/metrics.csv
"""PyTorch Forecasting: Lightning's bars, the table of a validation, and metrics.csv."""
import lightning.pytorch as pl
import numpy as np
import pandas as pd
from lightning.pytorch.loggers import CSVLogger
from pytorch_forecasting import NBeats, TimeSeriesDataSet

from tiny import right

pl.seed_everything(0)
table = pd.DataFrame({"t": list(range(60)) * 2, "g": ["a"] * 60 + ["b"] * 60, "y": np.random.randn(120).cumsum()})
train = TimeSeriesDataSet(table[table.t < 50], time_idx="t", target="y", group_ids=["g"], max_encoder_length=10,
                          max_prediction_length=5, time_varying_unknown_reals=["y"])
valid = TimeSeriesDataSet.from_dataset(train, table, min_prediction_idx=50).to_dataloader(train=False, batch_size=16)
model = NBeats.from_dataset(train, learning_rate=1e-2, widths=[8, 8], backcast_loss_ratio=0.1)
trainer = pl.Trainer(max_epochs=2, accelerator="cpu", logger=CSVLogger("logs"), enable_checkpointing=False, log_every_n_steps=1)
trainer.fit(model, train.to_dataloader(train=True, batch_size=16), valid)
result = trainer.validate(model, valid)[0]
right(("val_loss", "-", f"{result['val_loss']:.15g}"), ("val_SMAPE", "-", f"{result['val_SMAPE']:.15g}"),
      ("val_SMAPE", "logs/*/*/metrics.csv", result["val_SMAPE"]))
