#!/bin/sh
# settings.sh: `query`, `tried`, `sweep` and `suggest` by settings that trials state in words, beside parameters.
# shellcheck disable=SC2016,SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"

columns()
{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric \
        val_bpb delta_vs_best train_s total_s job_name snapshot_path notes
}
trial() # ID PARENT LABEL SCORE HYPOTHESIS [NOTES]
{
    row "$1" 2026-05-01T00:00:00Z io "$2" '' '' "$5" '' "$3" "$4" '' '' '' '' '' '' "${6:-}"
}
{
    columns
    trial 000 '' baseline 3.0 'Stock configuration'
    trial 001 000 keep 2.5 'Raise work_mem 4 → 64'
    trial 002 001 discard 2.6 'Lower random_page_cost from 4.0 to 1.1'
    trial 003 001 discard 2.62 'random_page_cost 4.0 -> 1.1, again'
    trial 004 000 keep 2.4 'Raise random-page-cost 4.0 → 8.0'
    trial 005 004 crash '' 'work_mem 4 → 256'
    trial 006 004 harness_abort '' 'random_page_cost 8.0 → 2.5'
    trial 007 004 discard 2.7 'Set jit=off'
} >results.tsv
must_run init . --direction lower
found() # IDS ARGUMENT...: the ids that a command lists
{
    wanted=$1
    shift
    run "$@" --format tsv
    must_equal "$wanted" "$(sed 1d out | cut -f1 | tr '\n' ' ' | sed 's/ $//')"
}

# ---- query ----

found '002 003' query --param random_page_cost=1.1
found '002 003' query --param RANDOM-PAGE-COST=:2
found '002 003 004 006' query --param random_page_cost=:
found '004 006 002 003' query --param random_page_cost=: --sort -random_page_cost
found '004' query --param random_page_cost=: --status keep,crash
found '007' query --param jit=OFF
found '007' tried --param jit=Off
found '002' query --param random_page_cost=1.1 --limit 1
found '003' query --param random_page_cost=: --text again
run query --param random_page_cost=greedy
must_exit 2
must_have err "parameter 'random_page_cost' holds numbers"

# The answer says where each value comes from.
must_run query --param random_page_cost=8
must_have out 'random_page_cost=8.0 (stated)'
run query --param random_page_cost=99
must_exit 0
must_have err 'random_page_cost: 4 trials state it'
must_run query --param random_page_cost=8 --format json
must_equal '8|8.0|stated|004' "$(json 0.settings.random_page_cost.0.value)|$(json 0.settings.random_page_cost.0.text)|$(json 0.settings.random_page_cost.0.source)|$(json 0.settings.random_page_cost.0.set_by)"
must_run query --status keep --format json
must_lack out '"settings"'

# If a question names several settings, a trial also has those that it inherits from its parent or from the start of the log.
found '002 003' query --param random_page_cost=1.1 --param work_mem=64
found '' query --param random_page_cost=1.1 --param work_mem=4
found '004 006' query --param random_page_cost=2: --param work_mem=4
must_run query --param random_page_cost=1.1 --param work_mem=64
must_have out 'random_page_cost=1.1 (stated) work_mem=64 (stated by 001)'
must_run query --param random_page_cost=8 --param work_mem=4
must_have out 'work_mem=4 (stated as the first value)'

# ---- tried ----

found '001' tried --param work_mem=64
found '002 003' tried --param random_page_cost=1.15 --tolerance 0.1
found '002 003' tried --param random_page_cost=1.1 --param work_mem=64
run tried --param random_page_cost=2.5
must_exit 1
must_have err 'is void or ended in harness_abort'
run tried --param work_mem=65
must_exit 1
run tried --param random_page_cots=1.1
must_exit 2
must_have err "random_page_cots: no trial has it; did you mean 'random_page_cost', a setting that trials changed?"
must_fail 1 "no column or parameter 'unheard_of'" tried --param unheard_of=1
must_lack err 'did you mean'

# ---- sweep ----

must_run sweep random_page_cost --format tsv
must_equal '1.1 2|8 1|' "$(sed 1d out | cut -f1,2 | tr '\t\n' ' |')"
must_run sweep random_page_cost
must_have out 'random_page_cost: 4 trials state it'
must_have out '4 trials do not set random_page_cost'
must_run sweep random_page_cost work_mem --format json
must_equal '4 4 2' "$(json cells.#) $(json source.random_page_cost.stated) $(json source.work_mem.stated)"
must_equal '1.1 64 2' "$(json cells.0.random_page_cost) $(json cells.0.work_mem) $(json cells.0.trials)"
run sweep random_page
must_exit 2
must_have err "no column or parameter 'random_page'"
run sweep random_page_cots
must_exit 2
must_have err "did you mean 'random_page_cost', a setting that trials changed? known are"
run sweep specialist
must_exit 2

# ---- suggest ----

run suggest --range random_page_cost=1:10 --propose random --format json
must_exit 0
must_equal '3 0 4' "$(json trials.measured) $(json trials.failed) $(json source.random_page_cost.stated)"
run suggest --range random_page_cost=1:10 --range work_mem=1:512:log --propose random --format json
must_equal '4 1' "$(json trials.measured) $(json trials.failed)"
run suggest --range random_page_cost=1:10
must_have err '4 trials changed random_page_cost in words or in their programs'
run suggest --range unheard_of=1:10 --format json
must_equal '0 7' "$(json trials.measured) $(json trials.elsewhere)"
must_lack out '"source"'

# ---- parameters ----

# Where trials declare their parameters, no name is looked up in words: parameters keep their meaning.
mkdir declared
{
    columns
    trial 000 '' baseline 3.0 'Raise lr 0.1 → 0.2' 'lr=0.2; wd=0.1'
    trial 001 000 discard 3.1 'Raise lr 0.2 → 0.7' 'lr=0.3; wd=0.1'
    trial 002 001 discard 3.1 'Raise lr 0.3 → 0.7'
} >declared/results.tsv
must_run init declared --direction lower
found '' query -C declared --param lr=0.7
found '000 001' query -C declared --param lr=:
must_run sweep -C declared lr --format json
must_lack out '"source"'
run tried -C declared --param lr=0.7
must_exit 1

# In a log in words one trial that declares a parameter hides nothing, and counts with what it declares.
mkdir mixed
{
    columns
    trial 000 '' baseline 3.0 'Stock'
    trial 001 000 discard 3.1 'Raise lr 0.1 → 0.7'
    trial 002 000 discard 3.1 'Another thing' 'lr=0.3'
    trial 003 000 discard 3.2 'Raise lr 0.1 → 0.4'
    trial 004 000 discard 3.3 'Cosine schedule'
} >mixed/results.tsv
must_run init mixed --direction lower
found '001' tried -C mixed --param lr=0.7
found '002' tried -C mixed --param lr=0.3
found '002 003 001' query -C mixed --param lr=: --sort lr
must_run sweep -C mixed lr --format json
must_equal '3 1 2' "$(json cells.#) $(json source.lr.declared) $(json source.lr.stated)"

# One axis is a setting in words, the other a parameter.
must_run append -C mixed --status discard --core-metric 3.4 --parent 001 --hypothesis 'Raise wd 0.1 → 0.2'
must_run sweep -C mixed lr wd --format json
must_equal '0.1 0.7' "$(json cells.0.wd | sed 's/0.2/0.1/') $(json cells.2.lr)"

# ---- MCP ----

mcp() # TOOL ARGUMENTS: the structured answer is in out
{
    printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"$1\",\"arguments\":$2}}" | "$LINEAGE" mcp >lines 2>err
    tail -n 1 lines >out
}
mcp query '{"where":{"random_page_cost":"2:","work_mem":4},"fields":["exp_id","params"]}'
must_equal '006 004' "$(json result.structuredContent.rows.0.0) $(json result.structuredContent.rows.1.0)"
must_equal 'random_page_cost=8.0 (stated)|work_mem=4 (stated as the first value)' \
    "$(json result.structuredContent.rows.1.1)|$(json result.structuredContent.same)"
must_equal '4 2' "$(json result.structuredContent.source.random_page_cost.stated) $(json result.structuredContent.source.work_mem.stated)"
mcp tried '{"params":{"random-page-cost":1.1}}'
must_equal 'true 4' "$(json result.structuredContent.tried) $(json result.structuredContent.source.random-page-cost.stated)"
mcp tried '{"params":{"random_page_cost":5}}'
must_equal 'false 1.1 8' "$(json result.structuredContent.tried) $(json result.structuredContent.nearest.random_page_cost.0) $(json result.structuredContent.nearest.random_page_cost.1)"
mcp tried '{"params":{"jit":"on"}}'
must_equal 'false off' "$(json result.structuredContent.tried) $(json result.structuredContent.nearest.jit.0)"
mcp tried '{"params":{"random_page_cots":5}}'
must_have out '"unknown":{"random_page_cots":"random_page_cost"}'
mcp sweep '{"x":"random_page_cost"}'
must_equal '2 4' "$(json result.structuredContent.rows.#) $(json result.structuredContent.source.random_page_cost.stated)"
mcp suggest '{"ranges":{"random_page_cost":"1:10"}}'
must_equal '3 4' "$(json result.structuredContent.trials.measured) $(json result.structuredContent.source.random_page_cost.stated)"

# ---- hostile and unusual ----

# A store without a writable mirror answers from memory.
mkdir frozen && cp results.tsv frozen/ && must_run init frozen --direction lower
rm -f frozen/lineage.db && mkdir frozen/lineage.db
run query -C frozen --param random_page_cost=1.1 --format tsv
must_exit 0
must_equal 3 "$(wc -l <out | tr -d ' ')"
rmdir frozen/lineage.db

mkdir hostile
{
    columns
    trial 000 '' baseline 3.0 'Stock'
    trial 001 000 discard 3.1 "Raise x_y 1 → 2'); DROP TABLE trials; --"
    trial 002 000 discard 3.1 'Set mode=</td><script>alert(1)</script>'
    trial 003 003 discard 3.1 'Raise x_y 2 → 3'
    trial 004 005 discard 3.1 'Raise x_y 3 → 4'
    trial 005 004 discard 3.1 'Raise x_y 4 → 5'
} >hostile/results.tsv
must_run init hostile --direction lower
found '001 003 004 005' query -C hostile --param x_y=:
run query -C hostile --param "x_y'); DROP TABLE trials; --=1"
must_exit 2
found '' query -C hostile --param x_y=9:
run sql -C hostile 'SELECT count(*) AS n FROM trials' --format tsv
must_equal 6 "$(sed 1d out)"

# ---- declared parameters: a trial has from its parents what it does not declare, whatever wrote its row ----

inherits() # STORE
{
    found 002 tried -C "$1" --param LR=0.2 --param MOMENTUM=0.9
    found 003 tried -C "$1" --param LR=0.2 --param HIDDEN=64 --param OPT=adam
    found '' tried -C "$1" --param LR=0.1 --param MOMENTUM=0.9
    found '' tried -C "$1" --param MOMENTUM=0.9 --param DEPTH=3
    found 002 query -C "$1" --param LR=0.2 --param MOMENTUM=0.9
    found 001 query -C "$1" --param LR=0.2
    must_run sweep -C "$1" LR MOMENTUM --format tsv
    must_equal '0.2 0.9 1 1.0 002' "$(sed 1d out | cut -f 1-5 | tr '\t' ' ')"
    must_run sweep -C "$1" LR HIDDEN --format tsv
    must_equal '0.1 64 000|0.2 64 001|' "$(sed 1d out | cut -f 1,2,5 | tr '\t\n' ' |')"
    must_run render -C "$1"
    must_have out '**parameters**: HIDDEN=64, LR=0.2, MOMENTUM=0.9'
    must_have out '| 001 | keep | 2 | `LR 0.1 → 0.2` |'
    must_have out '| 4 | `OPT=adam` |'
    must_lack out 'without '
    must_run verify -C "$1"
}
must_run init one --direction lower
must_run append -C one --status baseline --core-metric 3 --param LR=0.1 --param HIDDEN=64
must_run append -C one --status keep --core-metric 2 --parent 000 --param LR=0.2
must_run append -C one --status keep --core-metric 1 --parent 001 --param MOMENTUM=0.9
must_run append -C one --status discard --core-metric 4 --parent 002 --param OPT=adam
must_run append -C one --status discard --core-metric 4 --parent 000 --param DEPTH=3
inherits one
mkdir old
{
    columns
    trial 000 '' baseline 3.0 '' 'LR=0.1; HIDDEN=64'
    trial 001 000 keep 2.0 '' 'LR=0.2'
    trial 002 exp_001 keep 1.0 '' 'MOMENTUM=0.9'
    trial 003 002 discard 4.0 '' 'OPT=adam'
    trial 004 000 discard 4.0 '' 'DEPTH=3'
} >old/results.tsv
must_run init old --direction lower
inherits old
must_run init taken --direction lower
must_run import -C taken old/results.tsv
inherits taken
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tried","arguments":{"params":{"LR":0.2,"MOMENTUM":0.9}}}}' >in
"$LINEAGE" mcp -C one <in 2>/dev/null | sed -n 2p >out
must_have out '"rows":[["002"'
# Seed and proposer belong to one trial; a void parent and a cycle do no harm.
must_run append -C one --status keep --core-metric 0.9 --parent 002 --param seed=3 --param LR=0.3
must_run append -C one --status discard --core-metric 5 --parent 005 --param DEPTH=4
found '' tried -C one --param DEPTH=4 --param seed=3
found 006 tried -C one --param DEPTH=4 --param LR=0.3
run void -C one 005 --reason 'wrong data'
must_exit 0
found 006 tried -C one --param DEPTH=4 --param LR=0.3
{
    columns
    trial 000 001 keep 2.0 '' 'LR=0.2'
    trial 001 000 keep 1.0 '' 'MOMENTUM=0.9'
    trial 002 002 keep 1.0 '' 'OPT=adam'
} >cycle.tsv
mkdir cycle && mv cycle.tsv cycle/results.tsv
must_run init cycle --direction lower
found 001 tried -C cycle --param LR=0.2 --param MOMENTUM=0.9
found '' tried -C cycle --param LR=0.2 --param OPT=adam

# `rerun --seeds` measures the noise: fresh seeds are further runs of the setting, whose first seed is not theirs.
must_run init again --direction lower
for x in 1 2; do must_run run -C again -q -m loss -p x=$x --seed 7 -- sh -c "echo loss: \$((LINEAGE_SEED % 3 + $x))"; done
run rerun -C again 001 --seeds 3 -q
must_exit 0
must_have err 'open: mean'
must_run settings -C again --format tsv
must_equal "x=2 001 4" "$(grep '^x=2' out | cut -f 1-3 | tr '\t' ' ')"
run settings -C again --limit 1
must_exit 0
must_equal 2 "$(wc -l <out)" 'a heading and one setting'
must_have err '1 more setting is not listed; `--limit 0` lists all'
must_run settings -C again --limit 0
must_equal '3 ' "$(wc -l <out) $(cat err)"
must_have again/lineage.json '"noise_runs": 4'
must_run show -C again 002 --format json
must_equal '3.0 discard' "$(json score) $(json status)" # seeds 8, 9 and 10
must_equal '' "$(json params.seed 2>&1 | grep 7)"
run rerun -C again 001 --seeds 0
must_exit 2
run rerun -C again 001 --seeds 1 -q
must_run show -C again 003 --format json
must_equal 11 "$(json params.seed)" 'the next seed'

# A run in a repository names the commit in the first row alone, and its other seeds are of the same setting. A bad run is left out only if
# it is far outside of the runs of other settings, too.
must_run init close --direction lower
must_run append -C close --status baseline --core-metric 1.0 --param x=1 --param seed=1 --notes 'commit 765b0812cafe'
for score in 0.9 1.1; do must_run append -C close --status discard --core-metric $score --param x=1 --param seed=$score; done
for seed in 1 2; do must_run append -C close --status discard --core-metric 1.$seed --param x=2 --param seed=$seed; done
for score in 0.95 0.951 0.952; do must_run append -C close --status discard --core-metric $score --param x=$score --param seed=1; done
must_run append -C close --status discard --core-metric 1.3 --param x=0.95 --param seed=2
must_run settings -C close --format tsv
must_equal '3 1.0 2 0' "$(grep '^x=1	' out | cut -f 3,4 | tr '\t' ' ') $(grep '^x=0.95	' out | cut -f 3,7 | tr '\t' ' ')"

# Scores far from 0 have the same noise as near it, and are written to the second digit of their margin.
must_run init remote --direction lower
for x in 0 1; do for seed in 1 2 3; do
    must_run append -C remote --status discard --core-metric 1000000000.$((x + seed)) --param x=$x --param seed=$seed
done; done
must_equal 0.1 "$(python3 -c "import json; print(round(json.load(open('remote/lineage.json'))['noise_std'], 5))")"
must_run best -C remote
must_have out 'x=0: 1000000000.2 ± 0.16 (3 runs)'
must_run render -C remote --for v1d
must_have out 'exp_000 1000000000.2 ± 0.16 (3), exp_003 1000000000.3 ± 0.16 (3)'
must_run compare -C remote --by x
must_have out ' 1000000000.2 '
must_lack out '1e+09'
must_run compare -C remote --runs
must_have out ' 1000000000.2 '
must_have out ' 1000000000.3 '
must_run report -C remote -o remote.html
must_have remote.html '1000000000.1 <span class="pm">± 0.28'
must_lack remote.html '1e+09'

# A margin of 0 leaves all digits, and one mean has the same digits everywhere.
must_run init level --direction lower
for x in 7 8; do for seed in 1 2 3; do
    must_run append -C level --status discard --core-metric 123456$x --param x=$x --param seed=$seed
done; done
must_run best -C level
must_have out 'x=7: 1234567 ± 0 (3 runs)'
must_run render -C level --for v1d
must_have out 'exp_000 1234567 (3), exp_003 1234568 (3)'
must_run init near --direction lower
for x in 0 1; do for seed in 1 2 3; do
    must_run append -C near --status discard --core-metric 0.8$((x + seed))00002 --param x=$x --param seed=$seed
done; done
must_run best -C near
must_have out 'x=0: 0.82 ± 0.016 (3 runs)'
must_run render -C near --for v1d
must_have out 'exp_000 0.82 ± 0.016 (3)'

# Scores whose squares overflow have an unknown noise, and not one of 0.
must_run init huge --direction lower
for x in 1 2; do for seed in 1 2; do
    must_run append -C huge --status discard --core-metric $x.${seed}e200 --param x=$x --param seed=$seed
done; done
must_run settings -C huge --format tsv
must_equal '1.15e+200:' "$(sed -n 2p out | cut -f 4,5 | tr '\t' :)"
must_lack huge/lineage.json noise_std

# A noise that was measured from a run that is left out by now is unknown.
must_run init late --direction lower
must_run append -C late --status discard --core-metric 12 --param x=0 --param seed=1
must_run append -C late --status discard --core-metric 30000 --param x=0 --param seed=2
for x in 1 2 3 4 5 6; do must_run append -C late --status discard --core-metric 13.$x --param x=$x --param seed=1; done
must_run best -C late
must_have out 'x=0: 12 (1 run and 1 that diverged)'

# In a store of more than 1000 rows an old setting that nothing kept is asked, too, if it is among the best.
{
    columns
    for seed in 1 2; do trial "00$seed" '' discard 1.0$seed '' "x=0; seed=$seed"; done
    seq 3 1203 | awk '{ printf "%03d\t2026-05-01T00:00:00Z\tio\t\t\t\t\t\tdiscard\t%d\t\t\t\t\t\t\tx=%d\n", $1, 1000 + $1 * 7919 % 1000, $1 }'
} >large.tsv
must_run init large --direction lower
cp large.tsv large/results.tsv
must_run settings -C large --format tsv
must_equal 'x=0	001	2' "$(sed -n 2p out | cut -f 1-3)"
must_run best -C large
must_have out 'x=0: 1.015 '

# Where several of the few settings that ran again have a run that diverged, each such run is left out, though the spreads are large.
must_run init diverged --direction lower
for x in 1 2 3 4 5 6; do must_run append -C diverged --status discard --core-metric 1.$x --param x=$x --param seed=1; done
for x in 1 2; do must_run append -C diverged --status discard --core-metric 9.$x --param x=$x --param seed=2; done
must_run append -C diverged --status discard --core-metric 9 --param x=7 --param seed=1
run settings -C diverged --format tsv
must_exit 0
must_have err '008 ran once, far outside of all others'
must_equal '1 1 7' "$(grep '^x=[12]	' out | cut -f 7 | tr '\n' ' ')$(sed -n '$s/x=\([0-9]\).*/\1/p' out)" 'left out, and the last setting'

# Two of three runs of the best setting diverged by chance. The third one counts, the others set the noise, and it is named when half of
# its runs have not. A setting that diverges three times more often than not is bad.
must_run init chance --direction lower
for x in 1 2 3 4 5 6; do must_run append -C chance --status discard --core-metric 1.$x --param x=$x --param seed=1; done
for seed in 2 3; do must_run append -C chance --status discard --core-metric 1.1$seed --param x=1 --param seed=$seed; done
must_run append -C chance --status discard --core-metric 9 --param x=8 --param seed=1
must_run append -C chance --status discard --core-metric 0.8 --param x=8 --param seed=2
must_run append -C chance --status discard --core-metric 9.5 --param x=8 --param seed=3
run settings -C chance --format tsv
must_exit 0
must_equal '1 0.8 2' "$(grep '^x=8	' out | cut -f 3,4,7 | tr '\t' ' ')"
must_have err 'more runs of 008 diverged than did not, so it is not named'
must_run best -C chance --format json
must_equal '008 1 2' "$(json setting.held_back.exp_id) $(json setting.held_back.runs) $(json setting.held_back.left_out)"
must_equal '1 True' "$(json params.x) $(python3 -c "import json; print(json.load(open('chance/lineage.json'))['noise_std'] < 0.1)")"
must_run best -C chance
must_have out 'more runs of 008 diverged than did not, so it is not named'
must_run render -C chance
must_have out 'exp_008 0.8 (1) is not named, because more of its runs diverged than did not'
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"best","arguments":{}}}' >in
best_of_mcp() { "$LINEAGE" mcp -C chance <in 2>/dev/null | sed -n 2p >out; }
best_of_mcp
must_equal '000 008' "$(json result.structuredContent.trial.exp_id) $(json result.structuredContent.setting.held_back.exp_id)"
# Each door shows the row of a run that counts, whose score is near the mean of the setting, and no longer says that it is held back.
must_run append -C chance --status discard --core-metric 0.81 --param x=8 --param seed=4
must_run best -C chance --format json
must_equal '8 009 0.8' "$(json params.x) $(json exp_id) $(json score)"
must_lack out held_back
must_run best -C chance
must_have out 'exp_id              009'
must_lack out 'held back'
must_run render -C chance
must_have out 'Current best: **exp_009** (core_metric=0.8, lower is better)'
must_lack out 'not named'
best_of_mcp
must_equal '009 0.8' "$(json result.structuredContent.trial.exp_id) $(json result.structuredContent.trial.score)"
must_run chain -C chance
must_have out 009
# `best` prints that all runs have the same score only if each run counts; else the claim names the remedy.
must_run init same --direction lower
for seed in 1 2 3; do must_run append -C same --status discard --core-metric 1.1 --param x=1 --param seed=$seed; done
for x in 2 3 4 5; do must_run append -C same --status discard --core-metric 1.$x --param x=$x --param seed=1; done
must_run best -C same
must_have out 'all runs of a setting have the same score'
must_run append -C same --status discard --core-metric 90 --param x=1 --param seed=4
must_run best -C same
must_have out '3 runs and 1 that diverged'
must_lack out 'all runs of a setting have the same score'

for seed in 5 6 7; do must_run append -C chance --status discard --core-metric 9.$seed --param x=8 --param seed=$seed; done
run settings -C chance --format tsv
must_equal '7 0' "$(grep '^x=8	' out | cut -f 3,7 | tr '\t' ' ')"

# A row far outside of the noise floor does not decide it alone. `append` prints a floor that leaves the interval that was known.
floor() { json noise_std floor/lineage.json; }
must_run init floor --direction lower
for seed in 1 2; do must_run append -C floor --status discard --core-metric 1.1$seed --param x=1 --param seed=$seed; done
cp -R floor said && cp -R floor ran
must_run append -C floor --status discard --core-metric 1.13 --param x=1 --param seed=3
must_equal 0.01 "$(floor)"
must_run append -C floor --status discard --core-metric 1.2 --param x=2 --notes 'mean of 3 seeds, std 4'
must_equal 0.01 "$(floor)" 'one row of another kind'
run append -C said --status discard --core-metric 1.2 --param x=2 --notes 'mean of 3 seeds, std 4'
must_exit 0
must_equal 002 "$(cat out)"
must_have err 'the noise floor is now 3.27 from 5 seeds, 95 % interval 1.85 to 12.2; it was 0.00707'
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"append","arguments":{"status":"auto","core_metric":1.2,"hypothesis":"y","params":{"x":2},"notes":"mean of 3 seeds, std 4"}}}' >in2
"$LINEAGE" mcp --allow-write -C ran <in2 2>err | sed -n 2p >out
must_have out '"warning":"the noise floor is now 3.27 from 5 seeds'

# Where scores follow a number, neighbours count: a single lucky run far from the others does not win. Texts have no neighbours.
awk 'BEGIN {
    for (i = 0; i < 16; i++) {
        x = i / 15
        score = i == 12 ? -0.2 : 4 * (x - 0.4) * (x - 0.4) + (i * 7 % 5 - 2) / 12
        printf "{\"status\": \"discard\", \"core_metric\": %.4f, \"params\": {\"x\": %.4f, \"seed\": 1}}\n", score, x
    }
    split("0 0.6 0.2667 0.2 1 1.3", again, " ")
    for (i = 1; i < 6; i += 2)
        printf "{\"status\": \"discard\", \"core_metric\": %s, \"params\": {\"x\": %.4f, \"seed\": 2}}\n", again[i + 1], again[i]
}' >smooth.jsonl
sed 's/"x": \([0-9.]*\)/"x": "t\1"/' smooth.jsonl >texts.jsonl
for kind in smooth texts; do
    must_run init $kind --direction lower
    must_run append -C $kind --json $kind.jsonl
done
must_run best -C smooth --format json
must_equal 0.3333 "$(json params.x)" 'neighbours count'
must_run best -C texts --format json
must_equal t0.8000 "$(json params.x)" 'the best run of texts'

# An empty log has no settings.
must_run init empty --direction lower
run tried -C empty --param x=1
must_exit 1
run query -C empty --param x=1
must_exit 2


# ---- without parents nothing is inherited but settings in words: show says what `settings` and `query` say ----
must_run init alone --direction lower
for values in '-p lr=1 -p flag=true' '-p lr=2'; do
    # shellcheck disable=SC2086 # words
    must_run append -C alone --status auto --core-metric 1 $values
done
must_run show -C alone 001
must_lack out 'flag'
must_run query -C alone -p flag=true
must_equal 000 "$(awk 'NR > 1 { print $1 }' out)" 'trials with the flag'
# ---- seeds that lineage.json names: runs of one setting at each door, and a child does not have them; the mirror follows the list ----
must_run init named --direction lower
for run in '1 1 1.0' '1 2 1.2' '1 3 1.1' '2 1 0.9' '2 2 1.0'; do
    set -- $run
    must_run append -C named --status discard --core-metric "$3" -p x="$1" -p fold="$2"
done
must_run append -C named --status discard --core-metric 3 --parent 001 -p y=1
counts() { "$LINEAGE" settings -C named --format json 2>err | python3 -c 'import json, sys
print(*sorted(t["runs"] for t in json.load(sys.stdin)))'; }
must_equal '1 1 1 1 1 1' "$(counts)" 'a fold is a setting like any other'
found '005' query -C named --param fold=2 --param y=:
sed -i 's/^{/{"seeds": ["fold"], /' named/lineage.json
must_equal '1 2 3' "$(counts)" 'lineage.json names it as a seed'
must_have err 'names of seeds; making it anew'
must_run best -C named
must_have out '(2 runs)'
found '' query -C named --param fold=2 --param y=:
must_run tried -C named --param x=1 --param fold=3
run tried -C named --param y=1 --param fold=2; must_exit 1
must_run verify -C named
sed -i 's/"seeds": \["fold"\], //' named/lineage.json
must_equal '1 1 1 1 1 1' "$(counts)" 'no more'
sed 's/^{/{"seeds": "fold", /' named/lineage.json >json && cp json named/lineage.json
must_fail 2 'lineage.json: seeds must be a list of at most 256 texts' best -C named

# ---- another seed of the best trial's setting is not better than that trial, by a parameter or by `replicates`, also if it is judged again ----
must_run init lucky --direction lower
for run in '1 1 1.3' '1 2 1.2' '1 3 1.1' '2 1 0.9'; do
    set -- $run
    must_run append -C lucky --status auto --core-metric "$3" -p x="$1" -p seed="$2"
done
must_run append -C lucky --status auto --core-metric 0.5 --notes 'replicates 000'
must_equal '000 keep,001 discard,002 discard,003 discard,004 discard,' "$(sed 1d lucky/results.tsv | cut -f 1,9 | tr '\t\n' ' ,')" 'a lucky seed'
must_run show 002 -C lucky
must_have out 'discarded: another run of the best trial, 000'
must_run render -C lucky
must_have out 'another run of the best trial then'
run void 000 -C lucky --reason 'a wrong seed'
must_have err 'judged again: 001 is now keep'
must_equal 'keep discard' "$("$LINEAGE" sql "SELECT group_concat(status, ' ') FROM trials WHERE exp_id IN ('001', '002')" -C lucky --format tsv | sed 1d)" \
    'the next seed takes its place'

# ---- the same seed again is other code, and parameters in force may differ through the parent; a rerun is the same trial ----
must_run init fixed --direction lower
for score in 0.9 0.2; do must_run append -C fixed --status auto --core-metric $score -p lr=0.1 -p seed=42; done
must_equal 'keep keep' "$(sed 1d fixed/results.tsv | cut -f 9 | tr '\n' ' ' | sed 's/ $//')" 'the same seed with other code'
must_run append -C fixed --status auto --core-metric 0.19 -p wd=1 -p seed=42 --parent 001
must_run append -C fixed --status auto --core-metric 0.1 -p lr=0.1 -p seed=43 --parent 002
must_equal keep "$(tail -n 1 fixed/results.tsv | cut -f 9)" 'another parent'
must_run append -C fixed --status auto --core-metric 0.05 --notes 'rerun of 003; metrics acc=1'
must_equal discard "$(tail -n 1 fixed/results.tsv | cut -f 9)" 'a rerun of the best trial'
must_have fixed/results.tsv 'discarded: another run of the best trial, 003'

# ---- imported seeds are one setting if their names say the same, and a run that failed says the same as one with a score ----
settings_of() # LINES: a table is imported; the runs and failed runs of each of its settings, by their first row
{
    rm -rf pooled table.csv
    printf '%b' "$1" >table.csv
    must_run init pooled --direction lower
    must_run import -C pooled table.csv --metric loss
    run settings -C pooled --format tsv
    sed 1d out | cut -f 2,3,8 | sort | tr '\t\n' ' ,' >listed
}
settings_of 'hypothesis,lr,seed,loss\nuse relu,0.1,1,3.0\nuse gelu,0.1,2,1.0\n'
must_equal '000 1 0,001 1 0,' "$(cat listed)" 'two hypotheses'
settings_of 'Name,lr,seed,loss\nppo-s1,0.1,1,3.0\nsac-s1,0.1,1,2.0\nsac-s2,0.1,2,2.1\nppo-s2,0.1,2,3.1\n'
must_equal '000 2 0,001 2 0,' "$(cat listed)" 'the seed is a part of the name'
settings_of 'Name,lr,seed,loss\nbold-sunset-7,0.1,1,3.0\ncalm-river-8,0.1,2,3.1\n'
must_equal '000 1 0,001 1 0,' "$(cat listed)" 'names that look drawn'
settings_of 'Name,state,lr,seed,loss\nppo s1,finished,0.1,1,3.0\nppo s2,failed,0.1,2,\nppo s3,finished,0.1,3,3.1\nsac s1,failed,0.1,1,\nsac s2,failed,0.1,2,\n'
must_equal '000 2 1,003 0 2,' "$(cat listed)" 'runs that failed'
must_have err 'has no score: 2 runs failed; the newest, 004: crash: as csv recorded'
drawn() # NAME SEED LOSS
{
    printf '{"id": "%s", "name": "%s", "state": "finished", "config": {"lr": 1, "seed": %s}, "summary": {"loss": %s}}' "$1" "$@"
}
echo "[$(drawn bert-base-128 1 3.0), $(drawn bert-large-128 2 1.0), $(drawn relu-net-4 4 1.1)]" >drawn.json
must_run init drawn --direction lower
must_run import -C drawn drawn.json --metric loss
run settings -C drawn --format tsv
must_equal '000 1,001 1,002 1,' "$(sed 1d out | cut -f 2,3 | sort | tr '\t\n' ' ,')" 'names that look drawn may say what ran'
must_run init arch --direction lower
for run in 'relu 1 3.0' 'gelu 2 1.0'; do
    set -- $run
    must_run append -C arch --specialist arch --job-name "arch:$2" --hypothesis "$1" --status discard --core-metric "$3" -p lr=1 -p seed="$2"
done
# A failed run counts against the setting of its specialist and its program only.
must_run append -C arch --specialist other --hypothesis relu --status crash -p lr=1 -p seed=3
must_run append -C arch --specialist arch --hypothesis relu --status crash -p lr=1 -p seed=3 --notes 'program other.py'
must_run append -C arch --specialist arch --hypothesis relu --status crash -p lr=1 -p seed=3
run settings -C arch --format tsv
must_equal '000 1 1,001 1 0,002 0 1,003 0 1,' "$(sed 1d out | cut -f 2,3,8 | sort | tr '\t\n' ' ,')" 'specialists and programs'

# ---- a run with another seed is of the setting only if its code and its program are the same ----
# The code is that of the best trial from the second run on, and was then taken for that of the first row.
mkdir code && cd code || exit 3
git init -q . && echo 'echo "loss: 9.0$1"' >t.sh && git add t.sh && git commit -qm one
one() { must_run run -C runs --direction lower -q -m loss -p lr=1 -p seed="$1" -- sh t.sh "$1"; }
listed() { "$LINEAGE" settings -C "$1" --format tsv | sed 1d | cut -f 2,3,7 | sort | tr '\t\n' ' ,'; } # exp_id runs left_out
one 1
echo 'echo "loss: 5.0$1"' >t.sh
one 1
git commit -qam two # the same code, now committed
one 2
one 3
must_equal '000 1 0,001 3 0,' "$(listed runs)" 'runs of the code'
must_have runs/results.tsv 'discarded: another run of the best trial, 001'
echo 'echo "val $1.0$2"' >late.sh
for seed in 1 2; do "$LINEAGE" run -C late --direction lower -q -m loss -p lr=1 -p seed=$seed -- sh late.sh 5 $seed >/dev/null 2>&1; done
must_run rescore -C late 000 --metric-regex 'loss=val ([0-9.]+)'
must_run rescore -C late 001 --metric-regex 'loss=val ([0-9.]+)'
must_equal '002 2 0,' "$(listed late)" 'scores that were found later'
run rerun -C late 002
must_have late/results.tsv "$(grep -o 'ran [0-9a-f]*' late/results.tsv | head -n 1); score by" # the repetition says what ran, too
must_run render -C runs
must_lack out 'ran '
cd ..
mkdir programs && cd programs || exit 3
echo 'echo "loss: 9.0$1" >out.txt; cat out.txt' >a.sh
echo 'echo "loss: 5.0$1" >out.txt; cat out.txt' >b.sh
for seed in 1 2; do
    must_run run -C runs --direction lower -q -m loss -p lr=1 -p seed=$seed -- sh a.sh $seed
    must_run run -C runs -q -m loss -p lr=1 -p seed=$seed -- sh -c "sh b.sh '$seed' out.txt"
done
must_equal '000 2 0,001 2 0,' "$(listed runs)" 'runs of the programs'
must_run best -C runs
must_have out 'lr=1: 5.015'
must_have out 'better than the next, lr=1 (000), with'
echo '# another one' >>a.sh # outside of a repository the contents count
must_run run -C runs -q -m loss -p lr=1 -p seed=3 -- sh a.sh 3
must_equal '000 2 0,001 2 0,004 1 0,' "$(listed runs)" 'a program that was edited'
must_run run -C alone --direction lower -q -m loss -p seed=1 -- sh b.sh 1
must_run run -C alone -q -m loss -p seed=2 -- sh b.sh 2
must_equal '000 2 0,' "$(listed alone)" 'the seed alone, of a program that is known'
cd ..

# The same script by other names, with a configuration for each seed, by --seed, and beside a row of append, is one program.
mkdir names && cd names || exit 3
mkdir sub && echo 'echo "loss: 5.0$1"' >sub/b.sh && git init -q . && printf 'out\nerr\n' >.git/info/exclude && git add sub && git commit -qm one
echo 1 >c1.cfg && echo 2 >c2.cfg
must_run run -C runs --direction lower -q -m loss -p lr=1 -p seed=1 -- sh sub/b.sh 1 c1.cfg
must_run run -C runs -q -m loss -p lr=1 -p seed=2 -- sh "$PWD/sub/b.sh" 2 c2.cfg
cd sub && must_run run -C ../runs -q -m loss -p lr=1 --seed 3 -- sh b.sh 3 && cd ..
must_equal '000 3 0,' "$(listed runs)" 'names of one script'
# So is one with an -m of its own, with an output that is called as a script is, and as a script that was written for one run.
printf 'made*\n' >>.git/info/exclude
for seed in 1 2 3; do
    must_run run -C own --direction lower -q -m loss -p lr=1 -p seed=$seed -- sh sub/b.sh $seed -m model_$seed
    must_run run -C outputs --direction lower -q -m loss -p lr=1 -p seed=$seed -- sh -c "sh sub/b.sh $seed | tee made.ipynb"
    cp sub/b.sh made_$seed.sh
    must_run run -C made --direction lower -q -m loss -p lr=1 -p seed=$seed -- sh made_$seed.sh $seed
done
for store in own outputs made; do must_equal '000 3 0,' "$(listed $store)" "$store"; done
must_run init mixed --direction lower
must_run append -C mixed --score loss --status baseline --core-metric 5 -p lr=1 -p seed=7
must_run run -C mixed -q -m loss -p lr=1 -p seed=8 -- sh sub/b.sh 8
must_equal '000 2 0,' "$(listed mixed)" 'beside a row of append'
echo 'echo "loss: 9.0$1"' >sub/b.sh && git commit -qam two
for seed in 9 10; do must_run run -C mixed -q -m loss -p lr=1 -p seed=$seed -- sh sub/b.sh $seed; done
must_equal '000 2 0,002 2 0,' "$(listed mixed)" 'other code beside a row of append'
cd ..

# ---- rerun --seeds gives a parameter that is the seed the fresh ones ----
mkdir fresh && cd fresh || exit 3
must_run run -C runs --direction lower -q -m loss -p lr=1 -p seed=2 -- sh -c 'echo "loss: 5.0{seed}"; cat "$LINEAGE_PARAMS"'
run rerun -C runs 000 --seeds 2
must_exit 0
must_have err 'mean 5.03 of 3 runs' # of the seeds 2, 3 and 4
run logs -C runs 001
must_have out '"seed": 4'
run rerun -C runs 000 --seeds 2
must_have err 'of 4 runs' # fresh ones: 3 to 6
must_have err '"seed": 6'
must_run run -C literal --direction lower -q -m loss -p lr=1 -p seed=1 -- sh -c 'echo "loss: 5.01"'
run rerun -C literal 000 --seeds 2
must_exit 0
must_have err 'all seeds have the same score'
cd ..

# ---- the block lists no untried seeds that lineage.json names ----
must_run init grid --direction lower
for lr in 1 2 3; do
    for rng in 1 2 3; do must_run append -C grid --status discard --core-metric $lr.$rng -p lr=$lr -p rng=$rng; done
done
must_run append -C grid --status discard --core-metric 4 -p lr=4 -p rng=1
must_run render -C grid
must_have out 'untried lr × rng'
sed -i 's/^{/{"seeds": ["rng"], /' grid/lineage.json
run render -C grid
must_lack out 'untried'
finish
