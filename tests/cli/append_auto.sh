#!/bin/sh
# append_auto.sh: `--status auto` against the best so far: direction, ties, required improvement, noise floor.
. "$SOURCE/tests/support/shell.sh"

# decides WANTED SCORE ARGUMENT...: in $store.
decides()
{
    wanted_status=$1 score=$2
    shift 2
    must_run -C "$store" append --status auto --core-metric "$score" --format json "$@"
    must_equal "$wanted_status" "$(json status)"
}

must_run init lower
store=lower
decides keep 1.0
decides discard 1.0
decides discard 1.5
decides keep 0.9
must_equal -0.1 "$(json delta_vs_best)"
must_equal 000 "$(json baseline_exp)"
decides discard 0.85 --min-delta 0.1
decides keep 0.75 --min-delta 0.1
decides keep 0.7

must_run init higher --direction higher
store=higher
decides keep 30
decides discard 29
decides keep 31
decides discard 31

# The settings of the store, and options over them: max(min_delta, 2 * std * sqrt(2 / seeds)).
must_run init noisy --direction higher --noise-std 1 --noise-seeds 2
store=noisy
decides keep 10
decides discard 12
decides keep 12.5
decides keep 13 --noise-std 0.01
decides discard 15 --noise-seeds 1
decides keep 15.9 --noise-seeds 1
decides discard 30 --min-delta 20

# Best is what keep and baseline say; a better discard or a crash does not count, nor does a missing score.
must_run init mixed
store=mixed
must_run -C mixed append --status discard --core-metric 0.1
must_run -C mixed append --status size_blocked --core-metric 0.1
decides keep 5
must_run -C mixed append --status baseline --core-metric 4
decides discard 4.5
must_run -C mixed append --status auto --format json
must_equal discard "$(json status)"
must_run -C mixed append --status keep
decides keep 3.5
finish
