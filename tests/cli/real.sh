#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh
# real.sh: what real programs printed and left (fixtures/real, made by tests/real/make.sh): the values that each program computed
# itself are read from its output and from its files.
. "$SOURCE/tests/support/shell.sh"

run_in_scratch() { "$LINEAGE" run "$@" --format json >"$scratch/out" 2>"$scratch/err" </dev/null || :; }
n=0
for right in "$SOURCE"/fixtures/real/*/right.tsv; do
    name=$(basename "$(dirname "$right")")
    [ -f "$SOURCE/tests/real/run_$name.py" ] || fail "$name has no script"
    cd "$SOURCE/fixtures/real/$name" || exit 3
    while IFS="$tab" read -r metric file value; do
        n=$((n + 1))
        if [ "$file" = - ]; then
            run_in_scratch --dry-metrics output.txt -m "$metric"
        else
            run_in_scratch --dry-metrics /dev/null --metric-file "$metric=$file"
        fi
        checks=$((checks + 1))
        awk -v a="$(cd "$scratch" && json score.value)" -v b="$value" 'BEGIN { exit a == "" || (a - b) ^ 2 > (1e-9 * b) ^ 2 }' ||
            fail "$name: $metric in $file: wanted $value: $(cat "$scratch/out" "$scratch/err")"
    done <right.tsv
done
cd "$scratch" || exit 3
[ $n -gt 50 ] || fail "only $n values"
[ "$(find "$SOURCE/tests/real" -name 'run_*.py' | wc -l)" -eq "$(find "$SOURCE/fixtures/real" -name right.tsv | wc -l)" ] || fail 'a script has no files'
finish
