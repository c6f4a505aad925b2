#!/bin/sh
# One would guess: a training function that Fire turns into a command gets the texts that were typed, and of them only those that look like
# a number become one.
# In fact each value is read as a Python expression, whatever default or annotation the parameter has. `--run "sweep #3"` is 'sweep', because
# a comment begins at #; `--tags a,b` is a tuple; a commit of git with digits around one e is a float, 1234e56 = 1.234e+59, and with more
# digits behind it infinity, so two commits are one. The command prints no word about it, and the program hands the
# changed value to its tracker.
# Version: fire 0.7.1. Source: fire/parser.py, DefaultParseValue, which uses ast.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile fire==0.7.1
cat >"$dir/train.py" <<'END'
import fire

def train(run: str = "", commit: str = "", tags: str = ""):
    print(repr((run, commit, tags)))

fire.Fire(train)
END
echo "fire $("$dir/venv/bin/python" -c 'from importlib.metadata import version; print(version("fire"))')"
seen=$("$dir/venv/bin/python" "$dir/train.py" --run 'sweep #3' --commit 1234e56 --tags a,b)
other=$("$dir/venv/bin/python" "$dir/train.py" --run 'sweep #4' --commit 1e78901 --tags 'a b')
printf '%s\n' "sweep #3, 1234e56, a,b: $seen" "sweep #4, 1e78901, a b: $other"
[ "$seen" = "('sweep', 1.234e+59, ('a', 'b'))" ] && [ "$other" = "('sweep', inf, 'a b')" ]
