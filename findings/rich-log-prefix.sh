#!/bin/sh
# One would guess: print of rich, put in place of the usual one for nicer logs, writes every word of a line, if perhaps in colour; and what goes to a
# file is the text of the line.
# In fact [train] and [val] are taken for the names of styles, as [bold] is one, and unknown ones are left out without a message: "[train] loss 0.5"
# and "[val] loss 0.4" are both " loss ..", so a program that reads the log takes one curve for the other. [epoch 3] vanishes as well; [1/10] and
# [0.5, 0.4], which begin with a digit, stay. A line of more than 80 characters is broken, so that its last metrics have no step before them.
# Version: rich 15.0.0. Source: rich/markup.py, RE_TAGS and render; rich/console.py, whose width is 80 if the output is not a terminal.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check --no-compile rich==15.0.0
unset COLUMNS
venv/bin/python - >out <<'END'
from rich import print
print("[train] step 10 loss 0.5")
print("[val] step 10 loss 0.4")
print("[epoch 3] loss 0.3")
print("[1/10] loss 0.2")
print("step 1000 " + " ".join(f"loss/part_{i}={i / 4:.6f}" for i in range(5)))
END
venv/bin/pip list --disable-pip-version-check 2>err | grep rich
cat out
printf ' step 10 loss 0.5\n step 10 loss 0.4\n loss 0.3\n[1/10] loss 0.2\n' >expected
head -4 out | cmp - expected
[ "$(sed -n '$=' out)" = 6 ] && sed -n 6p out | grep -q '^loss/part_'
