#!/bin/sh
# One would guess: a Trainer of transformers prints its logs as a dictionary of numbers, {'eval_loss': 0.686331}, as it did until 4.x,
# and a script that reads the line with ast.literal_eval or json gets a float.
# In fact since 5 each float is a text of four significant digits: {'eval_loss': '0.6863'}. A loss of 12345.6 is '1.235e+04', so of two
# runs with 12345.6 and 12350.4 neither is better by what was printed; the epoch is a text, too, and an integer is not.
# Version: transformers 5.24.0. Source: PrinterCallback and ProgressCallback, on_log, in transformers/trainer_callback.py.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check transformers==5.24.0
"$dir/venv/bin/python" - >"$dir/out" 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import types
import transformers
from transformers.trainer_callback import PrinterCallback
print("transformers", transformers.__version__)
state = types.SimpleNamespace(is_local_process_zero=True)
for loss in (0.686331, 12345.6, 12350.4):
    PrinterCallback().on_log(None, state, None, logs={"eval_loss": loss, "epoch": 1.0, "num_tokens": 1234567})
END
cat "$dir/out"
grep -q "{'eval_loss': '0.6863', 'epoch': '1', 'num_tokens': 1234567}" "$dir/out" && [ "$(grep -c "'1.235e+04'" "$dir/out")" = 2 ]
