# pip: dvclive==3.49.1
# keep: dvclive/*
"""DVCLive: metrics.json with the last values, by parts of their names."""
from dvclive import Live
from tiny import right

with Live(save_dvc_exp=False, dvcyaml=None, dir="dvclive") as live:
    live.log_param("lr", 0.1)
    for step in range(5):
        live.log_metric("train/loss", 1 / (step + 1) + 0.000123456)
        live.log_metric("val/acc", 0.1 * step + 0.00123456789)
        live.next_step()
right(("val/acc", "dvclive/metrics.json", 0.1 * 4 + 0.00123456789), ("train/loss", "dvclive/metrics.json", 0.2 + 0.000123456))
