"""Logistic regression on points of a narrow and a wide cloud, by gradient descent with momentum: a training program of
20 lines. It prints `val_loss: NUMBER`, which is all that lineage needs of it."""
import os
import sys
import numpy as np

lr, momentum, features = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
data = np.random.default_rng(0)  # the data stay, the seed decides where training starts and what it sees
label = data.integers(0, 2, 2000)
points = data.normal(size=(2000, 2)) * (0.5 + label[:, None]) + label[:, None] * [0.5, 0.0]
x = np.column_stack([points, np.ones(2000)] + ([points**2, points[:, :1] * points[:, 1:]] if features == "square" else []))
train, held_out = slice(0, 1500), slice(1500, 2000)
rng = np.random.default_rng(int(os.environ.get("LINEAGE_SEED", "1")))
w, velocity = rng.normal(size=x.shape[1]), np.zeros(x.shape[1])
for step in range(200):
    batch = rng.integers(0, 1500, 64)
    error = 1 / (1 + np.exp(-x[batch] @ w)) - label[batch]
    velocity = momentum * velocity - lr * (x[batch].T @ error) / 64
    w += velocity
chance = np.clip(1 / (1 + np.exp(-x[held_out] @ w)), 1e-12, 1 - 1e-12)
print("val_loss:", -np.mean(np.where(label[held_out], np.log(chance), np.log(1 - chance))))
