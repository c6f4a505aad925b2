#!/bin/sh
# From a bare Debian 12 machine to a real short night and the block the next agent reads: installs what is
# missing, builds, warm-starts a small policy on noisy demonstrations of multi-hop questions, trains GRPO from it,
# then five variants of A2TGPO of which each goes on from the best so far (one from a trial that was not kept), each
# a child process whose measured row is appended, and prints KNOWLEDGE.md with the chain that led to the best.
#
# usage: sh cli/first-night.sh [STORE]      (default: build/first-night, made anew)
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'first-night.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
[ $# -le 1 ] || { printf 'first-night.sh: one STORE at most; see sh %s --help\n' "$0" >&2 && exit 2; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$here/cli/install-deps.sh"
# shellcheck disable=SC2086
need_packages $build_packages

build="$here/build"
# A name that another user can guess could be a link to a file of this user.
log=$(mktemp "${TMPDIR:-/tmp}/lineage-cmake.XXXXXX") || exit 3
echo "Building in $build" >&2
cmake -S "$here" -B "$build" -G Ninja -DLINEAGE_BUILD_TESTS=OFF -DLINEAGE_BUILD_BENCH=OFF >"$log" 2>&1 ||
    { cat "$log" >&2; rm -f "$log"; exit 3; }
rm -f "$log"
ninja -C "$build" >&2 # its own line says how far it is

store=${1:-$build/first-night}
[ $# -gt 0 ] || rm -rf "$store"
lineage() { "$build/cli/lineage" "$@"; }

# Between seeds, the score of this ladder varies with a standard deviation of about 0.02 (README).
lineage init "$store" --direction higher --noise-std 0.02 --noise-seeds 1
lineage night "$here/fixtures/recipes/first-night.json" -C "$store"

echo
echo '$ lineage query --alpha 0.1:0.5'
lineage query --alpha 0.1:0.5 -C "$store"
echo
lineage render -C "$store"

# Quoted for pasting: a path may hold blanks.
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
store=$(CDPATH='' cd -- "$store" && pwd)
cat <<END

The command is  $build/cli/lineage
The store is    $store
The block is    $store/KNOWLEDGE.md, which the agent that plans the next night reads

To go on:

    export PATH=$(quoted "$build/cli"):"\$PATH"
    cd $(quoted "$store")
    lineage best
    lineage query --sort -core_metric --limit 3
    lineage rollout 000 --n 1
    lineage append --specialist me --parent 000 --status auto --core-metric 0.7 --hypothesis 'what I changed'
    lineage render
    lineage --help
END
