#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh
# histories.sh: `import` of what other tools have recorded. The Optuna file is a dump of one that Optuna 3.1.0 wrote; where Optuna
# is installed, a fresh one is read, too. The files of the other tools follow their published formats.
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
if /usr/bin/python3 -c 'import optuna' 2>/dev/null; then
    cat >study.py <<'END'
import optuna
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(study_name="fresh", storage="sqlite:///fresh.db", sampler=optuna.samplers.RandomSampler(seed=1))
study.optimize(lambda t: t.suggest_float("x", 0, 1) + (t.suggest_categorical("kind", ["a", "b"]) == "b"), n_trials=20)
print(study.best_trial.number)
END
    best=$(/usr/bin/python3 study.py 2>/dev/null)
    new fresh lower
    run import -C fresh fresh.db
    must_have out '20 runs imported'
    "$LINEAGE" best -C fresh --format json >best.json
    must_equal "optuna:fresh/$best" "$("$JSON_GET" job_name <best.json)"
else
    echo 'skipped: a fresh file of Optuna, which is not installed'
fi

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
must_match_file m/results.tsv d/results.tsv
must_match_file m/telemetry/000.json d/telemetry/000.json

# ---- trackio ----
new t lower
run import -C t trackio.db --metric loss
must_exit 0
must_equal '2026-11-01T10:00:00Z dainty-sunset-1 keep 1.25 60.0' "$(cells t 2,7,9,10,14 | head -n 1)"
must_equal 'brave-river-2 crash ' "$(cells t 7,9,10 | tail -n 1)"
must_have t/results.tsv 'lr=0.001; model.width=64.0; model.act=gelu; metrics epoch=1.0'
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
must_have w/results.tsv 'lr=0.001; batch_size=32.0; model.name=small; metrics train_loss=0.4; as recorded: baseline, as in the paper'
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

# ---- what is none of them ----
printf 'SQLite format 3\0rest' >broken.db
must_fail 2 'no exp_id or commit column' import -C h broken.db
echo hello >words.txt
must_fail 2 'words.txt' import -C h words.txt --study x
must_fail 2 "--from 'neptune': use wandb, mlflow" import -C h words.txt --from neptune
must_fail 2 'optuna.db is not what trackio writes' import -C h optuna.db --from trackio
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
finish
