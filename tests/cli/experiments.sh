#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh
# experiments.sh: the shipped rows of an experiment give what its page says, and its sweep runs.
. "$SOURCE/tests/support/shell.sh"
page=$SOURCE/fixtures/experiments/README.md

# A store of the shipped rows that may be written to.
rows()
{
    mkdir "$1"
    cp "$SOURCE/fixtures/experiments/$1/results.tsv" "$SOURCE/fixtures/experiments/$1/lineage.json" "$1"
    chmod u+w "$1" "$1"/*
}

# ---- acceptance of an environment: with the oracle judge adca beats GRPO, over twelve seeds ----
rows slots-acceptance
must_run compare grpo adca -C slots-acceptance --format json
must_equal 12 "$(json variants.1.pairs)" "seeds"
must_equal 1 "$(awk "BEGIN {print ($(json variants.1.low) > 0)}")" "the interval is away from zero"
told=$(awk "BEGIN {printf \"%+.3f [%+.3f, %+.3f]\", $(json variants.1.difference), $(json variants.1.low), $(json variants.1.high)}")
must_have "$page" "adca over GRPO: $told"

# ---- the ladder: tables, curves and pictures of the page come out again from the rows ----
bench=$SOURCE/tests/bench
shipped=$SOURCE/fixtures/experiments
must_tell()
{
    [ -s told ] || fail "$last: said nothing"
    while read -r line; do
        must_have "$page" "$line"
    done <told
}
rows ladder-slots
gains='joint separate turn-group turn-group-v1d v1d-alpha-0 v1d-alpha-0.9 v1d-beta-0'
for against in "grpo-turn grpo $gains adca" "grpo $gains adca" 'turn-group-v1d v1d-alpha-0 v1d-alpha-0.9 v1d-beta-0'; do
    # shellcheck disable=SC2086 # names, one word each
    sh "$bench/ladder_table.sh" "$LINEAGE" ladder-slots $against >told || fail "ladder_table.sh: exit status $?"
    must_tell
done
curves=$shipped/ladder-slots/curves.tsv
sh "$bench/ladder_curves.sh" means "$curves" | grep -E '^(grpo|grpo-turn|joint|turn-group-v1d|v1d-alpha-0.9|adca)'"$tab" |
    sed "s/$tab/ | /g" >told
must_tell
sh "$bench/ladder_curves.sh" reach "$curves" grpo adca | sed 's/, 16 seeds.*//' >told
must_tell
sh "$bench/ladder_curves.sh" plot 'slots, 16 seeds' "$curves" grpo,grpo-turn,joint,turn-group-v1d,v1d-alpha-0.9,adca >curves.svg
must_match_file curves.svg "$shipped/ladder-curves.svg"
sh "$bench/ladder_plot.sh" --baseline grpo-turn "$LINEAGE" 'slots, 16 seeds, to GRPO with the turn loss' ladder-slots >differences.svg
must_match_file differences.svg "$shipped/ladder-differences.svg"

# ---- which sweep ran what: no algorithm and no loss is left out, and what is named has rows ----
if command -v python3 >/dev/null; then
    python3 "$SOURCE/tests/bench/sweeps_table.py" >table || fail "sweeps_table.py: exit status $?"
    grep -E '^\| `(algorithm|loss|environments)\.name`' table | cut -d '|' -f 1-3 >names
    while read -r name; do
        must_have "$page" "$name"
    done <names
else
    echo 'skipped: no python3, the table of sweeps was not made again'
fi
sed -n '/^| setting | value | sweeps |/,/^$/p' "$page" | tail -n +3 | cut -d '|' -f 4 | tr -d ' ' | tr ',' '\n' |
    grep -v '^none$' | sort -u >named
checks=$((checks + 1))
[ -s named ] || fail 'no sweep in the table of the page'
while read -r sweep; do
    [ -z "$sweep" ] || [ -s "$SOURCE/fixtures/experiments/$sweep/results.tsv" ] || fail "the page names $sweep: no rows"
done <named

# ---- the sweep, made small: every trial of it trains ----
mkdir small
for file in slots slots-acceptance; do
    sed -e 's/"steps": 900, "batch": 64/"steps": 2, "batch": 4/' -e 's/"iterations": 24, "group_size": 16/"iterations": 1, "group_size": 2/' \
        -e 's/"minibatch": 16/"minibatch": 4/' -e 's/"questions": 512, "seeds": 4/"questions": 4, "seeds": 1/' -e 's/"seed": \[1,.*\]/"seed": [1]/' \
        "$SOURCE/fixtures/recipes/$file.json" >"small/$file.json"
done
must_run init runs --direction higher
must_run night small/slots-acceptance.json -C runs --list
trials=$(grep -c '"hypothesis"' small/slots-acceptance.json)
must_run night small/slots-acceptance.json -C runs -q --format tsv
must_equal "$trials" "$(($(wc -l <runs/results.tsv) - 1))" "rows"
must_lack runs/results.tsv crash
finish
