#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh and trainer.sh
# night.sh: a sweep on a store: order, parents, a shared warm start, what happens when it is cut off.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"

cat >ladder.json <<'END'
{
  "name": "ladder", "recipe": "tiny.json",
  "trials": [
    {"name": "grpo"},
    {"name": "rloo", "environments": [{"algorithm": {"name": "rloo"}}]}
  ],
  "grid": {"seed": [1, 2]}
}
END

rows()
{
    sed 1d "$1/results.tsv" 2>/dev/null | wc -l
}

# ---- a whole night ----
run night ladder.json -C n
[ -z "$(find n -name events.jsonl)" ] || fail 'what a trial said while it ran is kept'
[ ! -e n/report.html ] || fail 'a report that nobody asked for'
must_exit 0
must_have err 'warm start, seed 1: warm start 100/100'
must_equal 2 "$(grep -c 'warm start 100/100' err)" "warm starts for four trials"
must_have err '[4/4] rloo seed=2: step 6/6, EM'
must_equal '000 baseline grpo seed=1|001 rloo seed=1|002 grpo seed=2|003 rloo seed=2|' \
    "$(cut -f 1,2,4 out | sed 's/\tkeep\t/ /; s/\tdiscard\t/ /; s/\t/ /g' | tr '\n' '|')"
must_equal 4 "$(rows n)"
must_equal '1 1 2 2' "$(sed -n 's/.*[[:space:]]seed=\([0-9.]*\);.*/\1/p' n/results.tsv | tr '\n' ' ' | sed 's/ $//')"
must_equal 4 "$(sed -n 's/.*night ladder, trial .* seed=[12], key \([0-9a-f]\{16\}\);.*/\1/p' n/results.tsv | sort -u | wc -l)" \
    "keys"
must_equal 2 "$(find n/checkpoints -name 'warm-*.ckpt' | wc -l)"
must_run -C n render --for ladder
grep -v '^<!-- rendered by lineage' n/KNOWLEDGE.md >knowledge # the line below which a person writes
must_match_file out knowledge
must_run -C n verify
must_run night ladder.json -C n --list --format json
must_equal '4 rloo seed=2 003' "$(json '#') $(json 3.trial) $(json 3.exp_id)"

# A trial that begins with the shared warm start is the trial that runs its own.
must_run train tiny.json -C own -q
must_equal "$(field own 10)" "$(sed -n 2p n/results.tsv | cut -f 10)" "score with and without sharing"

# Nothing is run twice; a person's insights survive.
printf '## Key Insights\n\nread me\n' >>n/KNOWLEDGE.md
cp n/results.tsv before
run night ladder.json -C n
must_exit 0
must_equal '' "$(cat out)"
must_have err 'the night is done; all 4 trials have their rows; the best of the store is 0'
must_have err '  lineage render -C n'
must_match_file before n/results.tsv
must_have n/KNOWLEDGE.md 'read me'

# The same night elsewhere gives the same bytes but for times.
must_run night ladder.json -C m -q
without_times n/results.tsv >one
without_times m/results.tsv >two
must_match_file one two

# A sweep that grew runs what is new.
sed 's/\[1, 2\]/[1, 2, 3]/' ladder.json >longer.json
must_run night longer.json -C n -q
must_equal 2 "$(wc -l <out)" "new trials"
run night ladder.json -C h --hours 0 --report
[ -f h/report.html ] && [ -f h/KNOWLEDGE.md ] || fail 'no report beside KNOWLEDGE.md'
must_exit 0
must_have err '4 of 4 trials are left'
must_equal 0 "$(rows h)"
# Nothing is begun that cannot end: while no trial is known one is taken to last a minute.
run night ladder.json -C h --hours 0.01
must_exit 0
checks=$((checks + 1))
grep -q 'takes about 60 s (assumed until a trial has been measured), [123]\{0,1\}[0-9] s are left' err || fail "$last: $(cat err)"
must_have err '  lineage night ladder.json -C h'
must_equal 0 "$(rows h)" "trials begun in 36 s"
# Then their pace is known, also to the next night: of the trials that are left, the short ones fit.
cat >lengths.json <<'END'
{
  "name": "lengths", "recipe": "tiny.json",
  "trials": [{"name": "first"}, {"name": "endless", "iterations": 1000000, "epochs": 10,
              "evaluation": {"every": 0}}, {"name": "last", "seed": 9}]
}
END
run night lengths.json -C h --hours 0.05 -q
must_exit 0
must_have err 'the next trial takes about'
must_lack err 'assumed until'
must_have err '2 of 3 trials are left'
must_equal 1 "$(rows h)" "the endless one is not begun"
run night lengths.json -C h --hours 0.05 -q
must_exit 0
must_lack err 'assumed until' # its pace is read from the row
must_equal 1 "$(rows h)"

# ---- parents ----
cat >family.json <<'END'
{
  "name": "family", "recipe": "tiny.json",
  "trials": [
    {"name": "good"},
    {"name": "poor", "start": {"warm_start": {"steps": 0}}},
    {"name": "child", "parent": "poor"},
    {"name": "heir", "parent": "best"},
    {"name": "known", "parent": "000"},
    {"name": "orphan", "parent": "no-such-trial"},
    {"name": "mad", "training": {"learning_rate": 10, "weight_decay": 10, "iterations": 50}},
    {"name": "grandchild", "parent": "mad"},
    {"name": "last", "seed": 7}
  ]
}
END
must_run night family.json -C f -q
must_equal 'baseline discard discard discard discard preflight_crash crash preflight_crash' \
    "$(cut -f 2 out | head -n 8 | tr '\n' ' ' | sed 's/ $//')"
must_equal ',,001,000,000,,,006,,' "$(sed 1d f/results.tsv | cut -f 4 | tr '\n' ',')" "parents"
must_have f/results.tsv "no trial 'no-such-trial'"
must_have f/results.tsv 'no checkpoint to start from'
must_equal 1 "$(awk "BEGIN {print ($(sed -n 4p f/results.tsv | cut -f 10) < 0.5)}")" "the child of the poor is poor"
must_equal '' "$(find f/snapshots -name '*poor*')" "no snapshot of a discarded trial"
must_run -C f verify

# ---- cut off ----
cat >long.json <<'END'
{
  "name": "long", "recipe": "tiny.json",
  "trials": [{"name": "a"}, {"name": "b", "start": {"warm_start": {"steps": 0}},
              "training": {"iterations": 800}, "evaluation": {"every": 0}}, {"name": "c", "seed": 4}]
}
END

# begin STORE: starts a night and waits until its second trial, which never ends, is running.
begin()
{
    rm -f err # that of the one before
    "$LINEAGE" night long.json -C "$1" >out 2>err </dev/null &
    parent=$!
    last="lineage night long.json -C $1 &"
    wait_for grep -q '2/3. b: .*parameters' err || fail "$last: does not get to the second trial"
    child=$(child_of "$parent")
    kill -STOP "$child" || fail "$last: no second trial to be stopped"
}

begin k
kill -KILL "$parent"
wait "$parent" 2>/dev/null
wait_for eval "! kill -0 $child" || fail "the trial of a killed night lives on"
must_equal 1 "$(rows k)" "rows after SIGKILL"
must_run night long.json -C k -q
must_equal '001 b|002 c|' "$(cut -f 1,4 out | tr '\t\n' ' |')"
must_equal 3 "$(rows k)"
must_equal '' "$(find k -name '.trial-*')" "left behind"
must_run night long.json -C whole -q
without_times k/results.tsv >one
without_times whole/results.tsv >two
must_match_file one two

begin s
run night long.json -C s
must_exit 3
must_have err 'another night runs'
kill -TERM "$parent"
wait "$parent"
status=$?
must_exit 130
must_equal 'harness_abort' "$(field s 9)"
must_have err 'interrupted; 2 of 3 trials are left'
must_have err '  lineage night long.json -C s'
must_equal 2 "$(rows s)"
must_run night long.json -C s -q
must_equal '002 b|003 c|' "$(cut -f 1,4 out | tr '\t\n' ' |')" # the aborted one is run again
must_run -C s verify
must_have s/KNOWLEDGE.md 'exp_003'

# ---- refused ----
must_fail 2 'nowhere.json' night nowhere.json -C n
printf '{"trials": [{"name": "x", "training": {"iteratons": 3}}]}' >typo.json
must_fail 2 'iteratons' night typo.json -C n
must_fail 2 'is not a time of at least 0' night ladder.json -C n --hours -1
# ---- a recipe's settings proposed: numbers, whole numbers and words, two at once, and by a planner ----
cat >ranges.json <<'END'
{"name": "r", "recipe": "tiny.json", "trials": [{"name": "grpo"}], "parent": "base",
 "ranges": {"lr": "1e-4:1e-2:log", "group_size": [4, 8], "algorithm": ["grpo", "rloo"]}, "propose": {"method": "tpe", "seed": 3}}
END
run night ranges.json -C pr --trials 3 -q
must_exit 0
must_equal '4 grpo' "$(rows pr) $(head -n 1 out | cut -f 4)"
run night ranges.json -C pr --trials 5 --jobs 2 -q
must_exit 0
must_run query -C pr --param proposer=tpe --format json
must_equal 5 "$(json '#')"
must_equal 5 "$(cut -f 17 pr/results.tsv | sed 's/.*trial tiny \(.*\), key .*/\1/' | grep -c '^lr=.* group_size=[48] algorithm=')" 'settings in names'
run night ranges.json -C pr --trials 6 --planner 'echo "{\"params\": {\"lr\": 5e-3, \"algorithm\": \"rloo\"}, \"parent\": \"best\"}"'
must_exit 0
must_run show -C pr 006 --format json
must_equal '0.005 rloo 4 planner' "$(json params.lr) $(json params.algorithm) $(json params.group_size) $(json params.proposer)"
checks=$((checks + 1))
[ -n "$(json parent_exp)" ] || fail 'the planner asked for the best as its parent'
sed 's/1e-4:1e-2:log/1:0/' ranges.json >wrong.json
must_fail 2 'wrong.json: lr: the lower end comes first' night wrong.json -C pr --trials 9
must_run verify -C pr
finish
