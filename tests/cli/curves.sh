#!/bin/sh
# shellcheck disable=SC2016,SC2154 # commands for another shell; shared with shell.sh
# curves.sh: events whose steps go back, repeat, come after the end or from several processes, and lines that cannot be read.
. "$SOURCE/tests/support/shell.sh"

field() { tail -n 1 "$1/results.tsv" | cut -f "$2"; }

# say [OPTION..] -- LINE..: a trial that reports these lines, and no score of another trial beside it.
say()
{
    rm -rf s
    : >options
    while [ "$1" != -- ]; do printf '%s\n' "$1" >>options; shift; done
    shift
    printf '%s\n' "$@" >lines
    # shellcheck disable=SC2046 # options without blanks
    run run -C s --direction lower -q --score loss $(cat options) -- sh -c 'cat lines >"$LINEAGE_EVENTS"'
}
loss() { printf '{"step": %s, "loss": %s}\n' "$1" "$2"; }
steps() { for point; do loss "${point%:*}" "${point#*:}"; done; }
curve() { sed -n 's/.*"step": \([0-9]*\), "loss": \([0-9.]*\)}.*/\1:\2/p' s/telemetry/000.json | tr '\n' ' '; }

# ---- a restart: the steps from 4 on that came before count for nothing ----
restarted='1:3.0 2:2.5 3:2.0 4:0.1 5:0.05 6:9.0 4:1.9 5:1.8 6:1.7'
for rule in last:1.7 min:1.7 max:3.0 mean:5:1.98; do
    # shellcheck disable=SC2086 # points
    say --metric-take "loss=${rule%:*}" -- "$(steps $restarted)"
    must_exit 0
    must_equal "${rule##*:}" "$(field s 10)" "$rule"
    must_equal '1:3.0 2:2.5 3:2.0 4:1.9 5:1.8 6:1.7 ' "$(curve)" "curve of $rule"
    must_have err 'several values of loss at step 4, which went back from step 6'
    must_have s/results.tsv 'several values of loss at step 4'
done
# A second restart, after a stretch of steps; another metric that only the dead attempt had stays until it is reported again.
say --metric-take loss=min -- "$(steps 1:5 2:4 3:1 4:1 2:3.9 3:3.8 4:3.7 5:3.6 6:0.1 5:3.5 6:3.4)"
must_equal 3.4 "$(field s 10)"
# The same values again do not count as a restart: every process reports the mean.
say --metric-take loss=min -- "$(steps 1:3 2:2 1:3 3:1 2:2 3:1)"
must_exit 0
must_equal '' "$(cat err)"
must_equal 1.0 "$(field s 10)"
# The counter begins again: such a curve is not compared with others.
say -- "$(steps 1:3 2:2 3:1 1:0.9 2:0.8)"
must_have s/telemetry/000.json '"begun_anew": true'
# Printed counters of epochs begin again without being a restart.
must_run run -C epochs --direction lower -q -m loss --metric-take loss=min -- sh -c 'for e in 3 1 2; do echo "step 0 loss $e.5"; echo "step 9 loss $e"; done'
must_equal 1.0 "$(field epochs 10)"
# Two counters in one phase, each of its own metric, and two phases with one step.
say --metric-take loss=min -- '{"step": 100, "loss": 0.5}' '{"step": 5, "acc": 0.1}' '{"step": 101, "loss": 0.6}' '{"step": 6, "acc": 0.2}'
must_equal "0.5:" "$(field s 10):$(cat err)"
say -- '{"phase": "train", "step": 1, "loss": 0.5}' '{"phase": "val", "step": 1, "loss": 0.6}' '{"phase": "train", "step": 2, "loss": 0.4}' '{"phase": "val", "step": 2, "loss": 0.7}'
must_equal "0.7:" "$(field s 10):$(cat err)"

# ---- several processes, and the end ----
say -- "$(steps 0:1 0:2 0:3 1:1 1:2 1:3 0:4 1:4)"
must_exit 0
must_have err 'several values of loss at step 0 (does every process report? let rank 0 alone)'
must_have s/results.tsv 'several values of loss at step 0'
say -- "$(steps 1:3 2:2)" '{"phase": "done", "loss": 1.5}' "$(steps 3:0.1)" '{"train_s": 3}'
must_equal 1.5 "$(field s 10)"
must_have s/results.tsv '1 lines of events came after the end and do not count'
say -- "$(steps 1:3)" '{"step": 2, "loss": NaN}'
must_exit 1
must_have err 'its score is not a finite number'
say --metric-take loss=min -- "$(steps 1:3)" '{"step": 2, "loss": NaN}'
must_equal 3.0 "$(field s 10)"

# ---- pruning ----
mkdir prune
for i in 1 2 3 4; do
    # shellcheck disable=SC2086 # points
    steps $restarted 7:1.6 >lines
    run run -C prune --direction lower -q --score loss -- sh -c 'cat lines >"$LINEAGE_EVENTS"'
done
steps 1:3.0 2:2.5 3:2.0 4:1.8 5:1.7 6:1.6 7:1.2 >lines
run run -C prune --score loss -q --prune median,warmup=2,curves=4,patience=1 -- sh -c 'while read -r l; do echo "$l"; done <lines >"$LINEAGE_EVENTS"'
must_exit 0
must_equal '1.2 keep' "$(field prune 10) $(field prune 9)"

# ---- lines that cannot be read ----
# unreadable TEXT SCORE: a line of events, in octal escapes of printf, after which the score is SCORE.
line()
{
    rm -rf s
    printf '{"step": 1, "loss": 0.9}\n%b\n' "$1" >lines
    run run -C s --direction lower -q --score loss -- sh -c 'cat lines >"$LINEAGE_EVENTS"'
    must_equal "$2" "$(field s 9) $(field s 10)" "$1"
}
line '{"failed": "cannot read caf\\\\udce9.txt"}' 'crash '
line '{"failed": "cannot read caf\0351.txt"}' 'crash '
line '{"failed": "a\\\\u0000b"}' 'crash '
line '{"step": 2, "loss": 0.5, "text": "\\\\ud83d"}' 'keep 0.5'
line '{"step": 2, "loss": 0.5, "text": "\\\\ud83d\\\\ude00 \\\\\\\\ud83d NaN"}' 'keep 0.5'
line '\0357\0273\0277{"step": 2, "loss": 0.5}' 'keep 0.5'
must_equal '' "$(cat err)"
line '{"step": 2, "loss": 0.5' 'keep 0.9'
must_have err '1 line of events cannot be read, first at line 2'
must_have s/results.tsv '1 line of events cannot be read, first at line 2'
line '\n  \nnot JSON\n3' 'keep 0.9'
must_have err '2 lines of events cannot be read, first at line 4'
rm -rf s
awk 'BEGIN { printf "{\"loss\": 0.25, \"text\": \""; for (i = 0; i < 300000; i++) printf "0123456789"; print "\"}" }' >lines
must_run run -C s --direction lower -q --score loss -- sh -c 'cat lines >"$LINEAGE_EVENTS"'
must_equal 0.25 "$(field s 10)"
finish
