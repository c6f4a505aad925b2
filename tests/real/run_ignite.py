# pip: pytorch-ignite==0.5.5 torch==2.15.0
"""An evaluator of ignite, whose metrics a handler prints, beside the bar of tqdm."""
import torch
from ignite.contrib.handlers import ProgressBar
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch.utils.data import DataLoader
from tiny import right, rows

torch.manual_seed(1)
data = [(torch.tensor(x), y) for x, y in rows()]
net, loss = torch.nn.Linear(2, 2), torch.nn.functional.cross_entropy
trainer = create_supervised_trainer(net, torch.optim.Adam(net.parameters(), 0.05), loss)
evaluator = create_supervised_evaluator(net, metrics={"accuracy": Accuracy(), "nll": Loss(loss)})
bar = ProgressBar(persist=True)
bar.attach(trainer, output_transform=lambda x: {"batch loss": x})


@trainer.on(Events.EPOCH_COMPLETED)
def validate(engine):
    evaluator.run(DataLoader(data[150:], 16))
    bar.log_message(f"Validation Results - Epoch: {engine.state.epoch} Avg accuracy: {evaluator.state.metrics['accuracy']:.4f} Avg loss: {evaluator.state.metrics['nll']:.4f}")


trainer.run(DataLoader(data[:150], 16), max_epochs=3)
right(("Avg loss", "-", f"{evaluator.state.metrics['nll']:.4f}"), ("avg_accuracy", "-", f"{evaluator.state.metrics['accuracy']:.4f}"))
