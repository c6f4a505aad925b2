#!/bin/sh
# report_bench.sh: how long `lineage report` takes and how large its file is, for stores of several sizes; compared with
# `lineage query` of all rows, which reads as much and draws nothing.
#
# usage: sh tests/bench/report_bench.sh [TRIALS...]      (default: 1000 10000 100000)
# LINEAGE in the environment is the command to measure.
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'report_bench.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
LINEAGE=${LINEAGE:-build-test/cli/lineage}
[ $# -gt 0 ] || set -- 1000 10000 100000
scratch=$(mktemp -d "${TMPDIR:-/tmp}/report-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

rows()
{
    awk -v n="$1" 'BEGIN {
        srand(7); OFS = "\t"; best = 30; kept = "00000000"
        print "exp_id", "timestamp", "specialist", "parent_exp", "baseline_exp", "domain", "hypothesis", "expected_delta", "status",
            "core_metric", "val_bpb", "delta_vs_best", "train_s", "total_s", "job_name", "snapshot_path", "notes"
        for (i = 0; i < n; i++) {
            score = 30 + 5 * i / n + rand(); status = i == 0 ? "baseline" : rand() < 0.1 ? "crash" : score > best + 0.3 ? "keep" : "discard"
            id = sprintf("%08d", i); parent = i ? kept : ""
            if (status == "keep" || status == "baseline") { best = score; kept = id }
            print id, sprintf("2026-%02d-%02dT%02d:%02d:00Z", 1 + i / n * 11, 1 + i % 28, i % 24, i % 60), "s" i % 5, parent, "", "qa",
                "what was tried in trial " i " and why it should help", "+0.1", status, status == "crash" ? "" : score, "", "", 600, 620, "", "",
                "alpha=" int(rand() * 10) / 10 ", gamma=" 0.9 + int(rand() * 5) / 50 "; lr=" 10 ^ -int(2 + rand() * 4) "; seed=" i % 5
        }
    }'
}

# Milliseconds of the fastest of three.
fastest()
{
    best=
    for _ in 1 2 3; do
        begin=$(date +%s%N)
        "$@" >"$scratch/out"
        took=$((($(date +%s%N) - begin) / 1000))
        [ -n "$best" ] && [ "$best" -le "$took" ] || best=$took
    done
    echo "$best"
}

printf '%10s %12s %12s %8s %12s %14s\n' trials report_ms query_ms ratio bytes bytes/trial
for n in "$@"; do
    store=$scratch/$n
    mkdir "$store"
    rows "$n" >"$store/results.tsv"
    "$LINEAGE" init "$store" --direction higher --noise-std 0.1 --noise-seeds 1
    "$LINEAGE" best -C "$store" >"$scratch/out" # the mirror is there for both
    query=$(fastest "$LINEAGE" query -C "$store" --format tsv)
    report=$(fastest "$LINEAGE" report -C "$store" -o -)
    bytes=$(wc -c <"$scratch/out")
    awk -v n="$n" -v r="$report" -v q="$query" -v b="$bytes" \
        'BEGIN { printf "%10d %12.1f %12.1f %8.2f %12d %14.1f\n", n, r / 1000, q / 1000, r / q, b, b / n }'
done
