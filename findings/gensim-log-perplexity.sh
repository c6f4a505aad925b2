#!/bin/sh
# One would guess: LdaModel.log_perplexity() is the logarithm of the perplexity, so that less is better, as of every loss.
# In fact it is the bound of the likelihood per word in bits, the negative of that: the perplexity is 2 ** -log_perplexity. A search that
# minimises it picks the worst model. The log prints both, with the number before the name: "-1.289 per-word bound, 2.4 perplexity estimate".
# Version: gensim 4.4.0. Source: gensim/models/ldamodel.py, log_perplexity.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check gensim==4.4.0
"$dir/venv/bin/python" - <<'END'
import logging, re, sys
import gensim
from gensim.corpora import Dictionary
from gensim.models import LdaModel

class Keep(logging.Handler):
    def emit(self, record):
        found = re.search(r"per-word bound, ([0-9.]+) perplexity", record.getMessage())
        if found:
            self.last = float(found.group(1))

logger, keep = logging.getLogger("gensim.models.ldamodel"), Keep()
logger.setLevel(logging.INFO)
logger.addHandler(keep)
text = [["a", "b", "c"] * 4, ["d", "e", "f"] * 4] * 30
words = Dictionary(text)
corpus = [words.doc2bow(document) for document in text]
print("gensim", gensim.__version__)
seen = []
for name, options in (("good", {"passes": 10}), ("bad", {"passes": 1, "iterations": 1, "eta": 50.0})):
    value = LdaModel(corpus, num_topics=2, id2word=words, random_state=0, **options).log_perplexity(corpus)
    seen.append((value, keep.last))
    print(name, "model: log_perplexity %.4f, perplexity in the log %s, 2 ** -log_perplexity %.4f" % (value, keep.last, 2 ** -value))
(good, good_perplexity), (bad, bad_perplexity) = seen
sys.exit(not (good_perplexity < bad_perplexity and good > bad and abs(2 ** -good - good_perplexity) < 0.06))
END
