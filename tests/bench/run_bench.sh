#!/bin/sh
# run_bench.sh: how much `lineage run` slows down a command that only prints metrics: 100,000 lines, each written by itself
# as an unbuffered program does, compared with the same command into `cat >/dev/null`.
#
# usage: sh tests/bench/run_bench.sh [LINES]      (default: 100000)
# LINEAGE in the environment is the command to measure.
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'run_bench.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
LINEAGE=${LINEAGE:-build-test/cli/lineage}
lines=${1:-100000}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/run-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/print" <<'END2'
i=0
while [ $i -lt "$1" ]; do
    i=$((i + 1))
    echo "METRIC step=$i loss=0.$i"
done
echo "METRIC score=1"
END2

milliseconds()
{
    begin=$(date +%s%N)
    "$@"
    echo $((($(date +%s%N) - begin) / 1000000))
}
cat_run() { sh "$scratch/print" "$lines" | cat >/dev/null; }
lineage_run() { "$LINEAGE" run -C "$scratch/store" --direction lower -q -- sh "$scratch/print" "$lines" >/dev/null; }
peak_run()
{
    # The largest resident size of the watcher alone, read while it runs.
    "$LINEAGE" run -C "$scratch/store" -q -- sh "$scratch/print" $((10 * lines)) >/dev/null &
    peak=0
    while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$!/status" 2>/dev/null) && [ -n "$now" ]; do
        peak=$now
        sleep 0.05
    done
    wait $!
}

# Both take turns, and the fastest of five counts, because other load on the machine affects both.
fast_cat= fast_run=
for _ in 1 2 3 4 5; do
    took=$(milliseconds cat_run)
    [ -n "$fast_cat" ] && [ "$fast_cat" -le "$took" ] || fast_cat=$took
    took=$(milliseconds lineage_run)
    [ -n "$fast_run" ] && [ "$fast_run" -le "$took" ] || fast_run=$took
done
peak_run
printf '%10s %10s %12s %8s %22s\n' lines cat_ms lineage_ms ratio 'peak_kB of 10x lines'
awk -v n="$lines" -v c="$fast_cat" -v r="$fast_run" -v p="$peak" 'BEGIN { printf "%10d %10d %12d %8.2f %22d\n", n, c, r, r / c, p }'
