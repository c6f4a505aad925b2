#!/bin/sh
# One would guess: SentencePiece trains on all lines of the corpus, or cuts or refuses a line that is too long for it.
# In fact a line of more than 4192 bytes (max_sentence_length) is left out whole. Of a corpus with one document in each line, or JSON Lines, that is
# most of the text, and what is left is the short documents: characters that only long lines have are unknown afterwards. Training returns as usual.
# The first such line is a warning among the hundred lines of the log, and how many there were is a message at level INFO. Bytes are counted, so in
# Chinese or Russian the limit is reached by a third or half as many characters.
# Version: sentencepiece 0.2.3. Source: src/trainer_interface.cc, TrainerInterface::LoadSentences, "Too long lines are skipped".
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile sentencepiece==0.2.3
"$dir/venv/bin/python" - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import io, sys
import sentencepiece
print("sentencepiece", sentencepiece.__version__)
unknown = {}
for most in (None, 10000):
    lines = ["abc abd cab"] * 50 + ["xyz zyx " * 600] * 50
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=16, model_type="bpe",
                                             hard_vocab_limit=False, **({"max_sentence_length": most} if most else {}))
    trained = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    pieces = [trained.id_to_piece(i) for i in range(len(trained))]
    unknown[most] = trained.unk_id() in trained.encode("xyz")
    print("max_sentence_length", most or "default", "xyz unknown:", unknown[most], "pieces", *pieces[3:])
sys.exit(unknown != {None: True, 10000: False})
END
