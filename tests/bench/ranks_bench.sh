#!/bin/sh
# ranks_bench.sh: compares one trial by two processes under mpirun with the same trial by two threads: seconds of training
# (train_s of the rows), and whether both end with the same checkpoint.
#
# usage: sh tests/bench/ranks_bench.sh [ITERATIONS]      (default: 20, of 256 rollouts)
# LINEAGE in the environment is the command to measure. The machine needs two free processors.
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'ranks_bench.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
LINEAGE=${LINEAGE:-build-test/cli/lineage}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/ranks-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM OMPI_MCA_btl_vader_single_copy_mechanism
# The defaults of a recipe with a very short warm start.
printf '{"start": {"warm_start": {"steps": 10}}, "training": {"iterations": %d}, "evaluation": {"questions": 64, "every": 0, "seeds": 1}}' \
    "${1:-20}" >"$scratch/recipe.json"

train_s() { tail -n 1 "$1/results.tsv" | cut -f 13; }
by_one() { "$LINEAGE" train "$scratch/recipe.json" -C "$scratch/one" -q --threads 1 >/dev/null && train_s "$scratch/one"; }
by_threads() { "$LINEAGE" train "$scratch/recipe.json" -C "$scratch/threads" -q --threads 2 >/dev/null && train_s "$scratch/threads"; }
by_ranks()
{
    mpirun -n 2 --oversubscribe --bind-to none "$LINEAGE" train "$scratch/recipe.json" -C "$scratch/ranks" -q --threads 1 \
        >/dev/null </dev/null && train_s "$scratch/ranks"
}
least() { printf '%s\n' "$@" | sort -g | head -n 1; }

# Both take turns, and the fastest of three counts, because other load on the machine affects all runs.
one='' threads='' ranks=''
for _ in 1 2 3; do
    one="$one $(by_one)" threads="$threads $(by_threads)" ranks="$ranks $(by_ranks)"
done
# shellcheck disable=SC2086
one=$(least $one) threads=$(least $threads) ranks=$(least $ranks)
cmp "$scratch"/threads/snapshots/000_*/policy.ckpt "$scratch"/ranks/snapshots/000_*/policy.ckpt
printf '%10s %12s %12s %20s %22s\n' one_s threads_2_s ranks_2_s 'efficiency_of_ranks' 'ranks over threads'
awk -v o="$one" -v t="$threads" -v r="$ranks" \
    'BEGIN { printf "%10.2f %12.2f %12.2f %20.2f %22.2f\n", o, t, r, o / r / 2, r / t }'
