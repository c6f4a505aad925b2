#!/bin/sh
# One would guess: Word2Vec.get_latest_training_loss() in a callback at the end of an epoch is the loss of this epoch.
# In fact it is the sum over all epochs of this call of train(), and over all words: it grows in every epoch, however well the training goes,
# and a search that minimises it finds the run with the fewest epochs or the smallest corpus.
# Version: gensim 4.4.0. Source: gensim/models/word2vec.py, running_training_loss, which train() sets to 0 once.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check gensim==4.4.0
"$dir/venv/bin/python" - <<'END'
import sys
import gensim
from gensim.models import Word2Vec
from gensim.models.callbacks import CallbackAny2Vec

class Losses(CallbackAny2Vec):
    def __init__(self):
        self.seen = []

    def on_epoch_end(self, model):
        self.seen.append(model.get_latest_training_loss())

losses = Losses()
text = [["the", "cat", "sat", "on", "a", "mat"] * 5, ["one", "dog", "ran", "in", "two", "woods"] * 5] * 200
Word2Vec(text, vector_size=8, min_count=1, sample=0, epochs=6, alpha=0.05, compute_loss=True, workers=1, seed=1, callbacks=[losses])
steps = [b - a for a, b in zip([0.0] + losses.seen, losses.seen)]
print("gensim", gensim.__version__)
print("latest loss:       ", *("%.0f" % loss for loss in losses.seen))
print("what an epoch adds:", *("%.0f" % step for step in steps))
sys.exit(not (losses.seen == sorted(losses.seen) and losses.seen[-1] > 3 * losses.seen[0] and steps[-1] < steps[0]))
END
