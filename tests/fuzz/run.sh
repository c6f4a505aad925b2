#!/bin/sh
# Builds the fuzz targets with libFuzzer, address and undefined sanitizers, and runs each for a minute.
#
# usage: sh tests/fuzz/run.sh [SECONDS]      (needs clang and libclang-rt-14-dev)
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
seconds=${1:-60}
build="$here/build-fuzz"
CC=clang cmake -S "$here" -B "$build" -G Ninja -DLINEAGE_FUZZ=ON "-DLINEAGE_SANITIZE=address;undefined" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DLINEAGE_BUILD_BENCH=OFF -DLINEAGE_OPENMP=OFF >/dev/null
ninja -C "$build" fuzz_tsv fuzz_notes fuzz_json fuzz_recipe fuzz_mcp fuzz_html fuzz_judge
for target in tsv notes json recipe mcp html judge; do
    mkdir -p "$build/corpus-$target"
    echo "== fuzz_$target =="
    seeds="$here/tests/fuzz/corpus/$target"
    [ "$target" != json ] || seeds="$seeds $here/fixtures/golden"
    [ "$target" != recipe ] || seeds="$seeds $here/fixtures/recipes"
    # shellcheck disable=SC2086 # a list of directories
    "$build/tests/fuzz_$target" -max_total_time="$seconds" -max_len=8192 -print_final_stats=1 -verbosity=0 \
        "$build/corpus-$target" $seeds
done
