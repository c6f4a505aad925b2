#!/bin/sh
# One would guess: Krippendorff's alpha of the same labels of two annotators is the same number from two packages for it, and does not change if
# the classes are numbered in another order.
# In fact alpha() of krippendorff takes labels as points of a scale (level_of_measurement="interval"), and simpledorff takes them as names: 0.526
# and 0.710 for classes 1, 2 and 3. With 2 and 3 exchanged the first package has 0.852 and the second one still 0.710. So a judge model's
# agreement passes the usual threshold of 0.667, or does not, by how a table of classes is sorted. krippendorff asks for the level only if labels
# are texts; simpledorff has no other default.
# Version: krippendorff 0.9.0, simpledorff 0.0.2. Source: krippendorff/krippendorff.py, alpha; simpledorff/metrics.py, nominal_metric.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q --disable-pip-version-check --no-compile krippendorff==0.9.0 simpledorff==0.0.2 pandas==3.1.1 numpy==2.4.6
"$dir/venv/bin/python" -W ignore - 2>"$dir/err" <<'END' || { cat "$dir/err"; exit 1; }
import sys
from importlib.metadata import version
import krippendorff, pandas, simpledorff
print("krippendorff", version("krippendorff"), "simpledorff", version("simpledorff"))
labels = [[1, 2, 3, 3, 1], [1, 2, 3, 1, 1]]
exchanged = [[{1: 1, 2: 3, 3: 2}[label] for label in row] for row in labels]
values = []
for name, rows in (("classes 1, 2, 3", labels), ("2 and 3 exchanged", exchanged)):
    frame = pandas.DataFrame([(item, who, rows[who][item]) for who in range(2) for item in range(5)], columns=["item", "who", "label"])
    values.append([round(float(value), 3) for value in (
        krippendorff.alpha(reliability_data=rows), krippendorff.alpha(reliability_data=rows, level_of_measurement="nominal"),
        simpledorff.calculate_krippendorffs_alpha_for_df(frame, experiment_col="item", annotator_col="who", class_col="label"))])
    print(f"{name}: krippendorff {values[-1][0]}, with nominal {values[-1][1]}, simpledorff {values[-1][2]}")
sys.exit(values != [[0.526, 0.71, 0.71], [0.852, 0.71, 0.71]])
END
