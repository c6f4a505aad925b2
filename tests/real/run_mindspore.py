# pip: mindspore==2.10.0 numpy==1.26.4
"""MindSpore: `loss is 0.9` of LossMonitor, and what an evaluation returns."""
import mindspore as ms
import numpy as np
from mindspore import dataset, nn
from mindspore.train import Accuracy, Callback, LossMonitor, Model

from tiny import right

losses = []


class Seen(Callback):
    def step_end(self, run_context):
        losses.append(run_context.original_args().net_outputs.asnumpy().item())


ms.set_seed(1)
ms.set_context(device_target="CPU")
numbers = np.random.default_rng(0)
x = numbers.normal(size=(120, 5)).astype("float32")
data = dataset.GeneratorDataset([(row, np.int32(row[0] > 0)) for row in x], ["x", "y"], shuffle=False).batch(30)
net = nn.Dense(5, 2)
model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"acc": Accuracy()})
model.train(2, data, callbacks=[Seen(), LossMonitor(1)], dataset_sink_mode=False)
result = model.eval(data, dataset_sink_mode=False)
print(result)
right(("loss", "-", losses[-1]), ("acc", "-", result["acc"]))
