#!/bin/sh
# One would guess: with several passes, "average loss" at the end of Vowpal Wabbit's output is the "average loss" of the last row of its table.
# In fact the table has the mean over all held-out examples (the rows end with h) since the first pass, and the last line that of the best pass
# alone, so it is many times less: 0.0005 below 0.025 here, under the same name. And if the examples come from a program (learn()), the table is
# the same and the last line says "average loss = undefined (no holdout)". A script that reads the last line, or the last row, must know which.
# Version: vowpalwabbit 9.11.9. Source: finish() in vowpalwabbit/core/src/parse_args.cc, holdout_best_loss.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
python3 -m venv venv
venv/bin/pip install -q --disable-pip-version-check vowpalwabbit==9.11.9
cat >probe.py <<'END'
import random, sys
import vowpalwabbit
random.seed(0)
lines = ["%.3f | a:%.3f b:%.3f" % (a + 2 * b, a, b) for a, b in ((random.random(), random.random()) for _ in range(200))]
if sys.argv[1] == "file":
    open("train.txt", "w").write("".join(line + "\n" for line in lines))
    vowpalwabbit.Workspace("-d train.txt --passes 3 -c -k -P 50").finish()
else:
    workspace = vowpalwabbit.Workspace("--passes 3 --cache_file c -k -P 50")
    for line in lines:
        workspace.learn(line)
    workspace.finish()
END
echo "vowpalwabbit $(venv/bin/python -c 'import vowpalwabbit; print(vowpalwabbit.__version__)')"
for from in file program; do
    venv/bin/python probe.py $from >$from.out 2>&1
    echo "examples from a $from:"
    grep -E ' h$|^average loss' $from.out | tail -n 2
done
table=$(grep -E '^[0-9.]+ .* h$' file.out | tail -n 1 | cut -d ' ' -f 1)
end=$(sed -n 's/^average loss = \([0-9.]*\) h$/\1/p' file.out)
awk -v a="$table" -v b="$end" 'BEGIN { exit !(b > 0 && a > 10 * b) }' && grep -q '^average loss = undefined (no holdout)$' program.out
