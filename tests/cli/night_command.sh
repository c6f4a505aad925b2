#!/bin/sh
# night_command.sh: nights whose trials are commands: list and grid, parents, proposals, several at once, when to stop.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"

# A training program: the score is best at x = 0.3 with o = b; it writes a model into its work directory.
cat >train.sh <<'END'
x=$1 o=$2
[ -z "${SEEN:-}" ] || echo "$x $o ${SLOT:-none} ${LINEAGE_SEED:-} ${LINEAGE_PARENT_SNAPSHOT:+snapshot}" >>"$SEEN"
[ -z "${SLEEP:-}" ] || sleep "$SLEEP"
# The first trial goes on, for it may run alone. The others wait for each other, so that every slot gets one, however slowly it starts.
if [ -n "${SLOTS:-}" ] && ! mkdir "$SEEN.first" 2>/dev/null; then
    i=0
    echo "$SLOT" >>"$SEEN.slots"
    until [ "$(sort -u "$SEEN.slots" | wc -l)" -ge "$SLOTS" ] || [ $((i += 1)) -gt 600 ]; do sleep 0.1; done
fi
before=0
[ -z "${LINEAGE_PARENT_SNAPSHOT:-}" ] || before=$(cat "$LINEAGE_PARENT_SNAPSHOT/learned")
echo $((before + 1)) >"$LINEAGE_WORKDIR/learned"
[ "$o" != fails ] || exit 7
awk -v x="$x" -v o="$o" -v b="$before" 'BEGIN { print "METRIC loss=" (x - 0.3) ^ 2 + (o != "b") - b / 10 }'
END
rows()
{
    sed 1d "$1/results.tsv" 2>/dev/null | wc -l
}
cells() # STORE COLUMN: a column of the rows, on one line
{
    sed 1d "$1/results.tsv" | cut -f "$2" | tr '\n' ' ' | sed 's/ $//'
}

# ---- a list times a grid ----

cat >list.json <<'END'
{
  "name": "list", "direction": "lower", "score": "loss",
  "command": ["sh", "train.sh", "{x}", "{o}"],
  "params": {"o": "a"},
  "trials": [
    {"name": "plain", "hypothesis": "unchanged"},
    {"name": "more", "parent": "plain", "hypothesis": "go on", "expected_delta": "-0.1", "params": {"o": "b"}}
  ],
  "grid": {"x": [0.1, 0.3], "seed": [1, 2]}
}
END
SEEN=$PWD/seen
export SEEN
run night list.json -C n
must_exit 0
must_equal 8 "$(rows n)"
must_equal 'plain x=0.1 seed=1|more x=0.1 seed=1|plain x=0.1 seed=2|more x=0.1 seed=2|plain x=0.3 seed=1|more x=0.3 seed=1|plain x=0.3 seed=2|more x=0.3 seed=2|' \
    "$(cut -f 4 out | tr '\n' '|')"
must_equal 'baseline keep discard discard discard discard discard discard' "$(cells n 9)"
must_equal '000 002 004 006' "$(sed 1d n/results.tsv | cut -f 4 | grep . | tr '\n' ' ' | sed 's/ $//')"
must_equal '0.1 a none 1 |0.1 b none 1 snapshot|' "$(head -n 2 seen | tr '\n' '|')"
must_have n/results.tsv 'parent was not kept, it has no snapshot'
must_run query -C n --param o=b --param x=0.3 --param seed=2 --format tsv
must_equal 007 "$(sed 1d out | cut -f 1)"
must_equal 1 "$(grep -c 'night list, trial more x=0.3 seed=2, key [0-9a-f]\{16\}' n/results.tsv)"
must_have n/KNOWLEDGE.md 'Session start'
must_run verify -C n
cp n/results.tsv before
run night list.json -C n
must_have err 'all 8 trials have their rows; the best of the store is 0'
must_match_file before n/results.tsv
must_run night list.json -C n --list --format json
must_equal '8 more x=0.3 seed=2 plain x=0.3 seed=2 007 discard' \
    "$(json '#') $(json 7.trial) $(json 7.parent) $(json 7.exp_id) $(json 7.status)"

# A night that is interrupted anywhere continues, and every trial has one row.
sed 's/"name": "list"/"name": "again"/; s/"score": "loss"/"score": "loss", "environment": {"SLEEP": "0.2"}/' list.json >again.json
for delay in 0.3 0.5 0.7; do
    timeout -s KILL $delay "$LINEAGE" night again.json -C again -q >>out 2>>err
done
tries=0
while run night again.json -C again -q && [ $status -eq 3 ] && [ $((tries += 1)) -lt 3000 ]; do
    sleep 0.2 # the guardian of a trial that was killed holds the lock until all its processes are gone
done
must_exit 0
sed 1d again/results.tsv | grep -v harness_abort | sed 's/.*, trial \(.*\), key .*/\1/' | sort | uniq -c | sort -rn >counts
must_equal '8 1' "$(wc -l <counts) $(awk 'NR == 1 { print $1 }' counts)" 'trials, and how often at most'
must_run verify -C again

# A trial that was killed with its night gets its row from the next night, even if that has nothing to run.
cat >late.json <<'END'
{"name": "late", "direction": "lower", "command": "sh -c 'echo >begun; sleep 600'", "trials": [{"name": "long"}]}
END
"$LINEAGE" night late.json -C again -q >>out 2>>err &
late=$!
i=0
until [ -e begun ] || [ $((i += 1)) -gt 600 ]; do sleep 0.1; done
kill -KILL $late
i=0
until run night again.json -C again -q && grep -q 'night late, trial long' again/results.tsv || [ $((i += 1)) -gt 300 ]; do
    sleep 0.2
done
must_exit 0
must_equal 'harness_abort' "$(grep 'night late, trial long' again/results.tsv | cut -f 9)"
must_have again/results.tsv 'the process that watched it was killed'

# ---- proposals ----

cat >space.json <<'END'
{
  "name": "space", "direction": "lower", "score": "loss", "command": "sh train.sh {x} {o}",
  "ranges": {"x": "0:1", "o": ["a", "b"]}, "propose": {"method": "tpe", "seed": 4}
}
END
run night space.json -C p --trials 14
must_exit 0
must_equal 14 "$(rows p)"
must_have err '14 proposed trials have theirs'
must_equal 'baseline' "$(sed -n 2p p/results.tsv | cut -f 9)"
must_equal 14 "$(sed 1d p/results.tsv | cut -f 17 | sort -u | wc -l)" 'no repeats'
must_run query -C p --param proposer=tpe --format json
must_equal 14 "$(json '#')"
must_run suggest space.json -C p --format json
next=$(json suggestions.0)
cp p/results.tsv before
run night space.json -C p --trials 14
must_match_file before p/results.tsv
run night space.json -C p --trials 15
must_run show -C p 014 --format json
must_equal "$next" "$(json params | sed 's/,"proposer":"tpe"//')" 'what lineage suggest says is what is run'
run night space.json -C half --trials 8 -q
run night space.json -C half --trials 15 -q
must_equal "$(cells p 10)" "$(cells half 10)" 'the same in two nights'
run night space.json -C g --propose grid
must_exit 0
must_equal 8 "$(rows g)"
must_have err 'every setting that grid has in these ranges was tried'
must_run verify -C p

# A failed trial has a row, and the proposer avoids its setting.
sed 's/\["a", "b"\]/["b", "fails"]/; s/"space"/"fails"/' space.json >fails.json
run night fails.json -C f --trials 30 --stop-after 0 -q
must_equal 30 "$(rows f)"
checks=$((checks + 1))
[ "$(sed -n '17,31p' f/results.tsv | cut -f 9 | grep -c crash)" -le 4 ] || fail "$(cells f 9)"

# ---- a machine that fails everything ----

sed 's/train.sh {x} {o}/train.sh {x} fails/' space.json >broken.json
run night broken.json -C b --trials 40 --stop-after 3
must_exit 3
must_equal 3 "$(rows b)"
must_have err 'the night stops: 3 trials in a row ended as crash with the same evidence'
run night broken.json -C b --trials 40
must_equal 8 "$(rows b)" 'five more'

# ---- several at once ----

rm -f seen
sed 's/"space"/"jobs"/; s/"command"/"environment": {"SLOTS": "3"}, "command"/' space.json >jobs.json
run night jobs.json -C j --trials 9 --slot 'SLOT=zero MORE=1' --slot SLOT=one --slot SLOT=two
must_exit 0
must_equal 9 "$(rows j)"
must_equal baseline "$(sed -n 2p j/results.tsv | cut -f 9)"
must_equal 1 "$(cells j 9 | tr ' ' '\n' | grep -c baseline)"
must_equal 'one two zero' "$(cut -d ' ' -f 3 seen | sort -u | tr '\n' ' ' | sed 's/ $//')"
must_equal 9 "$(sed 's/ [a-z]* 1 $//' seen | sort -u | wc -l)" 'no two alike'
must_run verify -C j
[ -z "$(find j -name '.trial-*')" ] || fail 'a work directory is left'
run night list.json -C jl --jobs 4 -q
must_exit 0
must_equal 8 "$(rows jl)"
must_equal "$(sed 1d n/results.tsv | sed 's/.*, trial \(.*\), key .*/\1/' | sort)" \
    "$(sed 1d jl/results.tsv | sed 's/.*, trial \(.*\), key .*/\1/' | sort)"
awk -F '\t' 'NR > 1 { if ($4 != "" && !($4 in seen)) exit 1; seen[$1] = 1 }' jl/results.tsv || fail 'a child before its parent'

# ---- a baseline with seeds, drawn parents ----

rm -f seen
sed 's/"space"/"seeds"/; s/"command"/"baseline_seeds": 3, "parent": "draw", "command"/' space.json >seeds.json
run night seeds.json -C s --trials 6 -q
must_equal 8 "$(wc -l <seen)" 'three seeds of the first, one of the others'
must_have s/results.tsv 'mean of 3 seeds'
must_have s/results.tsv 'parent drawn by score and children (seed 4)'
must_equal '' "$(sed -n 2p s/results.tsv | cut -f 4)"
must_equal 5 "$(sed 1,2d s/results.tsv | cut -f 4 | grep -c .)"

# ---- ranges with conditions ----

cat >tree.json <<'END'
{"name": "tree", "direction": "lower", "command": ["sh", "-c", "echo METRIC loss={m}"], "params": {"m": 5}, "metrics": ["loss"],
 "ranges": {"m": {"range": "0:1", "if": "o=b"}, "o": ["a", "b"]}, "propose": {"method": "grid"}}
END
run night tree.json -C tree --trials 9 -q
must_exit 0
must_equal 'm=5; o=a|m=0; o=b|m=0.33333; o=b|m=0.66667; o=b|m=1; o=b|' \
    "$(sed 1d tree/results.tsv | sed 's/.*\t\(m=[0-9.]*\); o=\([ab]\);.*/\1; o=\2/' | tr '\n' '|')" 'no value where the condition does not hold'
sed 's/"params": {"m": 5}, //' tree.json >nothing.json
must_fail 2 'the command uses {m}, which has a value only if o=b' night nothing.json -C nothing --trials 2
cat >planner.sh <<'END'
case $(cat) in
*'has a value only if o=b'*) echo '{"params": {"m": 0.4, "o": "b"}, "hypothesis": "second"}' ;;
*) echo '{"params": {"m": 0.4, "o": "a"}, "hypothesis": "first"}' ;;
esac
END
run night tree.json -C gate --trials 1 -q --planner 'sh planner.sh'
must_exit 0
must_have gate/results.tsv 'm=0.4; o=b'

# ---- refused options ----

must_fail 2 'need --trials, --runs or --hours' night space.json -C x
must_fail 2 'has no ranges' night list.json -C x --propose tpe
must_fail 2 'use auto, gp, tpe, sobol' night space.json -C x --propose bayes --trials 2
must_fail 2 'give one --slot per job' night space.json -C x --trials 2 --jobs 2 --slot A=1
must_fail 2 'is not NAME=VALUE' night space.json -C x --trials 2 --slot A
must_fail 2 'use 1 to 64' night space.json -C x --trials 2 --jobs 0
refuse() # TEXT SED
{
    sed "$2" list.json >refused.json
    must_fail 2 "$1" night refused.json -C x
}
refuse "unknown key 'comand'; the nearest known one is command" 's/"params": {"o"/"comand": "x", "params": {"o"/'
refuse 'command must be a list of texts, or a text for the shell' 's/\["sh".*\]/7/'
refuse 'direction belongs to the file' 's/"name": "plain"/"name": "plain", "direction": "lower"/'
refuse "its parent 'more' does not come before it" 's/"name": "plain"/"name": "plain", "parent": "more"/'
refuse 'are the same or have one name' 's/"name": "more"/"name": "plain"/'
refuse 'value 2 is neither a number nor a short text; write a list as a text' 's/0.1, 0.3/0.1, []/'
refuse 'must be a list of values; the setting lr within optim is "optim.lr"' 's/\[0.1, 0.3/{"lr": [0.1]}, "more": [0.1, 0.3/'
refuse 'value 2 is null; write a text such as "none"' 's/0.1, 0.3/0.1, null/'
refuse 'order must be' 's/"grid"/"order": "both", "grid"/'
refuse 'say in the sweep which score is better' 's/"direction": "lower", //'
[ ! -e x ] || fail 'a sweep that is refused leaves a store behind'

# true and false are texts, as an import has them; a store of the other direction is refused before anything runs.
echo '{"name": "g", "direction": "lower", "command": "echo loss=1 {bp} {deep}", "metrics": ["loss"], "params": {"deep": true}, "grid": {"bp": [false, true]}}' >bools.json
run night bools.json -C bools
must_exit 0
must_equal 2 "$(grep -c 'bp=true\|bp=false' bools/results.tsv)"
must_equal 2 "$(grep -c 'deep=true' bools/results.tsv)"
"$LINEAGE" init higher --direction higher >/dev/null
must_fail 2 'bools.json: the sweep says that a lower score is better, but in higher a higher one is (lineage.json)' night bools.json -C higher
[ ! -e higher/results.tsv ] || fail 'a night of the other direction has run'
finish
