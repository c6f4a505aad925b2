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
