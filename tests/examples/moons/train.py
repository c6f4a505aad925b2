"""A network with one hidden layer learns two half moons, by gradients in plain Python: train.py LR HIDDEN SEED."""
import math
import random
import sys

lr, hidden, seed = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
STEPS, BATCH = 120, 8


def moons(n, rng):
    points = []
    for i in range(n):
        angle, upper = math.pi * rng.random(), i % 2 == 0
        x = math.cos(angle) if upper else 1 - math.cos(angle)
        y = math.sin(angle) if upper else 0.5 - math.sin(angle)
        points.append((x + rng.gauss(0, 0.2), y + rng.gauss(0, 0.2), 1.0 if upper else -1.0))
    return points


data = random.Random(7)
train, val = moons(80, data), moons(120, data)
rng = random.Random(seed)
w = [[rng.gauss(0, 1), rng.gauss(0, 1), 0.0, rng.gauss(0, 1)] for _ in range(hidden)]
bias = 0.0


def forward(x, y):
    acts = [math.tanh(u[0] * x + u[1] * y + u[2]) for u in w]
    return acts, bias + sum(u[3] * a for u, a in zip(w, acts))


def loss(points):
    return sum(math.log1p(math.exp(-max(-30, t * forward(x, y)[1]))) for x, y, t in points) / len(points)


for step in range(STEPS):
    rate = lr
    grads, gbias = [[0.0] * 4 for _ in range(hidden)], 0.0
    for x, y, t in rng.sample(train, BATCH):
        acts, out = forward(x, y)
        d = -t / (1 + math.exp(max(-30, min(30, t * out)))) / BATCH
        gbias += d
        for u, g, a in zip(w, grads, acts):
            back = d * u[3] * (1 - a * a)
            g[0] += back * x
            g[1] += back * y
            g[2] += back
            g[3] += d * a
    for u, g in zip(w, grads):
        for i in range(4):
            u[i] -= rate * g[i]
    bias -= rate * gbias

print(f"train_loss: {loss(train):.6f}")
print(f"val_loss: {loss(val):.6f}")
