#!/bin/sh
# One would guess: a tokenizer that is trained twice on the same text with the same settings is the same one. No seed is asked for, and BPE of the
# same package keeps to it.
# In fact WordPieceTrainer, BERT's, gives another table of tokens each time, also within one process: letters and words get other numbers, and which
# words are in it changes too, so that one sentence has 13 tokens or 14. The trainer has no seed. An embedding that was trained with the
# first table is noise with the second one, and losses for each token cannot be compared between two runs that trained a tokenizer each.
# Version: tokenizers 0.23.3. Source: tokenizers/src/models/bpe/trainer.rs, tokenize_words, to which the trainer of WordPiece hands over with a
# prefix for the pieces within a word. Known upstream: issue 1794 of huggingface/tokenizers.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile tokenizers==0.23.3
"$dir/venv/bin/python" - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
print("tokenizers", tokenizers.__version__)
text = ["the training loss fell from two to one and the validation loss rose while the learning rate was warmed up "
        "over the first thousand steps of the run"] * 3
tables = {}
for model, trainer in ((models.BPE, trainers.BpeTrainer), (models.WordPiece, trainers.WordPieceTrainer)):
    numbers, words, lengths = set(), set(), set()
    for repeat in range(30):
        tokenizer = Tokenizer(model(unk_token="[UNK]"))
        tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
        tokenizer.train_from_iterator(text, trainer(vocab_size=61, special_tokens=["[UNK]"], show_progress=False))
        table = tokenizer.get_vocab()
        numbers.add(tuple(sorted(table.items())))
        words.add(tuple(sorted(table)))
        lengths.add(len(tokenizer.encode("the loss of the validation").tokens))
    tables[model.__name__] = len(numbers), len(words)
    print(model.__name__, "30 trainings:", len(numbers), "tables,", len(words), "sets of tokens, tokens of a sentence", sorted(lengths))
sys.exit(tables["BPE"] != (1, 1) or min(tables["WordPiece"]) < 2)
END
