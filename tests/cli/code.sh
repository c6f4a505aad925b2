#!/bin/sh
# code.sh: the code of every trial of a sweep with files is kept: a trial goes on from a discarded or failed one with the
# files of that one, or is refused if they are gone.
# shellcheck disable=SC2016,SC2034,SC2154 # $ is for the programs
. "$SOURCE/tests/support/shell.sh"
command -v git >/dev/null || { echo 'git is not there: no diff can be applied' && exit 77; }

mkdir program
printf 'x=1\nslow=0\necho METRIC loss=$x\nsleep $slow\n' >program/prog.sh
chmod 755 program/prog.sh
cat >program/sweep.json <<'END'
{"name": "code", "direction": "lower", "score": "loss", "files": ["prog.sh"], "train_seconds": 1,
 "command": "cd {workdir} && ./prog.sh", "trials": [{"name": "root"}]}
END
n=0
# plan PROPOSAL: runs the proposal as the next trial, unless it is refused
plan()
{
    n=$((n + 1))
    printf '%s\n' "$1" >one
    run night program/sweep.json -C d --planner 'cat >request.json; cat one' --trials $n
    must_exit 0
}
cell() # ID COLUMN
{
    awk -F'\t' -v id="$1" -v column="$2" '$1 == id { print $column }' d/results.tsv
}
code_of() # ID: the digest in the notes
{
    cell "$1" 17 | sed -n 's/.*code \([0-9a-f]*\).*/\1/p'
}
change_of() # ID: what its diff changed, by the notes
{
    cell "$1" 17 | sed -n 's/.*code [0-9a-f]*, \([^;]*\).*/\1/p'
}

# ---- each trial has its code, however it ended ----

plan '{"diff": "--- a/prog.sh\n+++ b/prog.sh\n@@ -1,2 +1,2 @@ worse\n-x=1\n+x=3\n slow=0\n", "hypothesis": "x 3"}'
must_equal 'baseline 1.0|discard 3.0' "$(cell 000 9) $(cell 000 10)|$(cell 001 9) $(cell 001 10)"
must_equal '+1 -1 in prog.sh: worse' "$(change_of 001)"
must_equal 32 "$(code_of 000 | tr -d '\n' | wc -c)" 'a trial without a diff has its files too'

# The child of the discarded trial starts with its files: this diff applies to no others.
plan '{"parent": "001", "diff": "--- a/prog.sh\n+++ b/prog.sh\n@@ -1,2 +1,2 @@\n-x=3\n+x=2\n slow=0\n", "hypothesis": "x 2"}'
must_equal '001 discard 2.0' "$(cell 002 4) $(cell 002 9) $(cell 002 10)"
must_have d/results.tsv 'the parent was not kept, it has no snapshot to go on from, but its files'

# A child without a diff runs the same code, which is stored once.
before=$(find d/lineage_code -type f | wc -l)
plan '{"parent": "001", "hypothesis": "once more", "again": "is it noise?"}'
must_equal '001 3.0' "$(cell 003 4) $(cell 003 10)"
must_equal "$(code_of 001)|$before" "$(code_of 003)|$(find d/lineage_code -type f | wc -l)" 'the same code has the same list'

# A crash and an overrun keep their code, and one can go on from them.
plan '{"parent": "002", "diff": "--- a/prog.sh\n+++ b/prog.sh\n@@ -1,3 +1,3 @@\n x=2\n-slow=0\n+exit 9\n echo METRIC loss=$x\n", "hypothesis": "crash"}'
plan '{"parent": "004", "diff": "--- a/prog.sh\n+++ b/prog.sh\n@@ -1,3 +1,3 @@\n x=2\n-exit 9\n+slow=30\n echo METRIC loss=$x\n", "hypothesis": "overrun"}'
plan '{"parent": "005", "diff": "--- a/prog.sh\n+++ b/prog.sh\n@@ -1,3 +1,4 @@\n-x=2\n-slow=30\n+. ./lib.sh\n+x=$((x + 3))\n+slow=0\n echo METRIC loss=$x\n--- /dev/null\n+++ b/lib.sh\n@@ -0,0 +1 @@\n+x=4\n", "hypothesis": "a new file"}'
must_equal 'crash|train_budget_overrun|discard 7.0' "$(cell 004 9)|$(cell 005 9)|$(cell 006 9) $(cell 006 10)"
must_equal '+4 -2 in prog.sh and 1 more file: . ./lib.sh' "$(change_of 006)"

# A file that a diff added goes on to the children, also of a kept trial.
plan '{"parent": "006", "diff": "--- a/lib.sh\n+++ b/lib.sh\n@@ -1 +1 @@\n-x=4\n+x=-9\n", "hypothesis": "better"}'
plan '{"parent": "best", "diff": "--- a/prog.sh\n+++ b/prog.sh\n@@ -1,3 +1,3 @@\n . ./lib.sh\n-x=$((x + 3))\n+x=$((x + 4))\n slow=0\n", "hypothesis": "from the best"}'
must_equal 'keep -6.0|007 discard -5.0' "$(cell 007 9) $(cell 007 10)|$(cell 008 4) $(cell 008 9) $(cell 008 10)"
# The request of the planner has the files of the best trial, the added one too.
cp request.json out
must_equal '007|x=-9' "$(json files.parent)|$(grep -o '"lib.sh":"x=-9' request.json | cut -d'"' -f 4)"
must_run verify -C d

# ---- what a trial changed ----

# diff compares the files of any two trials; code prints them.
must_run diff -C d 002
must_have out '-x=3'
must_have out '+x=2'
run diff -C d 004 006
must_exit 0
must_have out '+++ b/lib.sh'
must_have out '-exit 9'
must_run code -C d 004 prog.sh
must_equal 'x=2 exit 9' "$(head -n 2 out | tr '\n' ' ' | sed 's/ $//')"
must_run code -C d 006 --format tsv
must_equal '644 lib.sh 755 prog.sh' "$(sed 1d out | cut -f 1,3 | tr '\t\n' '  ' | sed 's/ $//')"
must_run code -C d 001 --diff
must_have out '@@ -1,2 +1,2 @@ worse'
must_run code -C d 008 --diffs --format json
must_equal '7 +1 -1 in prog.sh: worse' "$(json '#') $(json 0.change)"
must_run code -C d 006 --output six
must_equal '7' "$(cd six && sh prog.sh | sed 's/.*=//')"
must_equal '755' "$(stat -c %a six/prog.sh)"
must_fail 2 'cannot make the directory six' code -C d 006 -o six
must_fail 1 "did not change its code" code -C d 003 --diff
must_fail 1 "has no file 'prog.h'; the nearest is prog.sh" code -C d 003 prog.h
must_fail 2 'only one of them' code -C d 003 prog.sh --diff
must_fail 2 'no trial' code -C d 099

# The block shows them against the parent, and no digests.
must_run render -C d
must_have out 'against exp_001: code: `+1 -1 in prog.sh: x=2`'
must_lack out 'no other parameters'
must_have out 'against exp_007: code: `+1 -1 in prog.sh: x=$((x + 4))`'
must_lack out "$(code_of 001)"
must_run report -C d --output page.html
must_have page.html '<dt>code</dt><dd>+1 -1 in prog.sh: worse</dd>'
must_have page.html '<ins>+x=3'
must_have page.html '<ins>+exit 9'
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"diff","arguments":{"id":"004"}}}' |
    "$LINEAGE" mcp -C d >out 2>err
must_have out '+exit 9'

# A protected file cannot be renamed away.
sed 's/"files": \["prog.sh"\]/"files": ["prog.sh", "eval.txt"], "protect": ["eval.txt"]/' program/sweep.json >program/protect.json
echo fair >program/eval.txt && cp program/eval.txt eval.txt
printf '%s\n' '{"parent": "base", "diff": "diff --git a/eval.txt b/mine.txt\nsimilarity index 100%\nrename from eval.txt\nrename to mine.txt\n", "hypothesis": "rename"}' >one
run night program/protect.json -C e --planner 'cat one' --trials 1
must_have err 'it touches the protected file eval.txt'

# ---- again ----

# A rerun gets the files that the trial started with, whatever became of the sweep's own since then.
cp program/prog.sh program/prog.before
echo 'echo METRIC loss=1000' >program/prog.sh
for id in 000 001 002 006 007 008; do
    run rerun -C d $id -q
    must_exit 0
    must_have err "the score of $id came out the same"
    must_equal "$(code_of $id)|$(change_of $id)|$(cell $id 4)" "$(code_of "$(cat out)")|$(change_of "$(cat out)")|$(cell "$(cat out)" 4)"
done
mv program/prog.before program/prog.sh
# The best trial cannot start today: that says nothing about its setting.
best=007
file=$(sed -n 's/^file [0-7]* \([0-9a-f]*\) lib.sh$/\1/p' d/lineage_code/"$(code_of $best)")
cp d/lineage_code/"$file" kept-file
rm d/lineage_code/"$file"
run rerun -C d $best -q
must_exit 3
must_equal harness_abort "$(cell "$(cat out)" 9)"
must_have d/results.tsv "not started: lineage_code/$file is gone"
cp kept-file d/lineage_code/"$file"

# If the setting was measured before, a failure says nothing about it either, and no proposer avoids it.
printf '[ ! -e %s/full ] || exit 4\necho METRIC loss=$1\n' "$PWD" >once.sh
cat >once.json <<'END'
{"name": "once", "direction": "lower", "score": "loss", "command": ["sh", "once.sh", "{x}"], "ranges": {"x": "0:1"}}
END
run night once.json -C o --propose random --trials 1
must_exit 0
run suggest once.json -C o --propose tpe --format json
must_exit 0
cp out before.json
touch full
run rerun -C o 000 -q
must_exit 1
must_have err 'harness_abort: failed'
rm full
must_run suggest once.json -C o --propose tpe --format json
must_match_file before.json out
mv once.sh away.sh
run rerun -C o 000 -q # sh starts, and does not find its script
must_equal 'harness_abort harness_abort' "$(tail -n 2 o/results.tsv | cut -f 9 | tr '\n' ' ' | sed 's/ $//')"
mv away.sh once.sh
printf '#!/bin/sh\necho METRIC loss=1\n' >gone.sh
chmod 755 gone.sh
run run -C o -q -m loss -- ./gone.sh
id=$(cat out)
rm gone.sh
run rerun -C o "$id" -q
must_exit 3
must_equal 'harness_abort' "$(tail -n 1 o/results.tsv | cut -f 9)"
must_have o/results.tsv 'not started: the command ./gone.sh could not be started'
# A trial that failed then and fails again is the failure that it was.
run run -C o -q -m loss -- sh -c 'exit 5'
id=$(cat out)
run rerun -C o "$id" -q
must_exit 0
must_equal 'crash' "$(tail -n 1 o/results.tsv | cut -f 9)"
must_run verify -C d
must_run verify -C o

# ---- files that are gone ----

rows=$(wc -l <d/results.tsv)
later='{"parent": "001", "hypothesis": "later", "again": "again"}'
mv d/lineage_code/"$(code_of 001)" kept
plan "$later"
must_have err 'parent: the files of trial 001 are gone: lineage_code/'
must_equal "$rows" "$(wc -l <d/results.tsv)" 'nothing ran'
run verify -C d
must_exit 1
must_have out 'code: 001: lineage_code/'
cp kept d/lineage_code/"$(code_of 001)"
file=$(sed -n 's/^file [0-7]* \([0-9a-f]*\) prog.sh$/\1/p' kept)
cp d/lineage_code/"$file" kept-file
echo 'echo METRIC loss=-1e9' >d/lineage_code/"$file"
plan "$later"
must_have err 'is damaged'
must_equal "$rows" "$(wc -l <d/results.tsv)" 'nothing ran'
cp kept-file d/lineage_code/"$file"
must_run verify -C d

# A listed trial whose parent has no files left is not run either: its row says why.
rm d/lineage_code/"$(code_of 001)"
cat >program/listed.json <<'END'
{"name": "listed", "direction": "lower", "score": "loss", "files": ["prog.sh"], "command": "cd {workdir} && ./prog.sh",
 "trials": [{"name": "child", "parent": "001"}]}
END
run night program/listed.json -C d
must_exit 0
must_equal 'preflight_crash' "$(tail -n 1 d/results.tsv | cut -f 9)"
must_have d/results.tsv 'the files of trial 001 are gone'
# A trial whose file cannot be copied says nothing about its setting.
mv program/prog.sh program/away.sh
sed 's/"parent": "001"/"parent": "base"/; s/child/orphan/; s/prog.sh"$/prog.sh; true"/; s/&& .\/prog.sh/\&\& sh prog.sh/' program/listed.json >program/orphan.json
run night program/orphan.json -C d
must_exit 0
must_equal 'harness_abort' "$(tail -n 1 d/results.tsv | cut -f 9)"
must_have d/results.tsv 'not started: files: prog.sh: No such file or directory'
finish
