#!/bin/sh
# From a bare Debian 12 machine to a real short night and the block the next agent reads: installs what is
# missing, builds, warm-starts a small policy on noisy demonstrations of multi-hop questions, trains the six
# trials of an A2TGPO ladder from it (GRPO, the four modes, one with more weight on information gain), each a
# child process whose measured row is appended, and prints KNOWLEDGE.md.
#
# usage: sh cli/first-night.sh [STORE]      (default: build/first-night)
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
# shellcheck disable=SC2086
need_packages $build_packages

build="$here/build"
cmake -S "$here" -B "$build" -G Ninja -DLINEAGE_BUILD_TESTS=OFF -DLINEAGE_BUILD_BENCH=OFF >"${TMPDIR:-/tmp}/lineage-cmake.$$" 2>&1 ||
    { cat "${TMPDIR:-/tmp}/lineage-cmake.$$" >&2; exit 3; }
rm -f "${TMPDIR:-/tmp}/lineage-cmake.$$"
ninja -C "$build" --quiet >&2

store=${1:-$build/first-night}
[ $# -gt 0 ] || rm -rf "$store"
lineage() { "$build/cli/lineage" "$@"; }

# Between seeds, the score of this ladder varies with a standard deviation of about 0.02 (README).
lineage init "$store" --direction higher --noise-std 0.02 --noise-seeds 1
lineage night "$here/fixtures/recipes/ladder.json" -C "$store"

echo
echo '$ lineage query --alpha 0.1:0.5'
lineage query --alpha 0.1:0.5 -C "$store"
echo
lineage render -C "$store"
