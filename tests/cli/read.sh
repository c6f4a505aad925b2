#!/bin/sh
# read.sh: best, show, chain and tree, in every format.
. "$SOURCE/tests/support/shell.sh"

{
    header
    trial 000 '' baseline 2.0 root
    trial 001 000 discard 0.5 'better, but discarded'
    trial 002 001 keep 1.5 kept
    trial 003 exp_002 crash '' broken
    trial 004 003 size_blocked 0.1 'too large'
    trial 005 004 keep 1.0 best
    trial 006 005 keep 1.0 'a tie comes later'
    trial 007 gone keep 3.0 'parent missing'
    trial 008 009 keep 4.0 'in a cycle'
    trial 009 008 keep nan 'in a cycle'
    trial exp_010 000 harness_abort '' aborted
} >results.tsv

must_run best --format json
must_equal 005 "$(json exp_id)"
must_equal 1.0 "$(json core_metric)"
must_equal keep "$(json status)"
must_equal null "$(json train_s)"
must_equal 004 "$(json parent_exp)"
must_run best --direction higher --format json
must_equal 008 "$(json exp_id)"
must_run best --format tsv
header >wanted
trial 005 004 keep 1.0 best >>wanted
must_match_file wanted out
must_run best
must_have out 'hypothesis          best'

must_run show exp_005 --format json
must_equal 005 "$(json exp_id)"
must_run show 010 --format json
must_equal exp_010 "$(json exp_id)"
must_run show 009 --format json
must_equal nan "$(json core_metric)"
must_fail 2 "no trial '77'" show 77
must_run show 5
must_have out 'exp_id              005'
must_fail 2 "no trial ''" show ''
must_fail 2 "no trial 'x' OR" show "x' OR '1'='1"

# ids ID: prints the ids of the chain, root first, separated by blanks.
ids()
{
    i=0
    while id=$(json "chain.$i.exp_id"); do
        printf '%s ' "$id"
        i=$((i + 1))
    done
}

must_run chain --format json
must_equal '000 002 005 ' "$(ids)"
must_equal root "$(json ended)"
must_equal '{"000":1,"002":2}' "$(json passed_over)"
must_run chain 006 --format json
must_equal '000 002 005 006 ' "$(ids)"
must_run chain 004 --format json
must_equal '000 002 004 ' "$(ids)"
must_run chain exp_001 --format json
must_equal '000 001 ' "$(ids)"
must_run chain 007 --format json
must_equal '007 ' "$(ids)"
must_equal 'missing gone' "$(json ended)"
must_run chain 009 --format json
must_equal '008 009 ' "$(ids)"
must_equal 'cycle at 009' "$(json ended)"
must_run chain
must_equal 2 "$(grep -c 'passed over)' out)"
must_have out '(2 passed over)'
must_run chain 007
must_have out 'gone'
must_run chain --format tsv
must_equal '000 002 005 ' "$(sed 1d out | cut -f1 | tr '\n' ' ')"
must_fail 2 "no trial '4711'" chain 4711
must_run chain 006 --limit 2 --format json
must_equal '005 006 ' "$(ids)"
must_equal 2 "$(json left_out)"
must_equal root "$(json ended)"
must_run chain 009 --limit 1 --format json # parents in a cycle
must_equal '009 ' "$(ids)"
must_equal 1 "$(json left_out)"
must_run chain --limit 1
must_have out '(2 ancestors not shown)'
must_have out ' └─ 005'
must_run chain --limit 9
must_equal 0 "$(grep -c 'not shown' out)"
must_fail 2 'would print nothing' chain --limit 0

must_run tree --format tsv
must_equal 'exp_id parent_exp depth specialist status score delta_vs_best hypothesis' "$(head -n 1 out | tr '\t' ' ')"
must_equal '000 001 002 003 004 005 006 exp_010 007 008 009 ' "$(sed 1d out | cut -f1 | tr '\n' ' ')"
must_equal '0 1 2 3 4 5 6 1 0 0 0 ' "$(sed 1d out | cut -f3 | tr '\n' ' ')"
must_run tree --format json
must_equal 11 "$(json '#')"
must_equal 3 "$(json 3.depth)"
must_run tree
must_equal 1 "$(grep -c '(parent missing)' out)"
must_equal 2 "$(grep -c '(in a cycle)' out)"

# A deep chain is not printed as a triangle.
mkdir deep
{
    header
    trial 000 '' baseline 2.0 root
    for i in $(seq 99); do trial "$(printf '%03d' "$i")" "$(printf '%03d' $((i - 1)))" keep 1.0 next; done
} >deep/results.tsv
must_run tree -C deep
must_equal 100 "$(wc -l <out)"
must_equal 128 "$(sed -n 65p out | grep -o '^ *' | wc -m | awk '{ print $1 - 1 }')"
must_equal 128 "$(tail -n 1 out | grep -o '^ *' | wc -m | awk '{ print $1 - 1 }')"
must_have out '└─ 099  keep  1.0  (depth 99)  next'
must_equal 35 "$(grep -c '(depth ' out)"

# An empty store has answers too.
mkdir empty
must_run init empty
for command in best chain; do
    must_fail 1 "no kept or baseline trial" -C empty $command
done
for command in "tree --format json" "query --format json"; do
    # shellcheck disable=SC2086
    must_run -C empty $command
    must_equal '[]' "$(cat out)"
done
must_fail 2 "no trial '000'" -C empty show 000
must_run -C empty verify

# Without a store there is no answer, because an empty answer would mean that nobody tried this.
mkdir none
for command in best chain tree query verify status "show 000" "sweep alpha" "tried --alpha 1" "search clip" "similar clip" claims \
    knobs "sql SELECT(1)" "compare alpha" "suggest --range lr=0:1" "diff 000 001" export report rebuild sync insight "void 000 --reason no" serve; do
    # shellcheck disable=SC2086
    must_fail 2 'no store in none (no results.tsv, no lineage.json)' -C none $command
done
must_fail 2 'no store in none (no results.tsv, no lineage.json)' -C none render
must_equal '' "$(ls -A none)"

# ---- a row that cannot be read is not a trial that nobody ran ----

mkdir damaged
printf 'exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\nexp_000\t\t\t\t\t\ta\t\tkeap\t1\t\t\t\t\t\t\t\n' >damaged/results.tsv
"$LINEAGE" rebuild -C damaged >/dev/null 2>&1
for id in 000 exp_000; do
    must_fail 2 "the row of trial '$id' is damaged (line 2); see \`lineage verify -C damaged\`" show -C damaged $id
done
must_fail 2 "no trial '001' in damaged" show -C damaged 001
printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"trial","arguments":{"id":"000"}}}' | "$LINEAGE" mcp -C damaged >out 2>err
must_have out '"protocolVersion":"2024-11-05"'
must_have out 'is damaged (line 2)'

# ---- a misspelt parameter is not new ground ----

"$LINEAGE" init spelt --direction higher >/dev/null
"$LINEAGE" append -C spelt --specialist x --status keep --core-metric 1 --hypothesis a --param lr=0.1 --param optimizer=adam >/dev/null
run tried -C spelt --param lrr=0.1 --param optimiser=adam
must_exit 2
must_have err "no column or parameter 'lrr' (did you mean 'lr'?)"
run tried -C spelt --param lr=0.2 --param zebra=1
must_exit 2
must_lack err 'did you mean'
finish
