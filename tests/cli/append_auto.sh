#!/bin/sh
# append_auto.sh: `--status auto` compares with the best so far: direction, ties, required improvement, noise floor.
. "$SOURCE/tests/support/shell.sh"

# decides WANTED SCORE ARGUMENT...: the label that `auto` chooses for SCORE in $store.
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

# The store's score has a name: a metric of this name is the score, and another name is refused.
must_run init named
must_run -C named append --score loss --status auto --core-metric 0.5
must_equal loss "$(json score named/lineage.json)"
must_run -C named append --status auto --measured loss=0.25 --format json
must_equal 'keep 0.25' "$(json status) $(json core_metric)"
must_fail 2 'scores of another name, `acc`' -C named append --score acc --status auto --core-metric 0.1
must_fail 2 'core_metric 0.1 and the metric loss=0.2 cannot both be right; give one of them' \
    -C named append --status auto --core-metric 0.1 --measured loss=0.2
must_fail 2 'status auto needs a score' -C named append --status auto --measured acc=0.1
must_run -C named append --status crash --measured loss=0.1 --format json
must_equal null "$(json core_metric)"
printf '{"status":"auto","metrics":{"loss":0.2}}\n{"status":"auto","metrics":{"loss":0.3},"core_metric":0.3}\n' >rows.jsonl
must_run -C named append --json rows.jsonl
must_equal '0.2 0.3' "$(tail -2 named/results.tsv | cut -f 10 | tr '\n' ' ' | sed 's/ $//')"

must_run init higher --direction higher
store=higher
decides keep 30
decides discard 29
decides keep 31
decides discard 31

# The store's settings and the options that override them: max(min_delta, q * std * sqrt(2 / seeds)). q is 3.29, the normal
# quantile 1 - 0.05 / 100, because the owner has set the noise.
must_run init noisy --direction higher --noise-std 1 --noise-seeds 2
store=noisy
decides keep 10
decides discard 12
decides keep 13.5
decides keep 14 --noise-std 0.01
decides discard 18 --noise-seeds 1
decides keep 18.9 --noise-seeds 1
decides discard 30 --min-delta 20

# The best is a keep or baseline: a better discard, a crash, or a trial without a score does not count.
# A night with fewer trials needs less: q is 1.96 for two.
must_run init small --direction higher --noise-std 1 --noise-seeds 2 --night-trials 2
must_equal 2 "$(json night_trials small/lineage.json)"
store=small
decides keep 10
decides discard 11.95
decides keep 11.97
must_fail 2 "night-trials" init wrong --night-trials x

must_run init mixed
store=mixed
must_run -C mixed append --status discard --core-metric 0.1
must_run -C mixed append --status size_blocked --core-metric 0.1
decides keep 5
must_run -C mixed append --status baseline --core-metric 4
decides discard 4.5
must_run -C mixed append --status crash
decides keep 3.5

# Without a score nothing can be decided: the trial is refused and nothing is written.
before=$(cksum <mixed/results.tsv)
must_fail 2 "status auto needs a score (core_metric)" append -C mixed --status auto
must_fail 2 "status keep needs a score" append -C mixed --status keep
must_fail 2 "crash, or another label" append -C mixed --status keep --val-bpb 1.0
must_equal "$before" "$(cksum <mixed/results.tsv)" "results.tsv"
must_run init empty
must_fail 2 "needs a score" append -C empty --status auto
[ ! -e empty/results.tsv ] || fail "a refused first append left a file"
must_run append -C mixed --status crash
must_run append -C mixed --status baseline

# says NOTES SCORE ARGUMENT...: the discarded row gives its reason after its own notes.
says()
{
    wanted_notes=$1 score=$2
    shift 2
    must_run -C "$store" append --status auto --core-metric "$score" --format json "$@"
    must_equal "$wanted_notes" "$(json notes)"
}

must_run init reasons --direction higher --noise-std 0.02 --noise-seeds 1
store=reasons
says '' 0.9
says 'discarded: +0.0068, needs more than 0.0931' 0.9068
must_equal 0.0068 "$(json delta_vs_best)"
says 'discarded: -0.4, needs more than 0.0931' 0.5
says 'discarded: +0, needs more than 0.0931' 0.9
says 'alpha=0.3; discarded: +0.093, needs more than 0.0931' 0.993 --alpha 0.3
must_equal '{"alpha":0.3}' "$(json params)"
says 'as planned; lr=0.1; discarded: +0.01, needs more than 0.5' 0.91 --min-delta 0.5 --notes 'as planned; lr=0.1'
says '' 1.5
must_run query -C reasons --alpha 0.3 --format json
must_equal 1 "$(json '#')"
must_run verify -C reasons
must_run -C reasons append --status discard --core-metric 0.1 --format json
must_equal '' "$(json notes)" "a person's discard says what the person says"
must_run init falling --min-delta 0.05
store=falling
says '' 2.5
says 'discarded: -0.04, needs less than -0.05' 2.46
must_run init plain
store=plain
says '' 2.5
says 'discarded: +0.1, needs less than 0' 2.6

# Notes that fill their cell are not shortened for the reason.
printf 'x%.0s' $(seq 1 131060) >long
printf '{"status": "auto", "core_metric": 9, "notes": "%s"}' "$(cat long)" >long.json
must_run append -C plain --json long.json --format json
must_equal 131060 "$(json notes | tr -d '\n' | wc -c)" "bytes of notes"
finish
