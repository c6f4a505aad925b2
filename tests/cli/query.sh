#!/bin/sh
# query.sh: `lineage query`: ranges, labels, dates, order, limits, unknown names.
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

# finds IDS ARGUMENT...: the query finds exactly these trials, in this order.
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
finds '002' alpha=0.2:0.6 gamma=1.5:
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
finds '003 004' --since '2026-05-04T01:00+02:00'
finds '004' --since 2026-05-04T00:00:01Z
finds '004' --since '2026-W19-2' --until 2026-06
finds '000 001 002 003' --until '2026-05-05 00:00'
finds '' --since 2026-05-05T00:00:00.5Z --until 2026-05-05T00:00:00Z
must_fail 2 "'07.05.2026' can be read as 2026-05-07 or 2026-07-05" query --since 07.05.2026
must_fail 2 "'05/07/2026' can be read as" query --until 05/07/2026
must_fail 2 "'soon' is not a date; write YYYY-MM-DD" query --since soon
must_fail 2 "is not a date" query --since ''
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
must_equal '{"alpha":0.3,"gamma":1,"lr":0.0001}' "$(json 0.params)"
must_equal 0.96 "$(json 0.extras.accuracy)"
must_run query --metric 99: --format json
must_equal '[]' "$(cat out)"
must_run query --metric 99: --format tsv
must_equal 1 "$(wc -l <out)" "only the header"
must_run query --metric 99:
must_equal 'exp_id timestamp specialist parent_exp status score delta_vs_best params hypothesis' "$(tr -s ' ' <out)" 'an empty answer has column names'
run query --metric 99: --exit-status
must_exit 1
must_run query --metric 1: --exit-status

must_fail 2 "known are exp_id" query --param beats=1
must_fail 2 "alpha gamma lr" query --param beats=1
must_fail 2 "accuracy" query --sort Accuracy
must_fail 2 "no column or parameter" query --sort "seq; DROP TABLE trials"
must_fail 2 "no column or parameter" query --sort -
must_fail 2 "no column or parameter 'scroe' (did you mean 'score'?)" query --sort scroe
must_fail 2 "no column or parameter 'hypotesis' (did you mean 'hypothesis'?)" query --param hypotesis=x
must_fail 2 'if it is a parameter, write --param lr=3e-4' query --lr 3e-4
must_fail 2 'if it is a parameter, write --param lr=-1' query --lr=-1
must_fail 2 'if it is a parameter, write --param lr=-1' query --lr -1
must_fail 2 'if it is a parameter, write --param lr=VALUE' query --lr --param x=1
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
must_fail 2 "unexpected argument 'lr'" query alpha=0.3 lr
must_run tried alpha=0.3 gamma=1
must_fail 2 "a parameter is given as --param lr=0.01" append --status discard --core-metric 2 --hypothesis Lower lr=0.01
must_fail 2 "column 'specialist' holds text" tried specialist=1
must_fail 2 "column 'exp_id' holds text" tried alpha=0.3 exp_id=1
must_fail 1 'tried: alpha' tried alpha=0.77

# Coverage of a sweep.
must_run sweep alpha gamma --format json
must_equal 2 "$(json cells.#)"
must_equal '[{"alpha":0.3,"gamma":2},{"alpha":0.5,"gamma":1}]' "$(json untried)"
must_equal 3 "$(json without)"
must_equal 2.0 "$(json cells.0.best)"
must_equal 001 "$(json cells.0.best_id)"
must_equal '{"discard":1}' "$(json cells.1.labels)"
must_run sweep alpha gamma
must_have out 'untried (2): alpha=0.3 gamma=2, alpha=0.5 gamma=1'
must_run sweep α --format json
must_equal 4 "$(json cells.#)"
must_run sweep lr --format tsv
must_equal '0.0001 0.001 ' "$(sed 1d out | cut -f1 | tr '\n' ' ')"
must_fail 1 "no trial has beta" sweep beta
must_fail 2 "known are" sweep beats
must_fail 2 "known are" sweep alpha beats

# Whether a setting was tried.
must_run tried --alpha 0.3 --gamma 1 --format json
must_equal 001 "$(json 0.exp_id)"
run tried --alpha 0.3 --gamma 2
must_exit 1
must_equal '' "$(cat out)"
must_have err 'nearest: 002 has gamma=2, not alpha=0.3; discard, 2.0'
run tried --alpha 0.31
must_exit 1
must_run tried --alpha 0.31 --tolerance 0.04 --format tsv
must_equal 001 "$(sed 1d out | cut -f1)"
must_run tried --param lr=0.0001
run tried --param lr=0.0002 --tolerance 0.4
must_exit 1
must_run tried --param lr=0.0002 --tolerance 0.6
must_fail 2 "no column or parameter 'beats'; known are" tried --param beats=1
must_fail 1 "tried: lr 0.0001, 0.001" tried --param lr=0.0002
# A parameter with the name of a column: both are found by both.
new_store named
must_run -C named append --status keep --core-metric 1 --param domain=math --param train_s=60
must_run -C named append --status keep --core-metric 2 --domain math --train-s 60
must_run -C named append --status keep --core-metric 3 --domain law --param lr=1
for by in query tried; do
    for what in domain=math train_s=60; do
        must_run -C named $by --format tsv --param $what
        must_equal '000 001 ' "$(sed 1d out | cut -f1 | tr '\n' ' ')"
    done
    must_run -C named $by --format tsv --param domain=law --param lr=1
    must_equal '002 ' "$(sed 1d out | cut -f1 | tr '\n' ' ')"
done
# An id without its zeros, and those near one that does not exist.
must_run -C named show 2
must_run -C named show exp_00001
must_fail 2 "no trial '29' in named; there is 002" -C named show 29
must_fail 2 "no trial '003' in named; there is 000, 001, 002" -C named show 003
must_fail 2 "at least one parameter" tried
must_fail 2 "not a number" tried --alpha 0.1:0.3
must_fail 2 "tolerance" tried --alpha 0.3 --tolerance -1

# Timestamps of other tools are compared as instants, whatever their time zone; an invalid one matches no condition.
new_store zones
{
    row 000 2026-05-07T01:00:00+02:00 a '' '' '' '' '' keep 1 '' '' '' '' '' '' ''
    row 001 '2026-05-06 23:30:00' a '' '' '' '' '' keep 1 '' '' '' '' '' '' ''
    row 002 2026-05-06T22:00:00.25-01:00 a '' '' '' '' '' keep 1 '' '' '' '' '' '' ''
    row 003 'last night' a '' '' '' '' '' keep 1 '' '' '' '' '' '' ''
    row 004 '' a '' '' '' '' '' keep 1 '' '' '' '' '' '' ''
} >>zones/results.tsv
run -C zones verify
must_have out "results.tsv:5: note: 003: timestamp 'last night' is not a date; --since and --until do not find the trial"
finds '000 001 002' -C zones --since 2026-05-06
finds '001' -C zones --since 2026-05-06T23:15Z
finds '000 002' -C zones --until 2026-05-06T23:15Z
finds '000 002' -C zones --since 2026-05-06T23:00:00Z --until 2026-05-06T23:00:01Z
finds '000 002' -C zones --since '2026-05-06 23:00:00 UTC' --until '2026-05-07 01:00:01 +0200'
# One moment as date +%z, DuckDB, Ruby, time.time() and Date.now() write it. 11 digits, or a date in words, are none.
new_store moments
for time in 2026-11-28T10:47:28+0100 '2026-11-28 09:47:28+00' '2026-11-28 09:47:28 UTC' '2026-11-28 10:47:28 +0100' 1795859248 \
    1795859248.25 1795859248250; do
    row "$(printf %03d "$(($(wc -l <moments/results.tsv) - 1))")" "$time" a '' '' '' '' '' keep 1 '' '' '' '' '' '' '' >>moments/results.tsv
done
must_run -C moments verify
finds '000 001 002 003 004 005 006' -C moments --since 2026-11-28T09:47:28Z --until 2026-11-28T09:47:29Z
finds '' -C moments --until 2026-11-28T09:47:28Z
finds '' -C moments --since 2026-11-28T09:47:29Z
row 007 17958592480 a '' '' '' '' '' keep 1 '' '' '' '' '' '' '' >>moments/results.tsv
row 008 'Nov 28 2026' a '' '' '' '' '' keep 1 '' '' '' '' '' '' '' >>moments/results.tsv
run -C moments verify
must_equal '007 008' "$(sed -n 's/.*: note: \([0-9]*\):.*/\1/p' out | tr '\n' ' ' | sed 's/ $//')"
finds '000 001 002 003 004 005 006' -C moments --since 2000

# Words such as `yesterday` count from now.
new_store words
{
    row 000 "$(date -u -d '3 days ago' +%Y-%m-%dT%H:%M:%SZ)" a '' '' '' '' '' keep 1 '' '' '' '' '' '' ''
    row 001 "$(date -u -d 'yesterday' +%Y-%m-%dT12:00:00Z)" a '' '' '' '' '' keep 1 '' '' '' '' '' '' ''
    row 002 "$(date -u +%Y-%m-%dT%H:%M:%SZ)" a '' '' '' '' '' keep 1 '' '' '' '' '' '' ''
} >>words/results.tsv
finds '001 002' -C words --since yesterday
finds '002' -C words --since today
finds '001' -C words --since yesterday --until today
finds '000 001 002' -C words --since '4 days ago'
finds '002' -C words --since 10h --until tomorrow
finds '000' -C words --until '2 days ago'

# A trial that the harness aborted does not count as tried.
new_store aborts
{
    trial 000 '' keep 2 '' 'alpha=0.1; gamma=1'
    trial 001 '' harness_abort '' '' 'alpha=0.3; gamma=1'
    trial 002 '' harness_abort '' '' 'alpha=0.1; gamma=2'
    trial 003 '' crash '' '' 'alpha=0.5; gamma=2'
    trial 004 '' harness_abort '' '' 'beta=0.5'
} >>aborts/results.tsv
run tried -C aborts --alpha 0.3
must_exit 1
must_equal '' "$(cat out)"
must_have err "1 trial with this setting is void or ended in harness_abort"
run tried -C aborts --alpha 0.3 --gamma 2
must_exit 1
must_lack err harness_abort
must_run tried -C aborts --alpha 0.5 --format json
must_equal 003 "$(json 0.exp_id)"
must_run tried -C aborts --alpha 0.1 --format json
must_equal 1 "$(json '#')"
must_run sweep -C aborts alpha gamma --format json
must_equal '[0.1,0.5]' "[$(json cells.0.alpha),$(json cells.1.alpha)]"
must_equal 2 "$(json cells.#)"
must_equal '[{"alpha":0.1,"gamma":2},{"alpha":0.5,"gamma":1}]' "$(json untried)"
must_equal 2 "$(json aborted)"
must_equal 1 "$(json without)"
must_run sweep -C aborts alpha
must_have out "2 trials with harness_abort left out"
must_fail 1 "no trial has beta" sweep -C aborts beta

# A long table gets its widths from its first rows and loses none of the others.
mkdir long
{
    header
    seq 10020 | awk -F '\t' -v OFS='\t' '{ print $1, "", $1 == 10010 ? "a_wide_specialist" : "s", "", "", "", "hypothesis " $1,
        "", "keep", $1, "", "", "", "", "", "", "" }'
} >long/results.tsv
must_run query -C long
must_equal 10021 "$(wc -l <out)"
must_have out '10000              s'
must_have out '10010              a_wide_specialist'
must_equal 10020 "$(tail -n +2 out | awk '$NF == $1' | wc -l)"
must_run query -C long --limit 10000
must_equal 10001 "$(wc -l <out)"

# The settings of a later environment of a run were tried, too, but not together with those of the first.
must_run init mixed --direction higher
must_run append -C mixed --status keep --core-metric 1 --param alpha=0.3 --param env1.alpha=0.9 --param env1.lr=3
must_run tried -C mixed --alpha 0.9
must_run tried -C mixed --alpha 0.9 --param lr=3
for setting in '--alpha 0.3 --param lr=3' '--alpha 0.8'; do
    run tried -C mixed $setting
    must_exit 1
done
finish
