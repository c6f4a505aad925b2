#!/bin/sh
# One would guess: the loss that paddle.Model.evaluate() returns, and that fit() prints for its evaluation, is the mean over the data, as in
# Keras, whose interface it follows, and as the accuracy beside it is.
# In fact it is the loss of the last batch alone: 0.0000, 0.3953 or 0.0654 for one model on one set of rows, by their order and the batch size.
# If the last batch is easy, a model that diverged has a loss of 0.0.
# Version: paddlepaddle 3.3.1 (CPU). Source: paddle/hapi/model.py, _run_one_epoch: logs["loss"] is set by each batch.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check paddlepaddle==3.3.1
"$dir/venv/bin/python" - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
import numpy as np
import paddle

class Rows(paddle.io.Dataset):
    def __init__(self, order):
        self.x = np.linspace(-2, 2, 32, dtype="float32")[order].reshape(-1, 1)

    def __getitem__(self, i):
        return self.x[i], np.array([int(self.x[i, 0] > 0)], dtype="int64")

    def __len__(self):
        return len(self.x)

paddle.seed(0)
net = paddle.nn.Linear(1, 2)
net.weight.set_value(np.array([[-3.0, 3.0]], dtype="float32"))
model = paddle.Model(net)
model.prepare(loss=paddle.nn.CrossEntropyLoss(), metrics=paddle.metric.Accuracy())
rows = Rows(np.arange(32))
mean = float(paddle.nn.functional.cross_entropy(net(paddle.to_tensor(rows.x)), paddle.to_tensor((rows.x > 0).astype("int64"))))
print("paddlepaddle", paddle.__version__)
print("mean of the loss: %.4f" % mean)
seen = []
for name, order, size in (("in order", np.arange(32), 4), ("middle last", np.argsort(-abs(np.linspace(-2, 2, 32))), 4), ("one batch", np.arange(32), 32)):
    result = model.evaluate(Rows(order), batch_size=size, verbose=0)
    seen.append(float(result["loss"][0]))
    print("%s, batches of %d: loss %.4f, acc %.4f" % (name, size, seen[-1], result["acc"]))
sys.exit(not (seen[0] < mean / 10 and seen[1] > 3 * mean and abs(seen[2] - mean) < 1e-4))
END
