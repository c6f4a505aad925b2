"""Two spirals and a network of one hidden layer, in NumPy: the foreign program of prune_bench.c. Prints a line such as
`step=100 val_loss=0.41` every 50 of 2000 steps. The settings are arguments; the seed is LINEAGE_SEED."""
import os
import sys
import numpy as np

lr, momentum, decay, width = float(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
data = np.random.default_rng(0)  # the points stay, the seed decides where training starts and what it sees
label = data.integers(0, 2, 3000)
angle = data.uniform(0.5, 3.2, 3000) * np.pi
x = np.column_stack([angle * np.cos(angle + np.pi * label), angle * np.sin(angle + np.pi * label), np.full(3000, 3.0)]) / 3
x[:, :2] += data.normal(size=(3000, 2)) * 0.12
train, held_out = np.arange(2000), np.arange(2000, 3000)
rng = np.random.default_rng(int(os.environ.get("LINEAGE_SEED", "1")))
weights = [rng.normal(size=(3, width)), rng.normal(size=width) / np.sqrt(width)]
velocity = [np.zeros_like(w) for w in weights]
for step in range(1, 2001):
    batch = rng.choice(train, 64)
    hidden = np.tanh(x[batch] @ weights[0])
    error = (1 / (1 + np.exp(-np.clip(hidden @ weights[1], -30, 30))) - label[batch]) / 64
    gradients = [x[batch].T @ (error[:, None] * weights[1] * (1 - hidden**2)), hidden.T @ error]
    for w, v, g in zip(weights, velocity, gradients):
        v *= momentum
        v -= lr * (g + decay * w)
        w += v
    if step % 50 == 0:
        out = np.clip(np.tanh(x[held_out] @ weights[0]) @ weights[1], -30, 30)
        loss = np.mean(np.log1p(np.exp(np.where(label[held_out] == 1, -out, out))))
        print(f"step={step} val_loss={loss:.6f}", flush=True)
