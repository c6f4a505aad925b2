#!/bin/sh
# protect.sh: a file that is protected is the same before, while and after a trial runs: no diff reaches it, no trial
# overwrites it, and a night does not begin without it.
# shellcheck disable=SC2016,SC2034,SC2154 # $ is for the planners
. "$SOURCE/tests/support/shell.sh"

cell() # STORE ID COLUMN
{
    awk -F'\t' -v id="$2" -v column="$3" '$1 == id { print $column }' "$1/results.tsv"
}
last() # STORE: the label and the score of the last row
{
    tail -n 1 "$1/results.tsv" | cut -f 9,10 | tr '\t' ' '
}

# ---- one command ----

mkdir dir && mkfifo pipe
echo fair >evaluate
must_fail 2 '--protect nowhere: No such file' run -C s --direction lower --protect nowhere -- true
must_fail 2 '--protect dir: Is a directory' run -C s --direction lower --protect dir -- true
must_fail 2 '--protect pipe: it is not a regular file' run -C s --direction lower --protect pipe -- true
must_fail 2 '--protect /dev/zero: it is not a regular file' run -C s --direction lower --protect /dev/zero -- true
must_run run -C s --direction lower -q -m loss --protect evaluate -- sh -c 'cat evaluate; echo loss: 1'
must_equal 'keep 1.0' "$(last s)"
# An edit that is undone has the same bytes, but not the same time of the last change, whatever time the program sets.
run run -C s -q -m loss --protect evaluate -- \
    sh -c 'sleep 0.1; cp -p evaluate fair; echo cheat >evaluate; cp -p fair evaluate; touch -r fair evaluate; echo loss: -9'
must_exit 1
must_equal disqualified "$(cell s 001 9)"
must_have s/results.tsv 'the protected file evaluate was changed and restored while the trial ran'
run run -C s -q -m loss --protect evaluate -- \
    sh -c 'mv evaluate kept; echo cheat >evaluate; sleep 0.1; mv -f kept evaluate; echo loss: -9'
must_exit 1
must_equal disqualified "$(cell s 002 9)"
# What the trial leaves in its place is not waited for, and not read without end.
for put in 'mkfifo evaluate' 'ln -s /dev/zero evaluate' 'mkdir evaluate' 'truncate -s 1T evaluate'; do
    run run -C s -q -m loss --protect evaluate -- sh -c "cp evaluate fair; rm evaluate; $put; echo loss: -9"
    must_exit 1
    must_equal disqualified "$(tail -n 1 s/results.tsv | cut -f 9)" "$put"
    must_have s/results.tsv 'the protected file evaluate changed while the trial ran'
    rm -rf evaluate && cp fair evaluate
done

command -v git >/dev/null || { echo 'git is not there: diffs are not tried' && finish; }

# ---- a night ----

mkdir program
printf 'echo METRIC loss=$(cat eval.txt)\n' >program/prog.sh
printf 'echo METRIC other=1\n' >"program/bewertung-ä.sh"
echo 5 >program/eval.txt
cat >program/sweep.json <<END
{"name": "code", "direction": "lower", "score": "loss", "no_refs": true,
 "files": ["prog.sh", "eval.txt", "bewertung-ä.sh"],
 "protect": ["./eval.txt", "bewertung-ä.sh"],
 "command": "cd {workdir} && sh prog.sh", "eval": "cd {workdir} && echo METRIC loss=\$(cat eval.txt)", "trials": [{"name": "root"}]}
END
# A misspelt name, a directory, or a pipe is refused before anything runs.
for name in eval.text dir pipe program/nowhere; do
    sed "s,\"./eval.txt\",\"$name\"," program/sweep.json >program/typo.json
    run night program/typo.json -C t
    must_exit 2
    must_have err "protect: $name: "
    [ ! -e t ] || fail "$name: the night made a store"
done

run night program/sweep.json -C d
must_exit 0
must_equal 'baseline 5.0' "$(last d)"
must_equal '444' "$(stat -c %a d/snapshots/000_*/eval.txt)" 'a protected file is read-only'
rows=$(wc -l <d/results.tsv)
refused_diff() # NAME: ./one touches the protected file, and no trial runs
{
    run night program/sweep.json -C d --planner 'cat one' --trials 2
    must_exit 0
    must_have err "it touches the protected file $1"
    must_equal "$rows" "$(wc -l <d/results.tsv)" "$1: nothing ran"
}
# Renamed away, and something else in its place.
printf '%s\n' '{"diff": "diff --git a/eval.txt b/mine.txt\nsimilarity index 100%\nrename from eval.txt\nrename to mine.txt\n", "hypothesis": "away"}' >one
refused_diff eval.txt
printf '%s\n' '{"diff": "diff --git a/prog.sh b/eval.txt\nsimilarity index 100%\nrename from prog.sh\nrename to eval.txt\n", "hypothesis": "over"}' >one
refused_diff eval.txt
printf '%s\n' '{"diff": "diff --git a/prog.sh b/eval.txt\nsimilarity index 100%\ncopy from prog.sh\ncopy to eval.txt\n", "hypothesis": "copied"}' >one
refused_diff eval.txt
printf '%s\n' '{"diff": "diff --git a/eval.txt b/eval.txt\nold mode 100644\nnew mode 100755\n", "hypothesis": "mode"}' >one
refused_diff eval.txt
printf '%s\n' '{"diff": "diff --git a/eval.txt b/eval.txt\ndeleted file mode 100644\n--- a/eval.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-5\n", "hypothesis": "deleted"}' >one
refused_diff eval.txt
printf '%s\n' '{"diff": "diff --git a/.//eval.txt b/.//eval.txt\n--- a/.//eval.txt\n+++ b/.//eval.txt\n@@ -1 +1 @@\n-5\n+-999\n", "hypothesis": "spelt otherwise"}' >one
run night program/sweep.json -C d --planner 'cat one' --trials 2
must_equal "$rows" "$(wc -l <d/results.tsv)" 'spelt otherwise: nothing ran'
# A name with a letter beyond ASCII, plain or quoted in octal.
printf '%s\n' '{"diff": "--- a/bewertung-ä.sh\n+++ b/bewertung-ä.sh\n@@ -1 +1 @@\n-echo METRIC other=1\n+echo METRIC other=2\n", "hypothesis": "plain"}' >one
refused_diff 'bewertung-ä.sh'
printf '%s\n' '{"diff": "--- \"a/bewertung-\\303\\244.sh\"\n+++ \"b/bewertung-\\303\\244.sh\"\n@@ -1 +1 @@\n-echo METRIC other=1\n+echo METRIC other=2\n", "hypothesis": "quoted"}' >one
refused_diff 'bewertung-ä.sh'
# A warning about white space is not taken for a name, and does not hide one.
printf '%s\n' '{"diff": "--- a/prog.sh\n+++ b/prog.sh\n@@ -1 +1,2 @@\n echo METRIC loss=$(cat eval.txt)\n+# 1\t1\tx \t \n--- a/eval.txt\n+++ b/eval.txt\n@@ -1 +1 @@\n-5\n+-999\n", "hypothesis": "white"}' >one
refused_diff eval.txt
must_run verify -C d

# ---- a trial that overwrites its own copy ----

# attack SCRIPT: the program of the sweep is SCRIPT, in a store of its own; its score does not count.
attack()
{
    rm -rf e
    printf '%s\n' "$1" >program/prog.sh
    run night program/sweep.json -C e
    must_exit 0
    must_equal disqualified "$(cell e 000 9)" "$1"
    grep -q 'the protected file \(\./\)\{0,1\}eval.txt' e/results.tsv || fail "$1: the row does not name the file"
    must_run verify -C e
}
attack 'chmod u+w eval.txt; echo -999 >eval.txt'
attack 'rm -f eval.txt; echo -999 >eval.txt'
attack 'rm -f eval.txt; mkfifo eval.txt'
attack 'rm -f eval.txt; ln -s /dev/zero eval.txt'
attack 'sleep 0.1; mv eval.txt kept; echo -999 >eval.txt; echo METRIC loss=$(cat eval.txt); mv -f kept eval.txt'
attack 'cd ..; mv work kept; cp -R kept work; chmod u+w work/eval.txt; echo -999 >work/eval.txt'
attack 'echo METRIC loss=1; rm -f eval.txt'

# No later trial of the night begins with a file that an earlier trial has overwritten.
printf 'echo -999 >%s/program/eval.txt; echo METRIC loss=1\n' "$PWD" >program/prog.sh
cat >program/two.json <<'END'
{"name": "two", "direction": "lower", "score": "loss", "no_refs": true, "files": ["prog.sh", "eval.txt"], "protect": ["program/eval.txt"],
 "command": "cd {workdir} && sh prog.sh", "eval": "cd {workdir} && echo METRIC loss=$(cat eval.txt)",
 "trials": [{"name": "one"}, {"name": "two", "params": {"x": 1}}]}
END
run night program/two.json -C f
must_exit 0
must_equal 'disqualified harness_abort' "$(sed 1d f/results.tsv | cut -f 9 | tr '\n' ' ' | sed 's/ $//')"
must_have f/results.tsv 'a protected file has changed since the night began'
echo 5 >program/eval.txt

# A file that is protected under another name is found, and is the same for a diff.
printf 'echo METRIC loss=$(cat eval.txt)\n' >program/prog.sh
printf '%s\n' '{"diff": "--- a/eval.txt\n+++ b/eval.txt\n@@ -1 +1 @@\n-5\n+-999\n", "hypothesis": "another name"}' >one
run night program/two.json -C g --planner 'cat one' --trials 3
must_have err 'it touches the protected file eval.txt'

# A child gets the protected file of the sweep, not the one of a parent that was recorded before it was protected.
sed 's/"protect": \[[^]]*\],//; s/"name": "code"/"name": "free"/; s/"eval": .*, "trials"/"trials"/' program/sweep.json >program/free.json
printf '%s\n' '{"diff": "--- a/eval.txt\n+++ b/eval.txt\n@@ -1 +1 @@\n-5\n+-999\n", "hypothesis": "free"}' >one
run night program/free.json -C h --planner 'cat one' --trials 1
must_exit 0
must_equal 'keep -999.0' "$(last h)"
printf '%s\n' '{"parent": "001", "hypothesis": "a child", "again": "the evaluator"}' >one
run night program/sweep.json -C h --planner 'cat one' --trials 2
must_exit 0
must_equal '001 5.0' "$(awk -F'\t' '$4 == "001" { print $4, $10 }' h/results.tsv | sort -u)"
finish
