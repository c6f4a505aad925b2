# pip: transformers==5.24.0 torch==2.15.0 accelerate==1.15.0
# keep: out/checkpoint-*/trainer_state.json
"""Trainer prints numbers as quoted texts with four digits; trainer_state.json has all of them."""
import torch
from transformers import Trainer, TrainingArguments
from tiny import right, rows


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x, labels=None):
        logits = self.layer(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def accuracy(answers):
    return {"accuracy": float((answers.predictions.argmax(-1) == answers.label_ids).mean())}


torch.manual_seed(1)
data = [{"x": torch.tensor(x), "labels": y} for x, y in rows()]
trainer = Trainer(Net(), TrainingArguments("out", num_train_epochs=3, eval_strategy="epoch", save_strategy="epoch", save_total_limit=1, logging_steps=10,
                                           learning_rate=0.05, report_to="none", per_device_train_batch_size=16),
                  train_dataset=data[:150], eval_dataset=data[150:], compute_metrics=accuracy)
trainer.train()
last = [x for x in trainer.state.log_history if "eval_loss" in x][-1]
loss = [x for x in trainer.state.log_history if "loss" in x][-1]["loss"]
state = f"out/checkpoint-{trainer.state.global_step}/trainer_state.json"
right(("eval_loss", "-", f"{last['eval_loss']:.4g}"), ("eval_accuracy", "-", f"{last['eval_accuracy']:.4g}"), ("loss", "-", f"{loss:.4g}"),
      ("eval_loss", state, last["eval_loss"]), ("eval_accuracy", state, last["eval_accuracy"]), ("loss", state, loss))
