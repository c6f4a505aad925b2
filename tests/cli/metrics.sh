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
run run -C forms -q -m loss -- echo 'loss: 1,234.5'
must_exit 1
must_have err 'the number has a comma inside: loss: 1,234.5'
must_equal ' harness_abort' "$(field forms 10) $(field forms 9)"
run run -C forms -q -m loss -- echo 'METRIC score=3 acc: 4'
must_exit 1
must_have err 'exit 0 without a score: looked for `loss`, saw `METRIC score`, nearest line: METRIC score=3 acc: 4'

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
must_run run -C s -q --metric-regex 'b=^\d+,(\d+),' -- echo '10,200,3000'
must_equal 200.0 "$(field s 10)"
# A pattern that backtracks without end gives up, says so, and the trial goes on.
awk 'BEGIN { for (i = 0; i < 60; i++) printf "a"; print "c b" }' >hard
run run -C s -q --metric-regex 'loss=^(a|aa|a*)*b' -- cat hard
must_exit 1
must_have err 'gave up on 1 lines'
must_have err 'the pattern gave up, because it backtracked too often'

# ---- which value counts ----
take()
{
    must_run run -C s -q -m acc --metric-take "acc=$1" -- sh train.sh
    must_equal "$2" "$(field s 10)" "acc=$1"
}
take min 0.1
take max 0.3
take last 0.2
take mean:2 0.15000000000000002
take mean:1 0.2
take mean:9999 0.20000000000000004
must_run run -C s -q -m acc --metric-take acc=min -- sh -c 'sh train.sh; echo acc: nan'
must_equal 0.1 "$(field s 10)" 'the smallest value before a nan counts'
must_have s/results.tsv 'score by a name that was asked for, minimum of 4 values'
run run -C s -q -m acc -- sh -c 'sh train.sh; echo acc: nan'
must_exit 1
must_equal crash "$(field s 9)"
run run -C s -q -m acc --metric-take acc=mean:2 -- sh -c 'sh train.sh; echo acc: nan'
must_exit 1
for wrong in acc acc= acc=avg acc=mean acc=mean: acc=mean:0 acc=mean:x acc=mean:10001 acc=mean:99999999999999999999 =min; do
    must_fail 2 "$wrong" run -C s -q -m acc --metric-take "$wrong" -- true
done
# The seeds' scores are taken seed by seed.
must_run run -C s -q --seeds 2 -m acc --metric-take acc=max -- sh -c 'echo acc {seed}; echo acc 0'
must_equal 1.5 "$(field s 10)"
# An evaluation's lines count too.
must_run run -C s -q -m acc --metric-take acc=max --eval 'echo acc 0.9' -- sh train.sh
must_equal 0.9 "$(field s 10)"

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
must_have out 'loss     2.21  minimum       3  stdout:2          step 1 train loss: 2.11 test loss: 2.21 acc 0.1'
must_have out 'gpu       4.0  last          1  stderr:1          METRIC gpu=4'
must_have out 'memory    7.0  last          1  LINEAGE_EVENTS:1  '
must_have out 'score: acc 3.0 from line LINEAGE_EVENTS:1, because it is the first --metric; found by LINEAGE_EVENTS'
run run --dry-metrics -q -m acc -- sh -c 'echo acc 3; exit 4'
must_exit 1
must_have err 'left with exit status 4'
run run --dry-metrics -q -m lost --metric-take lots=min -- echo 'losst: 3'
must_exit 1
must_have err 'no score: looked for `lost`, nearest line: losst: 3'
must_have err 'metric-take lots: no value of that name was read'
must_fail 3 'cannot start' run --dry-metrics -q -- ./nothing-there
must_run run --dry-metrics -q --seeds 2 --eval 'echo acc {seed}' -m acc -- true
must_have out 'score: acc 2.0 from line stdout:2'
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
finish
