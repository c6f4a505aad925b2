#!/bin/sh
# One would guess: a BPE tokenizer of Hugging Face's tokenizers that was trained without an unknown token refuses a character that it has never
# seen, as WordLevel and Unigram of the same package do, or has bytes to fall back on.
# In fact it leaves the character out, without a word: "bad zebra 42" is the tokens bad, b, a, and "42" is none at all. The ByteLevel
# pre-tokenizer, the one of GPT-2, does not help: a byte that the corpus lacks is left out, unless initial_alphabet is given to the trainer.
# A loss for each token looks good on text that the model does not see, a count of tokens is too low, and what is decoded is another text.
# Version: tokenizers 0.23.3. Source: tokenizers/src/models/bpe/model.rs, merge_word: without unk_token no symbol is added.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile tokenizers==0.23.3
"$dir/venv/bin/python" - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
print("tokenizers", version("tokenizers"))
corpus, text = ["abc abd cab dab bad"] * 5, "bad zebra 42"
trained = {}
for name, model, trainer, split in (
        ("BPE", models.BPE, trainers.BpeTrainer, pre_tokenizers.Whitespace()),
        ("BPE, ByteLevel", models.BPE, trainers.BpeTrainer, pre_tokenizers.ByteLevel(add_prefix_space=False)),
        ("WordLevel", models.WordLevel, trainers.WordLevelTrainer, pre_tokenizers.Whitespace()),
        ("Unigram", models.Unigram, trainers.UnigramTrainer, pre_tokenizers.Whitespace())):
    tokenizer = Tokenizer(model())
    tokenizer.pre_tokenizer = split
    tokenizer.train_from_iterator(corpus, trainer(vocab_size=50, show_progress=False))
    try:
        trained[name] = tokenizer.encode(text).tokens
    except Exception as error:
        trained[name] = str(error)
    print(f"{name}: {trained[name]}")
sys.exit(trained["BPE"] != ["bad", "b", "a"] or "".join(trained["BPE, ByteLevel"]) != "bad\u0120ba\u0120" or "nknown" not in trained["Unigram"]
         or "UNK" not in trained["WordLevel"])
END
