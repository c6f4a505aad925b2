#!/bin/sh
# conditions.sh: the conditions of a trial (hardware, budget, data, packages) are recorded; a verdict across them says so, and with
# --comparable such a trial is refused.
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
. "$SOURCE/tests/support/shell.sh"
mkdir data && echo 1 >data/a && echo 2 >data/b
echo 'echo METRIC loss=$1' >train.sh
notes() { tail -n 1 s/results.tsv | cut -f 17; }
condition() { "$JSON_GET" conditions."$2" <s/provenance/"$1"/run.json; }

# ---- recorded, and a verdict across a budget says so, in the row, to the person and in the block ----
must_run init s --direction lower
must_run run -C s -q -m loss --train-seconds 60 --memory 4G --data data -- sh train.sh 5
must_equal 'train_seconds 60, memory_bytes 4294967296' "$(condition 000 budget)"
data=$(condition 000 data)
must_run run -C s -q -m loss --train-seconds 60 --memory 4G --data data -- sh train.sh 4.9
must_lack s/results.tsv 'compared across'
must_run render -C s
must_lack out 'Conditions differ'
run run -C s -q -m loss --train-seconds 30 --memory 4G -- sh train.sh 4.8
must_exit 0
must_have err 'its verdict is across conditions: budget: train_seconds 30, memory_bytes 4294967296, not train_seconds 60'
case $(notes) in *'compared across budget: train_seconds 30, memory_bytes 4294967296, not train_seconds 60, memory_bytes 4294967296 for 001') ;;
*) fail "the row does not say it: $(notes)" ;; esac
must_run render -C s
must_have out 'Conditions differ: the verdicts of 1 of the last 3 trials are across them; the newest: `budget: train_seconds 30'

# ---- data: by contents and names, wherever they are ----
cp -r data elsewhere
run run -C s -q -m loss --train-seconds 30 --memory 4G --data elsewhere -- sh train.sh 6
must_equal "$data" "$(condition 003 data)"
echo 3 >elsewhere/b
run run -C s -q -m loss --data elsewhere -- sh train.sh 6
[ "$(condition 004 data)" != "$data" ] || fail "other data have the same digest"
mv elsewhere/b elsewhere/c
run run -C s -q -m loss --data elsewhere -- sh train.sh 6
[ "$(condition 005 data)" != "$(condition 004 data)" ] || fail "other names have the same digest"
ln -s . elsewhere/loop
run run -C s -q -m loss --data elsewhere -- sh train.sh 6
must_exit 0
must_fail 2 '--data: nowhere: No such file' run -C s -q -m loss --data nowhere -- sh train.sh 6
ln -s nowhere dangling && mkfifo pipe elsewhere/pipe
must_fail 2 '--data: dangling: No such file' run -C s -q -m loss --data dangling -- sh train.sh 6
must_fail 2 '--data: pipe: neither a file nor a directory' run -C s -q -m loss --data pipe -- sh train.sh 6
must_fail 2 'is empty' run -C s -q -m loss --data '' -- sh train.sh 6
# Links between ten directories make ten million paths; each directory is read once by its links.
for i in 0 1 2 3 4 5 6 7 8 9; do
    mkdir -p elsewhere/$i && echo $i >elsewhere/$i/file
    for j in 0 1 2 3 4 5 6 7 8 9; do ln -s ../$j elsewhere/$i/to$j; done
done
run run -C s -q -m loss --data elsewhere -- sh train.sh 6
must_exit 0
CUDA_VISIBLE_DEVICES=-1 "$LINEAGE" run -C s -q -m loss -- sh train.sh 6 >out 2>err
must_equal none "$(condition "$(cat out)" gpu)" "hidden GPUs"

# ---- --comparable: the row has them as parameters, and what differs is refused before it runs ----
must_run run -C c -q --direction lower -m loss --comparable gpu,budget,data,packages --data data --train-seconds 60 -- sh train.sh 5
must_run query -C c --param budget="'train_seconds 60'" --format json
must_equal 1 "$(json '#')"
must_have out '"packages"'
must_fail 2 'nothing is run: budget: train_seconds 90, not train_seconds 60 for 000, the best trial' \
    run -C c -q -m loss --comparable gpu,budget --train-seconds 90 -- sh train.sh 4
must_fail 2 'nothing is run: data: ' run -C c -q -m loss --comparable data --data elsewhere -- sh train.sh 4
must_equal 1 "$(sed 1d c/results.tsv | wc -l | tr -d ' ')" "rows"
run run -C c -q -m loss --comparable gpu --train-seconds 90 -- sh train.sh 4.5
must_exit 0
must_fail 2 'is none of gpu, processor, budget, data, packages' run -C c -q -m loss --comparable gpus -- sh train.sh 4
must_fail 2 'name conditions' run -C c -q -m loss --comparable '' -- sh train.sh 4
must_fail 2 '--comparable data needs --data' run -C c -q -m loss --comparable data -- sh train.sh 4
must_fail 2 'is a parameter of the trial' run -C c -q -m loss --comparable gpu -p gpu=3 -- sh train.sh 4
must_run init i --direction lower
must_run append -C i --status keep --core-metric 3
run run -C i -q -m core_metric --comparable gpu -- echo 'METRIC core_metric=2'
must_exit 0
must_have err 'the conditions of 000, the best trial, are not recorded'

# ---- a sweep has the same keys; a comparison names the condition ----
echo '{"name": "n", "direction": "lower", "command": ["sh", "train.sh", "{x}"], "metrics": ["loss"], "comparable": "budget",
    "train_seconds": 60, "data": ["data"], "grid": {"x": [5, 4]}}' >sweep.json
run night sweep.json -C n -q
must_exit 0
must_have n/results.tsv "budget='train_seconds 60'"
sed 's/"train_seconds": 60/"train_seconds": 30/; s/\[5, 4\]/[3, 2]/; s/"n"/"m"/' sweep.json >other.json
run night other.json -C n -q
must_have err 'nothing is run: budget: train_seconds 30, not train_seconds 60'
must_lack n/results.tsv "budget='train_seconds 30'"
sed 's/"budget"/"budgets"/' sweep.json >wrong.json
run night wrong.json -C w -q
must_exit 2
must_have err 'is none of gpu'
finish
