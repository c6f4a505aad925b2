#!/bin/sh
# One would guess: cohen_d in the row that pingouin.ttest() returns has the sign of the difference, as T beside it and as compute_effsize() of the
# same package, which computes it.
# In fact ttest() takes its absolute value: 1.698 for a treatment that lowers the score and for one that raises it. A table of effect sizes over
# ten tasks shows ten gains where five are losses, their mean is that of a large effect, and a filter such as cohen_d > 0.5 lets the losses
# through.
# Version: pingouin 0.7.0. Source: pingouin/parametric.py, ttest, "cohen_d": abs(d).
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile pingouin==0.7.0 numpy==2.4.6
OPENBLAS_NUM_THREADS=1 "$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import pingouin
print("pingouin", version("pingouin"))
before, after = [1.0, 2.0, 3.0, 4.0], [3.0, 5.0, 5.0, 7.0]
values = []
for name, x, y in (("lower", before, after), ("higher", after, before)):
    row = pingouin.ttest(x, y).iloc[0]
    values.append([round(float(value), 3) for value in (row["T"], row["cohen_d"], pingouin.compute_effsize(x, y, eftype="cohen"))])
    print(f"x is {name}: T {values[-1][0]} cohen_d {values[-1][1]} compute_effsize {values[-1][2]}")
sys.exit(values != [[-2.402, 1.698, -1.698], [2.402, 1.698, 1.698]])
END
