#!/bin/sh
# shellcheck disable=SC2016,SC2034,SC2154 # commands for another shell; shared with shell.sh
# run.sh: any command as a trial: metrics from three channels, limits, labels, parameters, seeds.
. "$SOURCE/tests/support/shell.sh"

field()
{
    tail -n 1 "$1/results.tsv" | cut -f "$2"
}

# ---- a refused command line leaves nothing behind ----
must_fail 2 'belongs after --' run -C s
must_fail 2 'belongs after --' run -C s --
must_fail 2 'is not a store' run -C s -- true
must_fail 2 "is not NAME=VALUE" run -C s --direction lower -p x -- true
must_fail 2 "is not NAME=VALUE" run -C s --direction lower --env x -- true
must_fail 2 'is not a number of bytes of at least 0; write 500M' run -C s --direction lower --memory -1 -- true
must_fail 2 'is not a number of bytes' run -C s --direction lower --memory 5X -- true
must_fail 2 'is not a time of at least 0; write 90, 90s, 30m' run -C s --direction lower --train-seconds 5M -- true
must_fail 2 'nowhere' run -C s --direction lower --protect nowhere -- true
must_fail 2 '--seeds' run -C s --direction lower --seeds 0 -- true
must_equal 'err out' "$(echo *)" "left behind"
must_run run --help
must_have out 'LINEAGE_EVENTS'

# ---- three channels, of which the best decides ----
must_run run -C s --direction lower -q -m loss -- sh -c 'echo "loss:   0.75 nats"'
must_equal 000 "$(cat out)"
must_equal '0.75 keep' "$(field s 10) $(field s 9)"
must_have s/results.tsv 'score by a name that was asked for'
must_run run -C s -q -m loss -- sh -c '{ echo "METRIC step=7 loss=0.5, acc=0.9"; echo "loss: 9"; } >&2'
must_equal 0.5 "$(field s 10)"
must_have s/results.tsv 'score by METRIC lines'
must_equal '7 0.5 0.9' "$(json steps.0.step s/telemetry/001.json) $(json steps.0.loss s/telemetry/001.json) $(json steps.0.acc s/telemetry/001.json)"
must_run run -C s -q -m loss -- sh -c 'echo "METRIC loss=3"; echo "{\"step\": 1, \"loss\": 0.25}" >"$LINEAGE_EVENTS"; echo "METRIC loss=4"'
must_equal 0.25 "$(field s 10)"
must_have s/results.tsv 'score by events'
new_score s
must_run run -C s -q --score acc --param flavour=lemon -- sh -c 'printf "10 %%\r50 %%\rMETRIC acc=1\r\nloss: 3\nMETRICS acc=7\nMETRIC acc=\nMETRIC =3\nMETRIC acc"'
must_equal 1.0 "$(field s 10)"
# Lines without a step are counted.
new_score s
must_run run -C s -q --score b -- sh -c 'for i in 1 2 3; do echo "METRIC a=$i"; echo "METRIC b=$i$i"; done'
must_equal '3 3.0 33.0' "$(json steps.# s/telemetry/004.json) $(json steps.2.a s/telemetry/004.json) $(json steps.2.b s/telemetry/004.json)" 

# ---- parameters ----
must_run run -C p --direction higher -q -p alpha=0.3 -p layers=4 -p opt=adam --env A=x{layers} --seed 7 -- \
    sh -c 'cp "$LINEAGE_PARAMS" "$LINEAGE_WORKDIR/copy"; mkdir {workdir}/deep; echo "$LINEAGE_PARAM_ALPHA $A" >{workdir}/deep/words
           echo METRIC score=1'
must_run -C p show 000 --format json
must_equal '0.3 4 adam 7' "$(json params.alpha) $(json params.layers) $(json params.opt) $(json params.seed)"
run run -C p -p alpha=0.3 -p layers=4 -p opt=adam --seed 7 -- sh -c 'echo "$@" "$LINEAGE_SEED"; echo METRIC score=1' \
    sh --under_score={alpha} '{layers}-{opt}' '{seed}' '{none}' '{"a": 1}'
must_exit 0
must_have err '--under_score=0.3 4-adam 7 {none} {"a": 1} 7'
must_equal '0.3 4 adam' "$(json alpha p/snapshots/000_/copy) $(json layers p/snapshots/000_/copy) $(json opt p/snapshots/000_/copy)"
must_equal '0.3 x4' "$(cat p/snapshots/000_/deep/words)"
must_equal '' "$(find p -name '.trial-*')" "left behind"

# ---- labels come from exit status, signal, limits and sizes, and not from the output ----
# ends LABEL TEXT OPTION... -- COMMAND...
ends()
{
    label=$1 text=$2
    shift 2
    [ ! -f e/lineage.json ] || new_score e
    run run -C e --direction lower -q --grace 0.2 "$@"
    must_exit 1
    must_equal "$label" "$(field e 9)"
    must_equal '' "$(field e 10)" "$last: a score"
    must_have err "$text"
    case $(field e 17) in *"$text"*) ;; *) fail "$last: no '$text' in notes: $(field e 17)" ;; esac
}

ends crash 'left with exit status 3' -- sh -c 'echo METRIC score=1; echo Killed, out of memory; exit 3'
ends crash 'killed by signal 9' -- sh -c 'kill -9 $$'
ends crash 'killed by signal 11' -- sh -c 'kill -11 $$'
# A scheduler signals all processes of a job. Where the trial gets the signal first, its end is still that of the job; a trial that
# alone gets one has crashed.
ends crash 'killed by signal 15' -- sh -c 'kill -TERM $$'
for command in "echo \$\$ >'$PWD/begun'; exec sleep 60" "(echo \$BASHPID >'$PWD/begun'; exec sleep 60); exit \$?"; do
    rm -f begun
    "$LINEAGE" run -C e -q -- bash -c "$command" >out 2>err &
    parent=$!
    tries=0
    until [ -s begun ] || [ $tries -gt 3000 ]; do
        tries=$((tries + 1)) && sleep 0.1
    done
    kill -TERM "$(cat begun)"
    sleep 0.2
    kill -TERM "$parent"
    wait "$parent"
    must_equal 130 $? "$command"
    must_equal 'harness_abort interrupted by the user' "$(field e 9) $(field e 17 | grep -o 'interrupted by the user')" "$command"
done
# SIGUSR1 and SIGUSR2 are for the command, which a scheduler warns by them; SIGXCPU and SIGQUIT end it with a row.
for signal in USR1 USR2 XCPU QUIT; do
    rm -f begun saved
    env --default-signal=QUIT "$LINEAGE" run -C e -q --direction lower -- bash -c "trap 'echo METRIC score=9 >&2; : >saved; exit 0' USR1 USR2 TERM; : >begun; while :; do sleep 0.05; done" >out 2>err &
    parent=$!
    tries=0
    until [ -e begun ] || [ $tries -gt 600 ]; do
        tries=$((tries + 1)) && sleep 0.1
    done
    kill -$signal "$parent"
    wait "$parent"
    status=$?
    must_equal saved "$(ls saved 2>&1)" "$signal"
    case $signal in
    USR*) must_equal '0 9.0' "$status $(field e 10)" "$signal" ;;
    *) must_equal '130 harness_abort' "$status $(field e 9)" "$signal"
       case $(field e 17) in *'cause interrupt'*) ;; *) fail "$signal: $(field e 17)" ;; esac ;;
    esac
done
# Behind launchers the program gets them, and its workers, which have a copy of its handler, do not.
cat >warned.sh <<'END'
trap 'echo METRIC score=9 >&2; echo $$ >>saved; exit 0' USR1
bash -c 'trap "echo worker >>saved; exit 0" USR1; : >begun; while [ ! -e over ]; do sleep 0.05; done' &
while :; do sleep 0.05; done
END
printf 'all:\n\tbash warned.sh\n' >Makefile
make='make -s #'
command -v make >make.path || { echo 'left out: USR1 behind make (Debian: make)' && make=; }
for launcher in 'sh -c' 'timeout 300 bash -c' ${make:+"$make"}; do
    rm -f begun saved over
    # shellcheck disable=SC2086
    case $launcher in
    make*) "$LINEAGE" run -C e -q --direction lower -- make -s >out 2>err & ;;
    *) "$LINEAGE" run -C e -q --direction lower -- $launcher 'bash warned.sh; true' >out 2>err & ;;
    esac
    parent=$!
    tries=0
    until [ -e begun ] || [ $tries -gt 600 ]; do
        tries=$((tries + 1)) && sleep 0.1
    done
    kill -USR1 "$parent"
    wait "$parent"
    must_equal '0 1 9.0' "$? $(grep -c '^[0-9]' saved) $(field e 10)" "$launcher"
    must_equal 0 "$(grep -c worker saved)" "$launcher: the worker"
    : >over
done
# Statuses by which launchers report a signal or a limit.
ends crash 'exit status 137, which stands for signal 9 (Killed), perhaps out of memory' -- sh -c 'exit 137'
ends crash 'exit status 247, which stands for signal 9 (Killed), perhaps out of memory' -- sh -c 'exit 247' # -9 of a launcher in Python
ends crash 'exit status 200 and did not say why' -- sh -c 'exit 200'
must_lack e/results.tsv 'status 200, which'
ends train_budget_overrun 'training was ended by timeout (exit status 124)' -- timeout 0.1 sleep 5
ends crash 'exit status 124 and did not say why' -- sh -c 'exit 124'
ends eval_budget_overrun 'the final evaluation was ended by timeout' --eval 'timeout 0.1 sleep 5' -- true
# A pipe hides a failure: the row is kept if it has its final score, and names the error.
printf 'Traceback (most recent call last):\n  File "t.py", line 2, in f\nValueError: reward; is empty\n' >dies
run run -C pipe --direction lower -q -- sh -c 'echo METRIC score=1; cat dies >&2'
must_exit 0
must_have err 'the output ends with an error although the exit status is 0'
must_equal 'keep' "$(field pipe 9)"
must_have pipe/results.tsv 'its output ends with ValueError: reward, is empty (t.py:2), although its exit status is 0'
must_run run -C pipe -q -- sh -c '{ cat dies; echo going on; echo a; echo b; echo c; echo METRIC score=0.9; } >&2'
must_lack err 'although the exit status'
must_run query -C pipe --format json
must_equal '' "$(json 0.cause)"
ends crash 'is empty (t.py:2), left with exit status 0' -- sh -c 'cat dies >&2'
# Python ignores what a destructor or a function of atexit raises, and so does the row.
printf 'Exception ignored in: <function A.__del__ at 0x7f>\n' | cat - dies >ignored
must_run run -C pipe -q -- sh -c 'echo METRIC score=0.8; cat ignored >&2'
must_lack err 'although the exit status'
ends harness_abort 'exit 0 without a score' -- sh -c 'cat ignored >&2'
# Inspect 0.3 goes on after an error and ends with 0; its box is longer than what is read of the output.
ends harness_abort 'and its output has an error: ValueError: reward' -- sh -c 'cat dies; seq 9'
{
    printf '╭──── Traceback (most recent call last) ────╮\n'
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do printf '│ %1200s │\n' ''; done
    printf '│ t.py:2 in f │\n╰────╯\nValueError: no rows\nstopped\nlog: a.txt\n'
} >box
ends crash 'ValueError: no rows (t.py:2), left with exit status 1' -- sh -c 'cat box; exit 1'
# Ray Tune 2.60 ends with 0 after all its trials died.
printf '\nTrial t_1 errored after 0 iterations.\nTrial status: 2 ERROR\na\nb\nc\nd\n2026-11-30 15:42:28,086\tERROR tune.py:1035 -- Trials did not complete: [t_0, t_1]\n' |
    cat dies - >tune
ends crash 'is empty (t.py:2), left with exit status 0' -- sh -c 'cat tune >&2'
# What was skipped does not make a trial fail, and a box may hold results.
printf 'a\nb\nc\nd\nERROR rollout 3 did not complete in time, skipped\n' | cat dies - >skips
ends harness_abort 'and its output has an error: ValueError: reward' -- sh -c 'cat skips >&2'
# A file of scores grows with each step, so a score in it does not say that a training which ends with an error had finished.
printf 'step,score\n1,0.5\n' >scores
run run -C score-in-file --direction lower -q --metric-file score=metrics.csv -- sh -c 'cp scores metrics.csv; cat dies'
must_equal 'crash ' "$(field score-in-file 9) $(field score-in-file 10)"
sed 's/ValueError.*/Finished/' box >results
ends crash 'exit status 1 and did not say why' -- sh -c 'cat results; exit 1'
ends crash 'is empty (t.py:2)' -- sh -c 'echo "{\"step\": 1, \"steps\": 9, \"score\": 1}" >"$LINEAGE_EVENTS"; cat dies; sleep 0.1'
must_run query -C e --status crash --format json
must_have out '"cause": "code"'
must_run sql -C e "SELECT count(*) FROM trials WHERE cause(notes) = 'time'" --format tsv
must_equal 2 "$(tail -1 out)"
# An exception that the program handled does not excuse its divergence.
printf 'Traceback (most recent call last):\n  File "t.py", line 2, in f\nModuleNotFoundError: No module named '"'no_x'"'\n' >dies
ends crash 'diverged: loss is nan at step 20' -- sh -c 'cat dies >&2; echo "diverged: loss is nan at step 20" >&2; exit 1'
ends harness_abort "No module named 'no_x'" -- sh -c 'cat dies >&2; exit 1'
ends harness_abort 'exit 0 without a score: looked for `METRIC score=NUMBER`, nearest line: score 3' -- sh -c 'echo score 3'
# What real programs print; each form was once recorded as a crash without a score.
reads()
{
    must_run run -C e --direction lower -q -m loss -- sh -c "$2"
    must_equal "$1" "$(field e 10)" "$2"
}
run run -C e --direction lower -q -m loss -- echo "step 500 train loss: 2.14 test loss: 2.20"
must_exit 0
must_equal 2.2 "$(field e 10)"
reads 0.4 'echo "step 3 loss 0.4, accuracy 90%"'
reads 3.0 'echo " - loss: 3 - val_loss: 2"'
reads 3.25 'echo "{\"loss\": 3.25}"'
reads 3.0 'printf "\033[1;31mloss\033[0m: \033[32m3\033[0m\n"'
reads 3.0 'echo " loss: 3"'
reads 3.0 'echo "Loss: 3"'
reads 3.0 'echo "loss=3"'
reads 3.0 'echo "INFO:root:loss=3"'
# A history that is printed at the end, rounded or not, does not undo what was read; other lists do.
run run -C e -q -m loss -- sh -c "echo loss: 3.25; echo '{\"loss\": [5.5, 3.2512]}'"
must_exit 0
must_equal 3.25 "$(field e 10)"
must_have err 'several numbers may be meant'
ends harness_abort 'several numbers may be meant' -m loss -- sh -c 'echo "loss: 3.25"; echo "loss: [3.25, 5.5]"'
# Comet sums up at the end: number of values, least and greatest.
reads 0.25 'echo "loss 0.25"; echo "COMET INFO:     loss [4] : (0.25, 1.0)"'
ends harness_abort 'several numbers may be meant' -m loss -- echo 'COMET INFO:     loss [4] : (0.25, 1.0)'
reads 3.0 'printf "loss: 3"'
reads 4.0 'printf "\r10%% loss=5\r20%% loss=4\r"'
reads 3.0 'printf "in the middle of "; echo "loss: 3" >&2; echo "a line"'
must_run run -C e -q -- echo METRIC loss=3
must_equal 3.0 "$(field e 10)" 'the only METRIC name is the score'
ends harness_abort 'saw `METRIC loss`, `METRIC acc`' -- echo METRIC loss=3 acc=4
ends harness_abort 'the number has a comma inside: loss: 1,234.5' -m loss -- sh -c 'echo loss: 1,234.5'
ends crash 'its score is not a finite number' -- sh -c 'echo METRIC score=1; echo METRIC score=nan'
ends crash 'its score is not a finite number' -- sh -c 'echo "{\"score\": -Infinity, \"a\": \"NaN \\\" NaN\"}" >&3'
ends crash 'loss is not a finite number' --stop-on-nan -- sh -c 'echo "{\"step\": 2, \"loss\": NaN}" >&3; sleep 600'
ends crash 'loss is not a finite number' --stop-on-nan -m loss -- sh -c 'echo "loss: inf"; sleep 600'
ends crash 'said nothing for 0.4 s' --silence 0.4 -- sh -c 'echo METRIC score=1; sleep 600'
ends train_budget_overrun 'training took more than 0.3 s' --train-seconds 0.3 -- sh -c 'sleep 600'
ends eval_budget_overrun 'evaluation took more than 0.3 s' --eval-seconds 0.3 -- sh -c 'echo "{\"phase\": \"eval\"}" >&3; sleep 600'
ends eval_budget_overrun 'evaluation took more than 0.3 s' --eval-seconds 0.3 --eval 'sleep 600' -- sh -c 'sleep 0.6'
# Processor seconds: of all processes, so that two busy loops use up the limit together; sleeping uses none.
if [ -r /proc/self/stat ]; then
    ends train_budget_overrun 'training took more than 0.3 processor seconds (' --train-cpu-seconds 0.3 -- \
        sh -c '(while :; do :; done) & (while :; do :; done) & wait'
    ends eval_budget_overrun 'the final evaluation took more than 0.2 processor seconds (' --train-cpu-seconds 600 \
        --eval-cpu-seconds 0.2 --eval 'while :; do :; done' -- true
    ends eval_budget_overrun 'the final evaluation took more than 0.2 processor seconds (' --eval-cpu-seconds 0.2 -- \
        sh -c 'echo "{\"phase\": \"eval\"}" >&3; while :; do :; done'
    must_run run -C cpu --direction lower -q --train-cpu-seconds 0.9 --eval-cpu-seconds 0.9 --eval 'sleep 1; echo METRIC score=1' -- sleep 1
    must_equal keep "$(field cpu 9)" "it slept longer than its processor seconds"
fi
ends train_budget_overrun 'stopped after step 3 of 12: at this pace all 12 steps take ' --train-seconds 0.4 -- \
    sh -c 'echo "{\"step\": 3, \"steps\": 12}" >&3; sleep 600'

# ---- a failure is blamed on what the output shows ----
printf 'import sys\n\n\ndef main():\n    print(lrr)\n\n\nmain()\n' >typo.py
ends crash "failed: NameError: name 'lrr' is not defined (typo.py:5), left with exit status 1" -- python3 typo.py
ends crash "killed by signal 6 (Aborted): main: Assertion \`n > 0' failed. (train.c:12)" -- \
    sh -c 'echo "train: train.c:12: main: Assertion \`n > 0'"'"' failed." >&2; kill -ABRT $$'
ends harness_abort "No module named 'no_such_module' (" -- sh -c 'echo "import no_such_module" >m.py; exec python3 m.py'
ends harness_abort 'no_such_command: not found' -- sh -c no_such_command
ends harness_abort "the preflight left with exit status 1: ModuleNotFoundError: No module named 'no_such_module'" \
    --preflight 'python3 m.py' -- true
ends preflight_crash 'the preflight left with exit status 1: NameError' --preflight 'python3 typo.py' -- true
ends crash 'the evaluation left with exit status 1: NameError' --eval 'python3 typo.py' -- true
# An error that an earlier stage survived is not the cause.
ends crash 'the trial left with exit status 3' -- sh -c 'echo working; exit 3'

# ---- one seed of several fails ----
cat >seeds.sh <<'END'
echo '{"step": 1, "steps": 2}' >&3
[ "$LINEAGE_SEED" != "$1" ] || { echo 'x.py:7: error: diverged'; exit 2; }
[ "$LINEAGE_SEED" != "$2" ] || { echo 'no score'; exit 0; }
echo "METRIC score=0.$LINEAGE_SEED"
END
ends crash 'failed after step 1 of 2: error: diverged (x.py:7), left with exit status 2, with seed 2' --seeds 3 -- sh seeds.sh 2 9
must_have e/results.tsv 'with seed 2; seed 1 scored 0.1, seed 3 scored 0.3; last lines: METRIC score=0.1 | x.py:7: error: diverged'
ends crash 'diverged' -- sh -c "printf '%s\\n' '  File \"t.py\", line 3, in f' '    x = g(y)' '        ~^^^' 'E: diverged'; exit 1"
must_have e/results.tsv ', in f | x = g(y) | E: diverged'
ends crash 'with seed 5' --seeds 3 --seed 4 -- sh seeds.sh 5 9
must_have e/results.tsv 'with seed 5; seed 4 scored 0.4, seed 6 scored 0.6'
ends harness_abort 'with seed 1' --seeds 2 -- sh seeds.sh 9 1
must_have e/results.tsv 'with seed 1; seed 2 scored 0.2'
# A program that fails before it reports anything would fail with every seed.
ends crash 'exit status 1 and did not say why, with seed 1' --seeds 3 -- sh -c 'echo x >>starts; exit 1'
# The mean of 0.1, 0.2 and 0.3 is 0.2, as a score and as a metric.
must_run run -C means --direction lower -q -m loss --seeds 3 -- sh -c 'echo loss: 0.$LINEAGE_SEED'
must_equal 0.2 "$(field means 10)"
must_have means/results.tsv 'metrics loss=0.2;'
must_equal 1 "$(wc -l <starts | tr -d ' ')" 'the other seeds did not run'

ends crash 'the evaluation left with exit status 4' --eval 'echo METRIC score=1; exit 4' -- true
ends preflight_crash 'the preflight left with exit status 5' --preflight 'echo METRIC score=1; exit 5' -- sh -c 'touch trained'
ends preflight_crash 'the preflight took more than 0.3 s' --preflight 'sleep 600' --train-seconds 0.3 -- sh -c 'touch trained'
must_equal no "$([ -e trained ] && echo yes || echo no)" "trained after a preflight that failed"
ends crash 'did not leave' --artifact 'nothing*' -- sh -c 'echo METRIC score=1'
ends size_blocked 'has 2000 bytes, 1000 are allowed' --artifact '{workdir}/*.bin:1e3' -- \
    sh -c 'head -c 900 /dev/zero >{workdir}/a.bin; head -c 2000 /dev/zero >{workdir}/b.bin; echo METRIC score=1'
echo evaluator >evaluate && echo other >other
ends disqualified 'evaluate changed' --protect evaluate -- sh -c 'echo METRIC score=1; echo more >>evaluate'
ends disqualified 'evaluate changed' --protect other --protect evaluate --eval 'echo METRIC score=1; rm evaluate' -- true
if [ -r /proc/self/stat ]; then
    # Memory is sampled, or limited by the kernel in a control group.
    ends crash ' 30000000 ' --memory 30e6 -- \
        sh -c '(setsid sh -c "x=0123456789abcdef; i=0; while [ \$i -lt 22 ]; do x=\$x\$x; i=\$((i + 1)); done; sleep 600"); :'
fi
run run -C e -q -- ./nowhere
must_exit 3
must_have err 'cannot start ./nowhere'

# ---- a separate evaluation ----
must_run run -C v --direction higher -q --preflight 'echo METRIC score=9' --eval 'cat {workdir}/policy; echo METRIC score=0.5' \
    --train-seconds 60 --eval-seconds 60 -- sh -c 'echo METRIC score=0.1; echo x >{workdir}/policy'
must_equal 0.5 "$(field v 10)"
must_equal 'params.json policy' "$(cd v/snapshots/000_ && echo *)"

# ---- seeds: one row, the mean; std and n beside it ----
must_run run -C n --direction higher -q --seeds 3 --seed 5 -- sh -c 'echo METRIC score={seed}; echo METRIC loss=$LINEAGE_SEED'
must_equal 6.0 "$(field n 10)"
must_have n/results.tsv 'mean of 3 seeds, std 1'
must_equal '6.0 1.0 3 7.0' "$(json final.score n/telemetry/000.json) $(json final.score_std n/telemetry/000.json) $(json final.seeds n/telemetry/000.json) $(json run_3.0.loss n/telemetry/000.json)"
run run -C n -q --seeds 3 -- sh -c '[ {seed} -lt 2 ] && echo METRIC score=1'
must_exit 1
must_equal crash "$(field n 9)"

# ---- a baseline with seeds sets the noise, and --status auto keeps improvements beyond it ----
run run -C f --direction higher -q --baseline --seeds 3 -- sh -c 'echo METRIC score={seed}'
must_exit 0
must_have err 'noise floor of the store is now 1 from 3 seeds, 95 % interval 0.521 to 6.28'
must_equal 'higher 1.0 2 3' "$(json direction f/lineage.json) $(json noise_std f/lineage.json) $(json noise_freedom f/lineage.json) $(json noise_runs f/lineage.json)"
must_run run -C f -q -- sh -c 'echo METRIC score=4.5'
must_equal discard "$(field f 9)"
must_have f/results.tsv 'discarded: +2.5, needs more than 44.7'
must_run run -C f -q --seeds 2 -- sh -c 'echo METRIC score=34'
must_equal keep "$(field f 9)"
must_run run -C f -q --baseline --seeds 2 -- sh -c 'echo METRIC score=7{seed}'
must_equal 0.7905678987 "$(json noise_std f/lineage.json)" "pooled over 3, 2 and 2 seeds"

# ---- logs and status, while it runs and afterwards ----
"$LINEAGE" run -C r --direction lower -q --specialist me --train-seconds 3000 -p a=2 -- sh -c \
    'echo first; echo "METRIC step=3 loss=0.25"; touch up; until [ -e down ]; do sleep 0.02; done; echo last; echo METRIC score=1' >id &
until [ -e up ] && "$LINEAGE" -C r status | grep -q 0.25; do sleep 0.05; done
must_run -C r status --format json
must_equal 'me 3 loss 0.25 running' "$(json 0.name) $(json 0.step) $(json 0.metrics) $(json 0.phase)"
must_equal yes "$(awk "BEGIN {if ($(json 0.left) > 100) print \"yes\"}")" "time left"
at=$(json 0.trial)
must_run -C r logs "$at"
must_have out first
must_lack out last
"$LINEAGE" -C r logs -f "$at" >followed &
until grep -q first followed; do sleep 0.02; done
touch down
wait
must_have followed last
must_equal 000 "$(cat id)"
must_run -C r logs 000
must_match_file followed out
run -C r status
must_exit 1
must_fail 2 "no trial '77'" -C r logs 77
run run -C r -q -- sh -c 'seq 1 2000000; echo "the end; alpha=3"; printf "\033[1mred\377"; exit 1'
must_exit 1
must_equal yes "$([ "$(wc -c <r/logs/001.log)" -lt 3300000 ] && echo yes)" "a log of bounded size"
must_equal '1 yes' "$(head -n 1 r/logs/001.log) $(grep -q 'bytes are left out here' r/logs/001.log && echo yes)"
must_have r/logs/001.log 'the end; alpha=3'

# On a terminal, a log cannot change the title, move the cursor or hide text; with --raw and in a pipe it is unchanged.
must_run run -q -C escapes --direction lower -m loss -- printf 'a\tb \033]0;title\007 \302\233 \342\200\256 \377 \303\244\nloss 1\n'
must_run -C escapes logs 000
must_equal yes "$(grep -q "$(printf '\033]0;title')" out && cmp -s out escapes/logs/000.log && echo yes)" "a pipe gets the bytes"
if command -v script >/dev/null; then
    script -qec "'$LINEAGE' -C escapes logs 000" /dev/null >out 2>err </dev/null
    must_equal 0 "$(LC_ALL=C grep -c "$(printf '[\001-\010\033\177]\|\302\233\|\342\200\256\|\377')" out)" "control characters on a terminal"
    must_have out "a${tab}b "
    must_have out ']0;title'
    must_have out 'ä'
    script -qec "'$LINEAGE' -C escapes logs 000 --raw" /dev/null >out 2>err </dev/null
    must_have out "$(printf '\033]0;title')"
fi
case $(field r 17) in *'last lines: '*'the end, alpha=3 | '*red*) ;; *) fail "notes: $(field r 17)" ;; esac
must_run -C r show 001 --format json
must_equal '' "$(json params.alpha 2>/dev/null)" "a parameter out of the log"
must_run -C r verify

# ---- provenance: git, without the repository's configuration ----
if command -v git >git.path; then
    HOME=$scratch
    export HOME
    mkdir repo && cd repo || exit 3
    git init -q . && git config user.email a@b && git config user.name a
    printf 'one\n' >train.py && printf '*.py filter=evil diff=evil\n*.log\n' >.gitattributes && printf 'ignored\n' >.gitignore
    git add . && git commit -q -m first
    # Every program that a repository's configuration can name; none may run.
    trap_sh="touch $scratch/ran; cat"
    for key in filter.evil.clean filter.evil.smudge filter.evil.process diff.evil.textconv diff.evil.command diff.external \
        core.fsmonitor core.pager core.sshCommand core.editor core.alternateRefsCommand; do
        git config "$key" "$trap_sh"
    done
    mkdir -p hooks && for hook in post-index-change pre-commit post-checkout; do
        printf '#!/bin/sh\ntouch %s/ran\n' "$scratch" >hooks/$hook && chmod +x hooks/$hook
    done
    git config core.hooksPath "$PWD/hooks"
    printf 'two\n' >>train.py && printf 'staged\n' >new.py && git -c filter.evil.clean=cat -c filter.evil.process= add new.py
    printf 'loose\n' >loose.txt && printf 'secret\n' >ignored
    rm -f "$scratch/ran"
    API_TOKEN=hunter2 FLAVOUR=lemon OMP_NUM_THREADS=1
    export API_TOKEN FLAVOUR OMP_NUM_THREADS
    must_run run -C ../g --direction higher -q -p alpha=0.5 --keep-env FLAVOUR --keep-env API_TOKEN --env MY_KEY=hunter2 \
        --env PLAIN=x --version-of 'echo version 7' --version-of 'exit 1' -- sh -c 'echo METRIC score={alpha}'
    must_equal no "$([ -e "$scratch/ran" ] && echo yes || echo no)" "a program that the repository's configuration names ran"
    git diff >/dev/null 2>&1
    must_equal yes "$([ -e "$scratch/ran" ] && echo yes)" "the trap is one: git alone runs it"
    cd .. || exit 3
    p=g/provenance/000
    must_equal "run.json staged.diff unstaged.diff untracked" "$(cd $p && echo *)"
    must_equal "$(git -C repo rev-parse HEAD)" "$(json git.commit $p/run.json)"
    must_have $p/staged.diff '+staged'
    must_have $p/unstaged.diff '+two'
    must_lack $p/unstaged.diff 'staged'
    must_equal 'err hooks loose.txt out' "$(cd $p/untracked && echo *)"
    must_equal 'lemon 1 x version 7' "$(json kept_environment.FLAVOUR $p/run.json) $(json kept_environment.OMP_NUM_THREADS $p/run.json) $(json env.PLAIN $p/run.json) $(json 'versions.echo version 7' $p/run.json | sed 's/^null$//')"
    checks=$((checks + 1))
    ! grep -r hunter2 g || fail "a secret is in the store"
    (cd repo && printf 'three\n' >>train.py && "$LINEAGE" run -C ../g -q -p alpha=0.4 --parent 000 -- sh -c 'echo METRIC score={alpha}') >id
    must_run -C g show 001
    must_have out 'echo METRIC score={alpha}'
    must_have out "$(git -C repo rev-parse HEAD)"
    must_run -C g show 001 --format json
    must_equal 0.4 "$(json provenance.params.alpha)"
    # The same run again from the original files; the current ones differ and give another score.
    (cd repo && printf 'cat train.py new.py loose.txt | cksum | sed "s/ .*//; s/^/METRIC score=/"\n' >score.sh && mkdir -p sub &&
        git add score.sh && git -c core.hooksPath=/dev/null commit -q -m more && cd sub &&
        "$LINEAGE" run -C ../../g -q --specialist it --env KEY=1 -- sh -c 'cd .. && sh score.sh') >id 2>/dev/null
    id=$(cat id)
    (cd repo && printf 'four\n' >>train.py && rm -f loose.txt "$scratch/ran")
    run -C g rerun "$id" -q
    must_exit 0
    must_have err "the score of $id came out the same"
    must_equal no "$([ -e "$scratch/ran" ] && echo yes || echo no)" "a program that the repository's configuration names ran"
    again=$(cat out)
    must_equal "$(awk -F '\t' -v i="$id" '$1 == i { print $10, $3 }' g/results.tsv)" "$(awk -F '\t' -v i="$again" '$1 == i { print $10, $3 }' g/results.tsv)"
    must_have g/results.tsv "rerun of $id"
    run -C g rerun "$again" -q
    must_exit 0
    run -C g rerun "$id" -q --here
    must_exit 1
    must_have err 'did not come out the same'
    must_equal '' "$(find g -name '.rerun-*')" "left behind"
    run -C g diff 001
    must_have out '+three'
    must_have out '"alpha": 0.4'
else
    printf 'no git here: provenance is not checked\n'
fi

# ---- parents ----
must_run run -C n -q --parent best -- sh -c 'echo METRIC score=900'
must_equal '000 keep' "$(field n 4) $(field n 9)"
must_fail 2 "no trial '77'" run -C n --parent 77 -- true
must_run -C n verify
must_run -C e verify
finish
