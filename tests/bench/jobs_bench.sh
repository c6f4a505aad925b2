#!/bin/sh
# jobs_bench.sh: a night that runs two trials in parallel, each with two threads, which wait by spinning or by sleeping
# (OMP_WAIT_POLICY). Prints seconds and seconds of processor time for both, measured in turns.
#
# usage: sh tests/bench/jobs_bench.sh [ITERATIONS]      (default: 3, of 256 rollouts; four trials a night)
# LINEAGE in the environment is the command to measure.
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'jobs_bench.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
LINEAGE=${LINEAGE:-build-test/cli/lineage}
case $LINEAGE in /*) ;; *) LINEAGE=$PWD/$LINEAGE ;; esac
scratch=$(mktemp -d "${TMPDIR:-/tmp}/jobs-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
printf '{"threads": 2, "start": {"warm_start": {"steps": 10}}, "training": {"iterations": %d}, "evaluation": {"questions": 16, "every": 0, "seeds": 1}}' \
    "${1:-3}" >recipe.json
echo '{"name": "jobs", "recipe": "recipe.json", "grid": {"lr": [0.001, 0.002, 0.003, 0.004]}}' >sweep.json

printf '%10s%12s%22s\n' waiting seconds 'processor seconds'
for round in 1 2; do
    for policy in active passive; do
        rm -rf night
        began=$(date +%s.%N)
        OMP_WAIT_POLICY=$policy sh -c '"$0" night sweep.json -C night --jobs 2 -q >/dev/null 2>&1; times' "$LINEAGE" >times
        ended=$(date +%s.%N)
        # The second line of `times` is of the children: user and system, each as MmS.SSs.
        tail -n 1 times | tr 'ms' '  ' | awk -v policy=$policy -v wall="$(echo "$ended $began" | awk '{ print $1 - $2 }')" \
            '{ printf "%10s%12.2f%22.2f\n", policy, wall, 60 * $1 + $2 + 60 * $3 + $4 }'
    done
done
