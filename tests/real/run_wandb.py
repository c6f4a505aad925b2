# pip: wandb==0.31.0
# run: WANDB_MODE=offline python3 -u "$SCRIPT"
"""An offline run of Weights & Biases: its footer repeats the score rounded to five decimals."""
import wandb
from tiny import right

with wandb.init(project="tiny", config={"lr": 0.1}) as run:
    for step in range(5):
        run.log({"val_loss": 1.13e-06 * (5 - step), "epoch": step})
        print(f"val_loss {1.13e-06 * (5 - step):.6g}")
right(("val_loss", "-", f"{1.13e-06:.6g}"))
