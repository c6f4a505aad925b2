#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh
# void.sh: trials that do not count: every question, sums, undo, verify, rebuild, export, nights, and hostile rows.
. "$SOURCE/tests/support/shell.sh"

ids()
{
    cut -f 1 out | tail -n +2 | tr '\n' ' '
}

# every state is the same for a mirror that followed row by row, for one that is built at once, and for one in memory
same_everywhere()
{
    must_run verify -C "$1"
    must_run sql -C "$1" "SELECT seq, exp_id, status, score, special FROM trials" --format tsv
    cp out followed
    for table in label_counts param_values calibration voided judged night_rows; do
        must_run sql -C "$1" "SELECT * FROM $table"
        cp out "followed.$table"
    done
    must_run rebuild -C "$1"
    must_run sql -C "$1" "SELECT seq, exp_id, status, score, special FROM trials" --format tsv
    must_match_file followed out
    for table in label_counts param_values calibration voided judged night_rows; do
        must_run sql -C "$1" "SELECT * FROM $table"
        must_match_file "followed.$table" out
    done
    must_run verify -C "$1"
}

must_run init s --direction higher
add()
{
    must_run append -C s --specialist ada "$@"
}
add --status auto --core-metric 1 --alpha 0.1 --expected-delta +0.1 --hypothesis start
add --status auto --core-metric 2 --alpha 0.3 --parent 000 --expected-delta +0.7 --param opt=adam
add --status auto --core-metric 9 --alpha 0.9 --parent 001 --expected-delta +0.3 --hypothesis 'too good'
add --status auto --core-metric 3 --alpha 0.9 --parent 002 --expected-delta -0.1
add --status crash --alpha 0.5 --parent 001
must_equal 6 "$(wc -l <s/results.tsv | tr -d ' ')"
cp s/results.tsv before.tsv

# ---- refused, and nothing is written ----
must_fail 2 '--reason is missing' void 002 -C s
must_fail 2 'needs a reason' void 002 -C s --reason ' '
must_fail 2 'the ID of the trial is missing' void -C s --reason x
must_fail 2 "no trial '777'" void 777 -C s --reason x
must_fail 2 "no trial '777'" void 002 777 -C s --reason x
must_fail 2 'is not void' void 002 -C s --undo
must_fail 2 'at most 2000 bytes' void 002 -C s --reason "$(head -c 2001 /dev/zero | tr '\0' x)"
must_match_file before.tsv s/results.tsv

# ---- the best is void ----
run void exp_002 -C s --reason 'the evaluator was broken'
must_exit 0
must_equal 005 "$(cat out)"
must_have err 'the best trial is now 003; it was 002'
must_have err 'judged again: 003 is now keep'
must_have err '1 trial continues from 002'
must_equal 'harness_abort 002 lineage-void the evaluator was broken' "$(tail -n 1 s/results.tsv | cut -f '9,4,15,7' | awk -F '\t' '{print $3, $1, $4, $2}')"
must_match_file before.tsv "$(head -n 6 s/results.tsv >head.tsv; echo head.tsv)"
must_run best -C s --format tsv
must_have out '003'
must_run tried -C s --alpha 0.9 --format tsv
must_equal '003 ' "$(ids)"
must_run chain 003 -C s --format tsv
must_equal '000 001 003 ' "$(ids)"
must_run query -C s --status keep --format tsv
must_equal '000 001 003 ' "$(ids)"
must_run sql -C s "SELECT status, delta_vs_best, baseline_exp FROM trials WHERE exp_id = '003'" --format tsv
must_equal 'keep 1.0 001' "$(tail -n 1 out | tr '\t' ' ')" 'compared with the best that counts'
must_run show 003 -C s
must_have out 'judged again, because of void trials; its row says discard'
must_run query -C s --metric 0: --format tsv
must_equal '000 001 003 ' "$(ids)"
must_run sweep alpha -C s --format json
must_equal 1 "$(json 'cells.2.trials')" 'the void trial is not counted'
must_run render -C s
must_lack out 'too good'
must_have out ' 4 trials and 1 void.'
must_run report -C s --output s.html
must_have s.html '<dt>trials</dt><dd>4</dd>'
must_have s.html '<dt>failed</dt><dd>1</dd></div><div><dt>void</dt><dd>1</dd>'
must_have s.html '<span class="tag void">void</span>'
must_lack s.html '<td class="h">the evaluator was broken</td>'
# A person's own label stays, though the notes begin as those of the rules do.
must_run init own --direction higher
must_run append -C own --status auto --core-metric 1
must_run append -C own --status auto --core-metric 9
must_run append -C own --status discard --core-metric 3 --notes 'discarded: too slow for the phone'
must_run append -C own --status auto --core-metric 2
run void 001 -C own --reason leak
must_have err 'judged again: 003 is now keep'
must_lack err '002 is now'
# A trial that continues from the row of a void, two trials of one id, and a row of a void before its trial: the last
# trial of that id before the row is void.
must_run init twice --direction lower
must_run append -C twice --status keep --core-metric 5
must_run append -C twice --status keep --core-metric 4
run void 001 -C twice --reason leak
must_run append -C twice --status keep --core-metric 4.5 --parent 002
must_run report -C twice --output twice.html
must_have twice.html '<dt>trials</dt><dd>2</dd>'
must_have twice.html '<dt>failed</dt><dd>0</dd></div><div><dt>void</dt><dd>1</dd>'
must_run init way --direction lower
must_run append -C way --status keep --core-metric 5
must_run append -C way --status keep --core-metric 4
must_run append -C way --status keep --core-metric 4.5 --parent 000
run void 001 -C way --reason leak
must_run append -C way --status keep --core-metric 1 --parent 003
must_run report -C way --svg tree
must_have out '4 trials; 1 of them kept on the way to the best one' 'the parent is the void 001, not 002'
sed -n 3p twice/results.tsv | awk -F '\t' -v OFS='\t' '{ $10 = 3; print }' >>twice/results.tsv
run report -C twice --output twice.html
must_have twice.html '<dt>failed</dt><dd>0</dd></div><div><dt>void</dt><dd>1</dd>'
must_have twice.html '<dt>best</dt><dd>3</dd>'
must_run init early --direction lower
for row in 1 2 4 3; do
    sed -n ${row}p twice/results.tsv >>early/results.tsv
done
must_run report -C early --output early.html
must_have early.html '<dt>best</dt><dd>4</dd>'
must_lack early.html 'class="tag void"'
must_run show 002 -C s --format json
must_equal 'harness_abort keep 9.0 005 the evaluator was broken' \
    "$(json status) $(json void.status) $(json void.score) $(json void.by) $(json void.reason)"
must_run show 002 -C s
must_have out 'by 005: the evaluator was broken (its row says keep, 9.0)'
must_run void -C s --format json
must_equal '002 keep' "$(json 0.exp_id) $(json 0.status)"
must_fail 2 'is void already, by row 005' void 002 -C s --reason again
must_fail 2 'is not a trial: it is the row that voids 002' void 005 -C s --reason x
same_everywhere s
# A new trial is compared with the best that counts, also by a handle that appended before.
add --status auto --core-metric 3.5 --alpha 0.7
must_equal keep "$(tail -n 1 s/results.tsv | cut -f 9)"

# ---- taken back ----
run void 002 -C s --undo --reason 'it was right'
must_exit 0
must_have err 'the best trial is now 002; it was 006'
must_have err 'judged again: 003 as in its row'
must_run best -C s --format tsv
must_have out '002'
must_run void -C s --format tsv
must_equal '' "$(ids)"
must_run show 002 -C s --format json
must_equal 'keep 9.0' "$(json status) $(json score)$(json void)"
same_everywhere s

# ---- several at once, a crash, the only trial of a value, a score that is not a number ----
must_run void 003 004 -C s --reason 'a module was missing' --format json
must_run query -C s --status crash --format tsv
must_equal '' "$(ids)"
printf '100\t2026-01-01T00:00:00Z\tbob\t\t\t\tnan\t\tkeep\tnan\t\t\t\t\t\t\talpha=7\n' >>s/results.tsv
must_run void 100 -C s --reason nan
same_everywhere s
must_run void 100 -C s --undo
same_everywhere s
must_run void 003 -C s --undo

# ---- the log alone is enough: export, exact import, a copy without a mirror ----
must_run export -C s
cp out exported.tsv
must_run init t --direction higher
must_run import -C t --exact exported.tsv
must_run void -C t --format tsv
must_equal '004 ' "$(ids)"
same_everywhere t
must_run verify -C t --digest
must_equal "$("$LINEAGE" verify -C s --digest)" "$(cat out)"
# A rule-checked import keeps them too.
must_run init u --direction higher
grep -v '^10[012]' exported.tsv >finite.tsv
must_run import -C u finite.tsv
must_run void -C u --format tsv
must_equal '004 ' "$(ids)"
same_everywhere u
# A last record without a line end voids nothing until its line end is there.
printf '900\t2026-01-01T00:00:00Z\tada\t000\t\t\tcut off\t\tharness_abort\t\t\t\t\t\tlineage-void\t\t' >>t/results.tsv
must_run void -C t --format tsv
must_equal '004 ' "$(ids)"
run verify -C t
must_exit 1
must_have out "no line end"
must_lack out "lineage.db"
printf '\n' >>t/results.tsv
must_run void -C t --format tsv
must_equal '000 004 ' "$(ids)"
same_everywhere t

# ---- hostile rows: of nothing, of itself, of a later trial, of another label, a thousand of one ----
{
    printf '910\t\tx\t999\t\t\tof nothing\t\tharness_abort\t\t\t\t\t\tlineage-void\t\t\n'
    printf '911\t\tx\t911\t\t\tof itself\t\tharness_abort\t\t\t\t\t\tlineage-void\t\t\n'
    printf '912\t\tx\t913\t\t\tof a later one\t\tharness_abort\t\t\t\t\t\tlineage-void\t\t\n'
    printf '913\t\tx\t001\t\t\ta trial with that job name\t\tkeep\t4\t\t\t\t\tlineage-void\t\t\n'
    printf '914\t\tx\t910\t\t\tof a void\t\tharness_abort\t\t\t\t\t\tlineage-void\t\t\n'
    i=1000
    while [ $i -lt 2000 ]; do
        printf '%s\t\tx\t001\t\t\tagain\t\tharness_abort\t\t\t\t\t\tlineage-%s\t\t\n' $i "$([ $((i % 2)) = 0 ] && echo void || echo unvoid)"
        i=$((i + 1))
    done
    printf '2000\t\tx\texp_001\t\t\tin the other spelling\t\tharness_abort\t\t\t\t\t\tlineage-void\t\t\n'
} >>t/results.tsv
must_run void -C t --format tsv
must_equal '000 001 004 ' "$(ids)"
run verify -C t
must_run rebuild -C t
must_run void -C t --format tsv
must_equal '000 001 004 ' "$(ids)"
run verify -C t
must_lack out 'lineage.db'

# ---- nights: a void trial runs again ----
cat >sweep.json <<'END'
{"name": "grid", "command": ["sh", "-c", "[ -e fixed ] && echo METRIC score={lr} || exit 3"], "grid": {"lr": [1, 2]}}
END
must_run init n --direction higher
run night sweep.json -C n -q
must_exit 0
touch fixed
run night sweep.json -C n -q
must_exit 0
must_equal 2 "$(grep -c crash n/results.tsv)" 'trials with a row are not run again'
must_run void 000 -C n --reason 'the file was missing'
run night sweep.json -C n -q
must_exit 0
must_equal 'baseline 1.0 003' "$(tail -n 1 n/results.tsv | cut -f '1,9,10' | awk -F '\t' '{print $2, $3, $1}')"
must_equal 5 "$(wc -l <n/results.tsv | tr -d ' ')"
same_everywhere n

# The difference of a void trial is shown nowhere, and is there again when it counts again.
must_run init delta --direction higher
must_run -C delta append --status baseline --core-metric 30
must_run -C delta append --status keep --core-metric 35 --param lr=0.9 --parent 000
run -C delta void 001 --reason leak
must_run -C delta query --format json
must_equal 'null' "$(json 1.delta_vs_best)"
must_run -C delta verify
run -C delta void --undo 001 --reason fine
must_run -C delta query --format json
must_equal '5.0' "$(json 1.delta_vs_best)"
must_run -C delta verify
must_run -C delta sweep lr --format json
must_equal '1' "$(json without)" 'the rows of the void and of its undoing are not trials without lr'
for i in 1 2 3 4; do
    must_run -C delta append --status discard --core-metric "$i" --param lr=0.9
done
must_run -C delta append --status harness_abort --parent 001 --job-name lineage-unvoid --param lr=0.9
must_run -C delta sweep lr --format json
must_equal '1 0 5' "$(json without) $(json aborted) $(json cells.0.trials)" 'nor is one with a parameter a trial'

# A reason sets nothing in a log in words.
must_run init worded
for hypothesis in 'set lr to 0.01' 'set lr to 0.02' 'set lr to 0.03' 'wider layers'; do
    must_run append -C worded --status discard --core-metric 3 --hypothesis "$hypothesis"
done
run void 001 -C worded --reason 'lr to 0.02 was read from the wrong file'
run void 001 -C worded --undo --reason 'set lr to 0.09'
for params in '' '--param lr=0.5' '--param lr=0.5 --param wd=1'; do
    # shellcheck disable=SC2086 # options
    [ -z "$params" ] || must_run append -C worded --status harness_abort --parent 001 --job-name lineage-unvoid $params
    must_run sweep lr -C worded --format json
    must_equal '1 0 0.03 3' "$(json without) $(json aborted) $(json cells.2.lr) $(json source.lr.stated)" "$params"
    must_have out '"untried": []'
done
must_run sweep lr -C worded
must_lack out harness_abort
run query -C worded -p lr=0.09 --format tsv
must_equal 1 "$(wc -l <out | tr -d ' ')" 'no trial was found by a reason'
# a last row without a line end is a trial in the report
must_run init cut
printf 'exp_id\thypothesis\tstatus\tcore_metric\n000\ta\tbaseline\t1.0\n001\tb\tkeep\t0.9\n002\tc\tkeep\t0.8' >cut/results.tsv
must_run report -C cut --output cut.html
must_have cut.html '<dt>trials</dt><dd>3</dd>'

# ---- a reader sees that a trial is void, and what it was ----
must_run init seen --direction higher
for score in 1 2; do
    must_run append -C seen --status "$([ $score = 1 ] && echo baseline || echo auto)" --core-metric $score -p x=$score --parent "$([ $score = 1 ] || echo best)"
done
run void 001 -C seen --reason 'the wrong data'
must_exit 0
must_run insight -C seen 'x helps' --evidence 000,001
for command in 'query' 'search wrong' 'tree' 'show 001' 'render'; do
    # shellcheck disable=SC2086 # words
    must_run $command -C seen
    must_lack out harness_abort "$command"
    must_have out "$([ "$command" = 'search wrong' ] && echo 'voids its parent' || echo 'void, was keep')" "$command"
done
must_run query -C seen --format json
must_equal 'harness_abort keep' "$(json 1.status) $(json 1.void.status)"
run sql -C seen 'SELECT status FROM trials'
must_have err '1 void trial'
must_run sql -C seen 'SELECT status FROM voided'
must_lack err 'void trial'

# ---- `best` is an id that a person types, and the parent of one row ----
must_run append -C seen --status auto --core-metric 5 -p x=3 --parent best
must_equal '003 000' "$(cut -f 1,4 seen/results.tsv | tail -n 1 | tr '\t' ' ')"
for command in show chain 'diff --stat'; do
    # shellcheck disable=SC2086 # words
    must_run $command best -C seen
    mv out best
    # shellcheck disable=SC2086 # words
    must_run $command 003 -C seen
    must_match_file best out "$command"
done
must_run tree -C seen --format json
must_equal ' keep' "$(json 0.void) $(json 1.void)"
must_fail 2 "no trial 'worst'" show worst -C seen
# not of a row that stays, and not of several rows
cp seen/results.tsv before
must_fail 2 "void: no trial 'best'" void 003 best -C seen --reason 'wrong data'
printf '{"status": "crash"}\n{"status": "crash", "parent_exp": "best"}\n' >two.json
must_fail 2 'seen/results.tsv; give the id that' append -C seen --json two.json
must_match_file before seen/results.tsv
# a trial of that name is found by it, but a run starts from the best one
must_run append -C seen --status keep --core-metric 4 --exp-id best
must_run show best -C seen
must_have out '4.0'
must_run run -C seen -q --parent best -p x=4 -- sh -c 'echo METRIC score=1'
must_equal 003 "$(tail -n 1 seen/results.tsv | cut -f 4)"
must_run init empty
must_fail 2 'no kept or baseline trial' append -C empty --status auto --core-metric 1 --parent best
must_run append -C empty --status crash --parent best --allow-missing-parent
must_equal best "$(tail -n 1 empty/results.tsv | cut -f 4)"
# in the row of another log the word is data
printf 'exp_id\tparent_exp\thypothesis\tstatus\tcore_metric\tnotes\n000\t\ta\tbaseline\t1.0\tx=1\n001\tbest\tb\tkeep\t2.0\ty=5\n002\tbest\tc\tdiscard\t1.0\tz=5\n003\tbest\td\tkeep\t3.0\tw=7\n' >words.tsv
must_run init words --direction higher
must_run import words.tsv -C words
must_fail 2 "no trial 'best'" diff --stat 003 -C words
must_run run -C words -q --parent 002 -p q=1 -- sh -c 'echo METRIC score=1'
must_have words/results.tsv 'q=1; z=5; score by'
finish
