#!/bin/sh
# check_tried.sh: `append --check-tried` and `run --check-tried`: what repeats an earlier trial is refused, unless a reason is given.
. "$SOURCE/tests/support/shell.sh"

{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric \
        val_bpb delta_vs_best train_s total_s job_name snapshot_path notes
    row 000 2026-05-01T00:00:00Z a '' '' '' 'Stock' '' baseline 3.0 '' '' '' '' '' '' ''
    row 001 2026-05-01T01:00:00Z a 000 '' '' 'Raise dropout_rate 0.1 → 0.3' '' discard 3.2 '' 0.2 '' '' '' '' ''
    row 002 2026-05-01T02:00:00Z a 000 '' '' 'tuned' '' crash '' '' '' '' '' '' '' 'lr=0.5; out of memory'
    row 003 2026-05-01T03:00:00Z a 000 '' '' 'tuned' '' harness_abort '' '' '' '' '' '' '' 'lr=0.7'
} >results.tsv
must_run init . --direction lower
rows() { sed 1d results.tsv | wc -l | tr -d ' '; }

# refused TEXT ARGUMENT...
refused()
{
    text=$1 before=$(cksum results.tsv)
    shift
    run "$@"
    must_exit 1
    must_have err "$text"
    must_have err 'give the reason to repeat it: --again REASON'
    must_equal "$before" "$(cksum results.tsv)" "$last changed the log"
}

refused 'tried already: 001 discard' append --check-tried --status discard --core-metric 3 --hypothesis 'Raise dropout_rate from 0.1 to 0.3'
refused 'tried already: 002 crash with the same parameters: lr=0.5; out of memory' \
    append --check-tried --status discard --core-metric 3 --hypothesis 'another text' --param lr=0.5
refused "the log contradicts 'dropout_rate has never been varied.': see 001" \
    append --check-tried --status discard --core-metric 3 --hypothesis 'Lower dropout_rate 0.1 → 0.05: dropout_rate has never been varied.'
refused 'tried already: 001' run --check-tried -q --hypothesis 'Raise dropout_rate from 0.1 to 0.3' -- sh -c 'touch ran; echo METRIC score=1'
must_equal no "$([ -e ran ] && echo yes || echo no)" 'the command ran'

# New ground, and settings that only a harness_abort has, pass. So does a repetition with a reason, which is kept.
must_run append --check-tried --status discard --core-metric 3 --hypothesis 'Raise hidden_width 64 → 128'
must_run append --check-tried --status discard --core-metric 3 --hypothesis 'tuned' --param lr=0.7
must_run append --check-tried --status discard --core-metric 3 --hypothesis 'tuned' --param lr=0.6
must_run append --check-tried --again 'the first; was noise' --status discard --core-metric 3 --param lr=0.5
must_equal 'lr=0.5; again: the first, was noise' "$(tail -n 1 results.tsv | cut -f17)"
must_run run --check-tried --again 'with a fix' -q --hypothesis 'Raise dropout_rate from 0.1 to 0.3' -- sh -c 'echo METRIC score=1'
case $(tail -n 1 results.tsv | cut -f17) in *'again: with a fix'*) ;; *) fail "no reason in the row" ;; esac
must_run append --status discard --core-metric 3 --hypothesis 'Raise dropout_rate from 0.1 to 0.3'
must_equal 10 "$(rows)"

# A trial that changes the code and states no parameter repeats none of those whose parameters it inherits.
must_run append --status keep --core-metric 0.5 --parent 000 --param width=64 --hypothesis 'Raise width 32 → 64'
best=$(tail -n 1 results.tsv | cut -f1)
must_run append --status discard --core-metric 3 --parent "$best" --param width=64 --param depth=4 --param momentum=0.9
must_run run --check-tried --parent best -q --hypothesis 'GELU instead of ReLU' -- sh -c 'echo METRIC score=5'
refused 'tried already: 012 discard' run --check-tried --parent best -q --hypothesis 'GELU instead of ReLU' -- sh -c 'echo METRIC score=5'
# Nor does a setting repeat a trial that set something else, too, which the best trial has not.
must_run run --check-tried -q -p momentum=0.9 -- sh -c 'echo METRIC score=5'
refused 'tried already: 013 discard 5.0 with the same parameters' run --check-tried -q -p momentum=0.9 -- sh -c 'echo METRIC score=5'
must_equal 14 "$(rows)"
# Where it states no words either, what it inherits is all that it has.
refused 'with the same parameters' run --check-tried --parent "$best" -q -- sh -c 'echo METRIC score=5'

# What the best trial does not name is as in the baseline, whose own setting is found. Equal is what `lineage tried` calls equal.
mkdir based && cd based || exit 1
must_run init . --direction lower
must_run run --baseline -q -p lr=0.1 -p width=0.3 -- sh -c 'echo METRIC score=5'
must_run run -q -p lr=0.2 -- sh -c 'echo METRIC score=1'
refused 'tried already: 000 baseline' run --check-tried -q -p lr=0.1 -- sh -c 'echo METRIC score=5'
must_run append --status discard --core-metric 3 --param lr=0.4 --param width=0.30000000000000004
refused 'tried already: 002 discard' run --check-tried -q -p lr=0.4 -- sh -c 'echo METRIC score=5'
must_run append --status discard --core-metric 3 --param lr=0.5 --param width=0.4
must_run run --check-tried -q -p lr=0.5 -- sh -c 'echo METRIC score=5'
cd .. || exit 1
must_run init crashed --direction lower
must_run append -C crashed --status crash --param lr=0.1 --param width=3
refused 'tried already: 000 crash' run -C crashed --check-tried -q -p lr=0.1 -- sh -c 'echo METRIC score=5'

printf '{"status":"crash"}\n{"status":"crash"}\n' >two.json
run append --json two.json --check-tried
must_exit 2

finish
