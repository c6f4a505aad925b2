#!/bin/sh
# prune.sh: trials with a hopeless curve are ended early, are a discard without a score, and are not kept, crashed or run
# again; lines without a step prune nothing.
. "$SOURCE/tests/support/shell.sh"

# A program whose loss falls by steps to its first argument. It ignores TERM if the second one says so, and waits at its
# third step until somebody ends it if the third one says so.
cat >train.sh <<'END'
[ "$2" = deaf ] && trap '' TERM
for step in 10 20 30 40 50; do
    [ "$4" = json ] && echo "{\"step\": $step, \"val_loss\": $(($1 + 50 - step))}" || echo "$4$step val_loss=$(($1 + 50 - step))"
    if [ "$step" = 30 ] && [ "$3" = waits ]; then
        i=0
        while [ $((i += 1)) -lt 600 ]; do sleep 0.1; done
    fi
done
END
run_trial()
{
    loss=$1 deaf=$2 waits=$3 form=$4
    shift 4
    run run -q --direction lower -m val_loss --grace 0.2 "$@" -- sh train.sh "$loss" "$deaf" "$waits" "$form"
}

for loss in 10 11 12 13; do
    run_trial "$loss" no no step= --prune median,warmup=10,patience=2
    must_exit 0
done
must_run query --status keep,discard --format tsv
must_equal 5 "$(wc -l <out)" "rows before"

# A curve of 40 is worse than the median at steps 10 and 20. The program would wait for a minute at step 30.
run_trial 40 no waits step= --prune median,warmup=10,patience=2
must_exit 0
must_have err "discard: pruned at step 20: its best 70 is worse than the median 41.5 of 4 trials, best 000 (40)"
must_run show 004 --format json
must_equal discard "$(json status)"
must_equal null "$(json core_metric)" "core_metric of a pruned trial"
must_have out "val_loss 70.0000 at step 20"
must_run best
must_have out 000
must_run render --for agent
must_have out "discard (pruned at step 20)"
must_run verify

# A program that ignores TERM is killed. JSON lines carry a step as well.
run_trial 40 deaf waits json --prune median,warmup=10,patience=2
must_have err "pruned at step 20"
must_run show 005 --format json
must_equal discard "$(json status)"

# Without a step in the line nothing is pruned; neither by `none`, nor by the last step, nor if the trial keeps up.
run_trial 40 no no '' --prune median,warmup=10,patience=2
must_run show 006 --format json
must_equal 40.0 "$(json core_metric)"
run_trial 40 no no step= --prune none
must_run show 007 --format json
must_equal 40.0 "$(json core_metric)"
run_trial 40 no no step= --prune median,warmup=50
must_run show 008 --format json
must_equal 40.0 "$(json core_metric)"
run_trial 9 no no step= --prune halving,warmup=10
must_run show 009 --format json
must_equal keep "$(json status)"

# A parent that was as bad protects its child.
run_trial 40 no no step= --prune median,warmup=10,patience=2 --parent 008
must_run show 010 --format json
must_equal 40.0 "$(json core_metric)"

# Telemetry that is a pipe, not JSON or not there counts as no curve.
rm telemetry/000.json telemetry/001.json
mkfifo telemetry/000.json
echo '{"steps": [{"step": 10, "val_loss": ' >telemetry/001.json
echo '{"steps": [7, {"step": "x", "val_loss": 1}, {"step": 20, "val_loss": "y"}, {"step": 1e3}]}' >telemetry/002.json
run_trial 41 no no step= --prune median,warmup=10,patience=1,curves=1
must_exit 0

must_fail 2 "prune: 'best' is not a rule" run -m val_loss --prune best -- true
must_fail 2 "prune: 'warmup=x' is not a setting" run -m val_loss --prune median,warmup=x -- true

# A night reads the rule from its sweep; --prune overrides it. A pruned trial is not run again.
cat >sweep.json <<'END'
{"name": "s", "direction": "lower", "command": ["sh", "train.sh", "{loss}", "no", "no", "step="], "metrics": ["val_loss"],
 "prune": "median,warmup=10,patience=2", "grid": {"loss": [1, 2, 3, 4, 90]}}
END
must_run night sweep.json -C night -q
must_have out "004	discard	-	s loss=90"
must_run night sweep.json -C night -q
must_equal "" "$(cat out)"
must_run night sweep.json -C other -q --prune none
must_have out "004	discard	90.0	s loss=90"
sed 's/"median,warmup=10,patience=2"/"median,warmup"/' sweep.json >wrong.json
must_fail 2 "wrong.json: prune: 'warmup' is not a setting" night wrong.json -C third
finish
