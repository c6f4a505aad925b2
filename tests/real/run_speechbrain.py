# pip: speechbrain==1.1.2 torch==2.15.0 numpy==2.4.6
# keep: train_log.txt
"""speechbrain: its progress bars have only the loss of the training; the validation is in train_log.txt."""
import speechbrain
import torch
from speechbrain.utils.epoch_loop import EpochCounter
from speechbrain.utils.train_logger import FileTrainLogger

from tiny import right

seen, log = {}, FileTrainLogger("train_log.txt")


class Tiny(speechbrain.Brain):
    def compute_forward(self, batch, stage):
        return self.modules.model(batch[0])

    def compute_objectives(self, predictions, batch, stage):
        return torch.nn.functional.mse_loss(predictions, batch[1])

    def on_stage_end(self, stage, stage_loss, epoch=None):
        if stage == speechbrain.Stage.TRAIN:
            seen["train"] = stage_loss
        elif stage == speechbrain.Stage.VALID:
            seen["valid"] = stage_loss
            log.log_stats({"epoch": epoch, "lr": 0.1}, {"loss": seen["train"]}, {"loss": stage_loss})


torch.manual_seed(0)
x = torch.randn(100, 5)
batches = [(x[i:i + 10], x[i:i + 10, :1] * 2) for i in range(0, 100, 10)]
Tiny({"model": torch.nn.Linear(5, 1)}, lambda p: torch.optim.SGD(p, 0.1), run_opts={"device": "cpu"}).fit(EpochCounter(2), batches, batches)
right(("train_loss", "-", f"{seen['train']:.3g}"), ("valid loss", "train_log.txt", f"{seen['valid']:.2e}"))
