#!/bin/sh
# shellcheck disable=SC2016,SC2154 # commands for another shell; shared with shell.sh
# metrics.sh: metrics in the forms in which programs print them, patterns, which value counts, and --dry-metrics.
. "$SOURCE/tests/support/shell.sh"

field()
{
    tail -n 1 "$1/results.tsv" | cut -f "$2"
}

# form SCORE NAME FORMAT: a program that prints the text of printf's FORMAT has this score, and the dry run of the saved
# log agrees.
form()
{
    printf "$3" >printed
    rm -rf forms # a store has one score
    must_run run -C forms --direction lower -q -m "$2" -- cat printed
    must_equal "$1" "$(field forms 10)" "$3"
    must_run run --dry-metrics printed -m "$2" --format json
    must_equal "$1" "$(json score.value)" "dry: $3"
}

# ---- real programs: makemore, micrograd, llama2.c, Keras, scikit-learn, transformers, tqdm, logging ----
form 2.14 'train loss' 'step 500 train loss: 2.14 test loss: 2.20\n'
form 2.2 test_loss 'step 500 train loss: 2.14 test loss: 2.20\n'
form 2.1424 loss 'step 500 | loss 2.1424 | step time 14.34ms\n'
form 0.4 loss 'step 3 loss 0.4, accuracy 90%%\n'
form 90.0 accuracy 'step 3 loss 0.4, accuracy 90%%\n'
form 2.2043 val_loss 'step 500: train loss 2.1401, val loss 2.2043\n500 | loss 2.1523 | lr 5.000000e-04 | 89.12ms | mfu 4.12%%\n'
form 0.0005 lr '500 | loss 2.1523 | lr 5.000000e-04 | 89.12ms | mfu 4.12%%\n'
form 3.0 loss '32/32 [==============================] - 0s 1ms/step - loss: 3 - val_loss: 2\n'
form 2.0 val_loss ' - loss: 3 - val_loss: 2\n'
form 0.31420013 loss 'Iteration 12, loss = 0.31420013\n'
form 3.25 loss "{'loss': 3.25, 'learning_rate': 5e-05, 'epoch': 1.0}\n"
form 3.25 loss '{"loss": 3.25}\n'
form 3.2 loss '  0%%|     | 0/2 [00:00<?, ?it/s, loss=4]\r 50%%|██   | 1/2 [00:01<00:01, loss=3.2]\r'
form 3.0 loss '\033[1;32mloss\033[0m: \033[33m3\033[0m\n'
form 3.0 loss '   loss: 3\n'
form 3.0 loss 'Loss: 3\n'
form 3.0 loss 'loss=3\n'
form 3.0 loss '2026-11-22 10:11:12,345 - train - INFO - loss: 3\n'
form 3.0 loss 'INFO:root:loss=3\n'
form 3.0 loss 'nothing before\nloss: 3'

# `METRIC loss=3` needs no name, and a metric on standard error may come while standard output is inside a line.
must_run run -C forms -q -- echo METRIC loss=3
must_equal 3.0 "$(field forms 10)"
must_run run -C forms -q -m loss -- sh -c 'printf "50 %% of "; echo "loss: 3" >&2; sleep 0.1; echo "the data, loss unknown"'
must_equal 3.0 "$(field forms 10)"
# Both streams are read in order of arrival: a progress bar just before the value does not replace it, nor the other way round.
must_run run -C forms -q -m loss -- sh -c 'i=0; while [ $i -lt 20 ]; do echo "bar loss=9.5" >&2; echo "loss: 0.25"; i=$((i + 1)); done'
must_equal 0.25 "$(field forms 10)"
must_run run -C forms -q -m loss -- sh -c 'i=0; while [ $i -lt 20 ]; do echo "loss: 0.25"; echo "loss=9.5" >&2; i=$((i + 1)); done'
must_equal 9.5 "$(field forms 10)"
# Rich cuts names at 80 columns, so commands get a wide COLUMNS; --env has precedence.
rm -rf forms
must_run run -C forms --direction lower -q -m columns -- sh -c 'echo columns $COLUMNS'
must_equal 400.0 "$(field forms 10)"
must_run run -C forms -q -m columns --env COLUMNS=90 -- sh -c 'echo columns $COLUMNS'
must_equal 90.0 "$(field forms 10)"
run run -C forms2 --direction lower -q -m loss -- echo 'loss: 1,234.5'
must_exit 1
must_have err 'the number has a comma inside: loss: 1,234.5'
must_equal ' harness_abort' "$(field forms2 10) $(field forms2 9)"
run run -C forms2 -q -m loss -- echo 'METRIC score=3 acc: 4'
must_exit 1
must_have err 'exit 0 without a score: looked for `loss`, saw `METRIC score`, nearest line: METRIC score=3 acc: 4'

# Names with a meaning in events are metrics like others if they are asked for, and steps come from the same line.
must_run run -C names --direction lower -q -m val_loss -m steps -m step -m train_s -- echo 'val_loss 0.5 steps 10 step 7 train_s 9'
must_have names/results.tsv 'metrics val_loss=0.5, steps=10.0, train_s=9.0, step=7.0;'
must_equal 7 "$(json steps.0.step names/telemetry/000.json)"
must_run run -C names1 --direction lower -q -m step -- echo 'step 7'
must_equal 7.0 "$(field names1 10)"
must_run run -C names2 --direction lower -q -m loss -m steps -- sh -c 'echo "{\"steps\": 10, \"step\": 2, \"loss\": 0.5}" >"$LINEAGE_EVENTS"'
must_have names2/results.tsv 'steps=10.0'

# Two candidates in one line, a name that was cut off and a number that is refused are reported with the first such line.
run run -C doubts --direction lower -q -m loss -m acc -- sh -c 'for i in 1 2; do echo "loss 0.5 (0.45)"; echo "acc: 45/60"; done'
must_exit 0
must_have err 'loss: a line has two numbers, of which the first counts: loss 0.5 (0.45) (--metric-regex says which digits count)'
must_have err 'acc: 2 lines are not read, because the number is a fraction: acc: 45/60'
must_have doubts/results.tsv 'score by a name that was asked for, the first of two numbers in its line'
run run -C doubts -q -m loss -- echo 'train loss 0.5, test loss 0.4'
must_have err 'loss: a line has the name twice, and the last number counts: train loss 0.5, test loss 0.4'
must_equal 0.4 "$(field doubts 10)"
run run -C doubts1 --direction lower -q -m val_mean_absolute_error -- echo 'val_mean_abs... 0.4'
must_have err 'val_mean_absolute_error: the program has cut the name off: val_mean_abs... 0.4'
run run -C doubts2 --direction higher -q -m acc -- sh -c 'echo acc 0.9; echo acc 91%; echo acc 0.92'
must_have err 'acc: 1 lines are not read, because the number has another unit than before: acc 91%'
must_equal 0.92 "$(field doubts2 10)"

# ---- patterns ----
cat >train.sh <<'END'
for i in 3 1 2; do echo "step $i train loss: 2.1$i test loss: 2.2$i acc 0.$i"; done
END
must_run run -C s --direction lower -q --metric-regex 'loss=test loss: ([\d.e+-]+)' -- sh train.sh
must_equal '2.22 keep' "$(field s 10) $(field s 9)"
must_have s/results.tsv 'score by a pattern'
# The pattern alone reads its metric, although -m would find the training loss in each line too.
must_run run -C s -q -m loss --metric-regex 'loss=test loss: ([\d.e+-]+)' -- sh -c 'sh train.sh; echo "METRIC loss=9"; echo "loss: 8"'
must_equal 2.22 "$(field s 10)"
must_run run -C s -q --metric-regex 'loss=(?<=test loss: )\S+' --metric-regex 'a=acc (.*)' -- sh train.sh
must_equal 2.22 "$(field s 10)"
must_fail 2 "missing terminating ] for character class at character 11 of the pattern 'loss: ([\\d'" run -C s -q --metric-regex 'loss=loss: ([\d' -- true
must_fail 2 "'loss' is not NAME=REGEX" run -C s -q --metric-regex loss -- true
run run -C s -q --metric-regex 'loss=loss: ([\d.]+)' -- echo 'loss: 1,234.5'
must_exit 1
must_have err 'looked for `loss` by its pattern, but the number has a comma inside: loss: 1,234.5'
run run -C s -q --metric-regex 'loss=loss: (\S+)' -- echo 'loss: 0.5s'
must_exit 1
must_have err 'the text that the pattern matched is not a number: loss: 0.5s'
must_run run -C b --direction lower -q --metric-regex 'b=^\d+,(\d+),' -- echo '10,200,3000'
must_equal 200.0 "$(field b 10)"
# A pattern that backtracks without end gives up, says so, and the trial goes on.
awk 'BEGIN { for (i = 0; i < 60; i++) printf "a"; print "c b" }' >hard
run run -C s -q --metric-regex 'loss=^(a|aa|a*)*b' -- cat hard
must_exit 1
must_have err 'gave up on 1 lines'
must_have err 'the pattern gave up, because it backtracked too often'

# ---- which value counts ----
take()
{
    must_run run -C accs --direction lower -q -m acc --metric-take "acc=$1" -- sh train.sh
    must_equal "$2" "$(field accs 10)" "acc=$1"
}
take min 0.1
take max 0.3
take last 0.2
take mean:2 0.15000000000000002
take mean:1 0.2
take mean:9999 0.20000000000000004
must_run run -C accs -q -m acc --metric-take acc=min -- sh -c 'sh train.sh; echo acc: nan'
must_equal 0.1 "$(field accs 10)" 'the smallest value before a nan counts'
must_have accs/results.tsv 'score by a name that was asked for, minimum of 4 values'
run run -C accs -q -m acc -- sh -c 'sh train.sh; echo acc: nan'
must_exit 1
must_equal crash "$(field accs 9)"
run run -C accs -q -m acc --metric-take acc=mean:2 -- sh -c 'sh train.sh; echo acc: nan'
must_exit 1
for wrong in acc acc= acc=avg acc=mean acc=mean: acc=mean:0 acc=mean:x acc=mean:10001 acc=mean:99999999999999999999 =min; do
    must_fail 2 "$wrong" run -C accs -q -m acc --metric-take "$wrong" -- true
done
# The seeds' scores are taken seed by seed.
must_run run -C accs -q --seeds 2 -m acc --metric-take acc=max -- sh -c 'echo acc {seed}; echo acc 0'
must_equal 1.5 "$(field accs 10)"
# An evaluation's lines count too.
must_run run -C accs -q -m acc --metric-take acc=max --eval 'echo acc 0.9' -- sh train.sh
must_equal 0.9 "$(field accs 10)"

# With an evaluation, only what it reports is the score, whatever the channel of the training.
must_run run -C accs -q -m acc --eval 'echo acc 0.4' -- echo 'METRIC acc=0.97'
must_equal 0.4 "$(field accs 10)"
run run -C accs -q -m acc --eval true -- echo 'acc 0.99'
must_exit 1
must_have err 'the evaluation printed no score, the training printed 0.99'
must_equal ' harness_abort' "$(field accs 10) $(field accs 9)"

# The pattern was written for the training; what the evaluation prints counts in any form, and where the pattern matches, by it.
must_run run -C accs -q --metric-regex 'acc=final acc ([\d.]+)' --eval 'echo METRIC acc=0.3' -- echo 'final acc 0.98'
must_equal 0.3 "$(field accs 10)"
must_run run -C accs -q --metric-regex 'acc=final acc ([\d.]+)' --eval 'echo acc 0.1; echo final acc 0.35; echo acc 0.2' -- echo 'final acc 0.98'
must_equal 0.35 "$(field accs 10)"

# ---- the name of the score ----
must_run run -C named --direction lower -q -m val_loss -m train_loss -- echo train_loss 2 val_loss 2.5
must_equal val_loss "$(json score named/lineage.json)"
# Where no trial printed it, the column to ask for is named.
must_run init unprinted
must_run append -C unprinted --score val_loss --status baseline --core-metric 3
for question in 'query -p val_loss=2:' 'query --sort val_loss' 'sweep val_loss'; do
    # shellcheck disable=SC2086 # options
    must_fail 2 "no column or parameter 'val_loss' (the name of the score, which is the column 'score'); known are" $question -C unprinted
done
for question in '"where":{"val_loss":1}' '"sort":"val_loss"' '"fields":["val_loss"]'; do
    printf '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query","arguments":{%s},"_meta":{%s,%s}}}\n' "$question" \
        '"io.modelcontextprotocol/protocolVersion":"2026-07-28"' '"io.modelcontextprotocol/clientCapabilities":{}'
done >asked
"$LINEAGE" mcp -C unprinted <asked >out
must_equal 3 "$(grep -cF "no field 'val_loss' (did you mean 'score'?)" out)" 'MCP'
for names in '-m train_loss -m val_loss' '-m acc' '--score ppl' '--metric-regex ppl=(\S+)' '--metric-file acc=f.csv'; do
    # shellcheck disable=SC2086 # options
    must_fail 2 'name the score with --score val_loss, or use another store' run -C named -q $names -- echo val_loss 0 acc 0
done
must_run run -C named -q -m train_loss --score val_loss -- echo train_loss 1 val_loss 3.5
must_equal '3.5 discard' "$(field named 10) $(field named 9)"
# Without a name, the store's counts, also against the only name after METRIC.
must_run run -C named -q -- echo val_loss 2
must_equal 2.0 "$(field named 10)"
run run -C named -q -- echo METRIC ppl=0.1
must_exit 1
must_have err 'exit 0 without a score: looked for `val_loss`, saw `METRIC ppl`'
must_run run -C only --direction lower -q -- echo METRIC eval_loss=0.5
must_equal eval_loss "$(json score only/lineage.json)"
printf '{"name": "n", "metrics": ["acc"], "command": "echo acc {x}", "grid": {"x": [0.05, 0.9]}}' >named.json
run night named.json -C named -q
must_exit 2
must_have err 'scores of another name, `acc`'
must_equal 4 "$(grep -c '^0' named/results.tsv)"
# A trial that fails names no score.
run run -C failed --direction lower -q -m los -- sh -c 'echo los 1; exit 1'
must_run run -C failed -q -m loss -- echo loss 1
printf 'id,val_loss,acc\na,1,0.5\n' >runs.csv
run import -C named runs.csv --metric acc --map val_loss=metric --map acc=metric
must_exit 2
must_have err 'scores of another name, `acc`'
must_run import -C named runs.csv --metric val_loss --map val_loss=metric --map acc=metric

# ---- files that a training leaves ----
cat >leave.py <<'END'
import json, os, sys
where = sys.argv[2] if len(sys.argv) > 2 else "left"
os.makedirs(where, exist_ok=True)
log = [{"step": 1, "eval_loss": 0.9, "loss": float("nan")}, {"step": 2, "eval_loss": 0.686312345}]
json.dump({"best_metric": None, "log_history": log}, open(where + "/trainer_state.json", "w"))
print("'eval_loss': '%s'" % sys.argv[1] if sys.argv[1] != "-" else "done")
END
files() { run run -C files --direction lower -q -m eval_loss "$@"; }
files -- python3 leave.py 0.6863
must_exit 0
must_have err 'eval_loss 0.686312345 is read from left/trainer_state.json, which the trial has written (printed: 0.6863)'
must_equal 0.686312345 "$(field files 10)"
must_have files/results.tsv 'score by the file left/trainer_state.json'
files -- python3 leave.py - '{workdir}/deep'
must_exit 0
must_have err 'deep/trainer_state.json, which the trial has written (printed: nothing)'
files -- python3 leave.py 0.7
must_have err 'eval_loss 0.7 counts as printed, although left/trainer_state.json has 0.686312345'
must_equal 0.7 "$(field files 10)"
# The newest of several checkpoints counts; files of different trainings are not chosen from.
files -- sh -c 'for n in 1 2; do mkdir -p many/checkpoint-$n; echo "{\"eval_loss\": $n}" >many/checkpoint-$n/trainer_state.json; sleep 0.05; done'
must_exit 0
must_equal 2.0 "$(field files 10)"
files -- sh -c 'for n in 1 2; do mkdir -p many$n/c; echo "{\"eval_loss\": $n}" >many$n/c/trainer_state.json; done'
must_exit 1
must_have err 'exit 0 without a score: 2 files have `eval_loss` and differ, for example many'
must_have err "say which counts: --metric-file 'eval_loss=many"
must_have files/results.tsv '2 files have `eval_loss` and differ'
files -- true
must_exit 1 # the file is older than this trial
files --eval true -- python3 leave.py -
must_exit 1
must_have err 'exit 0 without a score'
must_run run -C files -q -m eval_loss --metric-file 'eval_loss=l*t/trainer_state.json' --metric-take eval_loss=max -- python3 leave.py 0.7
must_equal 0.9 "$(field files 10)"
must_have files/results.tsv 'score by the file left/trainer_state.json, maximum of its values'
run run -C diverged --direction lower -q -m eval_loss -- sh -c 'python3 leave.py -; echo eval_loss nan'
must_exit 1
must_have err 'its score is not a finite number' # also if a file has an earlier value
files --metric-file eval_loss=none.json -- python3 leave.py 0.7
must_exit 1
must_have err 'exit 0 without a score: --metric-file eval_loss: the trial did not write none.json'
files --metric-file best=left/trainer_state.json -- python3 leave.py 0.6863
must_exit 0
must_have err '--metric-file best: left/trainer_state.json has no best'
must_fail 2 "metric-file: 'x' is not NAME=PATH" run -C files -q --metric-file x -- true
must_run run -C key --direction lower -q --metric-file 'score=f.json#results/arc/acc,none' -- sh -c 'echo "{\"results\": {\"arc\": {\"acc,none\": 0.25}}}" >f.json'
must_equal 0.25 "$(field key 10)"
must_run run -C key -q --metric-file 'score=f.csv' -- sh -c 'printf "# made by x\n  epoch,   Score\n1,0.5\n2,0.75\n3,\n" >f.csv'
must_equal 0.75 "$(field key 10)"
run run -C nan --direction lower -q --metric-file loss=f.jsonl -- sh -c 'printf "{\"loss\": 1}\n{\"loss\": NaN}\n{\"lo" >f.jsonl'
must_exit 1
must_have err 'its score is not a finite number'
must_run run -C files --dry-metrics -q --metric-file eval_loss=left/trainer_state.json --format json -- python3 leave.py 0.7
must_equal '0.686312345 file' "$(json score.value) $(json score.line)"

# Event files in one directory are one run, whoever wrote which of its metrics; those of two runs are not chosen from.
keras=$SOURCE/fixtures/real/histories/keras-3.15/lr0.01
copy() { printf 'mkdir -p %s && cat %s/*.tfevents.* >%s/%s' "$2" "$1" "$2" "$3"; }
run run -C events --direction lower -q -m epoch_loss -- sh -c "$(copy "$keras/train" one a.tfevents.1) && $(copy "$keras/validation" one a.tfevents.2)"
must_equal 1.0013712644577026 "$(field events 10)"
must_run run -C events -q -m epoch_learning_rate -m epoch_loss --score epoch_loss --metric-file 'epoch_loss=one/*.tfevents.*' -- \
    sh -c "$(copy "$keras/validation" one a.tfevents.3); $(copy "$SOURCE/fixtures/real/tensorboard/runs" one a.tfevents.4)"
must_equal 1.0013712644577026 "$(field events 10)"
run run -C events -q -m epoch_loss -- sh -c "$(copy "$keras/train" two/train a.tfevents.1) && $(copy "$keras/validation" two/validation a.tfevents.2)"
must_exit 1
must_have err "exit 0 without a score: 2 files have \`epoch_loss\` and differ"
must_have err "say which counts: --metric-file 'epoch_loss=two/"
must_have err "/*.tfevents.*'"
run run -C events -q --metric-file 'epoch_loss=three/*/*' -- sh -c "$(copy "$keras/train" three/train a.tfevents.1) && $(copy "$keras/validation" three/validation a.tfevents.2)"
must_exit 0
must_have err 'counts, the newest of 2 files of the trial that match; a narrower pattern names another'
run run --dry-metrics /dev/null --metric-file "epoch_loss=$keras"
must_have err 'lr0.01 has train/epoch_loss and validation/epoch_loss; write NAME=PATH#train/epoch_loss for one of them'
run run --dry-metrics /dev/null --metric-file "val_loss=$SOURCE/fixtures/real/histories/wandb-0.31#plain/val_loss" --format json
must_equal 0.8 "$(json score.value)"

# A sweep names the file by its key, and each trial has its own in {workdir}.
printf '{"name": "n", "direction": "lower", "command": "python3 leave.py - {workdir}/{x}", "metric_file": ["eval_loss={workdir}/*/trainer_state.json"], "grid": {"x": [1, 2]}}' >file.json
must_run night file.json -C sweep -q
must_equal 0.686312345 "$(field sweep 10)"
must_have sweep/results.tsv 'score by the file {workdir}/2/trainer_state.json'
sed 's/eval_loss=/eval_loss/' file.json >wrong.json
must_fail 2 "is not NAME=PATH" night wrong.json -C sweep2 -q

# rerun repeats patterns and rules, and provenance records them.
must_run run -C r --direction lower -q --metric-regex 'loss=test loss: ([\d.e+-]+)' --metric-take loss=min -- sh "$PWD/train.sh"
must_equal 2.21 "$(field r 10)"
must_equal 'loss=test loss: ([\d.e+-]+) loss=min' \
    "$(json metric_regex.0 r/provenance/000/run.json) $(json metric_take.0 r/provenance/000/run.json)"
run rerun -C r --here 000
must_exit 0
must_equal 2.21 "$(field r 10)"

# A sweep's trials and their workers read them from the file; a wrong one is refused before the first trial.
cat >sweep.json <<END
{"name": "n", "command": ["sh", "$PWD/train.sh"], "metric_regex": ["loss=test loss: ([\\\\d.e+-]+)"],
 "metric_take": ["loss=max"], "grid": {"alpha": [1, 2]}}
END
must_run init night --direction lower
run night sweep.json -C night --hours 1 -q
must_exit 0
must_equal '2.23 2.23 ' "$(sed 1d night/results.tsv | cut -f 10 | tr '\n' ' ')"
sed 's/(\[/([/; s/+)"/+"/' sweep.json >wrong.json
run night wrong.json -C night --hours 1 -q
must_exit 2
must_have err 'missing closing parenthesis at character'
sed 's/loss=max/loss=best/' sweep.json >wrong.json
run night wrong.json -C night --hours 1 -q
must_exit 2
must_have err "'loss=best': use min, max, last or mean:N"
must_equal 3 "$(wc -l <night/results.tsv | tr -d ' ')"

# ---- dry run ----
mkdir empty
cd empty || exit 3
must_run run --dry-metrics -q --metric-regex 'loss=test loss: ([\d.e+-]+)' --metric-take loss=min -m acc -- \
    sh -c 'sh ../train.sh; echo METRIC gpu=4 >&2; echo "{\"memory\": 7, \"score\": 3}" >"$LINEAGE_EVENTS"' 
must_equal '' "$(ls -A | grep -v '^out$\|^err$')"
must_have out 'loss     2.21  minimum       3  output:2          step 1 train loss: 2.11 test loss: 2.21 acc 0.1'
must_have out 'gpu       4.0  last          1  output:4          METRIC gpu=4'
must_have out 'memory    7.0  last          1  LINEAGE_EVENTS:1  '
must_have out 'score: acc 3.0 from line LINEAGE_EVENTS:1, because it is the first --metric; found by LINEAGE_EVENTS'
run run --dry-metrics -q -m acc -- sh -c 'echo acc 3; exit 4'
must_exit 1
must_have err 'left with exit status 4'
run run --dry-metrics -q -m lost --metric-take lots=min -- echo 'losst: 3'
must_exit 1
must_have err 'no score: looked for `lost`, nearest line: losst: 3'
must_have err 'metric-take lots: no value of that name was read'
# The nearest line is shown without colours, and nothing of an earlier line follows it.
run run --dry-metrics -q -m lost -- sh -c 'printf "\033[32mlosst: 4 after many steps\033[0m\n"; sleep 0.2; printf "\033[32mlosst: \033[1m3\033[0m\n"'
must_exit 1
must_equal 1 "$(grep -c 'no score: looked for `lost`, nearest line: losst: 3$' err)"
must_fail 3 'cannot start' run --dry-metrics -q -- ./nothing-there
must_run run --dry-metrics -q --seeds 2 --eval 'echo acc {seed}' -m acc -- true
must_have out 'score: acc 2.0 from line output:2'
cd .. || exit 3
sh train.sh >log
must_run run --dry-metrics log --score acc -m 'test loss' --format json
must_equal 'acc 0.2 3' "$(json score.name) $(json score.value) $(json score.line)"
must_equal 'it is the first --metric; found by its name' "$(run run --dry-metrics log -m acc --format json; json score.why)"
must_equal 'step 2 train loss: 2.12 test loss: 2.22 acc 0.2' "$(json score.text)"
"$LINEAGE" run --dry-metrics -m acc --format tsv <log >out
must_equal "acc${tab}0.2${tab}last${tab}3${tab}3${tab}step 2 train loss: 2.12 test loss: 2.22 acc 0.2" "$(sed 1d out)"
must_fail 2 'No such file' run --dry-metrics no-log -m acc
must_fail 2 'Is a directory' run --dry-metrics . -m acc
must_fail 2 'either' run --dry-metrics log -m acc -- true
must_fail 2 'no command after' run --dry-metrics -m acc --
must_fail 2 "unexpected argument 'log'" run log
# Hostile logs: bytes, a line of 3 MB, control characters in what is shown.
{
    head -c 100000 /dev/urandom
    printf '\n'
    head -c 3000000 /dev/zero | tr '\0' 'x'
    printf '\nacc 5 \033]0;title\a\001\n'
} >hostile.log
run run --dry-metrics hostile.log -m acc
must_exit 0
must_have out 'score: acc 5.0'
must_equal '' "$(tr -d '\n' <out | tr -dc '\001-\037\177')"

# ---- every metric is a column ----
cat >two.sh <<'END'
echo "train_loss 2.$1 val_loss 3.$1 eval/top 1: 0.$1"
[ "$1" != 3 ] || echo "METRIC extra=$1"
END
for n in 1 3 2; do
    must_run run -C cols --direction lower -q -p alpha=0.$n -m val_loss -m train_loss -m 'eval/top 1' -- sh two.sh $n
done
must_have cols/results.tsv 'alpha=0.1; metrics train_loss=2.1, val_loss=3.1, eval_top_1=0.1'
must_equal '0.1 2.3 0.3 3.0 ' "$(for m in 000:eval_top_1 001:train_loss 001:eval_top_1 001:extra; do
    run show -C cols "${m%:*}" --format json; printf '%s ' "$(json "metrics.${m#*:}")"; done)"
must_run show -C cols 001
must_have out 'eval_top_1          0.3'
must_run query -C cols --param train_loss=2.15: --sort train_loss --format tsv
must_equal '002 001 ' "$(sed 1d out | cut -f 1 | tr '\n' ' ')"
must_run query -C cols --param eval_top_1=:0.25 --param alpha=0.15: --sort -train_loss --format tsv
must_equal '002 ' "$(sed 1d out | cut -f 1 | tr '\n' ' ')"
must_run query -C cols --sort -train_loss --limit 1 --format tsv
must_equal '001 ' "$(sed 1d out | cut -f 1 | tr '\n' ' ')"
must_run query -C cols --param extra=: --format tsv
must_equal '001 ' "$(sed 1d out | cut -f 1 | tr '\n' ' ')"
must_fail 2 "metric 'train_loss' holds numbers; 'low' is not a number" query -C cols --param train_loss=low
must_fail 2 "no column or parameter 'train_los'" query -C cols --param train_los=1
must_run sweep -C cols train_loss --format tsv
must_equal '2.1 1 3.1 000 ' "$(sed -n 2p out | cut -f 1-4 | tr '\t' ' ') "
must_run sweep -C cols alpha train_loss --format json
must_equal '3 0 0.2 2.2' "$(json 'cells.#') $(json 'untried.#') $(json cells.1.alpha) $(json cells.1.train_loss)"
must_run sql -C cols "SELECT exp_id, value FROM metrics WHERE key = 'extra'" --format tsv
must_equal "001${tab}3.0" "$(sed 1d out)"
must_run report -C cols -o report.html
must_have report.html 'Measured: '
must_have report.html 'eval_top_1=0.3'
must_run verify -C cols
cp cols/results.tsv rows.tsv
must_run rebuild -C cols
must_match_file rows.tsv cols/results.tsv
must_run query -C cols --param train_loss=2.3 --format tsv
must_equal 001 "$(sed 1d out | cut -f 1)"
# A parameter has precedence over a metric of its name, which the prefix reaches.
must_run append -C cols --status discard --core-metric 4 --alpha 0.7 --measured alpha=9 --measured train_loss=7
must_run query -C cols --param alpha=0.6: --format tsv
must_equal 003 "$(sed 1d out | cut -f 1)"
must_run query -C cols --param metrics.alpha=9 --format tsv
must_equal 003 "$(sed 1d out | cut -f 1)"
must_run query -C cols --param alpha=9 --format tsv
must_equal '' "$(sed 1d out | cut -f 1)"
printf '{"status": "discard", "core_metric": 5, "metrics": {"train_loss": 8.5}, "notes": "seen before"}' >trial.json
must_run append -C cols --json trial.json
must_equal 'metrics train_loss=8.5; seen before' "$(field cols 17)"
printf '{"status": "discard", "core_metric": 5, "metrics": {"train_loss": "8"}}' >trial.json
must_fail 2 'train_loss' append -C cols --json trial.json
must_fail 2 "metric name '9x'" append -C cols --status discard --core-metric 1 --measured 9x=1
must_fail 2 'metric train_loss is set to another value' append -C cols --status discard --core-metric 1 \
    --notes 'metrics train_loss=1' --measured train_loss=2
# Notes that only look like metrics are prose and set nothing; metrics count wherever they are, and end no settings.
must_run append -C cols --status discard --core-metric 5 --notes 'metrics look=1 good; lr=5'
must_run append -C cols --status discard --core-metric 5 --notes 'metrics seen=1; lr=5; prose; metrics late=2'
must_run show -C cols 006 --format json
must_equal '1.0 2.0 5' "$(json metrics.seen) $(json metrics.late) $(json params.lr)"
must_run show -C cols 005 --format json
must_equal '{} ' "$(json params) $(json metrics 2>/dev/null)"
must_run append -C cols --status discard --core-metric 5 --notes 'reverted: lr=5 was silly; batch=9'
must_run show -C cols 007 --format json
must_equal '{}' "$(json params)"
must_run verify -C cols

# The mean over the seeds, if each has the metric; val_bpb has a column of its own.
must_run run -C seeds --direction lower -q --seeds 2 -m val_bpb -m loss -m odd -- \
    sh -c 'echo "val_bpb: {seed}, loss: 1{seed}"; [ {seed} = 2 ] || echo odd=3'
must_have seeds/results.tsv 'metrics val_bpb=1.5, loss=11.5;'
must_equal '1.5 1.5' "$(field seeds 10) $(field seeds 11)"
# A hundred metrics: the first 64 are recorded.
must_run run -C many --direction lower -q -- sh -c 'i=0; while [ $i -lt 100 ]; do echo "METRIC score=1 m$i=$i"; i=$((i + 1)); done'
must_equal 64 "$(field many 17 | tr ',;' '\n\n' | grep -c 'm[0-9]*=')"

# A planner gets the metrics of the trials.
cat >planner <<'END'
#!/bin/sh
cat >request.json
echo '{"params": {"alpha": 5}}'
END
chmod +x planner
cat >plan.json <<END
{"name": "n", "command": ["sh", "$PWD/two.sh", "{alpha}"], "metrics": ["val_loss", "train_loss"], "ranges": {"alpha": [0, 9]}}
END
run night plan.json -C cols --planner "$PWD/planner" --trials 1 --hours 1 -q
must_equal '000 2.1' "$(json chain.0.exp_id request.json) $(json chain.0.metrics.train_loss request.json)"

# ---- the columns params and metrics ----
must_run init json --direction lower --json-columns
must_equal "params${tab}metrics" "$(cut -f 18- json/results.tsv)"
must_fail 2 'it exists' init json --json-columns
must_fail 2 'on a server' init postgres://nowhere.invalid/a/b --json-columns
must_run run -C json -q -p lr=0.1 -p 'opt=say "a"' -m loss -m acc -- echo 'loss 2.5, acc 0.5'
must_run append -C json --status discard --core-metric 3 --notes 'lr=0.2; seen'
must_have json/results.tsv 'metrics loss=2.5, acc=0.5'
must_equal '0.1 say "a" 2.5' "$(python3 -c 'import csv, json
row = next(csv.DictReader(open("json/results.tsv"), delimiter="\t"))
p, m = json.loads(row["params"]), json.loads(row["metrics"])
print(p["lr"], p["opt"], m["loss"])')"
must_equal '{"lr": 0.2}' "$(tail -n 1 json/results.tsv | cut -f 18 | sed 's/^"//; s/"$//; s/""/"/g')"
# Rows of other tools: JSON alone, JSON against notes, and what is not an object of numbers.
other()
{
    printf '%s\tT\ts\t\t\t\t\t\tdiscard\t4.0\t\t\t\t\t\t\t%s\t%s\t%s\n' "$@" >>json/results.tsv
}
other x1 '' '"{""lr"": 0.5, ""deep"": 7, ""opt"": ""sgd""}"' '"{""acc"": 0.75}"'
other x2 'lr=0.6; deep=1' '"{""deep"": 8, ""bad name"": 1, ""list"": [1], ""no"": null}"' '"{""acc"": ""high"", ""loss"": 9}"'
other x3 'lr=0.7' '[1, 2]' '{"acc": 1'
must_run query -C json --param lr=0.45: --sort -lr --format tsv
must_equal 'x3 x2 x1 ' "$(sed 1d out | cut -f 1 | tr '\n' ' ')"
must_run query -C json --param lr=0.45: --param deep=7: --sort deep --format tsv
must_equal 'x1 x2 ' "$(sed 1d out | cut -f 1 | tr '\n' ' ')"
must_run query -C json --param opt=sgd --param lr=0.5 --format tsv
must_equal 'x1 ' "$(sed 1d out | cut -f 1 | tr '\n' ' ')"
must_run query -C json --param acc=0.6: --format tsv
must_equal 'x1 ' "$(sed 1d out | cut -f 1 | tr '\n' ' ')"
must_run sweep -C json lr deep --format tsv
must_equal '2' "$(sed 1d out | wc -l | tr -d ' ')"
must_run show -C json x2 --format json
must_equal '{"deep": 8, "lr": 0.6} {"loss": 9.0}' "$(python3 -c 'import json
t = json.load(open("out")); print(json.dumps(t["params"]), json.dumps(t["metrics"]))')"
must_run verify -C json
must_run export -C json
must_match_file json/results.tsv out
# Imported into a store of 17 columns, what only the JSON says is in the notes.
must_run init plain --direction lower
must_run append -C plain --status baseline --core-metric 9
cp json/results.tsv other.tsv
sed -i 's/^00[01]/y&/' other.tsv
run import -C plain other.tsv
must_exit 0
must_run show -C plain x1 --format json
must_equal '7 sgd 0.75' "$(json params.deep) $(json params.opt) $(json metrics.acc)"

# ---- GPU memory, by a library that stands in for the driver's ----
if "$CC" -shared -fPIC -o libnvidia-ml.so.1 "$SOURCE/tests/support/fake_nvml.c" 2>cc.err; then
    cat >gpu.sh <<'END'
sleep 60 &
printf '0 %s 1000\n1 %s 200\n0 %s -1\n0 1 5000\n1 %s 300\n' $$ $$ $$ $! >"$FAKE_NVML"
tries=0
until [ "$(wc -c <"$FAKE_NVML.asked" 2>/dev/null || echo 0)" -ge 4 ]; do sleep 0.05; tries=$((tries + 1)); [ $tries -lt 3000 ] || break; done
echo loss=1
[ -z "$1" ] || echo "peak_vram_mb: $1"
END
    FAKE_NVML=$PWD/processes
    LD_LIBRARY_PATH=$PWD${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export FAKE_NVML LD_LIBRARY_PATH
    : >processes
    must_run run -C gpu --direction lower -q -m loss -- sh gpu.sh
    must_have gpu/results.tsv 'peak_vram_mb=1500.0'
    rm -f processes.asked
    must_run run -C gpu -q -m loss -m peak_vram_mb -- sh gpu.sh 45060.2
    must_equal 45060.2 "$(run show -C gpu 001 --format json; json metrics.peak_vram_mb)"
    # A library without the functions is no GPU.
    echo 'int nothing;' >empty.c
    "$CC" -shared -fPIC -o libnvidia-ml.so.1 empty.c
    must_run run -C gpu -q -m loss -- sh -c 'sleep 1.2; echo loss=3'
    must_equal 0 "$(field gpu 17 | grep -c vram)"
fi
finish
