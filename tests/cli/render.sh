#!/bin/sh
# render.sh: `lineage render`: styles, sections, budgets, what --output keeps, what --record saves.
. "$SOURCE/tests/support/shell.sh"

must_run append --create --timestamp T --specialist base --status baseline --core-metric 2 --hypothesis 'start'
must_run append --timestamp T --specialist opt --parent 000 --status keep --core-metric 1.5 --alpha 0.3 \
    --hypothesis 'adaptive clip' --expected-delta -0.4
must_run append --timestamp T --specialist opt --parent 001 --status discard --core-metric 1.75 --alpha 0.6
must_run append --timestamp T --specialist arch --parent 002 --status keep --core-metric 1.25 --alpha 0.4
must_run append --timestamp T --specialist arch --parent 003 --status eval_budget_overrun --alpha 0.9
must_run append --timestamp T --specialist arch --parent 003 --status harness_abort --hypothesis 'never ran'

must_run render --for optimizer --timestamp 2026-05-12T20:30:00Z
must_have out '# Session start — 2026-05-12T20:30:00Z'
must_have out '**optimizer**'
must_have out 'exp_003'
must_have out '← BEST'
must_have out '(1 passed over)'
must_have out 'eval_budget_overrun'
must_lack out 'never ran'
must_lack out harness_abort
must_equal 0 "$(sed -n '/^```/,/^```/p' out | grep -c exp_002)" "a discarded trial in the chain"
cp out first
must_run render --for optimizer --timestamp 2026-05-12T20:30:00Z
must_match_file first out
rm -f lineage.db*
must_run render --for optimizer --timestamp 2026-05-12T20:30:00Z
must_match_file first out

# The help lists every section that the option takes.
must_fail 2 "no section 'nonsense'" render --sections nonsense
sed -n 's/.*known are //p' err | tr -d , | tr ' ' '\n' | sort >known
must_run render --help
sed -n '/Sections of the native style:/,/\.$/p' out | tr ' ' '\n' | grep '^[a-z_]*\.*$' | tr -d . | grep -vx -e '' -e native -e of -e the -e same -e store -e and -e options -e give -e bytes | sort >listed
must_match_file known listed

# Every budget is respected.
full=$(wc -c <first)
for budget in 1 20 100 200 300 400 500 700 900 1200 1500 2000 $((full - 1)) "$full" 100000; do
    must_run render --for optimizer --timestamp 2026-05-12T20:30:00Z --max-bytes "$budget"
    [ "$(wc -c <out)" -le "$budget" ] || fail "--max-bytes $budget: $(wc -c <out) bytes"
done
must_match_file first out
must_run render --for optimizer --timestamp 2026-05-12T20:30:00Z --max-bytes $((full - 1))
must_equal 1 "$(grep -ciE 'dropped|left out' out)" "one line says what was dropped"

# Sections by name.
must_run render --for optimizer --sections leaderboard
must_have out '## Leaderboard'
must_lack out '## Recent Activity'
must_fail 2 "recent" render --sections leaderbord
must_fail 2 "--max-bytes" render --max-bytes x
must_fail 2 "--style 'xml'" render --style xml
must_fail 2 "--top-k '-1'" render --top-k -1
must_run render --top-k 1 --recent 1 --full 1
must_equal 1 "$(sed -n '/^## Leaderboard/,/^## Lineage/p' out | grep -c '^| [0-9]')" "--top-k 1"

# A leaderboard shows the interval of each score if the noise is known.
must_lack out '±'
must_run init sure --direction higher --noise-std 0.2 --noise-seeds 4
must_run append -C sure --create --status keep --core-metric 3 --hypothesis one
must_run append -C sure --status keep --core-metric 4 --hypothesis two --notes 'mean of 16 seeds, std 0.2'
must_run render -C sure --sections leaderboard
must_have out '| 3 ± 0.196 |'
must_have out '| 4 ± 0.098 |'

# The other styles.
must_run render --style fieldkit --for optimizer --timestamp T
must_equal '# Session start — T' "$(head -n 1 out)"
must_have out '## Top 2 Kept Trials'
must_run render --style blackboard --output-dir board
must_equal 'KNOWLEDGE.md LEADERBOARD.md tree.tsv ' "$(ls board | tr '\n' ' ')"
must_fail 2 "--output-dir" render --style blackboard

# --output replaces the file as a whole and keeps the text under Key Insights.
must_run render --for optimizer --timestamp T --output KNOWLEDGE.md
must_equal '' "$(cat out)"
printf '\n## Key Insights\n\n- warm up longer\n- not `this` | that\n' >>KNOWLEDGE.md
must_run render --for optimizer --timestamp U --output KNOWLEDGE.md
must_have KNOWLEDGE.md '# Session start — U'
must_have KNOWLEDGE.md '- warm up longer'
must_have KNOWLEDGE.md '- not `this` | that'
must_equal 1 "$(grep -c '^## Key Insights' KNOWLEDGE.md)"
cp KNOWLEDGE.md before
must_run render --for optimizer --timestamp U --output KNOWLEDGE.md
must_match_file before KNOWLEDGE.md
must_run append --timestamp T --status keep --core-metric 9 --hypothesis "$(printf 'x\n## Key Insights\n- FORGED')"
must_run render --for optimizer --timestamp U --output KNOWLEDGE.md
must_have KNOWLEDGE.md '- warm up longer'
must_equal 1 "$(grep -c '^## Key Insights' KNOWLEDGE.md)"
must_equal 0 "$(grep -c '^- FORGED' KNOWLEDGE.md)"
run render --output nowhere/KNOWLEDGE.md
must_exit 3
must_equal '' "$(find . -name '*.tmp*' -o -name 'KNOWLEDGE.md?*')" "temporary files left"

# --record saves the block that was printed.
run render --for 'opt/imizer' --timestamp 2026-05-12T20:30:00Z --record
must_exit 0
must_equal 1 "$(find lineage_snapshots -type f -name '*.md' | wc -l)" "recorded"
must_match_file out "$(find lineage_snapshots -type f)"

# ---- contents of the block ----

# A title without a time has no dash, and a file named KNOWLEDGE.md has no heading of that name.
must_run render
must_equal '# Session start' "$(head -n 1 out)"
must_lack out '## KNOWLEDGE'

# The threshold is stated above, and a discard says how far it was from it, in both directions.
mkdir noisy
"$LINEAGE" init noisy --direction higher --noise-std 0.02 >/dev/null
must_run -C noisy append --status auto --core-metric 0.5
must_run -C noisy append --status auto --core-metric 0.5068
must_run -C noisy append --status auto --core-metric 0.4
must_run -C noisy append --status auto --core-metric 0.6
must_run -C noisy append --status discard --core-metric 0.9
must_run -C noisy render
must_have out 'beats the best by more than 0.0931'
must_have out 'standard deviation of 0.02'
must_have out 'discard (+0.0068, needs more than 0.0931)'
must_have out 'discard (-0.1, worse)'
must_have out 'discard (+0.3, though better'
mkdir down
"$LINEAGE" init down --noise-std 0.02 >/dev/null
must_run -C down append --status auto --core-metric 0.5
must_run -C down append --status auto --core-metric 0.4932
must_run -C down render
must_have out 'discard (-0.0068, needs less than -0.0931)'

# Parameters: integers as integers, constants once, differences from the parent or else from the best at the time.
mkdir sweep
{
    header
    trial 000 '' baseline 0.50 root 'lr=0.001; seed=1.0; steps=300.0; alpha=0.1; gamma=1.0'
    trial 001 000 keep 0.40 first 'lr=0.001; seed=1.0; steps=300.0; alpha=0.3; gamma=1.0; info_gain turn=0 mean=0.1 std=0.2 n=4; warm start was cold'
    trial 002 001 discard 0.45 second 'lr=0.001; seed=2.0; steps=300.0; alpha=0.9; gamma=0.9'
    trial 003 001 crash '' third 'lr=0.001; seed=2.0; steps=300.0; alpha=0.9; gamma=0.9; planned | CUDA out of memory'
    trial 004 001 crash '' fourth 'lr=0.001; seed=3.0; steps=300.0; gamma=0.9; other words | CUDA out of memory'
    trial 005 001 crash '' fifth 'lr=0.001; seed=3.0; steps=300.0; alpha=0.9; gamma=0.9; beta=0.5; nan in the loss'
    trial 006 001 harness_abort '' never 'lr=0.001; alpha=0.1; gamma=0.9'
} >sweep/results.tsv
must_run -C sweep render
must_have out 'same in all trials: lr=0.001, steps=300'
must_equal 1 "$(grep -c 'steps=300' out)" "a constant is printed once"
must_lack out '300.0'
must_have out 'against exp_000: alpha 0.1 → 0.3'
must_have out 'against exp_001: alpha 0.3 → 0.9, beta=0.5, gamma 1 → 0.9, seed 1 → 3'
must_have out 'against exp_001: gamma 1 → 0.9, seed 1 → 3'
must_equal 1 "$(grep -c 'warm start was cold' out)"
must_equal 0 "$(sed -n '/^## Last Trials/,/^## Sweep/p' out | grep -c info_gain)" "statistics repeated from notes"
must_have out 'untried alpha × gamma (2 of 6): 0.1×0.9, 0.9×1' # 004 has the alpha of 001
must_have out '**crash**: 3 (opt 3)'
must_have out 'exp_004 and 1 more: `CUDA out of memory`'
must_have out 'exp_005: `nan in the loss`'

# A parameter that always changes together with another is reported once.
mkdir linked
{
    header
    trial 000 '' baseline 0.5 a 'low=0.1; high=0.2; size=1'
    trial 001 000 keep 0.4 b 'low=0.3; high=0.4; size=1'
    trial 002 001 keep 0.3 c 'low=0.3; high=0.4; size=2'
} >linked/results.tsv
must_run -C linked render
must_have out 'only moved together: high and low'
must_equal 1 "$(grep -c '^- untried' out)"
must_have out 'untried high × size (1 of 4): 0.2×2'

# Both ends of the chain are shown, whatever its length.
mkdir deep
{
    header
    trial 0 '' baseline 100 root
    i=1
    while [ $i -le 200 ]; do
        trial $i $((i - 1)) keep "$(awk "BEGIN { print 100 - $i / 4 }")" "step $i of a long way described with many words so that there is something to cut" "alpha=0.$((i % 5))"
        i=$((i + 1))
    done
    trial 201 200 crash '' boom 'out of luck'
} >deep/results.tsv
must_run -C deep render
must_have out 'exp_0 [baseline'
must_have out 'exp_200 [keep'
must_have out '171 kept ancestors between'
must_have out 'The trials shown are by opt.'
must_lack out 'specialist'
[ "$(sed -n '/^```/,/^```/p' out | grep -c exp_)" -eq 30 ] || fail "$last: not 30 of the chain"

# A budget is used up: what an agent needs for planning is there at any size, and the block says what was left out.
full=$(wc -c <out)
for budget in 1200 1600 2000 3000 4000 6000 8000 $((full - 1)); do
    must_run -C deep render --max-bytes "$budget"
    size=$(wc -c <out)
    [ "$size" -le "$budget" ] || fail "--max-bytes $budget: $size bytes"
    [ "$size" -ge $((budget * 93 / 100)) ] || fail "--max-bytes $budget: $size bytes used"
    must_have out '**crash**: 1 (opt 1)'
    must_have out 'out of luck'
    must_have out '**alpha**: 0 '
    must_have out 'exp_0 [baseline'
    must_have out '← BEST'
    must_have out 'Left out to fit'
done
must_run -C deep render --max-bytes 1200
must_have out ' … 198 left out'
must_run -C deep render --max-bytes 4000
for section in 'Current Best' Leaderboard 'Lineage of the Best' 'Recent Activity' 'Last Trials in Full' 'Sweep Coverage' 'Failure Classes'; do
    must_have out "## $section"
done
must_run -C deep render --sections best,chain --max-bytes 1500
must_lack out 'leaderboard'
must_run -C deep render --sections knowledge
must_have out '## Lineage of the Best'

# The night of an agent: no gaps between values that it drew, no routine notes, and under a budget recent rows go first.
mkdir agent
cp "$SOURCE/fixtures/experiments/moons/results.tsv" "$SOURCE/fixtures/experiments/moons/lineage.json" agent
must_run -C agent render
for routine in untried 'key ' 'the parent was not kept' 'needs less than 0' 'score by' proposer=; do
    must_lack out "$routine"
done
must_have out 'peak memory 15.6 MB'
[ $(($(wc -c <out) * 3)) -lt $(($(wc -c <agent/results.tsv) * 2)) ] || fail "the block is not clearly shorter than the log"
# A note or specialist that all rows share is printed once, and a discard is also compared with its parent.
must_have out 'The trials shown are by moons.'
must_lack out '| moons | discard'
must_equal 1 "$(grep -c 'again: a decision of the agent' out)" "a note of all trials"
must_have out '| 024 | discard (+0.129, worse; 0.0389 better than 023) |'
must_have out '| 019 | discard (+0.0685, worse; 0.000168 worse than 018) |'
must_have out '| 025 | discard (+0.0697, worse) |'
must_have out '- exp_024 against exp_023: hidden 8 → 16; expected `-0.02`'
must_have out '| moons | 17 | 3 | -0.023529 | +0.088232 | 0.118155 | 7 of 14 | '
must_have out "$(awk -F'\t' 'NR > 1 { score[$1] = $10 } NR > 1 && $8 != "" && $10 != "" && score[$4] != "" && $9 ~ /keep|discard/ {
        d = $10 - score[$4]; e = $8 - d; n++; same += $8 * d > 0; sum += d; error += e < 0 ? -e : e }
    END { printf "| %d of %d | %+.4f", same, n, sum / n }' agent/results.tsv | sed 's/0*$//')"
must_run -C agent render --sections full
must_have out '- exp_024 [discard (+0.129, worse; 0.0389 better than 023), core_metric=0.235385] `more units with clipping`'
# Near misses, best first, are those that the rows give; the median is that of the rows.
must_run -C agent render
must_have out "26 trials; half of those measured took more than $(awk -F'\t' '$9 ~ /keep|discard|baseline/ { print $14 == "" ? $13 : $14 }' agent/results.tsv |
    sort -g | awk '{ x[NR] = $1 } END { printf "%.3g", (x[int((NR + 1) / 2)] + x[int(NR / 2) + 1]) / 2 }') s."
awk -F'\t' 'NR > 1 { score[$1] = $10 } $9 == "discard" && score[$4] != "" && $10 < score[$4] { print $10, $1 }' agent/results.tsv |
    sort -g | head -n 5 | cut -d ' ' -f 2 >wanted
sed -n '/^## Near Misses/,/^$/s/^- exp_\([0-9]*\) .*/\1/p' out >got
must_match_file wanted got
must_run -C noisy append --status auto --core-metric 0.57
must_run -C noisy append --status auto --core-metric 0.5
must_run -C noisy render --sections near_misses
must_have out 'exp_005 [discard (-0.03, worse)'
must_lack out exp_006
must_run -C sweep render
must_lack out 'Near Misses'
# In a log without parents the chain follows the keeps; one parent anywhere ends that.
mkdir orphans
{
    header
    trial 000 '' baseline 0.50 root
    trial 001 '' keep 0.40 first
    trial 002 '' discard 0.45 second
    trial 003 '' keep 0.30 third
    trial 004 '' discard 0.35 fourth
} >orphans/results.tsv
must_run -C orphans render --sections chain
must_have out '## Keeps up to the Best (no row names a parent)'
must_equal 'exp_000 exp_001 exp_003 ' "$(sed -n '/^```/,/^```/p' out | grep -o 'exp_[0-9]*' | tr '\n' ' ')"
(cd orphans && trial 005 003 discard 0.36 fifth >>results.tsv)
must_run -C orphans render --sections chain
must_equal 'exp_003 ' "$(sed -n '/^```/,/^```/p' out | grep -o 'exp_[0-9]*' | tr '\n' ' ')"
must_have out 'root → best'
# No trial is described by its changes alone unless its row of Recent Activity is there, whatever the budget.
for budget in $(seq 300 40 3000); do
    must_run -C agent render --sections recent,full --max-bytes "$budget"
    for id in $(sed -n 's/^- exp_\([0-9]*\) against.*/\1/p' out); do
        must_have out "| $id |"
    done
done
must_run -C agent render --max-bytes 4000
must_equal 23 "$(sed -n '/^## Recent/,/^## [^R]/p' out | grep -c '^| [0-9]')" "recent rows in 4000 bytes"
must_have out 'NameError'
must_run -C agent render --max-bytes 2000
must_have out '| 025 |'
must_lack out 'Leaderboard'
# A grid that nobody drew keeps its gaps; values with many digits have none. Prose that resembles a routine note stays.
mkdir drawn
{
    header
    trial 000 '' baseline 0.5 a 'lr=0.001; size=1'
    trial 001 000 discard 0.6 b 'lr=0.002; size=2; discarded: +0.1, needs less than 0 or luck; score by a friend'
} >drawn/results.tsv
must_run -C drawn render
must_have out 'only moved together: lr and size'
must_have out 'discarded: +0.1, needs less than 0 or luck; score by a friend'
rm drawn/lineage.db*
{
    header
    trial 000 '' baseline 0.5 a 'lr=0.0012345; size=1'
    trial 001 000 discard 0.6 b 'lr=0.0023456; size=2'
    trial 002 000 discard 0.6 c 'lr=0.0023456; size=1'
} >drawn/results.tsv
must_run -C drawn render
must_lack out untried
sed 's/0.0012345/0.00123/; s/0.0023456/0.00235/' drawn/results.tsv >r && mv r drawn/results.tsv
rm drawn/lineage.db*
must_run -C drawn render
must_have out 'untried lr × size (1 of 4): 0.00123×2'

# Blackboard: a path or an indentation never gets deeper than the blackboard's own program can handle.
mkdir deeper
{
    header
    awk 'BEGIN { for (i = 0; i < 12000; i++) printf "%d\tT\topt\t%s\t\t\th\t\tkeep\t%d\t\t\t\t\t\t\t\n", i, i ? i - 1 : "", 20000 - i }'
} >deeper/results.tsv
printf '{"exp_id": "11999", "core_metric": 8001.0, "specialist": "opt", "hypothesis": "h"}' >deeper/best.json
must_run -C deeper render --style blackboard --output-dir deeper/board
must_equal 12001 "$(wc -l <deeper/board/tree.tsv)" "rows of tree.tsv"
[ "$(wc -c <deeper/board/tree.tsv)" -lt 6000000 ] || fail "tree.tsv grows with the square of the depth"
[ "$(wc -c <deeper/board/KNOWLEDGE.md)" -lt 6000000 ] || fail "KNOWLEDGE.md grows with the square of the depth"
must_equal '…/11984/11985/11986/11987/11988/11989/11990/11991/11992/11993/11994/11995/11996/11997/11998/11999' \
    "$(tail -n 1 deeper/board/tree.tsv | cut -f 4)"
must_equal 998 "$(sed -n 1000p deeper/board/tree.tsv | cut -f 4 | tr -cd / | wc -c)" "the path at depth 998"

# An empty store.
mkdir empty
must_fail 2 'no store in empty' -C empty render --for optimizer
must_run init empty
must_run -C empty render --for optimizer
must_run -C empty render --for optimizer --style fieldkit
must_equal '# Session start — empty lineage' "$(cat out)"

# Trials without a hypothesis are named by what they changed; what follows the first trial; why no trial ranks.
mkdir night
must_run init night --direction lower
must_run -C night append --status crash --notes 'failed: NameError: lrr (a.py:3); x' --param lr=1
must_run -C night render
must_have out 'No trial ranks yet: 1 crash; the newest, exp_000: `failed: NameError: lrr (a.py:3)`. 1 trial.'
must_have out 'Next: `lineage tried'
must_run -C night append --status baseline --core-metric 3 --param lr=0.1 --param size=64
must_run -C night append --status keep --core-metric 2 --param lr=0.2 --param opt=sgd --parent 001
must_run -C night render
must_lack out 'Next: '
must_have out '| 002 | keep | 2 | `lr 0.1 → 0.2, opt=sgd` |'
must_lack out 'exp_002 against'

# The default budget is of the block alone; a log of any size fits it and uses it.
i=0
while [ $i -lt 300 ]; do
    trial "$(printf %03d $((i + 3)))" 001 discard "3.$i" "change $i: lr 0.1$i → 0.2$i because of warm-up, layers and heads" "lr=0.2$i"
    i=$((i + 1))
done >>night/results.tsv
for budget in 1500 3000 5000; do
    must_run -C night render --max-bytes $budget
    [ "$(wc -c <out)" -le $budget ] && [ "$(wc -c <out)" -ge $((budget * 9 / 10)) ] || fail "$budget bytes: $(wc -c <out)"
done
must_run -C night render --max-bytes 12000
cp out default
must_run -C night render
must_match_file default out
must_run -C night render --output K.md
printf 'by hand, %020000d\n' 1 >>night/K.md 2>/dev/null || printf 'by hand, %020000d\n' 1 >>K.md
must_run -C night render --output K.md

# The score has the name that its program prints; whole numbers stay whole.
mkdir named
must_run init named --direction lower
must_run -C named run -q -m val_loss -p HIDDEN=64 -- sh -c 'echo "val_loss: 0.5"'
must_run -C named render
must_have out '(val_loss=0.5, lower is better)'
must_have out '| exp | val_loss |'
must_have out 'HIDDEN=64'
must_lack out 'core_metric'
must_run -C named query
must_have out 'HIDDEN=64 '
must_run -C named query --format json
must_have out '"HIDDEN": 64}'
must_run -C named render --style fieldkit
must_have out 'core_metric'

# A store without specialists has no line of them, and a line that is not there is not left out.
must_run -C named append --status discard --core-metric 0.6 --hypothesis 'HIDDEN 64 -> 32: less noise'
must_run -C named render --max-bytes 0
must_have out 'State of the Search'
must_lack out 'by specialist'
must_run -C named render
must_lack out 'Left out'
finish
