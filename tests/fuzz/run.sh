#!/bin/sh
# Builds the fuzz targets with libFuzzer, address and undefined sanitizers, and runs each for a minute. What a target found
# earlier is kept in build-fuzz/corpus-TARGET, so a later run goes on from there. A failing input is written to the current
# directory; put it into tests/fuzz/corpus/TARGET once the fault is mended.
#
# usage: sh tests/fuzz/run.sh [SECONDS [TARGET..]]      (needs clang and libclang-rt-14-dev)
#        sh tests/fuzz/run.sh 3600                      (an hour for each target)
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- $(sed -n 's/^ *fuzz_target(\([a-z]*\) .*/\1/p' "$here/tests/CMakeLists.txt")
build="$here/build-fuzz"
CC=clang cmake -S "$here" -B "$build" -G Ninja -DLINEAGE_FUZZ=ON "-DLINEAGE_SANITIZE=address;undefined" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEAGE_BUILD_BENCH=OFF -DLINEAGE_OPENMP=OFF >/dev/null
for target; do
    ninja -C "$build" "fuzz_$target"
done
failed=
for target; do
    mkdir -p "$build/corpus-$target"
    echo "== fuzz_$target =="
    seeds="$here/tests/fuzz/corpus/$target"
    [ "$target" != json ] || seeds="$seeds $here/fixtures/golden"
    [ "$target" != recipe ] || seeds="$seeds $here/fixtures/recipes"
    # shellcheck disable=SC2086 # a list of directories
    "$build/tests/fuzz_$target" -max_total_time="$seconds" -max_len=8192 -print_final_stats=1 -verbosity=0 \
        "$build/corpus-$target" $seeds || failed="$failed $target"
done
[ -z "$failed" ] || {
    echo "failed:$failed" >&2
    exit 1
}
