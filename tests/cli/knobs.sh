#!/bin/sh
# knobs.sh: `lineage knobs`, and the sections of the block about ideas, on a log whose trials are described in words.
. "$SOURCE/tests/support/shell.sh"

{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric \
        val_bpb delta_vs_best train_s total_s job_name snapshot_path notes artifact_bytes
    row 000 2026-05-01T00:00:00Z io '' '' '' 'Stock configuration' '' baseline 3.0 '' '' '' '' '' '' '' 1000
    row 001 2026-05-01T01:00:00Z io 000 '' '' 'Raise shared_buffers 128MB → 256MB' '' keep 2.5 '' -0.5 '' '' '' '' '' 1500
    row 002 2026-05-01T02:00:00Z io 001 '' '' 'Lower random_page_cost from 4.0 to 1.1' '' discard 2.6 '' 0.1 '' '' '' '' '' 1500
    row 003 2026-05-01T03:00:00Z io 001 '' '' 'random_page_cost 4.0 -> 1.1, again' '' discard 2.62 '' 0.12 '' '' '' '' '' 1500
    row 004 2026-05-01T04:00:00Z cpu 001 '' '' 'Raise random-page-cost 4.0 → 8.0' '' discard 2.9 '' 0.4 '' '' '' '' '' 1500
    row 005 2026-05-01T05:00:00Z cpu 000 '' '' 'Set jit=off on the stock configuration' '' keep 2.4 '' -0.1 '' '' '' '' '' 1400
    row 006 2026-05-01T06:00:00Z cpu 001 '' '' 'Apply exp_005 to the larger buffers' '' discard 2.55 '' 0.15 '' '' '' '' '' 1500
    row 007 2026-05-01T07:00:00Z io 005 '' '' 'Precompute every join ahead of time and keep the results in memory for the whole session, work_mem 4MB → 64MB' '' size_blocked 2.1 '' '' '' '' '' '' '' 1700
    row 008 2026-05-01T08:00:00Z io 005 '' '' 'effective_io_concurrency 1 → 200' '' crash '' '' '' '' '' '' '' '' ''
} >results.tsv
must_run init . --direction lower

must_run knobs --format json
must_run knobs --format json random_page_cost
must_equal random_page_cost "$(json name)"
must_equal 3 "$(json tries.#)"
must_equal '1.1 1.1 8.0' "$(json tries.0.to) $(json tries.1.to) $(json tries.2.to)"
must_equal '002 stated down discard 0.1 001' \
    "$(json tries.0.exp_id) $(json tries.0.source) $(json tries.0.direction) $(json tries.0.status) $(json tries.0.delta_vs_best) $(json tries.0.parent_exp)"
must_equal '1 0 2 0' "$(json raised.trials) $(json raised.kept) $(json lowered.trials) $(json lowered.kept)"
for name in RANDOM_PAGE_COST random-page-cost 'random page cost'; do
    must_run knobs "$name" --format tsv
    must_equal 4 "$(wc -l <out | tr -d ' ')" "$name"
done
must_run knobs random_page_cost
must_have out 'raised: 0 of 1 kept, lowered: 0 of 2 kept'
must_run knobs --min 3 --format tsv
must_equal random_page_cost "$(sed 1d out | cut -f1)"
run knobs colour
must_exit 1
must_have err "no trial says that it changed 'colour'"
run knobs random_page_cots
must_exit 1
must_have err "'random_page_cots' (the nearest is 'random_page_cost'); "
run knobs a b
must_exit 2

# The block: settings in force with the trials that set them, values of knobs, keeps beside the best's line, limits.
must_run render
must_have out '- 3 trials since the last keep, exp_005 (-0.1); 2 of 9 kept'
must_have out '- exp_005: jit off'
must_have out '- random_page_cost 4.0: 1.1 +0.1 (002, 2 trials) · 8.0 +0.4 (004)' # each value once, with its best trial
must_have out '- noise, an estimate: scores of equal trials have a standard deviation of 0.0141, from 2 replicas (1 degree of freedom)'
must_have out '- exp_001 keep -0.5 `Raise shared_buffers 128MB → 256MB`'
must_have out '- exp_007 size_blocked 2.1, artifact_bytes 1700 (largest kept: 1500)'
must_have out '- random_page_cost: 3 trials, 0 failed, +0.1 to +0.4: 002, 003, 004'
must_have out '(work_mem 4MB → 64MB)'
must_have out '006'
cp out first
must_run render
must_equal "$(cat first)" "$(cat out)" 'the same store, other bytes'
must_run render --sections best,recent
must_lack out '## Knobs'
must_run render --max-bytes 3000
[ "$(wc -c <out)" -le 3000 ] || fail "$(wc -c <out) bytes"
must_have out '## Knobs'

# A store whose hypotheses state no change has none of these sections.
mkdir plain
must_run init plain --direction lower
must_run append -C plain --status baseline --core-metric 3 --hypothesis 'stock' --param lr=1
must_run append -C plain --parent 000 --status keep --core-metric 2 --hypothesis 'faster' --param lr=2
must_run render -C plain
must_lack out 'State of the Search'
must_lack out '## Knobs'

# Text of a hypothesis cannot leave its quotation.
must_run append --status discard --core-metric 9 --hypothesis "$(printf 'set `x`|## Evil=1 \342\206\222 2; a<b> 3 \342\206\222 4')"
must_run render
! grep -q '^## Evil' out || fail 'a hypothesis made a heading'

# The settings in force, with the trial that set each.
must_run show 007 --format json
must_equal 'work_mem 64MB stated 007 jit off stated 005' \
    "$(json settings.0.name) $(json settings.0.value) $(json settings.0.source) $(json settings.0.set_by) $(json settings.1.name) $(json settings.1.value) $(json settings.1.source) $(json settings.1.set_by)"
must_equal 2 "$(json settings.#)"
must_run show 004
must_have out 'setting             shared_buffers = 256MB (stated by 001)'
must_lack out 'setting             random-page-cost'
must_run show 000 --format json
must_equal 0 "$(json settings.#)"

# A person corrects the names of knobs in lineage.json.
printf '{"direction": "lower", "knobs": {"same": [["page cost", "random_page_cost", "work-mem"]]}}\n' >lineage.json
for name in random_page_cost work_mem 'page cost'; do
    must_run knobs "$name" --format json
    must_equal 'page cost 4' "$(json name) $(json tries.#)" "$name"
done
must_run knobs --min 4 --format tsv
must_equal 'page cost' "$(sed 1d out | cut -f1)"
# Only the newest tries are printed if there are many, in the same order, and the output says how many are missing.
must_run knobs 'page cost' --format tsv
cut -f1,3 out | sed 1d | sort -t "$tab" -k1,1 | tail -n 2 | sort >newest
must_run knobs 'page cost' --format tsv --limit 2
sed 1d out | cut -f1,3 | sort | cmp - newest || fail 'knobs --limit 2 does not print the newest tries'
must_run knobs 'page cost' --format table --limit 2
must_have out '2 older lines are left out; --limit 0 prints all'
must_run knobs 'page cost' --format json --limit 2
must_equal '2 2' "$(json tries.#) $(json left_out)"
must_run knobs --limit 2 --format tsv
must_have out '2 older · '
must_run knobs --limit 0 --format tsv
must_lack out older
must_run knobs 'page cost' --format json --limit 4
must_lack out left_out
printf '{"direction": "lower", "knobs": {"different": [["random_page_cost", "work_mem"]]}}\n' >lineage.json
must_run knobs random_page_cost --format json
must_equal 3 "$(json tries.#)"
printf '{"direction": "lower", "knobs": {"same": [["lr", "beta"], ["beta", "rate"]]}}\n' >lineage.json
run knobs
must_exit 2
must_have err "'beta' is in two lists"
must_run best
printf '{"direction": "lower", "knobs": {"merge": [["a", "b"]]}}\n' >lineage.json
run knobs
must_exit 2
must_have err 'lineage.json: knobs must be an object with lists of lists of names in "same" and "different"'
printf '{"direction": "lower"}\n' >lineage.json

# A night names no parents: its settings are compared with those of the last kept trial, as in the block. A parameter that a child is the
# first to declare is a change, too.
must_run init night --direction lower
add_setting()
{
    must_run append -C night --status "$1" --core-metric "$2" --param "lr=$3" --param "HIDDEN=$4"
}
add_setting baseline 0.0315512345678 1e-4 32
add_setting keep 0.0159250000001 1e-4 64
add_setting discard 0.034 1e-3 32
must_run knobs -C night --format tsv
must_equal 'HIDDEN 64 001|lr 0.0001' "$(sed 1d out | cut -f 1-3 | tr '\t\n' ' |' | sed 's/ *|$//')"
must_run knobs -C night HIDDEN --format tsv
must_equal '002 64 32|001 32 64' "$(sed 1d out | cut -f 1-3 | tr '\t\n' ' |' | sed 's/|$//')"
must_run similar -C night 'lr=1e-3' --format tsv
must_equal '002 related' "$(sed 1d out | cut -f 1,2 | tr '\t' ' ')"
must_have out 'same value 0.001'
must_run show -C night 002
must_have out 'change              HIDDEN 64 → 32 (declared)'
must_run append -C night --status discard --core-metric 0.016 --parent 001 --param dropout=0.1
must_run knobs -C night dropout --format tsv
must_equal '003||0.1' "$(sed 1d out | cut -f 1-3 | tr '\t' '|')"
# One number of digits for the score in all tables, and all digits elsewhere.
for door in 'chain 001' best 'knobs HIDDEN' 'similar HIDDEN=64' query tree; do
    # shellcheck disable=SC2086
    must_run -C night $door
    must_lack out 0.0159250000001
    must_have out 0.015925
done
must_run chain 001 -C night --format json
must_have out 0.0159250000001

# The block has trials without a setting, one row for those with one text; a trial of which nothing more is known than Recent
# Activity says has no line of its own.
mkdir ideas && must_run init ideas --direction lower
must_run append -C ideas --status baseline --core-metric 3 --hypothesis 'raise lr 1 -> 2'
for i in 1 2 3 4; do
    must_run append -C ideas --status crash --hypothesis 'A gate for each head, so that redundant heads can be left out'
done
must_run append -C ideas --status discard --core-metric 4 --hypothesis 'A gate for each layer'
must_run render -C ideas
must_have out '- 004, 003, 002 and 1 more crash `A gate for each head, so that redundant heads can be left out`'
must_have out '- 005 +1 `A gate for each layer`'
must_lack out 'no other parameters'
finish
