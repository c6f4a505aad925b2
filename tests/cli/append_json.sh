#!/bin/sh
# append_json.sh: `lineage append --json`: a whole trial, options that override it, and input that is refused.
. "$SOURCE/tests/support/shell.sh"

# must_refuse TEXT JSON: append fails with exit status 2 and TEXT.
must_refuse()
{
    printf '%s' "$2" >input.json
    cp results.tsv before
    must_fail 2 "$1" append --json input.json
    must_match_file before results.tsv
}

cat >trial.json <<'JSON'
{
  "exp_id": "a7", "timestamp": "2026-05-12T20:30:00Z", "specialist": "opt", "domain": "rl",
  "hypothesis": "first line\nsecond\tline \"quoted\" \u03b1", "expected_delta": "+0.80 EM", "status": "keep",
  "core_metric": 34.5, "val_bpb": null, "train_s": 12480, "total_s": "13000.5", "job_name": "j",
  "notes": "free text", "params": {"alpha": 0.3, "γ": 1, "lr": 1e-4},
  "ig_clip_scale_mean": 1.014, "ig_clip_scale_std": 0.087,
  "turns": [{"turn": 0, "mean": 0.25, "std": 0.5, "n": 8.0}, {"turn": 1.0, "mean": -0.125, "std": 0.0}],
  "telemetry": {"steps": [{"step": 1, "loss": 0.5}]}
}
JSON
must_run append --create --json trial.json
must_equal a7 "$(cat out)"
must_run show a7 --format json
must_equal "$("$JSON_GET" hypothesis <trial.json)" "$(json hypothesis)"
for key in exp_id timestamp specialist domain expected_delta status job_name; do
    must_equal "$("$JSON_GET" $key <trial.json)" "$(json $key)" $key
done
must_equal 12480.0 "$(json train_s)"
must_equal 13000.5 "$(json total_s)"
must_equal null "$(json val_bpb)"
must_equal '{"alpha":0.3,"gamma":1,"lr":0.0001}' "$(json params)"
must_equal 2 "$(json turns.#)"
must_equal -0.125 "$(json turns.1.mean)"
must_equal 8 "$(json turns.0.n)"
must_equal 0.5 "$(json steps.0.loss telemetry/a7.json)"

# What JSON has besides numbers and texts is spelled as Python and imports spell it, in each row of a file.
cat >kinds.json <<'JSON'
{"status": "crash", "params": {"flag": true, "start": null, "layers": [1, 2.5, "a;b"], "opt": {"name": "adam", "betas": {"1": 0.9}}}}
{"status": "crash", "params": {"flag": false}}
JSON
must_run init kinds
must_run append -C kinds --json kinds.json
must_have kinds/results.tsv "flag=true; start=none; layers='[1,2.5,\"\"a,b\"\"]'; opt.name=adam; opt.betas.1=0.9"
must_have kinds/results.tsv 'flag=false'
must_run tried -C kinds --param flag=true --param start=none --param opt.betas.1=0.9

# From standard input, with options that override the object.
last="lineage append --json -"
"$LINEAGE" append --json - --exp-id b8 --core-metric 35 --param lr=2e-4 <<'JSON' >out 2>err
{"exp_id": "x", "status": "discard", "core_metric": 1, "params": {"lr": 0.1, "seed": 7}}
JSON
must_equal b8 "$(cat out)"
must_run show b8 --format json
must_equal 35.0 "$(json core_metric)"
must_equal '{"lr":0.0002,"seed":7}' "$(json params)"

must_refuse "expected near end of file" '{"status": "keep"'
must_refuse "not a JSON object" '[]'
must_refuse "input.json" ''
must_refuse "input.json" '"keep"'
must_refuse "'[' or '{' expected" '{"status": "crash"} x'
must_refuse "give --status" '{"status": "crash"} {}'
must_refuse "duplicate object key" '{"status": "keep", "status": "discard"}'
must_refuse "unknown key 'hypothesys'" '{"status": "keep", "hypothesys": "x"}'
must_refuse "did you mean 'hypothesis'" '{"status": "keep", "hypothesys": "x"}'
must_refuse "give --status" '{"core_metric": 1}'
must_refuse "give --status" '{"status": null}'
must_refuse "status in the JSON is not a string" '{"status": 3}'
must_refuse "is not a label" '{"status": "good"}'
must_refuse "core_metric in the JSON is not a number" '{"status": "keep", "core_metric": true}'
must_refuse "not a number" '{"status": "keep", "core_metric": "fast"}'
must_refuse "core_metric is nan" '{"status": "keep", "core_metric": "nan"}'
must_refuse "overflow" '{"status": "keep", "core_metric": 1e999}'
must_refuse "hypothesis in the JSON is not a string" '{"status": "keep", "hypothesis": 3}'
must_refuse "NUL" '{"status": "keep", "hypothesis": "a\u0000b"}'
must_refuse "params in the JSON is not an object" '{"status": "keep", "params": []}'
must_refuse "lr in the JSON is not a number" '{"status": "keep", "params": {"lr": "1e-4"}}'
must_refuse "parameter optimizer: its text" '{"status": "keep", "core_metric": 1, "params": {"optimizer": "a;b"}}'
must_refuse "parameter name" '{"status": "keep", "params": {"a=b": 1}}'
must_refuse "parameter name" '{"status": "keep", "params": {"": 1}}'
must_refuse "turns" '{"status": "keep", "turns": {}}'
must_refuse "turns" '{"status": "keep", "turns": [{"turn": -1, "mean": 0, "std": 0}]}'
must_refuse "turns" '{"status": "keep", "turns": [{"turn": 0, "mean": 0}]}'
for n in 2.5 -1 '"2"' true; do must_refuse "whole numbers" '{"status": "keep", "turns": [{"turn": 0, "mean": 0, "std": 0, "n": '"$n"'}]}'; done
must_refuse "already in" '{"status": "keep", "core_metric": 1, "exp_id": "a7"}'
must_refuse "telemetry" '{"status": "keep", "telemetry": 3}'
printf '{"status": "keep", "hypothesis": "caf\351"}' >input.json
must_fail 2 "input.json:1" append --json input.json
must_fail 2 "cannot read nowhere.json" append --json nowhere.json
must_fail 2 "cannot read ." append --json .
must_equal 4 "$(wc -l <results.tsv)" "lines in results.tsv"
must_run verify

# Several objects are one append.
new_store rows
cat >rows.jsonl <<'JSON'
{"exp_id": "first", "status": "baseline", "core_metric": 2, "params": {"alpha": 0.1, "lr": 1e-3}}
{"parent_exp": "first", "status": "auto", "core_metric": 1, "params": {"alpha": 0.3}, "turns": [{"turn": 0, "mean": 1, "std": 2}]}

{"parent_exp": "000", "status": "crash"} {"parent_exp": "first", "status": "auto",
 "core_metric": 1.5, "specialist": "mine"}
JSON
must_run append -C rows --json rows.jsonl --specialist s --domain d
must_equal 'first 000 001 002 ' "$(tr '\n' ' ' <out)"
must_equal 5 "$(wc -l <rows/results.tsv)"
must_run query -C rows --format json
must_equal 'keep 0.3 s d' "$(json 1.status) $(json 1.params.alpha) $(json 1.specialist) $(json 1.domain)"
must_equal 'crash 000 s' "$(json 2.status) $(json 2.parent_exp) $(json 2.specialist)"
must_equal 'discard first 0.5' "$(json 3.status) $(json 3.parent_exp) $(json 3.delta_vs_best)"
must_equal 1 "$(json 1.turns.#)"
must_run verify -C rows
cp rows/results.tsv before
refuse_rows()
{
    printf '%b' "$2" >input.json
    must_fail 2 "$1" append -C rows --json input.json
    must_match_file before rows/results.tsv
}
refuse_rows "row 2: exp_id 'first' is already in" '{"status": "crash"}\n{"status": "crash", "exp_id": "first"}\n'
refuse_rows "input.json:2:" '{"status": "crash"}\n{"status": "cra\n'
refuse_rows "input.json:2:1" '{"status": "crash"}\n3\n'
refuse_rows "not a JSON object" '{"status": "crash"}\n[]\n'
refuse_rows "key 'colour'" '{"status": "crash"}\n{"status": "crash", "colour": 1}\n'
refuse_rows "give --status" '{"status": "crash"}\n{"core_metric": 1}\n'
refuse_rows "the list has no trial" '[]'
refuse_rows "input.json:1:22" '[{"status": "crash"},]'
refuse_rows "item 2 of the list is not a JSON object" '[{"status": "crash"}, 1]'
# One list holds several, too.
must_run init list
printf ' [{"status": "crash"} ,\n {"status": "crash", "hypothesis": "a], b", "params": {"layers": [64, 32]}}] ' >list.json
must_run append -C list --json list.json
must_equal '000 001 ' "$(tr '\n' ' ' <out)"
must_run query -C list --format json
must_equal 'a], b [64,32]' "$(json 1.hypothesis) $(json 1.params.layers)"
refuse_rows "several trials" '{"status": "crash"}\n{"status": "crash", "telemetry": {}}\n'
finish
