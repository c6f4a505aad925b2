#!/bin/sh
# One would guess: test() of fastText counts each line of the test file, and a line whose label the model has never seen is a wrong answer, as the
# model cannot give it.
# In fact a label that the training file lacks is removed from the line, and a line without labels is not counted: of four lines, two of them with
# new classes, N is 2 and precision and recall are 1.0, where one half is right. N alone tells. Models that were trained with a cut of rare classes,
# or on fewer of them, gain by it, and are then compared over other lines.
# Version: fasttext-wheel 0.9.2. Source: fastText's src/fasttext.cc, FastText::test, and src/dictionary.cc, Dictionary::getLine.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check --no-compile fasttext-wheel==0.9.2 numpy==2.4.6
i=0
while [ $i -lt 50 ]; do
    printf '__label__cat meow purr\n__label__dog bark woof\n'
    i=$((i + 1))
done >train.txt
printf '__label__cat meow\n__label__dog bark\n' >known.txt
printf '__label__cat meow\n__label__dog bark\n__label__bird meow tweet\n__label__fish bark splash\n' >test.txt
venv/bin/python -W ignore - <<'END'
import sys
from importlib.metadata import version
import fasttext
print("fasttext-wheel", version("fasttext-wheel"))
model = fasttext.train_supervised("train.txt", epoch=50, lr=1.0, dim=5, thread=1, verbose=0)
seen = [model.test(name) for name in ("known.txt", "test.txt")]
for (lines, precision, recall), name in zip(seen, ("two lines of known classes", "the same and two lines of new ones")):
    print(name + ": N", lines, "precision", precision, "recall", recall)
sys.exit(seen != [(2, 1.0, 1.0)] * 2)
END
