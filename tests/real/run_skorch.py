# pip: skorch==1.4.0 torch==2.15.0
"""fit of skorch: a table with colours in its cells."""
import numpy as np
import torch
from skorch import NeuralNetClassifier
from tiny import right, rows

torch.manual_seed(1)
data = rows()
x, y = np.array([r[0] for r in data], np.float32), np.array([r[1] for r in data])
net = NeuralNetClassifier(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Softmax(1)), max_epochs=5, lr=0.2).fit(x, y)
right(("valid_loss", "-", f"{net.history[-1]['valid_loss']:.4f}"), ("valid_acc", "-", f"{net.history[-1]['valid_acc']:.4f}"))
