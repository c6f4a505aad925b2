#!/bin/sh
# One would guess: a streamed data set of Hugging Face's datasets that was shuffled has another order in each epoch, as a DataLoader of PyTorch with
# shuffle=True and tf.data have it, at least without a seed.
# In fact shuffle() draws once: each pass over an IterableDataset has the order of the first one, with and without a seed, and so has each round of
# repeat(). Batches are made of the same rows in every epoch. Only set_epoch(n), which a loop of one's own has to call before each epoch,
# changes it. The loss of a batch then has a period of one epoch, which looks like a trait of the model.
# Version: datasets 5.2.0. Source: datasets/iterable_dataset.py, BufferShuffledExamplesIterable, which copies its generator for each pass.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HF_HOME="$dir" HF_HUB_OFFLINE=1
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile datasets==5.2.0
"$dir/venv/bin/python" -W ignore - <<'END'
import sys
import datasets
print("datasets", datasets.__version__)
rows = datasets.Dataset.from_dict({"row": list(range(12))}).to_iterable_dataset()
changed = []
for seed in (None, 1):
    shuffled = rows.shuffle(seed=seed, buffer_size=12)
    epochs = [[row["row"] for row in shuffled] for _ in range(3)]
    twice = [row["row"] for row in shuffled.repeat(2)]
    shuffled.set_epoch(1)
    later = [row["row"] for row in shuffled]
    print("seed", seed, *epochs, "after set_epoch(1)", later)
    changed += [epochs[0] != epochs[1] or epochs[0] != epochs[2], twice[:12] != twice[12:], later == epochs[0], epochs[0] == sorted(epochs[0])]
sys.exit(any(changed))
END
