#!/bin/sh
# night_planner.sh: a night whose trials a command proposes: its input, the gate, refusals, and that no night idles.
# shellcheck disable=SC2016,SC2034,SC2154 # $ is for the planners
. "$SOURCE/tests/support/shell.sh"

# Rows keep tenths of a second. A trial with o = slow takes at least one, so that a gain per hour can be computed.
cat >train.sh <<'END'
[ "$2" != fails ] || exit 7
[ "$2" != slow ] || sleep 0.1
awk -v x="$1" 'BEGIN { print "METRIC loss=" (x - 0.3) ^ 2 }'
END
cat >space.json <<'END'
{
  "name": "space", "direction": "lower", "score": "loss", "command": ["sh", "train.sh", "{x}", "{o}"],
  "ranges": {"x": "0:1", "o": ["a", "b", "fails", "slow"]}
}
END
rows()
{
    sed 1d "$1/results.tsv" 2>/dev/null | wc -l
}
param() # STORE ID NAME
{
    "$LINEAGE" show -C "$1" "$2" --format json | "$JSON_GET" "params.$3"
}
planner() # a planner from standard input; it is asked for how often in ./asked
{
    { echo 'cat >request.json; echo >>asked'; cat; } >planner.sh
    rm -f asked request.json
}
night() # STORE TRIALS [OPTION...]
{
    store=$1 trials=$2
    shift 2
    run night space.json -C "$store" --planner 'sh planner.sh' --trials "$trials" "$@"
}
asked()
{
    wc -l <asked 2>/dev/null || echo 0
}

# ---- what it says is run, and the row says who said it ----

planner <<'END'
echo 'I thought about it:'
n=$(wc -l <asked)
echo "{\"params\": {\"x\": 0.$n, \"o\": \"slow\"}, \"parent\": \"best\", \"hypothesis\": \"try 0.$n\", \"expected_delta\": -0.1, \"proposer\": \"thinker\"}"
END
night p 3
must_exit 0
must_equal '3 3' "$(rows p) $(asked)"
must_equal '0.1 0.2 0.3' "$(param p 000 x) $(param p 001 x) $(param p 002 x)"
must_equal 'thinker' "$(param p 002 proposer)"
must_run show -C p 002 --format json
must_equal 'try 0.3|-0.1|001' "$(json hypothesis)|$(json expected_delta)|$(json parent_exp)"
[ ! -e p/telemetry/proposals.jsonl ] || fail 'refusals where none was'
must_run verify -C p

# The block compares those who propose: what they expected, what happened, what an hour of theirs brings.
must_have p/KNOWLEDGE.md '| proposer | trials | kept | same sign | expected | happened | mean error | gain per hour |'
must_have p/KNOWLEDGE.md '| thinker | 3 | 2 | 2 of 2 | -0.1 | -0.02 | 0.08 | +'
checks=$((checks + 1))
! grep -q 'untried.*proposer\|^- proposer\|tried at one value only:.*proposer' p/KNOWLEDGE.md || fail 'a proposer is not a setting'

# The input of the planner.
cp request.json out
must_equal 'space core_metric lower' "$(json sweep) $(json score.name) $(json score.better)"
must_equal '1 null' "$(json budget.trials_left) $(json budget.seconds_left)"
must_equal '0 1 linear a' "$(json ranges.x.low) $(json ranges.x.high) $(json ranges.x.scale) $(json ranges.o.values.0)"
must_equal 'sh' "$(json template.command.0)"
must_equal '000 001' "$(json chain.0.exp_id) $(json chain.1.exp_id)"
must_equal '001 best' "$(json parents.0.exp_id) $(json parents.0.why)"
must_equal '8 1' "$(json 'untried.#') $(json 'suggestions.#')"
must_equal 0 "$(json 'refused.#')"
checks=$((checks + 1))
case $(json knowledge) in *'try 0.2'*) ;; *) fail "no block: $(json knowledge)" ;; esac

# Several lines are several trials, without asking again.
planner <<'END'
for x in 0.41 0.43 0.45; do echo "{\"params\": {\"x\": $x, \"o\": \"b\"}}"; done
END
night p 6 -q
must_equal '6 1' "$(rows p) $(asked)"
must_equal '0.41 0.45 planner' "$(param p 003 x) $(param p 005 x) $(param p 003 proposer)"

# ---- the gate ----

# The planner gets the reason once; a valid second proposal is run.
planner <<'END'
if grep -q 'must be a number from 0.0 to 1.0' request.json; then echo '{"params": {"x": 0.91, "o": "b"}}'
else echo '{"params": {"x": 7, "o": "b"}}'; fi
END
night p 7
must_equal '7 2 0.91' "$(rows p) $(asked) $(param p 006 x)"
must_have err 'params.x must be a number from 0.0 to 1.0'
must_equal 1 "$(wc -l <p/telemetry/proposals.jsonl)"
cp p/telemetry/proposals.jsonl out
must_equal 'space 7 params.x must be a number from 0.0 to 1.0' "$(json sweep) $(json proposal.params.x) $(json reasons.0)"
must_run verify -C p

# Each of these is refused twice, and the fallback takes the turn.
cp request.json told.json
n=7
refused() # TEXT LINE
{
    planner <<END
echo '$2'
END
    n=$((n + 1))
    night p $n --propose sobol
    must_exit 0
    must_have err "$1"
    must_equal "$n 2" "$(rows p) $(asked)" "$1"
    must_equal sobol "$(param p "$(printf %03d $((n - 1)))" proposer)" "$1"
}
refused 'params.y is not one of the ranges' '{"params": {"x": 0.77, "o": "a", "y": 1}}'
refused 'params.x is missing' '{"params": {"o": "a"}}'
refused 'params.o is none of the values to choose from' '{"params": {"x": 0.5, "o": "c"}}'
refused 'tried already: 001 keep 0.01 with the same parameters' '{"params": {"x": 0.2, "o": "slow"}, "parent": "000"}'
refused 'tried already: 003 discard 0.0121 with parameters near it (ranges are compared to one part in a hundred)' '{"params": {"x": 0.4107, "o": "b"}}'
refused "there is no trial '999'" '{"params": {"x": 0.77, "o": "a"}, "parent": "999"}'
refused 'again must say why' '{"params": {"x": 0.77, "o": "a"}, "again": " "}'
refused 'again must be a text' '{"params": {"x": 0.77, "o": "a"}, "again": 1}'
refused 'again: more than 1000 bytes' "{\"params\": {\"x\": 0.77, \"o\": \"a\"}, \"again\": \"$(head -c 1001 /dev/zero | tr '\0' y)\"}"
refused "the log contradicts 'x has never been varied.': see" '{"params": {"x": 0.77, "o": "a"}, "hypothesis": "Raise x 0.3 → 0.77: x has never been varied."}'
refused "unknown key 'param'" '{"param": {"x": 0.77, "o": "a"}}'
refused 'hypothesis must be a text' '{"params": {"x": 0.77, "o": "a"}, "hypothesis": 7}'
refused 'no line that is a JSON object' 'I cannot help with that.'
refused 'no line that is a JSON object' '{"params": '
refused 'no line that is a JSON object' ''
run night space.json -C t --planner "echo '{\"params\": {\"x\": 0.5, \"o\": \"a\"}}'" --hours 0.01 --trials 1
must_have err 'it would take about 60 s' # nothing was measured, and a minute is assumed then
must_equal 0 "$(rows t)"

# ---- planners that fail ----

fails() # TEXT COMMAND [OPTION...]
{
    text=$1 command=$2
    shift 2
    n=$((n + 1))
    run night space.json -C p --planner "$command" --trials $n --propose random "$@"
    must_exit 0
    must_have err "$text"
    must_equal $n "$(rows p)" "$command"
}
fails 'the planner left with exit status 3' 'exit 3'
fails 'the planner left with exit status 127' 'no-such-program-here'
fails 'the planner was killed by signal 9' 'kill -9 $$'
fails 'did not answer within 1 s' 'sleep 60' --planner-seconds 1
fails 'did not answer within 1 s' 'sleep 60 & sleep 60' --planner-seconds 1
fails 'the planner said more than 1048576 bytes' 'head -c 3000000 /dev/zero | tr "\0" x'
fails 'no line that is a JSON object' 'exec <&- >&-'
# One that leaves a process behind which holds the pipe: the answer is the first line, and the clock decides.
fails 'did not answer within 1 s' 'setsid sleep 5 & echo "{}"' --planner-seconds 1
must_run verify -C p

# An answer counts although its planner failed afterwards.
n=$((n + 1))
run night space.json -C p --planner 'echo "{\"params\": {\"x\": 0.987, \"o\": \"b\"}}"; exit 4' --trials $n
must_equal '0.987 planner' "$(param p "$(printf %03d $((n - 1)))" x) $(param p "$(printf %03d $((n - 1)))" proposer)"

# The input contains failures and near misses.
cp told.json out
must_equal '{}' "$(json failures)"
planner <<'END'
echo '{"params": {"x": 0.66, "o": "fails"}}'
END
n=$((n + 1))
night p $n
night p $((n + 1))
cp request.json out
must_equal 'crash' "$(json failures | sed 's/^{"\([a-z]*\)".*/\1/')"
checks=$((checks + 1))
case $(json failures.crash) in *'"x":0.66'*) ;; *) fail "no 0.66: $(json failures.crash)" ;; esac
must_equal discard "$(json near_misses.0.status)"

# A setting that was tried runs again each time the planner gives a reason, and the rows keep the reason.
planner <<'END'
echo '{"params": {"x": 0.2, "o": "slow"}, "parent": "000", "again": "is it noise; or lr=9?"}'
END
n=$((n + 3))
night p $n -q
must_exit 0
must_equal "$n 2" "$(rows p) $(asked)"
for i in $((n - 2)) $((n - 1)); do
    must_run show -C p "$(printf %03d $i)" --format json
    must_equal '0.2 000 planner' "$(json params.x) $(json parent_exp) $(json params.proposer)"
    checks=$((checks + 1))
    case $(json notes) in *'again: is it noise, or lr=9?'*) ;; *) fail "no reason in $(json notes)" ;; esac
done
must_run verify -C p

# A planner that prints thousands of repetitions is stopped after a hundred, and asked no more in this turn.
planner <<'END'
awk 'BEGIN { for (i = 0; i < 5000; i++) print "{\"params\": {\"x\": 0.2, \"o\": \"slow\"}, \"parent\": \"000\"}" }'
END
n=$((n + 1))
before=$(wc -l <p/telemetry/proposals.jsonl)
night p $n -q
must_exit 0
must_have err '100 proposals were refused in this turn; the other 4900 are dropped'
must_equal "$n 1 100" "$(rows p) $(asked) $(($(wc -l <p/telemetry/proposals.jsonl) - before))"

# ---- words: trials without these parameters are compared by their hypotheses ----

{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric \
        val_bpb delta_vs_best train_s total_s job_name snapshot_path notes
    row 000 2026-05-01T00:00:00Z a '' '' '' 'Stock' '' baseline 3.0 '' '' '' '' '' '' ''
    row 001 2026-05-01T01:00:00Z a 000 '' '' 'Raise dropout_rate 0.1 → 0.3' '' discard 3.2 '' 0.2 '' '' '' '' ''
    row 002 2026-05-01T02:00:00Z a 000 '' '' 'Raise hidden_width 64 → 128' '' harness_abort '' '' '' '' '' '' '' ''
} >words.tsv
words() # TEXT LINE: the planner's only line is refused with the text
{
    rm -rf w "$XDG_STATE_HOME/lineage/acknowledged" && mkdir w && cp words.tsv w/results.tsv # rows of before are not missed
    must_run init w --direction lower
    planner <<END
echo '$2'
END
    night w 1 --propose sobol
    must_exit 0
    must_have err "$1"
    must_equal 'sobol' "$(param w 003 proposer)" "$1"
}
words 'tried already: 001 discard 3.2 (same knob dropout_rate, same value 0.3)' \
    '{"params": {"x": 0.5, "o": "a"}, "hypothesis": "Raise dropout_rate from 0.1 to 0.3"}'
words 'give the reason to repeat it: "again": "REASON"' \
    '{"params": {"x": 0.5, "o": "a"}, "hypothesis": "Raise dropout_rate from 0.1 to 0.3"}'
words "the log contradicts 'dropout_rate was never touched.': see 001" \
    '{"params": {"x": 0.5, "o": "a"}, "hypothesis": "Lower dropout_rate 0.1 → 0.05; dropout_rate was never touched."}'
planner <<'END'
echo '{"params": {"x": 0.6, "o": "a"}, "hypothesis": "Raise hidden_width from 64 to 128"}'
echo '{"params": {"x": 0.7, "o": "a"}, "hypothesis": "Raise dropout_rate from 0.1 to 0.3", "again": "another base"}'
END
night w 3
must_equal '1 0.6 0.7' "$(asked) $(param w 004 x) $(param w 005 x)" # a harness_abort says nothing, and a reason passes

# The request has the facts of the block about such a log, the same each time, and within bounds.
mkdir f
{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric \
        val_bpb delta_vs_best train_s total_s job_name snapshot_path notes artifact_bytes
    row 000 2026-05-01T00:00:00Z io '' '' '' 'Stock configuration' '' baseline 3.0 '' '' '' '' '' '' '' 1000
    row 001 2026-05-01T01:00:00Z io 000 '' '' 'Raise shared_buffers 128 → 256' '' keep 2.5 '' -0.5 '' '' '' '' '' 1500
    row 002 2026-05-01T02:00:00Z io 001 '' '' 'Lower random_page_cost from 4.0 to 1.1' '' discard 2.6 '' 0.1 '' '' '' '' '' 1500
    row 003 2026-05-01T03:00:00Z io 001 '' '' 'random_page_cost 4.0 -> 1.1, again' '' discard 2.62 '' 0.12 '' '' '' '' '' 1500
    row 004 2026-05-01T04:00:00Z cpu 001 '' '' 'Raise random-page-cost 4.0 → 8.0' '' discard 2.9 '' 0.4 '' '' '' '' '' 1500
    row 005 2026-05-01T05:00:00Z cpu 000 '' '' 'Set jit=off on the stock configuration' '' keep 2.4 '' -0.1 '' '' '' '' '' 1400
    row 006 2026-05-01T06:00:00Z cpu 001 '' '' 'Apply exp_001 to larger caches, work_mem 4 → 64' '' size_blocked 2.1 '' '' '' '' '' '' '' 1700
} >f/results.tsv
must_run init f --direction lower
must_run insight -C f 'cheap random reads do not pay' --evidence 002,003
for turn in 1 2; do
    planner <<'END'
cp request.json asked.json
echo '{"params": {"x": 0.5, "o": "c"}}'
END
    cp -r f f$turn
    night f$turn 1 --propose sobol
    mv asked.json asked$turn.json
done
"$JSON_GET" ideas <asked1.json >one.json
"$JSON_GET" ideas <asked2.json >two.json
must_match_file one.json two.json
cp asked1.json out
must_equal 'random_page_cost 4.0 3 8.0' "$(json ideas.knobs.0.name) $(json ideas.knobs.0.value) $(json ideas.knobs.0.trials) $(json ideas.knobs.0.tries.2.to)"
must_equal '002 discard 0.1 stated' "$(json ideas.knobs.0.tries.0.exp_id) $(json ideas.knobs.0.tries.0.status) $(json ideas.knobs.0.tries.0.delta_vs_best) $(json ideas.knobs.0.tries.0.source)"
must_equal '7 2 005 1 true 2' "$(json ideas.standing.trials) $(json ideas.standing.kept) $(json ideas.standing.last_kept) $(json ideas.standing.since_kept) $(json ideas.standing.noise.estimated) $(json ideas.standing.noise.replicas)"
must_equal '4 1' "$(json ideas.standing.specialists.io.trials) $(json ideas.standing.specialists.cpu.kept)"
must_equal '006 artifact_bytes 1700.0 1500.0' "$(json ideas.walls.0.exp_id) $(json ideas.walls.0.column) $(json ideas.walls.0.value) $(json ideas.walls.0.largest_kept)"
must_equal '001 -0.5 006' "$(json ideas.kept_elsewhere.0.exp_id) $(json ideas.kept_elsewhere.0.delta_vs_best) $(json ideas.kept_elsewhere.0.cited_by.0.exp_id)"
must_equal 'random_page_cost 3 0 0.1 0.4 002' "$(json ideas.again.0.name) $(json ideas.again.0.trials) $(json ideas.again.0.failed) $(json ideas.again.0.low) $(json ideas.again.0.high) $(json ideas.again.0.exp_ids.0)"
must_equal '1 002' "$(json ideas.insights.0.number) $(json ideas.insights.0.evidence.0)"
cp told.json out # the store of the first part of this test declares its parameters
must_equal 'null 0 0' "$(json ideas.standing) $(json 'ideas.knobs.#') $(json 'ideas.insights.#')"
mkdir g
{
    head -n 1 f/results.tsv
    awk 'BEGIN { OFS = "\t"; for (i = 0; i < 200; i++) print sprintf("%03d", i), "2026-05-01T00:00:00Z", "io" i, "", "", "", "Raise knob_" i "x 1 → " i + 2, "", "discard", 3, "", 0.1, "", "", "", "", "", 1 }'
} >g/results.tsv
must_run init g --direction lower
night g 1 --propose sobol
mv asked.json out
must_equal '60 20' "$(json 'ideas.knobs.#') $(json ideas.standing.specialists | tr ',' '\n' | grep -c recent_kept)"
must_run verify -C g

# A command that runs at this moment counts, though it has no row yet.
mkdir r
must_run init r --direction lower
rm -f go stop

"$LINEAGE" run -C r -q -m loss --hypothesis 'Raise label_smoothing 0.1 → 0.2' -- sh -c 'touch go; while [ ! -e stop ]; do sleep 0.1; done; echo METRIC loss=1' >running 2>&1 &
running=$!
while [ ! -e go ]; do sleep 0.05; done
printf 'x=1\necho METRIC loss=$x\n' >prog.sh
cat >code.json <<'END'
{"name": "code", "direction": "lower", "score": "loss", "files": ["prog.sh"], "command": "cd {workdir} && sh prog.sh", "ranges": {"y": "0:1"}}
END
if command -v git >/dev/null; then
    run night code.json -C r --trials 1 --propose sobol --planner 'cat >/dev/null; printf "%s\n" "{\"params\": {\"y\": 0.5}, \"hypothesis\": \"Raise label_smoothing from 0.1 to 0.2\", \"diff\": \"--- a/prog.sh\\n+++ b/prog.sh\\n@@ -1,2 +1,2 @@\\n-x=1\\n+x=2\\n echo METRIC loss=\$x\\n\"}"'
    must_exit 0
    must_have err ' running (same knob label_smoothing, same value 0.2)'
fi
printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"similar","arguments":{"idea":"Raise label_smoothing from 0.1 to 0.2"}}}' |
    "$LINEAGE" mcp -C r | tail -n 1 >out
must_equal 'running true' "$(json result.structuredContent.trials.0.status) $(json result.structuredContent.trials.0.same)"
touch stop
wait $running

# An interruption while the planner thinks ends the night.
planner <<'END'
kill -INT $(cat pid); sleep 30
END
(sh -c 'echo $$ >pid; exec "$@"' sh "$LINEAGE" night space.json -C i --planner 'sh planner.sh' --trials 3 >out 2>err; echo $? >code)
must_equal 130 "$(cat code)" 'exit status of an interrupted night'
must_equal 0 "$(rows i)"
# ---- diffs of the program itself ----

command -v git >/dev/null || { echo 'git is not there: diffs are not tried' && finish; }
mkdir program
printf 'x=1\necho METRIC loss=$x\n' >program/prog.sh
echo 'the evaluator' >program/eval.txt
cat >program/sweep.json <<'END'
{"name": "code", "direction": "lower", "score": "loss", "files": ["prog.sh", "eval.txt"], "protect": ["eval.txt"],
 "command": "cd {workdir} && sh prog.sh", "trials": [{"name": "root"}]}
END
cp program/eval.txt eval.txt # what is protected is the file of the working directory
diff_to() # FROM TO: a proposal that changes x
{
    cat <<END
{"parent": "best", "hypothesis": "x $2", "diff": "--- a/prog.sh\n+++ b/prog.sh\n@@ -1,2 +1,2 @@\n-x=$1\n+x=$2\n echo METRIC loss=\$x\n"}
END
}
diff_to 1 0.5 >one
diff_to 0.5 0.25 >two
run night program/sweep.json -C d --planner 'cat >request.json; cat one' --trials 1
must_exit 0
run night program/sweep.json -C d --planner 'cat >request.json; cat two' --trials 2
must_exit 0
must_equal '1.0 0.5 0.25' "$(sed 1d d/results.tsv | cut -f 10 | tr '\n' ' ' | sed 's/ $//')"
must_equal '000 001' "$(sed 1d d/results.tsv | cut -f 4 | grep . | tr '\n' ' ' | sed 's/ $//')"
must_equal 'x=0.25' "$(head -n 1 d/snapshots/002_*/prog.sh)"
run diff -C d 002
must_have out '+x=0.25'
cp request.json out
must_equal '001 the evaluator' "$(json files.parent) $(json 'files.texts.eval.txt' 2>/dev/null || echo '')$(grep -o 'the evaluator' request.json | head -n 1)"

# refused_diff TEXT: the planner prints ./one twice, and nothing is run, because this sweep has no proposer to fall back on.
refused_diff()
{
    run night program/sweep.json -C d --planner 'cat one' --trials 3
    must_exit 0
    must_have err "$1"
    must_have err 'the planner has no proposal, and there are no ranges'
    must_equal 3 "$(rows d)" "$1"
    [ -z "$(find d/checkpoints -name 'diff-*')" ] || fail 'a trial of a diff is left'
}
refused_diff 'git cannot apply it' # x is 0.25 by now
printf '{"diff": "--- a/eval.txt\\n+++ b/eval.txt\\n@@ -1 +1 @@\\n-the evaluator\\n+mine\\n"}\n' >one
refused_diff 'it touches the protected file eval.txt'
printf '{"diff": "--- /dev/null\\n+++ b/../out.txt\\n@@ -0,0 +1 @@\\n+out\\n"}\n' >one
refused_diff 'diff: git cannot'
printf '{"diff": "diff --git a/l b/l\\nnew file mode 120000\\n--- /dev/null\\n+++ b/l\\n@@ -0,0 +1 @@\\n+/etc/passwd\\n\\\\ No newline at end of file\\n"}\n' >one
refused_diff 'it makes a link or a special file'
echo '{"diff": "hello"}' >one
refused_diff 'git cannot read it'
must_run verify -C d
finish
