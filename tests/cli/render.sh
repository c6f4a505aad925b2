#!/bin/sh
# render.sh: `lineage render`: styles, sections, budgets, what --output keeps, what --record saves.
. "$SOURCE/tests/support/shell.sh"

must_run append --timestamp T --specialist base --status baseline --core-metric 2 --hypothesis 'start'
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

# A budget holds, whatever it is.
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
must_equal 1 "$(sed -n '/^## Leaderboard/,/^## KNOW/p' out | grep -c '^| [0-9]')" "--top-k 1"

# The other styles.
must_run render --style fieldkit --for optimizer --timestamp T
must_equal '# Session start — T' "$(head -n 1 out)"
must_have out '## Top 2 Kept Trials'
must_run render --style blackboard --output-dir board
must_equal 'KNOWLEDGE.md LEADERBOARD.md tree.tsv ' "$(ls board | tr '\n' ' ')"
must_fail 2 "--output-dir" render --style blackboard

# --output replaces the file whole and keeps what a person wrote under Key Insights.
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

# --record saves what was shown.
run render --for 'opt/imizer' --timestamp 2026-05-12T20:30:00Z --record
must_exit 0
must_equal 1 "$(find lineage_snapshots -type f -name '*.md' | wc -l)" "recorded"
must_match_file out "$(find lineage_snapshots -type f)"

# Nothing there yet.
mkdir empty
must_run -C empty render --for optimizer
must_run -C empty render --for optimizer --style fieldkit
must_equal '# Session start — empty lineage' "$(cat out)"
finish
