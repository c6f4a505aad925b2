# pip: hydra-core==1.3.8
# run: python3 "$SCRIPT" lr=0.2
# keep: outputs/*/*/run_hydra.log
"""A program of Hydra: its logging puts a time and the name of the module before each line, and repeats them in a file."""
import logging
import hydra
from hydra.core.config_store import ConfigStore

ConfigStore.instance().store("config", {"lr": 0.1})
log = logging.getLogger(__name__)


@hydra.main(version_base=None, config_path=None, config_name="config")
def main(config):
    for epoch in range(3):
        log.info("epoch %d: val_loss=%.4f val_acc=%.3f", epoch, 1 / (1 + epoch * config.lr), 0.5 + epoch / 10)
    with open("right.tsv", "w", encoding="utf-8") as out:
        out.write(f"val_loss\t-\t{1 / (1 + 2 * config.lr):.4f}\nval_acc\t-\t0.700\n")


main()
