#!/bin/sh
# insight.sh: `lineage insight`: claims with evidence, what supersedes them, what contradicts them, bad input.
. "$SOURCE/tests/support/shell.sh"

{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric \
        val_bpb delta_vs_best train_s total_s job_name snapshot_path notes
    row 000 2026-05-01T00:00:00Z a '' '' '' 'Stock' '' baseline 3.0 '' '' '' '' '' '' ''
    row 001 2026-05-01T01:00:00Z a 000 '' '' 'Raise epochs 3 → 5' '' eval_budget_overrun '' '' '' '' '' '' '' ''
    row 002 2026-05-01T02:00:00Z a 000 '' '' 'Raise epochs 3 → 6' '' eval_budget_overrun '' '' '' '' '' '' '' ''
    row 003 2026-05-01T03:00:00Z a 000 '' '' 'Raise width 64 → 128' '' keep 2.5 '' -0.5 '' '' '' '' ''
} >results.tsv
must_run init . --direction lower

must_run insight
must_equal 0 "$(wc -l <out | tr -d ' ')"
must_run insight 'Epochs above 4 exceed the budget' --evidence 001,exp_002 --author me
must_equal 1 "$(cat out)"
must_run insight 'Width helps' --evidence 003
must_equal 2 "$(cat out)"
must_run insight --format json
must_equal '2 1 001 002 me 0' \
    "$(json '#') $(json 0.insight) $(json 0.evidence.0) $(json 0.evidence.1) $(json 0.author) $(json '0.contradicted_by.#')"
must_run render
must_have out '- 1: `Epochs above 4 exceed the budget` (evidence: 001, 002)'
must_have out '- 2: `Width helps` (evidence: 003)'
must_lack out 'contradict'

# A later trial that did the same and ended otherwise is pointed out; an earlier one, or one that ended alike, is not.
must_run append --specialist a --parent 000 --status discard --core-metric 3.2 --hypothesis 'Raise epochs 3 → 6'
must_run append --specialist a --parent 000 --status crash --hypothesis 'Raise epochs 3 → 7'
must_run append --specialist a --parent 000 --status discard --core-metric 3.3 --hypothesis 'Lower epochs 3 → 2'
must_run insight --format json
must_equal '1 004 0' "$(json '0.contradicted_by.#') $(json 0.contradicted_by.0) $(json '1.contradicted_by.#')"
must_run render
must_have out '(evidence: 001, 002) — later trials contradict it: 004'
must_run append --specialist a --parent 003 --status discard --core-metric 2.9 --hypothesis 'Raise width 64 → 256'
must_run insight --format json
must_equal '007' "$(json 1.contradicted_by.0)"

# Superseded insights leave the block, and stay in the file.
must_run insight 'Above 6 exceeds it' --evidence 002,004 --supersedes 1
must_equal 3 "$(cat out)"
must_run render
must_lack out 'Epochs above 4'
must_have out '- 3: `Above 6 exceeds it`'
must_run insight --format tsv
must_equal '2 3' "$(sed 1d out | cut -f1 | tr '\n' ' ' | sed 's/ $//')"
must_run insight --all --format json
must_equal '3 3' "$(json '#') $(json 0.superseded_by)"

# Bad input does not change the file.
cp insights.jsonl before
bad()
{
    run insight "$@"
    must_exit 2
    cmp -s insights.jsonl before || fail "$last changed the file"
}
bad 'no evidence'
bad 'unknown trial' --evidence 999
bad '' --evidence 001
bad 'unknown insight' --evidence 001 --supersedes 9
bad 'superseded twice' --evidence 001 --supersedes 1
bad "$(head -c 3000 /dev/zero | tr '\0' x)" --evidence 001
bad "$(printf 'bad \377 bytes')" --evidence 001

# Half a line, and lines of other things, cost only themselves; a text stays inside its quotation.
printf 'no JSON\n{"n": 50}\n{"n": 7, "text": "half' >>insights.jsonl
must_run insight "$(printf 'a `b` <!-- c --> \033[31m')" --evidence 003
must_equal 51 "$(cat out)"
must_run render
must_have out '- 51: `'
! grep -q "$(printf '\033')" out || fail 'an escape sequence'
must_run insight --all --format json
must_equal 4 "$(json '#')"

# Evidence that became void is marked at each door.
run void 003 --reason 'wrong data'
must_exit 0
must_run insight
must_have out '003 (void, was keep)'
must_run insight --format tsv
must_equal '003' "$(sed -n '$p' out | cut -f 3)"
must_run render
must_have out '(evidence: 003 (void, was keep))'

# Two writers get two numbers.
for i in 1 2 3 4 5 6; do "$LINEAGE" insight "from $i" --evidence 000 >number.$i & done
wait
must_equal '52 53 54 55 56 57' "$(cat number.* | sort | tr '\n' ' ' | sed 's/ $//')"

finish
