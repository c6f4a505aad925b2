#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh
# histories.sh: `import` of what other tools have recorded. fixtures/histories follows published formats, and has a dump of what
# Optuna 3.1.0 wrote. fixtures/real/histories is what the tools wrote.
. "$SOURCE/tests/support/shell.sh"
TZ=UTC && export TZ
from=$SOURCE/fixtures/histories
for name in optuna mlflow trackio; do
    sqlite3 $name.db <"$from/$name.sql" || fail "cannot make $name.db"
done

# cells STORE COLUMN...: the columns of all rows.
cells()
{
    store=$1 columns=$2
    sed 1d "$store/results.tsv" | cut -f "$columns" | tr '\t' ' '
}
new() # STORE DIRECTION
{
    "$LINEAGE" init "$1" --direction "$2" >/dev/null
}

# ---- Optuna ----
must_fail 2 'say first which score is better: lineage init o' import -C o optuna.db
[ ! -e o ] || fail 'a refused import made a store'
new o lower
must_fail 2 'the study is to maximize its value, but in this store a lower score is better' import -C o optuna.db
new h higher
run import -C h optuna.db
must_exit 0
must_have out '9 runs imported: '
must_have out 'score: value'
must_have out 'parameters: lr, layers, opt'
must_equal "$(sqlite3 optuna.db "SELECT count(*) FROM trials WHERE state = 'PRUNED'")" "$(grep -c 'pruned at step 2: as optuna recorded' h/results.tsv)"
must_equal "$(sqlite3 optuna.db "SELECT count(*) FROM trials WHERE state = 'FAIL'")" "$(cells h 9 | grep -c crash)"
best=$(sqlite3 optuna.db "SELECT number FROM trials JOIN trial_values USING (trial_id) WHERE state = 'COMPLETE' ORDER BY value DESC LIMIT 1")
"$LINEAGE" best -C h --format json >best.json
must_equal "optuna:cifar/$best" "$("$JSON_GET" job_name <best.json)"
must_have h/results.tsv "opt='sgd, momentum'"
must_have h/telemetry/000.json '"intermediate"'
must_run verify -C h
# A second import finds everything, and one after more trials adds these only.
cp h/results.tsv before
run import -C h optuna.db
must_exit 0
must_have out '9 runs were here already'
must_match_file before h/results.tsv
sqlite3 optuna.db "INSERT INTO trials VALUES (99, 98, 1, 'COMPLETE', '2026-11-24 01:00:00.5', NULL); INSERT INTO trial_values VALUES (99, 99, 0, 9.5, 'FINITE');
    INSERT INTO trials VALUES (98, 97, 1, 'RUNNING', '2026-11-24 01:00:00', NULL)"
run import -C h optuna.db
must_have out '1 runs imported: 1 keep'
must_have out '1 runs have not ended'
must_equal '2026-11-24T01:00:00Z keep 9.5 optuna:cifar/98' "$(cells h 2,9,10,15 | tail -n 1)"
sqlite3 optuna.db "INSERT INTO studies VALUES (2, 'other')"
must_fail 2 'optuna.db has several; choose one by --study: cifar, other' import -C h optuna.db
must_fail 2 "optuna.db has no study 'none', but: cifar, other" import -C h optuna.db --study none

# ---- MLflow, as an SQLite file and as a directory ----
new m lower
must_fail 2 'which metric is the score? Choose one by --metric: val/loss, accuracy' import -C m mlflow.db
run import -C m mlflow.db --metric val/loss --take min
must_exit 0
must_have out '3 runs imported: 2 keep, 1 crash'
must_have out 'score: val.loss, the min of its curve, a lower one is better, says the store'
must_have out '1 deleted runs are left out'
must_have out '1 runs have not ended'
must_have out '1 values are left out, because they are nan or infinite'
must_have out 'parameter hf_token is left out, because it looks like a secret'
must_equal '000 2023-11-14T22:13:20Z first keep 0.5 60.0 mlflow:cifar/a1' "$(cells m 1,2,7,9,10,14,15 | head -n 1)"
must_equal '001 second keep 0.4 60.5' "$(cells m 1,7,9,10,14 | sed -n 2p)"
must_have m/results.tsv "lr=0.1; optimizer.name=adam; as recorded: lr=5 was silly, use less"
must_have m/results.tsv "lr=0.01; optimizer.name='sgd, nesterov'; metrics accuracy=0.75"
must_lack m/results.tsv hf_abc
must_run tried -C m --param lr=0.1
run tried -C m --param lr=5
must_exit 1
# What the SQLite file has, as MLflow writes it into directories.
run_dir() # ID NAME STATUS START END
{
    mkdir -p "mlruns/1/$1/metrics/val" "mlruns/1/$1/params/optimizer" "mlruns/1/$1/tags"
    printf "artifact_uri: x\nend_time: %s\nlifecycle_stage: active\nrun_id: %s\nrun_name: '%s'\nstart_time: %s\nstatus: %s\n" \
        "$5" "$1" "$2" "$4" "$3" >"mlruns/1/$1/meta.yaml"
}
mkdir -p mlruns/0 mlruns/1/old mlruns/.trash
printf 'experiment_id: 0\nlifecycle_stage: active\nname: Default\n' >mlruns/0/meta.yaml
printf 'experiment_id: 1\nlifecycle_stage: active\nname: cifar\n' >mlruns/1/meta.yaml
run_dir b2 second 3 1700000100000 1700000160500
run_dir a1 first 3 1700000000000 1700000060000
run_dir c3 third 4 1700000200000 1700000201000
run_dir d4 fourth 1 1700000300000 null
printf 'lifecycle_stage: deleted\nrun_id: old\nstatus: 3\n' >mlruns/1/old/meta.yaml
printf '1700000010000 0.9 0\n1700000020000 0.5 1\n1700000030000 0.6 2\n' >mlruns/1/a1/metrics/val/loss
printf '1700000110000 0.4 0\n1700000120000 nan 1\n' >mlruns/1/b2/metrics/val/loss
printf '1700000110000 0.75 0\n' >mlruns/1/b2/metrics/accuracy
printf 0.1 >mlruns/1/a1/params/lr
printf adam >mlruns/1/a1/params/optimizer/name
printf 0.01 >mlruns/1/b2/params/lr
printf 'sgd; nesterov' >mlruns/1/b2/params/optimizer/name
printf 10 >mlruns/1/c3/params/lr
printf 'lr=5 was silly;\nuse less' >mlruns/1/a1/tags/mlflow.note.content
new d lower
run import -C d mlruns --metric val/loss --take min
must_exit 0
must_have out '1 deleted runs are left out'
must_match_file m/results.tsv d/results.tsv
must_match_file m/telemetry/000.json d/telemetry/000.json

# ---- trackio ----
new t lower
run import -C t trackio.db --metric loss
must_exit 0
must_equal '2026-11-01T10:00:00Z dainty-sunset-1 keep 1.25 60.0' "$(cells t 2,7,9,10,14 | head -n 1)"
must_equal 'brave-river-2 crash ' "$(cells t 7,9,10 | tail -n 1)"
must_have t/results.tsv 'lr=0.001; model.width=64; model.act=gelu; metrics epoch=1.0'
must_have t/results.tsv "amp=true; sizes='[1,2]'"
must_lack t/results.tsv Username

# ---- W&B ----
new w higher
run import -C w "$from/wandb.json" --metric val_acc
must_exit 0
must_equal 'old-pond-6 keep 0.69
lunar-sea-7 keep 0.71
crisp-wind-8 crash ' "$(cells w 7,9,10)"
must_equal '2026-10-02T08:00:00Z 120.5 wandb:3xk2p' "$(cells w 2,14,15 | sed -n 2p)"
must_have w/results.tsv 'lr=0.001; batch_size=32; model.name=small; metrics train_loss=0.4; as recorded: baseline, as in the paper'
must_have w/telemetry/001.json '{"step":1,"val_acc":0.73}'
new max higher
run import -C max "$from/wandb.json" --metric val_acc --take max --specialist sweep
must_equal 'sweep 0.73' "$(cells max 3,10 | sed -n 2p)"
new api higher
run import -C api "$from/wandb-api.json" --metric val_acc
must_equal 'lunar-sea-7 keep 0.71 120.5 wandb:3xk2p
crisp-wind-8 harness_abort   wandb:9fjd1' "$(cells api 7,9,10,14,15)"
# A run that ended differently since then: its old row is void, and the new one counts.
run import -C api "$from/wandb.json" --metric val_acc
must_have out '1 runs were here already'
must_have out '1 of them replace earlier rows, which are void now: 001 by 004'
must_equal 'old-pond-6 discard
crisp-wind-8 crash' "$(cells api 7,9 | tail -n 2)"
run import -C api "$from/wandb.json" --metric val_acc
must_have out '3 runs were here already'

# ---- tables ----
new c higher
run import -C c "$from/wandb.csv" --metric val_acc --map val_acc=metric --map train_loss=metric
must_exit 0
must_equal 'old-pond-6 keep 0.69 90.0
lunar-sea-7 keep 0.71 120.0
crisp-wind-8 crash  3.0' "$(cells c 7,9,10,14)"
must_have c/results.tsv 'lr=0.001; optimizer=adam; metrics train_loss=0.4; as recorded: said ""fine""'
must_fail 2 'wandb.csv:1: there is no column for --map vall=metric' import -C c "$from/wandb.csv" --map vall=metric
must_fail 2 'ROLE is key, name' import -C c "$from/wandb.csv" --map val_acc=measured
printf 'name,loss\na,0.5\nb,much\n' >bad.csv
must_fail 2 'bad.csv:3: a metric is not a number: much' import -C c bad.csv --map loss=metric
printf 'name,loss\na,0.5,6\n' >bad.csv
must_fail 2 'bad.csv:2: the line has more cells than the first one: 6' import -C c bad.csv --map loss=metric
must_equal 3 "$(cells c 1 | wc -l)" 'nothing is half imported'
# W&B lists the newest run first, so the lines of the others move.
sed '1a"new-run-9","finished","","me","","2026-10-04T08:00:00.000Z","10","","0.1","sgd","0.5","0.6"' "$from/wandb.csv" >more.csv
run import -C c more.csv --metric val_acc --map val_acc=metric --map train_loss=metric
must_have out '1 runs imported: 1 discard'
must_have out '3 runs were here already'
printf 'name\tloss\na\t0.5\nb\t0.4\n' >tabs.csv
new tabs lower
run import -C tabs tabs.csv --map loss=metric
must_equal 'a keep 0.5 csv:a
b keep 0.4 csv:b' "$(cells tabs 7,9,10,15)"

# ---- TensorBoard ----
if command -v python3 >/dev/null; then
    python3 "$SOURCE/tests/support/tensorboard_events.py" events
    new tb lower
    run import -C tb events --metric val/loss
    must_exit 0
    must_equal 'run0 0.30000001192092896 tensorboard:run0
run1 0.20999999344348907 tensorboard:run1' "$(cells tb 7,10,15)"
    must_have tb/results.tsv 'lr=0.1; optimizer=adam; metrics train.loss=0.5'
    must_have tb/telemetry/000.json '{"step":4,"train.loss":0.5,'
    # A flipped bit is an error that names the byte; a torn end is that of a writer that was killed.
    cp -r events bad
    python3 -c 'import glob; p = glob.glob("bad/run0/*")[0]; b = bytearray(open(p, "rb").read()); b[90] ^= 1; open(p, "wb").write(b)'
    must_fail 2 'is damaged' import -C tb bad --metric val/loss
else
    echo 'skipped: TensorBoard, whose files python3 writes here'
fi

# ---- what the tools themselves wrote ----
real=$SOURCE/fixtures/real/histories
for name in optuna-5-objectives optuna-5-constraints trackio-0.43 mlflow-3.17; do
    sqlite3 $name.db <"$real/$name.sql" || fail "cannot make $name.db"
done
# Times of Optuna 5 are UTC, wherever they are read. The direction is that of the objective, whose names are known.
new low lower
export TZ=Asia/Tokyo
run import -C low optuna-5-objectives.db --metric value_1
must_exit 0
TZ=UTC
must_have out 'optuna 5.0.0, mo, 4 runs: finished 4'
must_have out 'score: latency_ms, a lower one is better, says the store as does optuna'
must_equal '2026-11-28T09:59:12Z keep 4.17022004702574
2026-11-28T09:59:12Z discard 7.203244934421581
2026-11-28T09:59:12Z keep 0.0011437481734488664' "$(cells low 2,9,10 | head -n 3)"
new high higher
must_fail 2 'the study is to minimize its latency_ms, but in this store a higher score is better' import -C high optuna-5-objectives.db --metric latency_ms
must_fail 2 'which metric is the score? Choose one by --metric: accuracy, latency_ms' import -C high optuna-5-objectives.db
[ ! -e high/results.tsv ] || fail 'a refused import wrote rows'
run import -C high optuna-5-objectives.db --metric accuracy
must_have out '4 runs imported: 2 keep, 2 discard'
# A trial that breaks a constraint is not the best.
new walls lower
run import -C walls optuna-5-constraints.db
must_equal 'trial 0 disqualified 
trial 1 keep 0.7203244934421581
trial 2 disqualified 
trial 3 disqualified ' "$(cells walls 7,9,10)"
must_have walls/results.tsv 'disqualified: the constraint memory is not met (0.182978, at most 0 is allowed)'
run -C walls settings
must_have err ': disqualified: the constraint memory is not met'
must_lack err 'disqualified: disqualified'
new journal lower
run import -C journal "$real/optuna-5-journal.log"
must_equal 'keep 0.00046568046379195655
crash 
crash 
discard 
discard 0.00046689498537088925' "$(cells journal 9,10)"
must_have journal/results.tsv 'act=true'
# The last line of a journal that is being written is not whole yet.
head -c -20 "$real/optuna-5-journal.log" >cut.log
new cut lower
run import -C cut cut.log
must_have out '1 runs have not ended'
# Two runs of one name are two rows; the run that groups others is none.
new names lower
run import -C names trackio-0.43.db --metric val_loss
must_equal 'sweep keep 0.6 lr=0.01
sweep discard 0.7 lr=0.02; discarded: +0.1, needs less than 0' "$(cells names 7,9,10,17)"
new groups lower
run import -C groups mlflow-3.17.db --metric loss
must_have out '1 runs are left out, because they only group other runs'
must_equal 'lr 0.1 keep 0.05
lr 0.2 discard 0.1' "$(cells groups 7,9,10)"
# One training is one row, in however many directories its events are.
new torch lower
run import -C torch "$real/torch-2.15" --metric val/loss
must_equal 'tensorboard:run0 bias=1; act=relu; lr=0.1; layers=3; metrics hparam.loss=0.4333333373069763
tensorboard:run1 bias=1; act=relu; lr=0.01; layers=3; metrics hparam.loss=0.34333333373069763' "$(cells torch 15,17)"
new keras lower
must_fail 2 'no finished run has epoch_loss; choose one of these by --metric: train/epoch_loss, train/epoch_learning_rate, validation/' \
    import -C keras "$real/keras-3.15" --metric epoch_loss
run import -C keras "$real/keras-3.15" --metric evaluation_loss_vs_iterations
must_equal 'lr0.01 1.0013712644577026
lr0.001 1.2199630737304688' "$(cells keras 7,10)"
# A trial that died is a crash, and so is one whose loss is nan; result.json alone is the same trial.
new ray lower
run import -C ray "$real/ray-2.60" --metric ray/tune/loss
must_equal 'keep 0.15 ray:80ee5_00000
crash  ray:80ee5_00001
crash  ray:80ee5_00002' "$(cells ray 9,10,15)"
must_have ray/results.tsv 'k=2; lr=0.1; metrics loss=0.09999999999999998; failed: as ray recorded'
for file in "$real"/ray-2.60/*/result.json; do
    run import -C ray "$file" --metric loss
    must_have out '0 runs imported'
    break
done
# result.json and progress.csv alone are the trial that the files beside them describe: a trial that died is not the best.
new report lower
cp -r "$real/ray-2.60" progress
for dir in progress/*/; do
    : >"${dir}progress.csv"
done
for file in "$real"/ray-2.60/*/result.json progress/*/progress.csv; do
    run import -C report "$file" --metric loss
    must_exit 0
done
must_equal 'keep 0.15 ray:80ee5_00000
crash  ray:80ee5_00001
crash  ray:80ee5_00002' "$(cells report 9,10,15)"
# A progress.csv beside params.json alone is a table: of rllab, garage, or of Ray without its logger of JSON.
mkdir garage
echo '{"lr": 0.1}' >garage/params.json
printf 'trial_id,training_iteration,loss\na_0,1,0.5\n' >garage/progress.csv
run import -C tables garage/progress.csv --metric loss --direction lower
must_have out 'csv, 1 runs: finished 1'
must_equal 0.5 "$(cells tables 10)"
# Population-based training changes the settings of a trial.
sed 's/"lr": 0.1/"lr": 0.2/; s/"training_iteration": [0-9]*/"training_iteration": 9/' "$real"/ray-2.60/*k=0*/result.json | tail -n 1 >>"$(echo progress/*k=0*)/result.json"
run import -C population progress --metric loss --direction lower
must_have population/results.tsv 'its settings changed while it ran'
must_equal 'ray:80ee5_00000 k=0; lr=0.2' "$(cells population 15,17 | head -n 1 | cut -d ';' -f 1,2)" 'the settings of the last report'
mkdir alone
cp progress/*k=0*/result.json alone/
run import -C alone/store alone/result.json --metric loss --direction lower
must_equal 'lr=0.2; k=0' "$(cells alone/store 17 | cut -d ';' -f 1,2)"
new offline lower
# The log of a process that was killed early has its header only, and is counted.
mkdir -p killed/run-1
head -c 7 "$real/wandb-0.31/run-bacp9fbp.wandb" >killed/run-1/run-k1.wandb
cp "$real/wandb-0.31/run-bacp9fbp.wandb" killed/
run import -C offline --dry-run killed --metric val_loss
must_have out 'wandb 0.31.0, 2 runs: finished 1, running 1'
must_have out '1 runs have not ended and are left out'
# An id may have a dot.
mkdir dotted
for id in v1.2 v1.3; do
    cp killed/run-1/run-k1.wandb dotted/run-$id.wandb
done
run import -C offline --dry-run dotted --metric val_loss
must_have out '2 runs: running 2'
run import -C offline "$real/wandb-0.31" --metric val_loss
must_have out 'wandb 0.31.0, 2 runs: finished 2'
must_equal '2026-11-28T10:01:01Z plain keep 0.8
2026-11-28T10:01:02Z diverged crash ' "$(cells offline 2,7,9,10)"
must_have offline/results.tsv "lr=0.0001; opt.betas='[0.9,0.99]'"
run import -C offline "$real/wandb-0.31.json" --metric val_loss
must_have out '2 runs were here already'
# A damaged record is named; a log that ends within a record, or without the record of the end, is of a run that goes on.
head -c 900 "$real/wandb-0.31/run-bacp9fbp.wandb" >run-cut.wandb
must_fail 2 'run-cut.wandb has no run log of W&B of the project none' import -C offline --study none run-cut.wandb
run import -C offline --dry-run run-cut.wandb --metric val_loss
must_have out '1 runs have not ended'
printf 'x' | dd of=run-cut.wandb bs=1 seek=300 conv=notrunc 2>/dev/null
must_fail 2 'run-cut.wandb: the record at byte' import -C offline run-cut.wandb
new frame lower
run import -C frame "$real/optuna-5.csv"
must_have out '1 runs have not ended'
must_equal '2026-11-28T10:01:49Z 0.000346 csv:0@1795860109 x=0.417022004702574' "$(cells frame 2,14,15,17 | head -n 1)"
new frame2 lower
must_fail 2 'which metric is the score? Choose one by --metric: loss, nest/a' import -C frame2 "$real/ray-2.60.csv"
run import -C frame2 "$real/ray-2.60.csv" --map loss=metric
must_exit 0
must_have frame2/results.tsv 'lr=0.1; k=0'

new frame3 lower
run import -C frame3 "$real/mlflow-3.17.csv" --metric val_loss
must_have out '4 runs imported: 2 keep, 1 crash, 1 harness_abort'
must_equal 'slow keep 0.25 0.071 lr=0.01; opt=adam; metrics acc=0.8' "$(cells frame3 7,9,10,14,17 | sed -n 2p)"
# From the table, too, a run that only groups others gets no row. Columns of W&B itself are left out. NNI 3.0's export is read.
printf 'run_id,experiment_id,status,artifact_uri,start_time,metrics.val_loss,metrics.best,params.lr,tags.mlflow.parentRunId\na1,1,FINISHED,/a,2026-11-30 19:50:19,0.25,,0.1,b2\nb2,1,FINISHED,/a,2026-11-30 19:50:18,,0.25,,\nc3,1,FINISHED,/a,2026-11-30 19:50:17,,0.3,0.2,\n' >nested.csv
new of-mlflow lower
run import -C of-mlflow nested.csv --metric val_loss
must_have out '2 runs imported: 1 keep, 1 harness_abort'
must_have out '1 runs are left out, because they only group other runs'
printf 'tags.mlflow.parentRunId,experiment_id,run_id,status,artifact_uri,metrics.val_loss,params.lr\nb2,1,a1,FINISHED,/a,0.25,0.1\n,1,b2,FINISHED,/a,,\n' >turned.csv
new turned lower
run import -C turned turned.csv
must_have out '1 runs imported: 1 keep'
must_have out '1 runs are left out, because they only group other runs'
printf '"Name","State","Sweep","lr","_runtime","_step","_timestamp","_wandb.runtime","val_loss"\n"a","finished","s","0.1","118","2","1763632800","9","0.5"\n' >sweep.csv
new of-wandb lower
run import -C of-wandb sweep.csv --metric val_loss
must_equal 'parameters: lr' "$(grep parameters out)" 'settings of W&B'
must_have out '_runtime, _timestamp, _wandb.runtime, _step'
printf 'ID,_step,lr,val_loss\na,1,0.1,0.5\na,2,0.1,0.4\nb,1,0.2,0.6\nb,2,0.2,0.3\n' >steps.csv
new of-steps lower
run import -C of-steps steps.csv --metric val_loss
must_have out '_step rises: 4 lines are 2 runs'
must_equal 'parameters: lr' "$(grep parameters out)" 'settings of steps'
printf 'lr,_step,val_loss\n0.1,1,0.5\n0.1,2,0.4\n' >steps.csv
must_fail 2 'steps of one training' import -C of-steps steps.csv --metric val_loss
printf '[{"parameter": {"lr": 0.1}, "value": "0.4", "trialJobId": "hx1"}, {"parameter": {"lr": 0.01}, "value": "0.3", "trialJobId": "hx2"}]' >nni.json
printf 'lr,reward,trialJobId\n0.1,0.4,hx1\n0.01,0.3,hx2\n' >nni.csv
printf '[{"parameter": {"lr": 0.1}, "value": {"default": 0.4, "loss": 3}, "trialJobId": "hx1"}, {"parameter": {"lr": 0.01}, "value": {"default": 0.3, "loss": 4}, "trialJobId": "hx2"}]' >nni-object.json
printf '[{"parameter": {"lr": 0.1}, "value": "{\\"default\\": 0.4, \\"loss\\": 3}", "trialJobId": "hx1"}, {"parameter": {"lr": 0.01}, "value": "{\\"default\\": 0.3, \\"loss\\": 4}", "trialJobId": "hx2"}]' >nni-text.json
for file in nni.json nni.csv nni-object.json nni-text.json; do
    new "of-$file" lower
    case $file in nni-*) run import -C "of-$file" "$file" --metric default ;; *) run import -C "of-$file" "$file" ;; esac
    must_have out '2 runs imported: 2 keep'
    must_equal 'parameters: lr' "$(grep parameters out)" 'settings of NNI'
done
printf 'lr,default,loss,trialJobId\n0.1,0.4,3,hx1\n' >nni-named.csv
must_fail 2 'no column is `reward`' import -C of-nni.csv nni-named.csv --metric default
must_fail 2 'no column is `reward`' import -C of-nni.csv nni-named.csv --map default=metric

# ---- nothing is decided silently ----
cat >named.json <<'END'
[{"id": "a", "name": "a", "state": "finished", "config": {"lr": 1}, "summary": {"val_acc": {"max": 0.8}, "loss": NaN}},
 {"id": "b", "name": "b", "state": "finished", "config": {"lr": 2}, "summary": {"val_acc": {"max": 0.7}, "val/loss": 1, "val.loss": 2}},
 {"id": "c", "name": "c", "state": "crashed", "config": {"lr": 3}, "summary": {}}]
END
new say higher
must_fail 2 'no finished run has val_ac; choose one of these by --metric: val_acc.max, loss, val/loss, val.loss' import -C say named.json --metric val_ac
run import -C say named.json --metric val_acc.max --dry-run
must_exit 0
must_have out 'wandb, 3 runs: finished 2, failed 1'
must_have out 'metrics of 2 finished runs: val_acc.max 2, loss 1, val/loss 1, val.loss 1'
must_have out 'nothing is written: 3 runs would be imported'
[ ! -e say/results.tsv ] || fail 'a dry run wrote rows'
run import -C say named.json --metric val_acc.max
must_have out 'noise: unknown, because no setting ran twice'
# Runs whose names differ in their seed alone are one setting, whose scatter is the noise. Any other name may say what ran.
drawn() # NAME LR SEED LOSS
{
    printf '{"id": "%s", "name": "%s", "state": "finished", "config": {"lr": %s, "seed": %s}, "summary": {"loss": %s}}' "$1" "$@"
}
echo "[$(drawn ppo-s1 0.1 1 3.0), $(drawn ppo-s2 0.1 2 3.1), $(drawn ppo-large-13 0.1 13 1.1), $(drawn ppo-base-14 0.1 14 1.2)]" >drawn.json
must_run init drawn --direction lower
must_run import -C drawn drawn.json --specialist me --metric loss
must_have out 'noise: 0.0707 from 2 seeds'
must_run settings -C drawn --format tsv
must_equal '1 1 2' "$(sed 1d out | cut -f 3 | tr '\n' ' ' | sed 's/ $//')"
echo "[$(drawn ppo-s3 0.1 3 4.0)]" >drawn.json
must_run import -C drawn drawn.json --specialist me --metric loss
must_have out 'noise: 0.551 from 3 seeds, 95 % interval 0.287 to 3.46; it was 0.0707'
# Names that would become one stay two.
must_equal 2 "$(sed -n 3p say/results.tsv | grep -o 'val.loss[-0-9a-f]*=' | wc -l)"
# The crashed run goes on and ends; the rows of another score are replaced on demand only.
sed 's/"crashed", "config": {"lr": 3}, "summary": {}/"finished", "config": {"lr": 3}, "summary": {"val_acc": {"max": 0.9}, "loss": 0.5}/' named.json >later.json
run import -C say later.json --metric val_acc.max
must_have out '1 of them replace earlier rows, which are void now: 002 by 004'
"$LINEAGE" best -C say --format json >best.json
must_equal 004 "$("$JSON_GET" exp_id <best.json)"
must_fail 2 'runs are here already with another score; --replace imports them again with loss' import -C say later.json --metric loss
must_fail 2 '3 runs are here already with another score; --replace imports them again with val.loss-' import -C say later.json --metric val/loss
run import -C say later.json --metric loss --replace
must_have out '3 of them replace earlier rows'
must_equal 0.5 "$("$LINEAGE" best -C say --format json | "$JSON_GET" core_metric)"
# A row that a person made void stays so; one that was wrong is imported again.
best=$("$LINEAGE" best -C say --format json | "$JSON_GET" exp_id)
"$LINEAGE" void -C say "$best" --reason 'a broken run' >/dev/null 2>&1
run import -C say later.json --metric loss
must_have out '1 runs are here and void, and stay so; --replace imports them again'
must_have out '0 runs imported'
must_run verify -C say
# Long texts stay different.
long=x$(printf '%0200d' 0)
printf '[{"id": "a", "config": {"t": "%s1"}, "summary": {"l": 1}}, {"id": "b", "config": {"t": "%s2"}, "summary": {"l": 1}}]' "$long" "$long" >long.json
new long lower
run import -C long long.json
must_have out '2 texts of parameters are cut to 128 bytes, with a digest at the end'
must_equal 2 "$(sed 1d long/results.tsv | grep -o "t='*x0*#[0-9a-f]*" | sort -u | wc -l)"

# ---- agents that search for programs: parents and code are kept ----
cat >journal.json <<'END'
{"nodes":[{"code":"lr = 1","plan":"a first draft","step":0,"id":"n1","ctime":1795860000.5,"metric":{"value":0.5,"maximize":true},"is_buggy":false,"exec_time":2.5},
 {"code":"lr = x","plan":"a bug","step":1,"id":"n2","ctime":1795860010.5,"metric":{"value":null,"maximize":null},"is_buggy":true,"exc_type":"NameError"},
 {"code":"lr = 2","plan":"mend it","step":2,"id":"n3","ctime":1795860020.5,"metric":{"value":0.75,"maximize":true},"is_buggy":false}],
 "node2parent":{"n2":"n1","n3":"n2"},"__version":"2"}
END
new aide lower
must_fail 2 'the study is to maximize its metric' import -C aide journal.json
new aide2 higher
run import -C aide2 journal.json
must_equal '000  a first draft keep
001 000 a bug crash
002 001 mend it keep' "$(cells aide2 1,4,7,9)"
must_have aide2/results.tsv 'code '
must_run -C aide2 show 002
mkdir -p checkpoints/checkpoint_9/programs checkpoints/checkpoint_10/programs
echo '{"id":"p1","code":"x = 1","generation":0,"timestamp":1795860000.0,"metrics":{"combined_score":0.5,"speed":2},"metadata":{"island":1}}' >checkpoints/checkpoint_9/programs/p1.json
cp checkpoints/checkpoint_9/programs/p1.json checkpoints/checkpoint_10/programs/
echo '{"id":"p2","code":"x = 2","parent_id":"p1","generation":1,"timestamp":1795860001.0,"changes_description":"faster","metrics":{"combined_score":0.25},"metadata":{"island":0}}' >checkpoints/checkpoint_10/programs/p2.json
echo '{"id":"p3","code":"x = ","parent_id":"p1","generation":1,"timestamp":1795860002.0,"metrics":{"error":0.0},"metadata":{}}' >checkpoints/checkpoint_10/programs/p3.json
new evolve higher
run import -C evolve checkpoints
must_equal '000  keep 0.5
001 000 discard 0.25
002 000 crash ' "$(cells evolve 1,4,9,10)"
must_have evolve/results.tsv 'island=1; generation=0; metrics speed=2.0'
sqlite3 shinka.db "CREATE TABLE programs (id TEXT PRIMARY KEY, code TEXT, language TEXT, parent_id TEXT, generation INTEGER, timestamp REAL, combined_score REAL,
    public_metrics TEXT, metadata TEXT, correct BOOLEAN, text_feedback TEXT, island_idx INTEGER);
    INSERT INTO programs VALUES ('a', 'x=1', 'python', NULL, 0, 1795860000.0, 1.5, '{\"speed\": 2}', '{\"patch_name\": \"seed\"}', 1, '', 0),
    ('a2', 'x=1', 'python', NULL, 0, 1795860000.0, 1.5, '{}', '{\"_is_island_copy\": true, \"_original_program_id\": \"a\"}', 1, '', 1),
    ('b', 'x=2', 'python', 'a2', 1, 1795860001.0, 9.5, '{}', '{}', 0, 'wrong', 1)"
new shinka higher
run import -C shinka shinka.db
must_have out '1 copies of programs on other islands are left out'
must_equal '000  seed keep 1.5
001 000 b crash ' "$(cells shinka 1,4,7,9,10)"

# ---- tables of other agents, and those that are refused ----
printf 'commit\tmetric_name\tmetric_value\tmemory_gb\tstatus\tdescription\tepisode_id\titer\tscore\nfb\teval_score\t0.03\t0.0\tkeep\tidea\te1\t0\t-0.03\nfb\teval_score\t0.0\t0.0\tcrash\tworse\te1\t1\t-0.03\nfb\teval_score\t0.04\t0.0\tkeep\tgood\te2\t0\t-0.04\n' >rl.tsv
new rl higher
run import -C rl rl.tsv
must_have out 'score: eval_score'
must_equal 'keep 0.03 csv:e1/0
crash  csv:e1/1
keep 0.04 csv:e2/0' "$(cells rl 9,10,15)"
printf 'step\tidea\toutcome\treward\n1\twider\tok\t0.5\n' >other.tsv
must_fail 2 'other.tsv: which column is the score? Its columns are: step, idea, outcome, reward; to take one as the score: lineage import other.tsv --map reward=metric' import -C rl other.tsv
must_fail 2 'other.tsv: there is no column rewards; its columns are: step, idea, outcome, reward; to take one' import -C rl other.tsv --metric rewards
printf 'name,loss,loss\na,1,2\n' >twice.csv
must_fail 2 'twice.csv:1: the column is there twice; rename one of them: loss' import -C rl twice.csv --metric loss
printf 'name,State,status,loss\na,finished,ok,2\n' >states.csv
must_fail 2 'State and status are both the state; leave one out by --map status=skip' import -C rl states.csv --metric loss
printf 'commit\tmetric\tstatus\na1\t0.5\tkeep\n' >log.tsv
must_fail 2 'which column is the score? Its columns are: commit, metric, status; to take one as the score: lineage import log.tsv --map metric=metric' import -C rl log.tsv
new mapped lower
run import -C mapped log.tsv --map metric=metric
must_equal 'keep 0.5 csv:a1' "$(cells mapped 9,10,15)"
printf 'commit\tval_bpb\tstatus\na1\t\tkeep\n' >empty.tsv
must_fail 2 'none of the 1 kept rows has a number in val_bpb' import -C rl empty.tsv
printf 'commit\tmetric\tstatus\na1\t0.5\tkeep\n' >log.tsv
run import -C made log.tsv --metric metric --dry-run
must_have out 'nothing is written: 1 rows would be imported, 0 left out'
[ ! -e made ] || fail 'a dry run made a directory'
must_run import -C made log.tsv --metric metric
must_equal 'a1 0.5' "$(cells made 1,10)"

# The log of a program that trained on: a score that is not finite is that of a crash, as in `run`.
printf 'commit\tval_bpb\tmemory_gb\tstatus\tdescription\na\tnan\t1\tkeep\tx\nb\t0.9\t1\tkeep\ty\nc\t-inf\t1\tcrash\tz\n' >nan.tsv
new nan lower
for try in --dry-run ''; do
    run import -C nan nan.tsv $try
    must_have out 'log of trials: crash 2, keep 1'
    must_have out 'score: val_bpb, which 1 rows have; a lower one is better, says the store'
done
must_have err 'nan.tsv:2: a: val_bpb is not finite, so the trial has no score and is a crash'
must_equal 'a crash  its score is not a finite number
b keep 0.9 
c crash  ' "$(cells nan 1,9,10,17)"
# A log is read from a pipe, which can be read once.
new piped lower
mkfifo pipe
printf 'commit\tval_bpb\tstatus\na1\t0.5\tkeep\n' >pipe &
run import -C piped pipe
wait
must_equal 'a1 0.5' "$(cells piped 1,10)"
# Memory does not become the score, nor what agents derive from other columns a setting, and a table may have commas.
printf 'commit,val_bpb,memory_gb,status,description\na1,0.8,44.0,keep,base\na2,0.7,45.0,keep,wider\n' | tee bpb.csv >bpb.tsv
for file in bpb.csv bpb.tsv; do
    new "of-$file" lower
    run import -C "of-$file" "$file"
    must_equal 'base keep 0.8 csv:a1
wider keep 0.7 csv:a2' "$(cells "of-$file" 7,9,10,15)"
done
printf 'iteration\tcommit\tmetric_name\tmetric_value\tbaseline\tdelta\tstatus\thypothesis\ttokens_used\n0\t-\ts\t12\t12\t0\tbaseline\ta\t0\n1\t-\ts\t11\t12\t-1\tconstraint_violation\tb\t9\n2\t-\ts\t-\t12\t-\tcrash\tc\t9\n' >loop.tsv
new loop lower
run import -C loop loop.tsv
must_have out 'columns left out, unless --map COLUMN=param or metric takes them: commit, baseline, delta'
must_equal 'keep 12.0
disqualified 
crash ' "$(cells loop 9,10)"
must_have loop/results.tsv 'disqualified: constraint_violation'

# ---- JSON objects and databases of other tools ----
printf '{"id": "007", "lr": 0.1, "opt": {"name": "adam"}, "eval": {"loss": 0.5}}\n{"id": "008", "lr": 0.2, "eval": {"loss": NaN}}\n' >any.jsonl
new json lower
must_fail 2 'Its columns are: id, lr, opt.name, eval.loss; to take one as the score: lineage import any.jsonl --map eval.loss=metric' import -C json any.jsonl
run import -C json any.jsonl --map eval.loss=metric
must_equal 'keep 0.5 json:007 lr=0.1; opt.name=adam
crash  json:008 lr=0.2; its score is not a finite number' "$(cells json 9,10,15,17)"
new mlparty lower
run import -C mlparty "$real/mlparty-0.2.jsonl"
must_equal 'demo decay (20 steps) keep 1.20398 steps=20; sleep_s=0; decay=0.97' "$(cells mlparty 7,9,10,17)"
sqlite3 mlparty.db "CREATE TABLE nodes (id TEXT, type TEXT, params_hash TEXT, created_at TEXT, doc TEXT)"
while read -r document; do printf "INSERT INTO nodes VALUES ('a', 'run', '', '', '%s');\n" "$document"; done <"$real/mlparty-0.2.jsonl" | sqlite3 mlparty.db
new mlparty-db lower
run import -C mlparty-db mlparty.db --metric final_loss
must_equal 'keep 1.20398' "$(cells mlparty-db 9,10)"
new mlloop higher
must_fail 2 "lineage import $real/mlloop-0.0.4.csv --map metrics=metric --metric acc" import -C mlloop "$real/mlloop-0.0.4.csv"
run import -C mlloop "$real/mlloop-0.0.4.csv" --map metrics=metric --metric acc
must_equal 'idea 0 keep 0.8
idea 1 keep 0.9
idea 2 harness_abort ' "$(cells mlloop 7,9,10)"
# Folders and files of trackers and searches; --direction makes the store.
must_fail 2 'which metric is the score? Choose one by --metric: result, val.loss, result.acc' import -C sacred "$real/sacred-0.8" --direction lower
mkdir sacred
must_fail 2 'which metric is the score?' import -C sacred "$real/sacred-0.8" --direction lower
must_equal '' "$(ls -A sacred)" 'a refused import left a store'
printf 'exp_id\tcore_metric\tstatus\n000\t1\tkeep\n001\t2\tkeep\n' >kept.tsv
run import -C kept kept.tsv --direction higher
must_have out 'a higher one is better, says the store'
must_have kept/lineage.json higher
run import -C sacred "$real/sacred-0.8" --metric val.loss --direction lower
must_have out 'sacred, 6 runs: finished 4, failed 1, killed 1'
must_equal 'tiny 1 keep 0.03333333333333333 how=ok
tiny 2 discard 0.06666666666666667 how=numpy
tiny 3 crash  how=fail
tiny 4 harness_abort  how=stop
tiny 5 discard 0.03333333333333333 how=dict
tiny 6 crash  how=nan' "$(cells sacred 7,9,10,17 | tr -d "'" | sed 's/\(how=[a-z]*\).*/\1/')"
must_have sacred/results.tsv 'ValueError: bad setting'
run import -C sacred "$real/sacred-0.8" --metric val.loss
must_have out '6 runs were here already'
run import -C result "$real/sacred-0.8" --metric result --direction lower
must_equal '0.03333333333333333
0.05000000074505806


3.0' "$(cells result 10 | sed 5d)"
must_fail 2 '--direction higher: in sacred a lower score is better' import -C sacred "$real/sacred-0.8" --direction higher
must_fail 2 'the study is to minimize its score, but --direction says that a higher score is better' import -C tuner "$real/keras-tuner-1.4" --direction higher
must_fail 2 'the study is to maximize its val_acc, but --direction says that a lower score is better' import -C tuner "$real/keras-tuner-1.4" --direction lower --metric val_acc --dry-run
run import -C tuner "$real/keras-tuner-1.4" --direction lower
must_have out 'score: score, a lower one is better, says the store as does keras-tuner'
must_equal 'trial_3 crash ' "$(cells tuner 7,9,10 | grep crash)"
must_have tuner/results.tsv 'FailedTrialError: lr is too high'
# A silent search records no times: trials of two searches are told apart by their folders.
mkdir searches
for search in one two; do
    cp -r "$real/keras-tuner-1.4" searches/$search
    sed 's/"trial_start": {[^}]*}/"trial_start": {}/' "$real/keras-tuner-1.4/oracle.json" >searches/$search/oracle.json
    run import -C silent searches/$search --direction lower
    must_have out '5 runs imported'
done
run import -C silent searches
must_have out '10 runs were here already'
# Two that end in the same folders do not replace each other's rows, and rows of earlier versions, by ID@nan, are found.
mkdir -p elsewhere/searches
cp -r searches/two elsewhere/searches/one
sed -i 's/"score": *[0-9.]*/"score": 7.5/' elsewhere/searches/one/trial_0/trial.json
run import -C silent elsewhere/searches/one
must_have err 'another score'
must_equal 10 "$(cells silent 1 | wc -l | tr -d ' ')"
mkdir earlier
cp silent/lineage.json earlier
sed -n '1,6p' silent/results.tsv | sed 's|keras-tuner:[^\t]*/\([0-9]*\)\t|keras-tuner:\1@nan\t|' >earlier/results.tsv
run import -C earlier searches/one
must_have out '5 runs were here already'
run import -C guild "$real/guild-0.9" --metric loss --direction lower
must_equal 'lr=0.1 noise=0 keep 0.43583300709724426 lr=0.1; noise=0; model='"'a b'"'
lr=2 noise=0 crash  lr=2; noise=0; model='"'a b'" "$(cells guild 7,9,10,17 | cut -d ';' -f 1-3)"
# A run of Guild that printed no scalar is one, too, and event files of its own command have its flags and its exit status.
rm -rf running quiet
cp -r "$real/guild-0.9" quiet
mkdir -p quiet/00/.guild/attrs quiet/01/.guild/attrs quiet/01/logs
printf '0\n' >quiet/00/.guild/attrs/exit_status
printf '2\n' >quiet/01/.guild/attrs/exit_status
printf 'lr: 0.5\n' | tee quiet/00/.guild/attrs/flags >quiet/01/.guild/attrs/flags
cp quiet/dfa9d933/.guild/events* quiet/01/logs/
run import -C quiet-runs quiet --metric loss --direction lower
must_have out 'tensorboard, 4 runs: finished 2, failed 2'
must_equal 'tensorboard:00/.guild harness_abort lr=0.5; tensorboard:01/logs crash lr=0.5;' "$(cells quiet-runs 9,15,17 | awk '$2 ~ /:0[01]\// { print $2, $1, $3 }' | sort | xargs)"
new quiet-run lower
run import -C quiet-run quiet/01 --metric loss
must_equal 'crash lr=0.5' "$(cells quiet-run 9,17 | cut -d ';' -f 1)" 'the folder of one run'
printf 'run,operation,started,time,status,label,how,lr,step,loss\n4ec9,t.py,2026-12-01 09:19:25,0:00:04,error,lr=0.3,fail,0.3,7,0.25\n7e86,t.py,2026-12-01 09:19:07,0:01:04,completed,lr=0.2,plain,0.2,7,0.5\n' >guild.csv
run import -C guild-table guild.csv --metric loss --direction lower
must_equal 'lr=0.2 keep 0.5 64.0 csv:7e86 lr=0.3 crash 4.0 csv:4ec9' "$(cells guild-table 7,9,10,14,15 | xargs)"
must_lack guild-table/results.tsv 'step='
printf 'run,operation,label,lr,loss\na,add,cat,0.1,0.5\nb,mul,dog,0.2,0.25\n' >own.csv
run import -C own-table own.csv --metric loss --direction lower
must_have own-table/results.tsv 'operation=add'
must_have own-table/results.tsv 'label=cat'
cp -r "$real/guild-0.9" running
rm running/*/.guild/attrs/exit_status
must_run import running --metric loss --dry-run
must_have out '2 runs have not ended and are left out'
run import -C smac "$real/smac-2.4.json" --direction lower
must_have out 'smac, 5 runs: finished 4, failed 1'
must_have smac/results.tsv 'ValueError: lr too high'
run import -C dvc "$real/dvc-3.67.json" --direction lower --metric val.loss
must_have out '1 commits without metrics are left out'
must_have out 'dvc does not record how a run ended'
must_equal 2 "$(grep -c 'train.lr' dvc/results.tsv)" 'experiments of DVC, without its work tree'
must_have dvc/results.tsv '0.009999999999999995'
printf 'Experiment,rev,typ,Created,parent,val.loss,train.lr\n' >dvc.csv
must_fail 2 'dvc exp show --json' import -C dvc dvc.csv
cp -r "$real/clearml-2.1" zero
sed 's/"value": *[0-9.]*/"value": 0.0/g' "$real"/clearml-2.1/*/metrics.jsonl >zero/offline-52e46bb6/metrics.jsonl
run import -C zero zero --direction lower --dry-run
must_have out 'a value of 0 may have been nan or infinite, which clearml stores as 0'
run import -C clearml "$real/clearml-2.1" --direction lower
must_lack out 'a value of 0'
must_have clearml/results.tsv '0.333333'
must_have clearml/results.tsv 'lr=0.1'
run import -C hpbandster "$real/hpbandster-0.7" --direction lower
must_have out 'hpbandster, 4 runs: finished 3, failed 1'
must_have out 'score: loss, a lower one is better, says the store as does hpbandster'
must_have hpbandster/results.tsv 'budget=3'
must_have hpbandster/results.tsv 'ValueError: bad'
must_fail 2 'the study is to minimize its loss' import -C other "$real/hpbandster-0.7" --direction higher
cp -r "$real/comet-3.58" comet-named
echo '{broken' >comet-named/oracle.json # only Keras Tuner writes such a file
cat >>comet-named/messages.json <<'END'
{"payload": {"key": "Name", "message_id": 2, "value": "plain"}, "type": "log_other"}
{"payload": {"local_timestamp": 1796052929429, "message_id": 4, "params": {"paramName": "d|a", "paramValue": [1, 2], "source": "manual", "step": null}}, "type": "parameter_msg"}
END
run import -C cometed comet-named --direction lower
must_equal "plain lr=0.1; d_a='[1,2]'" "$(cells cometed 7,17)"
mkdir -p dvclive/plots
echo '{"step": 2, "train": {"loss": 0.5, "acc": NaN}}' >dvclive/metrics.json
must_fail 2 'is of DVC or DVCLive, whose metrics.json is of one training' import -C h dvclive
# A list of runs of that name is not of DVC, whatever is beside it.
mkdir dvx
echo 'lr: 0.1' >dvx/params.yaml
echo '[{"id": "a", "config": {"lr": 1}, "summary": {"loss": 0.5}}, {"id": "b", "config": {"lr": 2}, "summary": {"loss": 0.4}}]' >dvx/metrics.json
run import -C dvxed dvx/metrics.json --direction lower
must_have out 'wandb, 2 runs'
run import -C comet "$real/comet-3.58" --direction lower
must_have out 'metrics of 1 finished runs: val_loss 1'
must_have comet/results.tsv '0.3333333333333333'
must_have comet/results.tsv 'lr=0.1'
must_lack comet/results.tsv 'curr_step'
run import -C neptune "$real/neptune-1.14" --direction lower
must_have out 'metrics of 1 finished runs: val/loss 1'
must_have neptune/results.tsv '0.3333333333333333'
must_have out 'neptune does not store values that are nan or infinite: a run that ended with one has the value before it'
must_have neptune/results.tsv 'lr=0.1'
run show -C neptune 000
must_have out '2026-11-29T10:11:51'
# The last line of FLAML's log is none of its runs.
run import -C flaml "$real/flaml-2.8.jsonl" --direction lower --map validation_loss=metric
must_have out 'json, 2 runs: finished 2'
# Curves of add_scalars are in directories of their own: TAG/CURVE of tensorboardX, and TAG_CURVE of torch, each '/' of the tag replaced.
run import -C tensorboardx "$real/tensorboardx-2.6" --direction lower --metric val/loss
must_have out 'metrics of 1 finished runs: hp/loss 1, val/loss 1, both/train 1, both/val 1'
run import -C scalars "$real/torch-2.15-scalars" --direction lower --metric val/loss
must_have out 'metrics of 1 finished runs: val/loss 1, both/x/val 1, both/x/train 1, both/x/ema 1'
# SwanLab: a run that raised, one that its user ended, one that ended as nan, one that was resumed, one that was killed at its start.
cp -r "$real/swanlab-0.10" swan
mkdir swan/run-20261201_100000-dead
touch swan/run-20261201_100000-dead/run-dead.swanlab
run import -C swanlab swan --direction lower --metric val/loss
must_have out 'swanlab, 6 runs: failed 1, killed 1, finished 3, running 1'
must_have out '1 runs have not ended'
must_equal 'failed crash abort harness_abort nan crash ünicode keep 0.5 resumed keep 0.3' "$(cells swanlab 7,9,10 | xargs)"
must_have swanlab/results.tsv "flag=true; lr=0.1; model.dim=8; text=0.0001; n_='值'; metrics acc=0.75"
must_have swanlab/results.tsv 'as recorded: ValueError: boom'
run import -C swanlab swan --metric val/loss
must_have out '5 runs were here already'
must_fail 2 "has no run log of SwanLab of the project none" import -C swanlab "$real/swanlab-0.10" --study none --metric val/loss
printf ':SWL\326\341\001' >swan/old.swanlab
must_fail 2 'is a run log of a SwanLab before 0.8' import -C swanlab swan/old.swanlab
# The newest state of each output folder of the Trainer counts; the last one says whether the training ended.
mkdir -p outputs/a/checkpoint-9 outputs/b
state() # STEP ENDED LOSS: a state after STEP of 20 steps
{
    printf '{"global_step": %d, "log_history": [{"epoch": 1.0, "eval_loss": 0.5, "step": 9}, {"eval_loss": %s, "step": %d}], "max_steps": 20,
        "num_train_epochs": 2, "stateful_callbacks": {"TrainerControl": {"args": {"should_training_stop": %s}}}, "train_batch_size": 8}' "$1" "$3" "$1" "$2"
}
state 9 false 0.5 >outputs/a/checkpoint-9/trainer_state.json
state 12 true NaN >outputs/b/trainer_state.json
run import -C trainer outputs --direction lower --metric eval_loss
must_have out 'transformers, 2 runs: running 1, finished 1'
must_equal 'outputs/b crash' "$(cells trainer 7,9,10 | xargs)"
mkdir outputs/a/checkpoint-20
state 20 true 0.25 >outputs/a/checkpoint-20/trainer_state.json
run import -C trainer outputs --metric eval_loss
must_have out '1 runs imported: 1 keep'
must_equal 'outputs/b crash outputs/a keep 0.25' "$(cells trainer 7,9,10 | xargs)"
must_have trainer/results.tsv 'num_train_epochs=2; train_batch_size=8'
run import -C trainer outputs/a/checkpoint-20/trainer_state.json --metric eval_loss
must_have out '1 runs were here already'
run import -C transformers "$SOURCE/fixtures/real/transformers/out" --direction higher --metric eval_accuracy
must_have transformers/results.tsv '0.86'
printf '\200\004\225\000' >study.pkl
must_fail 2 'is a pickle of Python' import -C flaml study.pkl
# Lines of one key whose step rises are a curve, and lines without a key are those of one training.
run import -C syne "$real/syne-tune-0.16.csv" --direction lower --metric val_loss
must_have out 'csv, 6 runs: failed 1, running 1, finished 4'
must_equal 5 "$(grep -c 'config_lr=' syne/results.tsv)" 'one row a trial of Syne Tune'
must_have syne/results.tsv '0.335953'
must_lack syne/results.tsv 'epoch='
must_have out 'InProgress may have ended, also badly; to take each trial as finished, say --map st_status=skip'
run import -C syne-all "$real/syne-tune-0.16.csv" --direction lower --metric val_loss --map st_status=skip
must_have out 'csv, 6 runs: finished 6'
# A report to Syne Tune has all metrics, so that an empty cell is a nan, and what is not config_NAME was measured.
printf 'epoch,loss,acc,st_status,trial_id,config_lr\n1,0.5,0.25,Completed,0,0.1\n2,,0.5,Completed,0,0.1\n1,0.75,0.125,Completed,1,0.2\n' >reports.csv
must_fail 2 'which metric is the score? Choose one by --metric: loss, acc' import -C reports reports.csv --direction lower
run import -C reports reports.csv --direction lower --metric loss
must_have out 'parameters: config_lr'
must_equal 'crash keep 0.75' "$(cells reports 9,10 | xargs)"
must_have reports/results.tsv 'config_lr=0.2; metrics acc=0.125'
printf 'epoch,train_loss,valid_loss\n0,1.5,1.25\n1,1.25,1.125\n' >curve.csv
must_fail 2 'its lines are steps of one training, because only epoch' import -C syne curve.csv --metric valid_loss
must_fail 2 'its lines are steps of one training' import -C syne curve.csv
run import -C epochs --dry-run --direction lower curve.csv --metric valid_loss --map epoch=param
must_have out 'csv, 2 runs'
printf 'Name,Value,Timestamp,Step\nval_loss,1.0,1795932552380,0\nacc,0.5,1795932552380,0\nval_loss,0.5,1795932552380,1\n' >long.csv # of DagsHub
must_fail 2 'its lines are steps of one training, because only Step' import -C syne long.csv --map Value=metric
printf 'name,step,score\na,10,0.5\nb,20,0.4\n' >named.csv
run import -C epochs --dry-run --direction lower named.csv --metric score
must_have out 'csv, 2 runs'
mkdir -p multi/0/.hydra aimed/.aim
touch multi/0/.hydra/overrides.yaml aimed/.aim/run_metadata.sqlite
must_fail 2 'is of Hydra, which keeps no score' import -C syne multi
must_fail 2 'is of Aim' import -C syne aimed
must_fail 2 'name the folder in which it is' import -C syne "$real/keras-tuner-1.4/oracle.json"
mlflow_run=artifacts/mlruns/1/0123456789abcdef0123456789abcdef
mkdir -p $mlflow_run/artifacts other/1/a/artifacts projects
touch $mlflow_run/artifacts/model.txt other/1/a/artifacts/model.txt
for folder in artifacts/mlruns artifacts/mlruns/1 $mlflow_run $mlflow_run/artifacts/; do
    must_fail 2 'has only artifacts of MLflow; its runs are in the database' import -C syne $folder
done
for folder in other other/1/a other/1/a/artifacts; do
    must_fail 2 'is neither a results.tsv nor a table' import -C syne $folder
done
cp trackio-0.43.db projects/p.db
cp "$real/optuna-5-journal.log" projects/
must_fail 2 'projects is a folder; name one of the files in it: optuna-5-journal.log (optuna), p.db (trackio)' import -C syne projects
printf 'ccopy_reg\n_reconstructor\np0\n' >old.pkl
must_fail 2 'is a pickle of Python' import -C nowhere old.pkl --direction lower
printf 'hello world\n' >words.txt
must_fail 2 'no exp_id or commit column in the header; its columns are: hello world' import -C nowhere words.txt --direction lower
[ ! -e nowhere ] || fail 'a refused import made a store'
# A loss that was nan or infinite is recorded as 5e20 by Nevergrad, which minimises.
must_fail 2 'the study is to minimize its loss' import -C nowhere "$real/nevergrad-1.0-nan.jsonl" --direction higher
run import -C clipped "$real/nevergrad-1.0-nan.jsonl" --direction lower
must_equal 'keep 4.307513936596312
crash 
crash ' "$(cells clipped 9,10)"
# What the user noted of a trial: numbers are metrics, but not in the place of the score.
run import -C notes "$real/optuna-5-notes.log" --direction lower
must_have out 'metrics of 3 finished runs: test_loss 3, value 3'
must_have out '2 user attributes that are not numbers are left out'
must_equal '0.417022004702574 x=0.417022004702574; metrics test_loss=0.208511002351287' "$(cells notes 10,17 | head -n 1)"
run import -C noted "$real/optuna-5-notes.log" --direction lower --metric test_loss
must_equal '0.208511002351287 0.36016224672107905 0.125' "$(cells noted 10 | tr '\n' ' ' | sed 's/ $//')"
# add_hparams with a name writes the settings of the run to a directory of that name.
run import -C settings "$real/tensorboardx-2.6-hparams" --direction lower --metric val/loss
must_have out 'tensorboard does not record how a run ended: one that died or goes on counts as finished'
must_equal 'tensorboard:hp 0.25 lr=0.1; flag=true; opt=adam; metrics hparam.loss=0.25' "$(cells settings 15,10,17 | sed 's/^\([^ ]*\) \([^ ]*\)/\2 \1/')"
# Integers that a double would round stay what they are, so that two seeds are two; a run that is there twice is one.
cat >longs.json <<'END'
[{"id": "a", "config": {"seed": 12345678901234567, "n": 3}, "summary": {"loss": 1}},
 {"id": "b", "config": {"seed": 18446744073709551615, "n": -9007199254740991}, "summary": {"loss": 2}},
 {"id": "a", "config": {"seed": 12345678901234567, "n": 3}, "summary": {"loss": 1}}]
END
run import -C longs longs.json --metric loss --direction lower
must_have out '1 copies of a run are left out'
must_equal "wandb:a seed='12345678901234567'; n=3
wandb:b seed='18446744073709551615'; n=-9007199254740991" "$(cells longs 15,17 | sed 's/; disc.*//')"
printf '[{"id": "a", "config": {"seed": 12345678901234567}, "summary": {"loss": 1}}, {"id": "b", "config": {"seed": 12345678901234568}, "summary": {"loss": 2}}]' >kinds.json
run import -C kinds kinds.json --direction lower
must_equal "seed='12345678901234567' seed='12345678901234568'" "$(cells kinds 17 | sed 's/; disc.*//' | tr '\n' ' ' | sed 's/ $//')" 'seeds of one column are of one kind'
# The digits of a number with a point are not an integer, however many there are; an integer of more than 64 bits is a metric, too.
printf '{"id": "a", "config": {"x": 0.1234567890123456789012, "y": -1234567890123456789012e-3}, "summary": {"loss": 123456789012345678901234567890, "acc": 1}}' >digits.json
run import -C digits digits.json --metric loss --direction lower
must_equal '1.2345678901234568e+29 x=0.12345678901234568; y=-1.2345678901234568e+18; metrics acc=1.0' "$(cells digits 10,17)"
printf '[{"id": "a", "config": {"x": 0.%0600000d1}, "summary": {"loss": 1}}]' 0 >digits.json
timeout 20 "$LINEAGE" import -C digits --dry-run digits.json --metric loss >out || fail 'a number of 600,000 digits takes the time of their square'
printf '[{"id": "a", "summary": {"loss": 99999999999999999999-1}}]' >digits.json
must_fail 2 'digits.json:1: ' import -C digits digits.json
# Lines of one training are not runs, whichever column counts them.
must_fail 2 'its lines are steps of one training, because only time/total_timesteps tells them apart' \
    import -C syne "$SOURCE/fixtures/real/stable_baselines3/log/progress.csv" --metric eval/mean_reward
cp "$real/lightning-2.6/p/version_0/metrics.csv" fabric.csv
must_fail 2 'its lines are steps of one training, because only step tells them apart' import -C syne fabric.csv --metric val_loss
printf 'id,epoch,step,train,val\na,0,1,0.5,\na,0,1,,0.25\na,1,2,0.4,\na,1,2,,0.125\nb,0,1,0.6,\nb,0,1,,0.5\n' >lines.csv
run import -C steps lines.csv --metric val --direction lower
must_equal 'csv:a 0.125
csv:b 0.5' "$(cells steps 15,10 | sed 's/^\([^ ]*\) \([^ ]*\)/\2 \1/')"
must_have out 'lines with one key are steps of one run, because epoch rises: 6 lines are 2 runs; if each line is a run, say --map epoch=param'
must_lack out 'parameters:'
# Lines that ended differently, or that are equal, are runs: of one step are only lines of which each has a cell that the other lacks.
printf 'id,epoch,lr,loss,state\na,10,0.1,0.4,COMPLETE\na,10,0.1,,FAIL\nb,10,0.2,0.5,COMPLETE\nb,10,0.2,0.5,COMPLETE\n' >ended.csv
run import -C ended ended.csv --metric loss --direction lower
must_equal 'keep 0.4 csv:a
crash  csv:a#2
discard 0.5 csv:b
discard 0.5 csv:b#2' "$(cells ended 9,10,15)"
printf 'id,epoch,loss,acc,ended\na,10,0.4,,2026-11-30 10:00:00\na,10,,0.9,2026-11-30 11:00:00\n' >times.csv
run import -C times times.csv --metric loss --map acc=metric --direction lower
must_have out 'csv, 2 runs'
# A blank cell of a later line says nothing of a setting, but what the first line of a run lacks was measured later.
printf 'id,epoch,lr,wd,loss\na,0,0.1,,0.5\na,1,,0.01,0.3\na,2,,,0.2\nb,0,0.2,0.01,0.6\n' >blank.csv
run import -C blank blank.csv --metric loss --direction lower
must_equal 'keep 0.2 lr=0.1
discard 0.6 lr=0.2; wd=0.01' "$(cells blank 9,10,17 | sed 's/; disc.*//')"
printf 'id,lr,seed,epoch,loss,test_acc\na,0.1,1,1,0.5,\na,0.1,1,2,0.45,0.91\nb,0.1,2,1,0.6,\nb,0.1,2,2,0.5,0.92\n' >last.csv
run import -C last last.csv --metric loss --direction lower
must_have out 'parameters: lr, seed'
must_lack out 'test_acc'
must_equal 'keep 0.45 lr=0.1; seed=1
discard 0.5 lr=0.1; seed=2' "$(cells last 9,10,17 | sed 's/; disc.*//')" 'a score of the last step is not a setting'
printf 'id,epoch,lr,loss\na,0,0.1,0.5\na,1,0.2,0.4\na,2,0.3,0.3\n' >schedule.csv
run import -C schedule schedule.csv --metric loss --direction lower
must_equal '0.3 ' "$(cells schedule 10,17)" 'a rate that changes is not a setting'
# The state of the last line counts, also of one that breaks a constraint.
printf 'id,epoch,loss,state\na,0,0.5,running\na,1,0.4,infeasible\n' >broke.csv
run import -C broke broke.csv --metric loss --direction lower
must_have out '1 disqualified'
# A step may start anew in the next epoch, but a training in which an epoch falls is another one.
printf 'id,lr,epoch,step,loss\na,0.1,0,0,0.9\na,0.1,0,1,0.8\na,0.1,1,0,0.7\na,0.1,1,1,0.6\nb,0.2,0,0,0.9\nb,0.2,0,1,0.8\nb,0.2,1,0,0.7\nb,0.2,1,1,0.5\n' >inner.csv
run import -C inner inner.csv --metric loss --direction lower
must_have out 'csv, 2 runs'
must_have out 'because epoch rises: 8 lines are 2 runs; if each line is a run, say --map epoch=param --map step=param'
must_lack out 'different runs'
must_equal 'keep 0.6 lr=0.1
keep 0.5 lr=0.2' "$(cells inner 9,10,17)"
must_run verify -C inner
printf 'id,epoch,step,train,val\na,0,0,0.5,\na,0,0,,0.4\na,0,1,0.3,\na,0,1,,0.2\n' >halves.csv
run import -C halves --dry-run halves.csv --metric val --map train=metric --direction lower
must_have out 'csv, 1 runs'
run import -C outer --dry-run inner.csv --metric loss --direction lower --map epoch=param --map step=param
must_have out 'csv, 8 runs'
for lines in 'id,step,epoch,loss\na,50,0,0.5\na,48,1,0.4\na,50,2,0.3\n' 'id,step,global_step,loss\na,0,0,0.5\na,1,1,0.4\na,0,2,0.3\n'; do
    printf %b "$lines" >rounds.csv
    run import -C rounds --dry-run rounds.csv --metric loss --direction lower
    must_have out 'csv, 1 runs'
done
printf 'epoch,step,loss\n0,0,0.5\n0,1,0.4\n1,0,0.3\n' >rounds.csv
must_fail 2 'say --map epoch=param --map step=param' import -C rounds rounds.csv --metric loss --direction lower
run import -C rounds --dry-run rounds.csv --metric loss --direction lower --map epoch=param --map step=param
must_have out 'csv, 3 runs'
printf 'id,epoch,step,loss\na,5,10,0.5\na,3,20,0.4\n' >falls.csv
run import -C falls falls.csv --metric loss --direction lower
must_equal 'keep 0.5 csv:a epoch=5; step=10
keep 0.4 csv:a#2 epoch=3; step=20' "$(cells falls 9,10,15,17)"
must_have out 'lines with one key are different runs where epoch falls; if they are steps of one run, sort the lines by epoch, step'
printf 'id,epoch,step,loss\na,3,20,0.4\na,5,10,0.5\n' >falls.csv
run import -C fell falls.csv --metric loss --direction lower
must_have out 'csv, 1 runs'
must_lack out 'different runs'
# Equal lines without a key are replicates, not steps of one training.
printf 'epoch,acc\n10,0.9\n10,0.9\n20,0.95\n' >replicates.csv
run import -C replicates replicates.csv --metric acc --direction higher
must_have out '3 runs imported'
printf 'epoch,lr,val_loss\n10,0.1,0.5\n10,0.01,0.4\n20,0.1,0.3\n20,0.01,0.2\n' >grid.csv
run import -C grid grid.csv --metric val_loss --direction lower
must_have out '4 runs imported'
run import -C one "$real/lightning-2.6/p/version_0/metrics.csv" --metric val_loss --direction lower
must_have out 'lightning, 1 runs: finished 1'
# That file is one training, whatever is below its folder; --map makes each of its lines a run.
cp -r "$real/lightning-2.6/p/version_0" nest
cp -r "$real/lightning-2.6/p/version_1" nest/
run import -C nest-store nest/metrics.csv --metric val_loss --direction lower
must_have out 'lightning, 1 runs: finished 1'
run import -C nest-store --dry-run nest/metrics.csv --metric val_loss --map epoch=param --map step=param
must_have out 'csv, 6 runs'
run import -C nevergrad "$real/nevergrad-1.0.jsonl" --direction lower
must_have out 'score: loss, a lower one is better, says the store as does json'
must_have out 'parameters: lr, opt'
must_fail 2 "to take one as the score: lineage import $real/ax-1.3.csv --map loss=metric" import -C ax "$real/ax-1.3.csv" --direction lower
run import -C ax "$real/ax-1.3.csv" --direction lower --map loss=metric
must_have out 'parameters: lr, opt'
must_have out 'csv, 6 runs: finished 5, failed 1'
# Several levels of pandas' index are settings, also without names, unless the last only counts; a single one is not.
run import -C levels "$real/pandas-3.1.csv" --direction lower --map val_loss=metric --map acc=skip
must_have out 'parameters: level_0, level_1'
printf ',val_loss\na,0.5\nb,0.4\n' >index.csv
run import -C levels --dry-run index.csv --map val_loss=metric
must_lack out 'parameters:'
printf ',,level_0,val_loss\na,b,1,0.5\nb,c,2,0.4\n' >index.csv
run import -C levels --dry-run index.csv --map val_loss=metric
must_have out 'csv, 2 runs'
must_have out 'parameters: level_1, level_0'
for counts in '0 1 0 1' '2 0 3 1'; do
    # shellcheck disable=SC2086 # four numbers
    printf ',,val_loss\na,%s,0.5\na,%s,0.4\nb,%s,0.6\nb,%s,0.3\n' $counts >index.csv
    run import -C levels --dry-run index.csv --map val_loss=metric
    must_have out 'parameters: level_0'
    must_lack out 'parameters: level_0, level_1'
done
# Lightning's CSVLogger: a folder a training, whose settings are YAML.
run import -C lightning --direction lower "$real/lightning-2.6" --metric val_loss
must_have out 'lightning, 3 runs: finished 3'
must_have out 'parameters: lr'
must_equal "$(tail -n 1 "$real/lightning-2.6/p/version_1/metrics.csv" | cut -d , -f 4 | tr -d '\r')" "$(cells lightning 9,10 | grep -c crash >n; cells lightning 10 | grep . | sort -g | head -n 1)" 'the best'
must_equal 1 "$(cat n)" 'the run that ended as nan is a crash'
run import -C lightning "$real/lightning-2.6" --metric val_loss
must_equal 3 "$(cells lightning 1 | wc -l)" 'a second import adds nothing'
mkdir -p yaml/v
printf 'lr: 1e-3\nname: "a: b"\nnet:\n  width: 3\n  act: relu\nlayers:\n- 1\nobject: !!python/object:x {}\nseed: null\n' >yaml/v/hparams.yaml
printf 'epoch,loss,step\n0,0.5,9\n1,0.25,19\n' >yaml/v/metrics.csv
run import -C nested --direction lower yaml --metric loss
must_have out 'parameters: lr, name, net.width, net.act'
must_have err 'settings left out, because they are lists, objects or texts that a line does not hold: layers, object'
must_lack err 'seed'
must_equal 0.25 "$(cells nested 10)" 'the last value'
printf 'epoch,loss,step\n0,half,9\n' >yaml/v/metrics.csv
must_fail 2 'metrics.csv:2: not a line of numbers' import -C nested yaml --metric loss
# A step is a whole number in range, a line has all cells, and a last line without an end was cut off.
for line in 1,0.5,nan 1,0.5,1e300 1,0.5,-inf 1,0.5,1.5 1,0.5, 1,0.5; do
    printf 'epoch,loss,step\n0,0.75,9\n%s\n' "$line" >yaml/v/metrics.csv
    must_fail 2 'metrics.csv:3: not a line of numbers, at a whole step' import -C nested yaml --metric loss
done
printf 'epoch,loss,step\n0,0.75,9\n1,0.5,10\n1,0.25,1' >yaml/v/metrics.csv
run import -C torn --direction lower yaml --metric loss
must_have out '1 last lines of metrics.csv, which were cut off, are left out'
must_equal 0.5 "$(cells torn 10)" 'the last whole line'
printf 'epoch,loss,step\n0,0.75,9\n1,inf,10\n' >yaml/v/metrics.csv
run import -C infinite --direction lower yaml --metric loss
must_have out '1 values are left out, because they are nan or infinite'
must_equal crash "$(cells infinite 9)"
# Folders of half a run are counted, and a later import gives a run its first score.
mkdir -p yaml/version_0 yaml/version_1 yaml/version_2
cp yaml/v/metrics.csv yaml/version_1
cp yaml/v/hparams.yaml yaml/version_2
: >yaml/version_2/metrics.csv
run import -C partial --direction lower yaml --metric loss
must_have out '2 versions without hparams.yaml are left out'
must_equal 'v crash
version_2 harness_abort' "$(cells partial 7,9 | sed 's|^yaml/||')"
printf 'epoch,loss,step\n0,0.75,9\n' >yaml/version_2/metrics.csv
run import -C partial yaml --metric loss
must_have out '1 runs were here already'
must_have partial/results.tsv 0.75
mkdir -p bare/version_0
run import -C partial --from lightning bare --metric loss
must_equal 'lightning, 0 runs' "$(head -n 1 out)"
rm -r yaml/version_*
# A step of JSON that is out of range is at no step.
printf '[{"id": "a", "config": {"lr": 1}, "summary": {"acc": 1}, "history": [{"_step": 1e300, "acc": 0.5}, {"_step": 2, "acc": 0.75}]}]' >far.json
run import -C far --direction higher far.json
must_have out '1 values are left out, because they are nan or infinite, or their step is out of range'
must_equal '{"steps":[{"step":2,"acc":0.75}]}' "$(cat far/telemetry/000.json)"
# What PyYAML writes of Python's values: only what is whole in its line is a setting.
cat >yaml/v/hparams.yaml <<'END'
lr: 0.1
block: |
  first: line
  lr: 5
folded: 'this text is longer than a line and goes on,

  longer than eighty: columns'
plain: this text has no quotes and is longer than
  a line
escaped: "tab\there, longer than\
  \ eighty: columns"
betas: &id001 !!python/tuple
- 0.9
- b: 0.99
  c: 1
again: *id001
empty: []
flow: {a: 1,
  b: 2}
text: 'it''s: x'
cut: 'ends with a quote''

  '
'a: key': 3
? 'two

  lines'
: 1
opt:
  # a comment
  a:b: adam # a comment
  none: null
  ranges:
  - 1
  - 2
  word: 'null'
eps: 1.0e-08
END
printf 'epoch,loss,step\n0,0.5,9\n' >yaml/v/metrics.csv
run import -C pyyaml --direction lower yaml --metric loss
must_equal "lr=0.1; text='it''s: x'; opt.a_b=adam; opt.word=null; eps=1e-08" "$(cells pyyaml 17)"
must_have err ": block, folded, plain, escaped, betas, again, empty, flow, cut, 'a, ? 'two, opt.ranges"
# The key of a run does not depend on the folder that is named.
mkdir -p keys/logs/exp
cp -r yaml/v keys/logs/exp/version_0
run import -C keyed --direction lower keys/logs --metric loss
must_equal lightning:exp/version_0 "$(cells keyed 15)"
for folder in keys/logs/exp keys/logs/exp/ keys/logs/exp/version_0 keys/logs/exp/version_0/; do
    run import -C keyed "$folder" --metric loss
    must_have out '1 runs were here already'
done
(cd keys/logs/exp/version_0 && "$LINEAGE" import -C ../../../../keyed . --metric loss) >out 2>err
must_have out '1 runs were here already'
mv keys/logs moved
run import -C keyed moved --metric loss
must_have out '1 runs were here already'
# cv_results_ of scikit-learn: only means over the folds are scores, and a fit that failed has none.
run import -C search --direction higher "$real/scikit-learn-1.9.csv" --metric mean_test_accuracy
must_have out 'csv, 6 runs: finished 4, failed 2'
must_have out 'parameters: C, kernel'
must_equal '0.9647972259912558' "$(cells search 10 | sort -n | tail -n 1)" 'the best of the search'
must_fail 2 'the study is to maximize its mean_test_accuracy' import -C lowest "$real/scikit-learn-1.9.csv" --metric mean_test_accuracy --direction lower
printf 'param_count,loss\n3,0.5\n4,0.4\n' >count.csv
run import -C epochs --dry-run --direction lower count.csv --metric loss
must_have out 'parameters: param_count'
# The runs may be a list inside of an object: the refusal has a line that takes them out, and it works when it is typed.
cat >determined.json <<'END'
{"trials": [{"id": 11, "state": "STATE_COMPLETED", "hparams": {"lr": 0.1}, "latest": {"val_loss": 0.5}},
            {"id": 12, "state": "STATE_ERROR", "hparams": {"lr": 1.0}, "latest": {"val_loss": 0.1}},
            {"id": 13, "state": "STATE_ACTIVE", "hparams": {"lr": 2.0}, "latest": {"val_loss": 0.1}}], "pagination": {"total": 3}}
END
must_fail 2 "import determined.json --map pagination.total=metric; if its runs are in a list inside, import what this writes: \
jq '.[\"trials\"]' determined.json >runs.json" import -C inside determined.json --direction lower
echo '{"a.b": [{"x": 1}], "n": {"c d": [{"y": 2}], "e": [1]}, "text": "[{", "acc": 0.5}' >'two lists.json'
must_fail 2 "jq '.[\"a.b\"]' 'two lists.json' >runs.json, or the same with '.[\"n\"][\"c d\"]'" \
    import -C inside 'two lists.json' --direction lower
must_lack err '"e"'
must_lack err '"text"'
printf 'name,lr,loss,state\na,1,0.5,STATE_LOST\n' >state.csv
must_fail 2 'running: STATE_LOST; write one of these for it, or --map state=skip, which takes each run as finished' \
    import -C inside state.csv --direction lower --metric loss
cat >katib.json <<'END'
{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "metadata": {"name": "random-a1"},
  "spec": {"parameterAssignments": [{"name": "lr", "value": "0.01"}, {"name": "opt", "value": "adam"}]},
  "status": {"conditions": [{"type": "Running", "status": "False"}, {"type": "Succeeded", "status": "True"}],
             "observation": {"metrics": [{"name": "loss", "latest": "0.30", "min": "0.25"}]}}},
 {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "metadata": {"name": "random-b2"},
  "spec": {"parameterAssignments": [{"name": "lr", "value": "0.1"}]},
  "status": {"conditions": [{"type": "EarlyStopped", "status": "True"}], "observation": {"metrics": [{"name": "loss", "latest": "0.2"}]}}},
 {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "metadata": {"name": "random-c3"},
  "spec": {"parameterAssignments": [{"name": "lr", "value": "1"}]}, "status": {"conditions": [{"type": "Failed", "status": "True"}]}},
 {"apiVersion": "kubeflow.org/v1beta1", "kind": "Trial", "metadata": {"name": "random-d4"}}]}
END
must_fail 2 'katib.json is of Katib; make a table of its trials: jq ' import -C inside katib.json --direction lower
sed -n "s/.*\(jq '.*'\) FILE.*/\1 katib.json/p" err >katib.jq
must_fail 2 'is of bayesian-optimization; make a table of its points: jq ' \
    import -C inside "$real/bayesian-optimization-3.4.json" --direction higher
sed -n "s/.*\(jq '.*'\) FILE.*/\1/p" err >points.jq
must_fail 2 'is of hyperopt; make a table of its trials: jq ' import -C inside "$real/hyperopt-0.3.json" --direction lower
sed -n "s/.*\(jq '.*'\) FILE.*/\1/p" err >hyperopt.jq
run import -C hyperopt-map "$real/hyperopt-0.3.json" --direction lower --map state=skip --map result.loss=metric
must_exit 0
# Optuna's CLI draws a table or writes YAML if nothing else is asked for.
printf '+--------+-------+\n| number | value |\n+--------+-------+\n|      0 |   0.5 |\n' >lines.txt
must_fail 2 'lines.txt is a table drawn with lines; write JSON or CSV' import -C inside lines.txt --direction lower
printf -- "- datetime_complete: '2026-12-01'\n  number: 0\n  state: COMPLETE\n  value: 0.5\n" >optuna.yaml
must_fail 2 'is YAML of Optuna; write JSON' import -C inside optuna.yaml --direction lower
printf 'apiVersion: v1\nkind: List\nitems: []\n' >katib.yaml
must_fail 2 'is YAML of Kubernetes; write JSON (kubectl get' import -C inside katib.yaml --direction lower
if command -v jq >/dev/null; then
    jq .trials determined.json >runs.json
    run import -C determined runs.json --direction lower --map latest.val_loss=metric
    must_exit 0
    must_equal 'keep 0.5 json:11
crash  json:12' "$(cells determined 15,9,10)"
    must_have out '1 runs have not ended'
    sh katib.jq >trials.json
    run import -C katib trials.json --direction lower --metric loss
    must_exit 0
    must_have out '1 runs have not ended'
    must_equal 'random-a1 keep 0.3
random-b2 discard 
random-c3 crash ' "$(cells katib 7,9,10)"
    must_have katib/results.tsv "lr=0.01; opt=adam"
    sh hyperopt.jq <"$real/hyperopt-0.3.json" >trials.json
    run import -C hyperopt trials.json --direction lower --metric loss
    must_exit 0
    must_equal '0 keep 0.9205522921757233
1 crash 
2 crash 
3 crash 
4 discard 5.297295982235931' "$(cells hyperopt 7,9,10)"
    must_have hyperopt/results.tsv 'space.net=0; space.x=0.040545836334156427'
    # A parameter may have the name of a column.
    sed 's/"x": /"loss": /g; s/"net": /"state": /g' "$real/hyperopt-0.3.json" | sh hyperopt.jq >trials.json
    run import -C hyperopt-names trials.json --direction lower --metric loss
    must_exit 0
    must_equal '0 keep 0.9205522921757233
1 crash 
2 crash 
3 crash 
4 discard 5.297295982235931' "$(cells hyperopt-names 7,9,10)"
    must_have hyperopt-names/results.tsv 'space.state=0; space.loss=0.040545836334156427'
    sh points.jq <"$real/bayesian-optimization-3.4.json" >points.json
    run import -C points points.json --direction higher --map target=metric
    must_exit 0
    must_equal -0.5914641974584433 "$("$LINEAGE" best -C points --format json | "$JSON_GET" core_metric)"
    must_equal 5 "$(cells points 1 | wc -l | tr -d ' ')"
else
    echo 'skipped: lines of jq, which is not installed'
fi
run import -C epochs --dry-run --direction lower "$real/pytest-benchmark-5.3.json" --metric mean
must_have out 'metrics of 1 finished runs: min 1, max 1, mean 1'
must_lack out 'parameters:'
printf '{"results": [{"command": "sleep 0.1", "mean": 0.101, "times": [0.1], "parameters": {"s": "0.1"}}]}' >hyperfine.json
run import -C epochs --dry-run --direction lower hyperfine.json --metric mean
must_have out 'parameters: s'
# A list of that name in a run is one of its members.
for list in results benchmarks; do
    printf '{"name": "run-a", "metric": {"acc": 0.9}, "lr": 0.1, "%s": [{"epoch": 1, "acc": 0.5}, {"epoch": 2, "acc": 0.9}]}' $list >one.json
    must_fail 2 'lineage import one.json --map metric.acc=metric' import -C epochs --direction higher one.json
    run import -C epochs --dry-run --direction higher one.json --map metric.acc=metric
    must_have out 'json, 1 runs'
    must_have out 'parameters: lr'
done
printf '{"_type": "Client", "experiment": {"search_space": {}}}' >ax.json
must_fail 2 'is of Ax' import -C ax ax.json
# The line that is offered can be pasted.
printf '{"#uid2": "a", "my time": 3, "eval #loss": 0.5}\n' >odd.jsonl
must_fail 2 "lineage import odd.jsonl --map 'eval #loss=metric'" import -C ax odd.jsonl
printf '{"pred.eval_time": 3, "stats.val_loss": 0.5, "name": "a"}\n' >order.jsonl
must_fail 2 'lineage import order.jsonl --map name=name --map stats.val_loss=metric' import -C ax order.jsonl --map name=name
printf '{"trials": {"1": {"loss": 0.5}, "2": {"loss": 0.4}}}\n' >nested.json
must_fail 2 'nested.json holds several runs in one object' import -C ax nested.json
printf 'PK\003\004\000\000loss,acc\n' >run.zip
must_fail 2 'run.zip is an archive; unzip it' import -C ax run.zip
sqlite3 ledger.db 'CREATE TABLE goals (id TEXT); CREATE TABLE runs (id TEXT, metrics TEXT)'
must_fail 2 "ledger.db is of no known tool; its tables: runs (id, metrics), goals (id); import one as a table: sqlite3 -header -csv ledger.db 'SELECT * FROM runs' >runs.csv, lineage import runs.csv --map COLUMN=metric" import -C mlloop ledger.db

# ---- MLflow's metric files ----
mkdir -p lines/1/r/metrics lines/1/q/metrics
printf 'name: x\nlifecycle_stage: active\n' >lines/1/meta.yaml
printf 'run_id: r\nrun_name: r\nstatus: 3\nlifecycle_stage: active\nstart_time: 1\n' >lines/1/r/meta.yaml
: >lines/1/q/meta.yaml
printf '1 3.25 0\n2 2.0 1\n4 1.0 3\n3 1.5 2\n5 0.' >lines/1/r/metrics/loss
new lines lower
run import -C lines lines
must_have out '1 runs with a damaged meta.yaml are left out'
must_equal 'r keep 1.0' "$(cells lines 7,9,10)"
mkdir -p lines/1/s/metrics
printf '1 2.5 0\n' >lines/1/s/metrics/loss
printf "run_id: s\nrun_name: 'a name that is longer than a line,\n\n  goes on'\nstatus: 3\n" >lines/1/s/meta.yaml
printf "run_id: r\nrun_name: 'it''s: r'\nstatus: 3\nstart_time: 1\n" >lines/1/r/meta.yaml
new named lower
run import -C named lines
must_have out '1 names of several lines in meta.yaml are left out'
must_equal "it's: r
mlflow" "$(cells named 7)"
rm -r lines/1/s
printf '1 3.25 0\n2 2.x 1\n' >lines/1/r/metrics/loss
must_fail 2 "metrics/loss:2: '2 2.x 1' is not MILLISECONDS VALUE STEP; mend or remove the line" import -C lines lines

# ---- and back ----
"$LINEAGE" export -C w --format csv | tr -d '\r' >w.csv
must_equal metric.train_loss "$(head -n 1 w.csv | tr , "\n" | grep "^metric")"
must_equal 'exp_id,timestamp' "$(head -n 1 w.csv | cut -d , -f 1,2)"
new back higher
run import -C back w.csv --metric core_metric --map core_metric=metric --map exp_id=key --map status=skip --map notes=skip --map total_s=seconds
must_exit 0
must_equal "$(cells w 2,7,10,14)" "$(cells back 2,7,10,14)"
must_run export -C w --format jsonl
must_equal 3 "$(wc -l <out)"
must_equal 0.71 "$(sed -n 2p out | "$JSON_GET" core_metric)"
must_run export -C w --format jsonl --output w.jsonl
must_equal 3 "$(wc -l <w.jsonl)"
must_fail 2 "--format 'xml': use tsv, csv or jsonl" export -C w --format xml
printf 'exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\tgpu\n000\t\t\t\t\t\t"a ""b"", c"\t\tkeep\t1\t\t\t\t\t\t\t\tA100\n' >extra.tsv
mkdir extra && mv extra.tsv extra/results.tsv
must_run export -C extra --format csv
must_have out '"a ""b"", c"'
must_equal 'A100' "$(tr -d '\r' <out | tail -n 1 | sed 's/.*,//')"
# Other columns keep the order of the file, and one that is called as a parameter's column takes no cell from it.
sed -i 's/gpu$/zeta\tparam.lr\tbeta/; s/A100$/z\tcolumn\tb/' extra/results.tsv
run rebuild -C extra
run rebuild -C extra --digests
must_run append -C extra --status keep --core-metric 2 --param lr=0.5
must_run export -C extra --format csv
must_equal 'param.lr,zeta,param.lr,beta' "$(sed -n 1p out | tr -d '\r' | cut -d , -f 18-)"
must_equal ',z,column,b' "$(sed -n 2p out | tr -d '\r' | sed 's/.*\(,z,.*\)/\1/')"
must_equal '0.5,,,' "$(sed -n 3p out | tr -d '\r' | cut -d , -f 18-)"
must_equal 3 "$(grep -c "$(printf '\r')\$" out)" 'lines that end in CR LF'

# ---- a name or a time that is taken for a setting ----
printf 'run,lr,acc,time\na1,1,0.5,2026-11-01 10:00:00\na2,1,0.6,2026-11-01 11:00:00\na3,2,0.7,2026-11-01 12:00:00\n' >names.csv
must_run init of_names --direction higher
must_run import -C of_names names.csv --metric acc --dry-run
must_have out '--map COLUMN=name, started or skip says so): run, time'
must_run import -C of_names names.csv --metric acc --map run=name --map time=started
must_lack out 'another text'
must_equal 'parameters: lr' "$(grep parameters out)" 'what is left'

# ---- what is none of them ----
printf 'SQLite format 3\0rest' >broken.db
must_fail 2 'cannot read broken.db' import -C h broken.db
echo hello >words.txt
must_fail 2 'words.txt' import -C h words.txt --study x
must_fail 2 "--from 'nowhere': use wandb, mlflow" import -C h words.txt --from nowhere
must_fail 2 'optuna.db is not what trackio writes' import -C h optuna.db --from trackio
must_fail 2 '--study is for histories with several studies' import -C w "$from/wandb.json" --study x --metric val_acc
must_fail 2 '--map is for tables' import -C h optuna.db --study cifar --map x=metric
must_fail 2 "--take 'mean': use last, min or max" import -C w "$from/wandb.json" --metric val_acc --take mean
must_fail 2 'cannot open nowhere' import -C h nowhere --from csv
printf '[{"id": "a", "config": {"lr": 1}, "summary": {"acc": 1}}' >half.json
must_fail 2 'half.json:1: ' import -C h half.json
printf '[1, 2]' >none.json
must_fail 2 'none.json has no run' import -C h none.json
# Triggers and views of a stranger's file do nothing.
sqlite3 optuna.db "DELETE FROM studies WHERE study_id = 2; ALTER TABLE trial_params RENAME TO real_params;
    CREATE VIEW trial_params AS SELECT * FROM real_params, (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n)"
must_fail 2 'optuna.db' import -C h --from optuna optuna.db
# Runs without a name: the block shows their parameters.
printf 'lr,opt,val_loss\n0.1,adam,3\n0.01,adam,2\n' >unnamed.csv
run import -C unnamed --direction lower unnamed.csv --metric val_loss
must_exit 0
must_run render -C unnamed
must_have out '| 001 | csv | keep | 2 | `lr 0.1 → 0.01` |'

# A column of results beside a seed would make each seed a setting of its own.
{
    echo lr,seed,val_loss,val_acc,train_time
    echo 0.1,0,1.5,0.71,10.5; echo 0.1,1,1.6,0.69,11.5; echo 0.2,0,1.1,0.81,10.25; echo 0.2,1,1.2,0.79,11.25
} >results.csv
must_run import -C seeds --direction lower --metric val_loss results.csv
must_have out 'so that each seed is a setting of its own; if they are results, in a table, --map COLUMN=metric says so: val_acc, train_time'
must_have out 'noise: unknown'
must_run import -C mapped --direction lower --metric val_loss --map val_acc=metric --map train_time=metric results.csv
must_lack out 'number of their own'
must_have out 'noise: 0.0707'
# A search draws its numbers: with one seed for all, one for each, or two for all trials, they are parameters. A gap hides no result.
for seeds in '1 1 1 1 1 1' '1 2 3 4 5 6' '1 2 2 1 1 2'; do
    echo lr,bs,seed,val_loss >search.csv
    n=1
    for seed in $seeds; do
        echo "0.0$((n * n)),$((16 << n % 2)),$seed,1.$n" >>search.csv
        n=$((n + 1))
    done
    rm -rf search
    must_run import -C search --direction lower --metric val_loss search.csv
    must_have out 'parameters: '
    must_lack out 'number of their own'
done
sed '5s/0.79//' results.csv >gap.csv
must_run import -C gap --direction lower --metric val_loss gap.csv
must_have out 'says so: val_acc, train_time'

finish
