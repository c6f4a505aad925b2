# pip: comet_ml==3.58.8
"""An offline run of Comet: its last lines have the number of values, the least and the greatest: loss [4] : (0.25, 1.0)."""
import comet_ml
from tiny import right

run = comet_ml.OfflineExperiment(offline_directory="out", project_name="tiny", workspace="tiny", log_code=False, log_git_metadata=False,
                                 auto_output_logging=False)
for step in range(4):
    run.log_metric("val_loss", 1 / (step + 1), step=step)
    print("val_loss", 1 / (step + 1))
run.end()
right(("val_loss", "-", 0.25))
