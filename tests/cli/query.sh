#!/bin/sh
# query.sh: `lineage query`: ranges, labels, dates, order, limits, names that are not known.
. "$SOURCE/tests/support/shell.sh"

{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status core_metric \
        val_bpb delta_vs_best train_s total_s job_name snapshot_path notes accuracy
    row 000 2026-05-01T00:00:00Z a '' '' '' '' '' baseline 3.0 1.1 '' 100 '' '' '' 'alpha=0.1' 0.94
    row 001 2026-05-02T00:00:00Z b '' '' '' '' '' keep 2.0 1.0 '' 90.5 '' '' '' 'alpha=0.3; gamma=1.0; lr=1e-4' 0.96
    row 002 2026-05-03T00:00:00Z a '' '' '' '' '' discard 2.0 '' '' '' '' '' '' 'alpha=0.5; gamma=2; lr=1e-3' n/a
    row 003 2026-05-04T00:00:00Z c '' '' '' '' '' crash '' '' '' '' '' '' '' 'ig_clip_scale mean=1.01 std=0.1' ''
    row 004 2026-05-05T00:00:00Z a '' '' '' '' '' keep nan '' '' '' '' '' '' 'α=0.9; the parent used alpha=0.3' 0.95
} >results.tsv

# finds IDS ARGUMENT...
finds()
{
    wanted_ids=$1
    shift
    must_run query --format tsv "$@"
    must_equal "$wanted_ids" "$(sed 1d out | cut -f1 | tr '\n' ' ' | sed 's/ $//')"
}

finds '000 001 002 003 004'
finds '001 002' --alpha 0.3:0.5
finds '001' --alpha 0.3
finds '000 001' --alpha :0.3
finds '002 004' --alpha 0.5:
finds '000 001 002 004' --alpha :
finds '' --alpha 0.31:0.49
finds '001' --gamma :1.0
finds '' --beta 0:1
finds '001' --param lr=1e-4:5e-4
finds '001' --param lr=:1e-3 --param gamma=1
finds '002' --param alpha=0.2:0.6 --param gamma=1.5:
finds '001 002' --metric :2
finds '000 001 002' --metric :
finds '000' --metric 2.5:
finds '000 001' --param val_bpb=1:2
finds '000' --param train_s=95:
finds '001 004' --param accuracy=0.95:
finds '003' --param ig_clip_scale_mean=1.01: --param ig_clip_scale_std=:0.1
finds '000' --metric val_bpb --metric 1.05:
finds '000 004' --status baseline,keep --specialist a
finds '' --specialist A
finds '003 004' --since 2026-05-04
finds '000 001' --until 2026-05-03
finds '001 002' --since 2026-05-02 --until 2026-05-04
finds '001 002 000' --sort core_metric
finds '000 001 002' --sort -core_metric
finds '000' --sort -core_metric --limit 1
finds '004 002' --sort -alpha --limit 2
finds '004 003' --sort -timestamp --limit 2
finds '001 004 000' --sort -accuracy
finds '000 002 004 001 003' --sort specialist
finds '000 001 002 003 004' --limit 100

must_run query --alpha 0.3 --format json
must_equal 1 "$(json '#')"
must_equal 001 "$(json 0.exp_id)"
must_equal '{"alpha":0.3,"gamma":1.0,"lr":0.0001}' "$(json 0.params)"
must_equal 0.96 "$(json 0.extras.accuracy)"
must_run query --metric 99: --format json
must_equal '[]' "$(cat out)"
must_run query --metric 99: --format tsv
must_equal 1 "$(wc -l <out)" "only the header"
must_run query --metric 99:
must_equal '' "$(cat out)"
run query --metric 99: --exit-status
must_exit 1
must_run query --metric 1: --exit-status

must_fail 2 "known are exp_id" query --param beats=1
must_fail 2 "alpha gamma lr" query --param beats=1
must_fail 2 "accuracy" query --sort Accuracy
must_fail 2 "no column or parameter" query --sort "seq; DROP TABLE trials"
must_fail 2 "no column or parameter" query --sort -
must_fail 2 "no column" query --metric beats
must_fail 2 "'0.5:0.1'" query --alpha 0.5:0.1
must_fail 2 "'nan:'" query --alpha nan:
must_fail 2 "'a:b'" query --alpha a:b
must_fail 2 "'1:2:3'" query --alpha 1:2:3
must_fail 2 "alpha" query --alpha ''
must_fail 2 "'kept' is not a status label" query --status keep,kept
must_fail 2 "not a status label" query --status ' keep'
must_fail 2 "--limit" query --limit 0
must_fail 2 "--limit '-1'" query --limit -1
must_fail 2 "--limit '1e3'" query --limit 1e3
must_fail 2 "NAME=VALUE" query --param lr

# Coverage of a sweep.
must_run sweep alpha gamma --format json
must_equal 2 "$(json cells.#)"
must_equal '[{"alpha":0.3,"gamma":2.0},{"alpha":0.5,"gamma":1.0}]' "$(json untried)"
must_equal 3 "$(json without)"
must_equal 2.0 "$(json cells.0.best)"
must_equal 001 "$(json cells.0.best_id)"
must_equal '{"discard":1}' "$(json cells.1.labels)"
must_run sweep alpha gamma
must_have out 'untried (2): alpha=0.3 gamma=2.0, alpha=0.5 gamma=1.0'
must_run sweep α --format json
must_equal 4 "$(json cells.#)"
must_run sweep lr --format tsv
must_equal '0.0001 0.001 ' "$(sed 1d out | cut -f1 | tr '\n' ' ')"
must_fail 1 "no trial has beta" sweep beta
must_fail 2 "known are" sweep beats
must_fail 2 "known are" sweep alpha beats

# Whether it was tried.
must_run tried --alpha 0.3 --gamma 1 --format json
must_equal 001 "$(json 0.exp_id)"
run tried --alpha 0.3 --gamma 2
must_exit 1
must_equal '' "$(cat out err)"
run tried --alpha 0.31
must_exit 1
must_run tried --alpha 0.31 --tolerance 0.02 --format tsv
must_equal 001 "$(sed 1d out | cut -f1)"
must_run tried --param lr=0.0001
run tried --param beats=1
must_exit 1
must_fail 2 "at least one parameter" tried
must_fail 2 "not a number" tried --alpha 0.1:0.3
must_fail 2 "tolerance" tried --alpha 0.3 --tolerance -1
finish
