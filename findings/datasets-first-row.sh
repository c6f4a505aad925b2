#!/bin/sh
# One would guess: Dataset.from_list of Hugging Face's datasets has a column for each key that occurs in a row, with None where a row has not got it, as
# from_json of the same rows, pandas and polars have it.
# In fact only the keys of the first row become columns, and the values of others are dropped without a warning: the log of a training, whose first
# row has step and loss and whose every hundredth has eval_loss too, loses eval_loss. If the first row happens to have it, all is there.
# Version: datasets 5.2.0. Source: datasets/arrow_dataset.py, from_list, mapping[0].
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile datasets==5.2.0 pyarrow==26.0.1 pandas==2.3.3 numpy==2.4.6
export HF_HOME="$dir/cache" HF_HUB_OFFLINE=1
cd "$dir"
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import json
import sys
from importlib.metadata import version
import datasets
import pandas as pd
datasets.disable_progress_bars()
print("datasets", version("datasets"))
rows = [{"step": 1, "loss": 2.5}, {"step": 2, "loss": 2.25, "eval_loss": 2.5}]
with open("log.jsonl", "w") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)
seen = [datasets.Dataset.from_list(rows).column_names, datasets.Dataset.from_list(rows[::-1]).column_names,
        datasets.Dataset.from_json("log.jsonl").column_names, list(pd.DataFrame(rows).columns)]
for name, columns in zip(("from_list", "from_list, last row first", "from_json", "pandas"), seen):
    print(name + ":", *columns)
sys.exit([len(columns) for columns in seen] != [2, 3, 3, 3])
END
