#!/bin/sh
# marathon.sh: N kills on stores in memory, or in $TMPDIR: writers, imports, renders, rebuilds, the command and another program
# are killed at random; then every promise of FORMAT.md is checked. Exit status 1 if one was broken.
#
# usage: sh tests/fault/marathon.sh [KILLS [SEED]]      builds what is missing in ./build-test
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${BUILD:-$here/build-test}
if [ -z "${TMPDIR:-}" ] && [ -d /dev/shm ] && [ -w /dev/shm ]; then
    TMPDIR=/dev/shm
    export TMPDIR
fi
[ -f "$build/build.ninja" ] || cmake -S "$here" -B "$build" -G Ninja -DLINEAGE_BUILD_TESTS=ON >/dev/null
ninja -C "$build" --quiet marathon lineage
exec "$build/tests/marathon" "${1:-10000}" "${2:-$(date +%s)}" "$build/cli/lineage"
