#!/bin/sh
# From a bare Debian 12 machine to a rendered KNOWLEDGE.md block: installs what is missing, builds, creates a
# store, appends the six trials of an A2TGPO sweep (one with statistics that the training core computes from a
# batch), queries it by alpha and prints the block for the next agent.
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
lineage() { "$build/cli/lineage" -C "$store" "$@"; }

"$build/cli/lineage" init "$store" --direction higher

lineage append --specialist grpo-baseline --domain multi-hop-qa --status baseline --core-metric 33.21 \
    --hypothesis 'Plain GRPO: token-level importance ratio, fixed clip range, no information gain'
lineage append --specialist atpo-joint --domain multi-hop-qa --parent 000 --status auto --core-metric 34.02 \
    --expected-delta '+0.80 EM' --ig-clip-scale-mean 1 --ig-clip-scale-std 0 \
    --hypothesis 'Turn-level importance ratio; information gain and outcome normalised in one set'
lineage append --specialist atpo-separate --domain multi-hop-qa --parent 001 --status auto --core-metric 33.74 \
    --expected-delta '+0.20 EM' \
    --hypothesis 'Normalise information gain and outcome apart'
lineage append --specialist atpo-turn-group --domain multi-hop-qa --parent 001 --status auto --core-metric 34.51 \
    --expected-delta '+0.50 EM' \
    --hypothesis 'Normalise information gain per prompt and turn index'
# alpha, beta, gamma, clip scale and information gain per turn of this one come out of the core.
lineage append --specialist a2tgpo-v1d --domain multi-hop-qa --parent 003 --status auto --core-metric 34.96 \
    --expected-delta '+0.45 EM' --batch "$here/fixtures/first-night/batch.json" \
    --hypothesis 'Turn-group normalisation, variance-rescaled accumulation, clip range widened by information gain'
lineage append --specialist a2tgpo-v1d-alpha09 --domain multi-hop-qa --parent 004 --status eval_budget_overrun \
    --expected-delta '+0.50 EM' --alpha 0.9 --gamma 1.0 --train-s 14180 --total-s 14240 \
    --hypothesis 'Weight the accumulated information gain more: alpha 0.3 to 0.9' \
    --notes 'evaluation ran past its wall on the 4-hop subset'

echo
echo '$ lineage query --alpha 0.1:0.5'
lineage query --alpha 0.1:0.5
echo
lineage render --for a2tgpo-v1d-beta-sweep
