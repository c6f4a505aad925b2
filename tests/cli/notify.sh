#!/bin/sh
# notify.sh: a command of the user's runs at a new best, a failure, a proposal that waits and the end; it harms nothing. Proposals
# wait until a person at a terminal has accepted, edited or refused them.
# shellcheck disable=SC2016,SC2034,SC2154 # shared with shell.sh; $ is for the commands
. "$SOURCE/tests/support/shell.sh"

cat >sweep.json <<'END'
{"name": "n", "direction": "lower", "command": ["sh", "train.sh", "{x}"], "metrics": ["loss"], "grid": {"x": [3, 2, 5, 1.1]}}
END
echo '[ "$1" != 2 ] || exit 3; echo "METRIC loss=$1"; env | grep LINEAGE_NOTIFY >>leaked || :' >train.sh
tell='cat >>told; echo "$LINEAGE_NOTIFY_EVENT $LINEAGE_NOTIFY_EXP_ID $LINEAGE_NOTIFY_STATUS $LINEAGE_NOTIFY_SCORE" >>facts'

# ---- a slow command is ended, and then not waited for at each event; it runs beside the other checks ----
{
    "$LINEAGE" night sweep.json -C slow -q --notify 'sleep 60; echo late >late' >/dev/null 2>slow.err
    date +%s >slow.end
} &
slow=$! began=$(date +%s)

# ---- a night: each event once, with its facts; the trials do not inherit them ----
run night sweep.json -C s -q --notify "$tell"
must_exit 0
must_equal 'best 000 baseline 3.0
failure 001 crash 
best 003 keep 1.1
stop   ' "$(cat facts)"
must_equal 4 "$(wc -l <told | tr -d ' ')" "one line of JSON an event"
sed -n 3p told >out
must_equal 'best|003|keep|1.1|1.1' "$(json event)|$(json exp_id)|$(json status)|$(json score)|$(json best_score)"
must_have out '"score":1.1,'
sed -n 4p told >out
must_equal 'stop|003' "$(json event)|$(json best)"
must_have out 'night n: the night is done; 0 trials are left'
[ ! -s leaked ] || fail "a trial has the facts of a notice: $(cat leaked)"

# ---- run: one call at the end, also of a trial that is neither ----
rm -f facts told
for x in 2 0.5 9; do
    run run -C s -q --notify "$tell" -m loss -- sh train.sh $x
done
must_equal 'failure 004 crash 
best 005 keep 0.5
stop 006 discard 9.0' "$(cat facts)"

# ---- hostile facts stay texts; a command that fails, reads nothing, prints much or is missing is reported once ----
rm -f facts
run run -C s -q --notify 'printf "%s" "$LINEAGE_NOTIFY_HYPOTHESIS" >facts' --hypothesis "it's \$(touch owned) \`touch owned\`
END" -m loss -- sh train.sh 2
must_equal "it's \$(touch owned) \`touch owned\`
END" "$(cat facts)"
[ ! -e owned ] || fail "a fact was run"
for command in 'exit 7' 'exec <&-; exit 7' 'yes | head -c 3000000; exit 7' 'no-such-program-1'; do
    run night sweep.json -C "f$(echo "$command" | cksum | cut -c1-5)" -q --notify "$command"
    must_exit 0
    must_equal 1 "$(grep -c -- '--notify: the command' err)" "reports of '$command'"
done
must_have err 'left with exit status 127; this is not reported again'

# ---- a stop that is an error is sent, too ----
rm -f facts
echo '{"name": "e", "direction": "lower", "command": "exit 3 {x}", "metrics": ["loss"], "grid": {"x": [1, 2, 3, 4, 5, 6]}}' >errors.json
run night errors.json -C e -q --notify "$tell" --stop-after 2
must_exit 3
must_have facts 'stop'
must_have told 'ended with exit status 3'

# ---- --approve: nothing runs before a person has decided ----
command -v script >/dev/null || skip "script (util-linux) is not installed"
decide() # ARGUMENT..: at a terminal
{
    script -qec "$(printf "'%s' " "$LINEAGE" approve -C a "$@")" /dev/null </dev/null >out 2>err
}
rows()
{
    sed 1d a/results.tsv 2>/dev/null | wc -l | tr -d ' '
}
wait_for() # N: until N questions were asked
{
    for _ in $(seq 100); do
        [ "$(grep -c '"proposal":.*"sweep"\|"sweep":.*"proposal"' a/telemetry/approvals.jsonl 2>/dev/null)" != "$1" ] || return 0
        sleep 0.1
    done
    fail "question $1 was not asked"
}
waiting()
{
    "$LINEAGE" approve -C a --format json | "$JSON_GET" 0.id
}
cat >ranges.json <<'END'
{"name": "r", "direction": "lower", "command": ["sh", "train.sh", "{x}"], "metrics": ["loss"], "ranges": {"x": "10:90:integer"}}
END
cat >planner.sh <<'END'
cat >>requests
echo '{"params": {"x": 11}, "hypothesis": "small"}'
echo '{"params": {"x": 22}, "hypothesis": "larger"}'
echo '{"params": {"x": 33}}'
END
must_fail 2 -- '--approve is for proposals' night sweep.json -C s --approve
"$LINEAGE" night ranges.json -C a -q --planner 'sh planner.sh' --trials 2 --approve --notify "$tell" >night.out 2>night.err &
night=$!
wait_for 1
must_equal 0 "$(rows)" "trials before a decision"
id=$(waiting)
must_fail 2 'at a terminal' approve -C a "$id"
must_fail 2 'no proposal has the id' approve -C a 000000x
must_fail 2 'name the proposal' approve -C a --refuse no
must_run approve -C a
must_have out 'waits'
must_have out '{"hypothesis":"small","params":{"x":11}}'
decide "$id" --refuse "known to be bad" || fail "cannot refuse: $(cat out)"
wait_for 2
decide "$(waiting)" -p x=44 || fail "cannot edit: $(cat out)"
wait_for 3
decide "$(waiting)" || fail "cannot accept: $(cat out)"
wait $night || fail "the night failed: $(cat night.err)"
must_equal '44 33' "$(for i in 000 001; do "$LINEAGE" show -C a $i --format json | "$JSON_GET" params.x; done | xargs)"
must_have a/results.tsv "(a person set x=44)"
must_have night.err 'a person refused it: known to be bad'
must_have a/telemetry/proposals.jsonl 'a person refused it: known to be bad'
must_have told '"event":"proposal"'
must_run approve -C a
must_lack out waits
must_run approve -C a --all
must_have out refused
must_have out '"x":44'

# What was refused is not asked about again, and a question of a night that was killed is still the same question.
cat >planner.sh <<'END'
echo '{"params": {"x": 11}, "hypothesis": "small, said in other words"}'
echo '{"params": {"x": 55}}'
END
for round in 1 2; do
    "$LINEAGE" night ranges.json -C a -q --planner 'sh planner.sh' --trials 3 --approve >/dev/null 2>&1 &
    night=$!
    wait_for 4
    sleep 0.3
    kill -KILL $night
    wait $night 2>/dev/null
done
must_equal 2 "$(rows)" "trials of nights that waited"
must_equal 4 "$(grep -c '"proposal":.*"sweep"\|"sweep":.*"proposal"' a/telemetry/approvals.jsonl)" "questions"
decide "$(waiting)" || fail "cannot accept: $(cat out)"
run night ranges.json -C a -q --planner 'sh planner.sh' --trials 3 --approve
must_exit 0
must_equal 55 "$("$LINEAGE" show -C a 002 --format json | "$JSON_GET" params.x)" "a decision that was made while no night ran"

# A pipe in the place of the file is not waited for.
mkdir -p p && "$LINEAGE" init p/s --direction lower >/dev/null && mkdir p/s/telemetry && mkfifo p/s/telemetry/approvals.jsonl
must_run approve -C p/s
run night ranges.json -C p/s -q --propose grid --approve --hours 5s
must_exit 3
must_have err 'cannot write'

# A proposer asks, too; hours that end and an interruption end the wait.
run night ranges.json -C a -q --propose grid --trials 9 --approve --hours 1s
must_exit 0
must_equal 3 "$(rows)" "trials after the hours"
"$LINEAGE" night ranges.json -C a -q --propose grid --trials 9 --approve >/dev/null 2>&1 &
night=$!
sleep 0.5
kill -TERM $night
wait $night
must_equal 130 $? "an interrupted wait"

wait $slow
must_equal 1 "$(grep -c 'did not answer within 10 s; this is not reported again' slow.err)" "reports of the slow command"
[ $(($(cat slow.end) - began)) -lt 55 ] || fail "the command of --notify was waited for"
[ ! -e late ] || fail "the command of --notify went on"
finish
