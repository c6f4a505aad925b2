#!/bin/sh
# readme.sh: the commands of README.md, as a new user pastes them, in order, in a copy of the source, with the output that
# it shows; and the commands that the first of them says to go on with.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/pages.sh"

[ "$INSTRUMENTED" = no ] || skip "an instrumented build takes minutes for a night"

checkout
run_page README.md
must_equal 1 "$([ "$(wc -l <"$SOURCE/README.md")" -ge 150 ] && [ "$(wc -l <"$SOURCE/README.md")" -le 200 ] && echo 1)" "README.md has 150 to 200 lines"

must_equal 6 "$(sed 1d "$here/build/first-night/results.tsv" | wc -l)" "rows of the first night"
must_equal 17 "$(sed 1d "$here/runs/mine/results.tsv" | wc -l)" "rows of runs/mine"
must_equal 12 "$(grep -c "proposer=tpe" "$here/runs/mine/results.tsv")" "trials that were proposed"
must_equal 1 "$(grep -c 'mean of 3 seeds' "$here/runs/mine/results.tsv")" "rows of several seeds"
must_have "$here/runs/atpo/KNOWLEDGE.md" "normalise the information gain per turn"

# The first command says where things are, and how to go on: those lines can be pasted too.
last="sh cli/first-night.sh"
page=$scratch/blocks/README
first=$(grep -lx 'sh cli/first-night.sh' "$page"/*.sh)
cp "${first%.sh}.out" out
sed -n '/^To go on:/,/^[^ T]/p' out | sed -n 's/^    //p' >next
checks=$((checks + 1))
[ "$(wc -l <next)" -ge 5 ] || fail "hardly a line to go on with"
for place in build/cli/lineage build/first-night build/first-night/KNOWLEDGE.md; do
    must_have out "$here/$place"
    [ -e "$here/$place" ] || fail "there is no $place"
done
sh -eux next >more 2>err </dev/null || fail "what it says to go on with fails: $(tail -n 3 err)"
must_equal 7 "$(sed 1d "$here/build/first-night/results.tsv" | wc -l)" "rows after going on"

# What other pages link is there.
for page in $(cd "$SOURCE" && echo schema/*.md tests/README.md tests/bench/README.md fixtures/README.md fixtures/experiments/README.md); do
    check_links "$page"
done
finish
