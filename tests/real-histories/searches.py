#!/usr/bin/env python3
"""searches.py: makes fixtures/real/histories/scikit-learn-1.9.csv and lightning-2.6 again.

usage: python3 tests/real-histories/searches.py scikit-learn|lightning DIRECTORY

pip install scikit-learn==1.9.1 pandas     (scikit-learn: cv_results_ of a search in which C=-1 cannot be fitted)
pip install lightning==2.6.6               (lightning: three trainings logged by CSVLogger; the last one diverges)
"""
import os
import sys


def scikit_learn():
    import numpy as np
    import pandas as pd
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC
    x = np.random.default_rng(0).normal(size=(200, 3))
    y = (x[:, 0] + 0.3 * x[:, 1] > 0).astype(int)
    grid = {"C": [0.1, 1, -1], "kernel": ["rbf", "linear"]}
    search = GridSearchCV(SVC(), grid, cv=3, scoring=["accuracy", "roc_auc"], refit="accuracy").fit(x, y)
    pd.DataFrame(search.cv_results_).to_csv("scikit-learn-1.9.csv", index=False)


def lightning():
    import lightning as L
    import torch
    from lightning.pytorch.loggers import CSVLogger

    class Model(L.LightningModule):
        def __init__(self, lr):
            super().__init__()
            self.save_hyperparameters()
            self.linear = torch.nn.Linear(2, 1)

        def training_step(self, batch, _):
            loss = (self.linear(batch) ** 2).mean()
            self.log("train_loss", loss)
            return loss

        def validation_step(self, batch, _):
            self.log("val_loss", (self.linear(batch) ** 2).mean() * (float("nan") if self.hparams.lr > 5 else 1))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), self.hparams.lr)

    data = torch.utils.data.DataLoader(torch.randn(64, 2), 8)
    for lr in (0.01, 0.1, 9.0):
        L.Trainer(max_epochs=2, logger=CSVLogger("lightning-2.6", "p"), log_every_n_steps=4, accelerator="cpu").fit(Model(lr), data, data)


if len(sys.argv) != 3 or sys.argv[1] not in ("scikit-learn", "lightning"):
    sys.exit(__doc__)
os.makedirs(sys.argv[2], exist_ok=True)
os.chdir(sys.argv[2])
scikit_learn() if sys.argv[1] == "scikit-learn" else lightning()
