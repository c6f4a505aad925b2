#!/bin/sh
# layouts.sh: files of other programs are read, written where that is possible, and imported.
. "$SOURCE/tests/support/shell.sh"

# karpathy/autoresearch: five columns, placeholders for crashes, the same commit twice.
mkdir auto
{
    row commit val_bpb memory_gb status description
    row a1b2c3d 0.997900 44.0 keep baseline
    row b2c3d4e 0.993200 44.2 keep 'increase LR'
    row c3d4e5f 0.000000 0.0 crash 'out of memory'
    row b2c3d4e 1.010000 44.1 discard 'the same again'
} >auto/results.tsv
cp auto/results.tsv before
must_run -C auto best --format json
must_equal b2c3d4e "$(json exp_id)"
must_equal 0.9932 "$(json val_bpb)"
must_equal 'increase LR' "$(json hypothesis)"
must_run -C auto query --param memory_gb=44.1: --format tsv
must_equal 'b2c3d4e b2c3d4e ' "$(sed 1d out | cut -f1 | tr '\n' ' ')"
must_run -C auto query --sort core_metric --format json
must_run -C auto query --status crash --format json
must_equal null "$(json 0.val_bpb)"
must_run -C auto render --for x
must_have out 'increase LR'
must_fail 2 "init --from" -C auto append --status keep --core-metric 1
must_match_file before auto/results.tsv

mkdir new
run -C new import auto/results.tsv
must_exit 0
must_have out '4 rows imported, 0 left out'
must_equal "$(header)	memory_gb" "$(head -n 1 new/results.tsv)"
must_run -C new best --format json
must_equal 0.9932 "$(json core_metric)"
must_equal 44.2 "$(json extras.memory_gb)"
must_run -C new query --param memory_gb=44.1: --sort -memory_gb --format tsv
must_equal 'b2c3d4e b2c3d4e-2 ' "$(sed 1d out | cut -f1 | tr '\n' ' ')"
must_run -C new append --status discard --core-metric 1 --hypothesis 'no memory reported'
must_run -C new show "$(cat out)" --format json
must_equal '' "$(json extras.memory_gb)"
must_run -C new verify
must_run -C new verify
must_run -C new query --format json
must_equal '[null,-0.0047,null,0.0168]' \
    "[$(json 0.delta_vs_best),$(json 1.delta_vs_best),$(json 2.delta_vs_best),$(json 3.delta_vs_best)]"

# A second import continues from the best trial of the first; a better trial becomes the best for the rows after it.
{
    row commit val_bpb memory_gb status description
    row d0 0.9940 44 discard 'nearly'
    row d1 0.9900 44 keep 'better'
    row d2 0.9890 44 discard 'better still, not kept'
    row d3 0.9910 44 discard 'behind d1'
} >more.tsv
run -C new import more.tsv
must_exit 0
must_run -C new query --param line=7: --format json
must_equal '[0.0008,-0.0032,-0.001,0.001]' \
    "[$(json 0.delta_vs_best),$(json 1.delta_vs_best),$(json 2.delta_vs_best),$(json 3.delta_vs_best)]"

# Extra columns: a store with rows takes those that its header has and reports the others once. A column without a name,
# a second one of the same name and a name that is not UTF-8 are left out; a tab or a quote in a name is not.
{
    row exp_id status val_bpb memory_gb eval_s notes
    row e0 discard 1.1 43.5 12 ''
    row e1 discard 1.2 43.6 13 ''
} >columns.tsv
run -C new import columns.tsv
must_exit 0
must_have err "columns.tsv:1: column 'eval_s' is not in the store's header: its numbers become metrics"
must_equal 1 "$(grep -c 'left out' err)"
must_run -C new show e1 --format json
must_equal '43.6 13.0' "$(json extras.memory_gb) $(json metrics.eval_s)"
must_equal 'metrics eval_s=13.0' "$(json notes)"
must_run -C new verify
mkdir names
{
    printf 'exp_id\tstatus\tval_bpb\teval_s\t\teval_s\t\303\t"a\t""b"\tstatus\n'
    printf 'e0\tdiscard\t1.1\t3\t4\t5\t6\t7\t8\n'
} >names.tsv
run -C names import names.tsv
must_exit 0
must_equal 4 "$(grep -c 'left out' err)"
must_run -C names show e0 --format json
must_equal '3 7' "$(json extras.eval_s) $(python3 -c 'import json; print(json.load(open("out"))["extras"]["a\t\"b"])')"
must_run -C names verify
awk 'BEGIN { printf "exp_id\tstatus\tval_bpb\tlog\ne0\tdiscard\t1.1\t"; for (i = 0; i < 131073; i++) printf "x"; print "" }' >long.tsv
mkdir long
run -C long import long.tsv
must_exit 0
must_have err 'log is 131073 bytes long'
must_have out '0 rows imported, 1 left out'

# The blackboard's columns: another score column, extra columns, a different order.
mkdir bb
{
    row exp_id timestamp specialist parent_exp baseline_exp domain hypothesis expected_delta status train_s accuracy \
        delta_vs_best total_s job_name snapshot_path notes
    row 000 T a '' '' d 'one' -0.5 baseline 26.000000 0.94 '' 30 j '' ''
    row 001 T b exp_000 000 d 'two' -0.5 keep 25.146400 0.96 -0.853600 30 j '' ''
    row 002 T b 001 000 d 'lost its tabs'
    row 003 T b 001 000 d 'three' -0.5 discard 25.500000 n/a +0.353600 30 j '' ''
} >bb/results.tsv
must_fail 1 "finite val_bpb" -C bb best
must_run -C bb --metric train_s best --format json
must_equal 001 "$(json exp_id)"
must_equal 25.1464 "$(json score)"
must_equal 0.96 "$(json extras.accuracy)"
must_run -C bb init --metric train_s
run -C bb best --format json
must_have err "making it anew"
must_exit 0
must_equal 001 "$(json exp_id)"
must_run -C bb best --format json
must_equal 001 "$(json exp_id)"
must_run -C bb query --param accuracy=0.95: --format json
must_equal 1 "$(json '#')"
run -C bb verify
must_exit 1
must_equal 1 "$(grep -vc "^checked: \|: note: " out)"
must_have out 'results.tsv:4: short: 002: 7 cells, header has 16'
must_run -C bb append --status keep --core-metric 24 --hypothesis four
must_equal 24.0 "$(tail -n 1 bb/results.tsv | cut -f10)" "a score goes to the score column"
must_equal 15 "$(tail -n 1 bb/results.tsv | tr -cd '\t' | wc -c)" "tabs"
must_equal -1.1464 "$(tail -n 1 bb/results.tsv | cut -f12)"
must_fail 2 "no column" -C bb --metric nothing best

mkdir from-bb
cp bb/results.tsv input.tsv
run -C from-bb import input.tsv --metric train_s
must_exit 0
must_have out '4 rows imported, 1 left out'
must_have err 'input.tsv:4: 002: 7 cells, header has 16'
must_run -C from-bb best --format json
must_equal 24.0 "$(json core_metric)"
must_run -C from-bb verify
must_equal "$(sed -n 3p bb/results.tsv | cut -f7)" "$(sed -n 3p from-bb/results.tsv | cut -f7)" "text is unchanged"

# Columns in any order, with a byte order mark and CR LF; reading does not change the file.
mkdir odd
{
    printf '\357\273\277'
    row status exp_id core_metric hypothesis
    row keep 000 1.5 'one'
    row keep 001 0.5 'two'
} | sed 's/$/\r/' >odd/results.tsv
cp odd/results.tsv before
must_run -C odd best --format json
must_equal 001 "$(json exp_id)"
must_equal two "$(json hypothesis)"
must_run -C odd query
must_match_file before odd/results.tsv

# A file that is not a results.tsv.
mkdir bad
printf 'just some text\nmore\n' >bad/results.tsv
run -C bad query
must_exit 2
must_have err 'results.tsv'
head -c 4096 /dev/urandom >bad/results.tsv
run -C bad query
[ "$status" -le 2 ] || fail "random bytes: exit status $status"
must_fail 2 "nowhere.tsv" -C new import nowhere.tsv
cp new/results.tsv before
printf 'just some text\nmore\n' >text.tsv
run -C new import text.tsv
must_exit 2
must_match_file before new/results.tsv
finish
