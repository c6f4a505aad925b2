#!/bin/sh
# leftovers.sh: what a trial leaves in its directory neither holds up nor misleads the commands after it.
# shellcheck disable=SC2016,SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"

must_run run -C s --direction lower -q -m loss -- sh -c 'echo loss: 3'
# leftover NAME COMMAND: a trial that was killed has left what COMMAND makes under NAME; the next command records it.
leftover()
{
    mkdir s/.trial-leftov
    echo '{"started": 1, "train_seconds": 0, "params": {}, "name": "old", "score": "loss"}' >s/.trial-leftov/trial.json
    echo '{"step": 1, "loss": 2}' >s/.trial-leftov/events.jsonl
    echo out >s/.trial-leftov/output.0
    rm -f "s/.trial-leftov/$1"
    (cd s/.trial-leftov && eval "$2")
    # An address space of 2 GB, so that what is read without end fails instead of taking the machine's memory.
    (
        [ -n "${INSTRUMENTED:-}" ] || ulimit -v 2000000
        exec timeout -s KILL 120 "$LINEAGE" run -C s -q -m loss -- sh -c 'echo loss: 5'
    ) >out 2>err </dev/null
    status=$? last="leftover $1: $2"
    must_exit 0
    [ ! -e s/.trial-leftov ] || fail "$last: it is still there"
    must_run verify -C s
}
for name in events.jsonl trial.json row output.0 output.1; do
    leftover "$name" "mkfifo $name"
    leftover "$name" "ln -s /dev/zero $name"
    [ "$name" = output.0 ] || leftover "$name" "truncate -s 1T $name"
done
secret=$PWD/secret
echo 'PRIVATE KEY' >secret
leftover row "ln -s '$secret' row"
must_equal 'PRIVATE KEY' "$(cat secret)" 'nothing is written through a link'
leftover output.0 "ln -s '$secret' output.0"
[ -z "$(grep -rl 'PRIVATE KEY' s)" ] || fail 'a file outside of the store is in its logs'

# A link in the place of the work directory does not become a snapshot.
mkdir private && echo 'PRIVATE KEY' >private/id
run run -C s -q -m loss -- sh -c "rm -rf {workdir}; ln -s '$PWD/private' {workdir}; echo loss: 0.5"
must_exit 0
must_have err 'no snapshot: the trial has replaced its work directory'
run run -C s -q -m loss -- sh -c "d=\$(dirname {workdir}); mv \"\$d\" moved; mkdir -p \"\$d\"; ln -s '$PWD/private' {workdir}; echo loss: 0.25"
[ -z "$(grep -rl 'PRIVATE KEY' s)" ] || fail 'a directory outside of the store is in a snapshot'
# Its log goes on in the directory that was made, although the name now leads elsewhere.
run run -C s -q -m loss -- sh -c "d=\$(dirname {workdir}); mv \"\$d\" moved2; ln -s '$PWD/private' \"\$d\"
    head -c 3000000 /dev/zero | tr '\\0' x; echo; echo loss: 0.5"
must_exit 0
must_equal id "$(ls -A private)" 'nothing is written through the name of its directory'
id=$(cat out)
grep -q xxx "s/logs/$id.log" || fail 'its log is not kept'
rm -rf s/.trial-* moved2
# A link in the place of its provenance is not kept as such.
run run -C s -q -m loss -- sh -c "d=\$(dirname {workdir}); rm -r \$d/provenance; ln -s '$PWD/private' \$d/provenance; echo loss: 0.5"
must_exit 0
must_have err 'no provenance: the trial has replaced its directory'
[ -z "$(find s -type l)" ] || fail 'a link of the trial is in the store'
must_run verify -C s

# ---- processes that outlive the command: the row says which process gave the score ----
# last_row COMMAND: status, score and notes of a trial in a new store.
last_row()
{
    rm -rf o
    run run -C o --direction lower -m loss --no-refs -q "$@"
    "$LINEAGE" sql -C o "SELECT status || ' ' || coalesce(score, '-') || ' ' || notes FROM trials" --format tsv | tail -n 1 >row
}
# A filter of the output ends a moment after the shell, and what it still held counts.
printf 'while read -r line; do echo "$line"; done' >filter.sh
last_row -- sh -c 'mkfifo p; sh filter.sh <p & exec python3 -c "print(\"loss 0.5\")" >p'
must_have row 'keep 0.5'
must_lack row outlived
# A program that forks its training and returns at once: the score is not what it would have reached.
printf 'import os, time\nif os.fork():\n    os._exit(0)\nos.setsid()\nwhile True:\n    print("loss", 3, flush=True)\n    time.sleep(0.01)\n' >forks.py
last_row -- python3 forks.py
must_have row 'its score was printed by the process python3 after the command had ended: let the command wait for it'
must_have row '1 process (python3) outlived the command and was ended'
must_have row 'harness_abort -'
must_have err 'let the command wait for it'
last_row -- sh -c 'sleep 300 & exit 0'
must_have row 'exit 0 without a score: looked for `loss`, but 1 process (sleep) outlived the command and was ended'
# A score of the command itself stays, whatever its child prints at TERM.
last_row -- sh -c 'sh -c "trap \"echo loss 0.1; exit\" TERM; : >ready; while :; do sleep 0.1; done" & until [ -e ready ]; do sleep 0.01; done; echo loss 0.9'
must_have row 'keep 0.9'
must_have row 'outlived the command'
# One that prints a moment after the end and then ends by itself is named; it may be read late on a busy machine.
printf 'import os, time\nparent = os.getpid()\nif os.fork():\n    os._exit(0)\nwhile os.getppid() == parent:\n    pass\ntime.sleep(0.2)\nprint("loss", 3, flush=True)\n' >late.py
for i in 1 2 3 4 5 6 7 8; do
    last_row -- python3 late.py
    grep -q 'keep 3.0.*printed by the process python3 after the command had ended' row && break
done
must_have row 'printed by the process python3 after the command had ended'
must_lack row outlived
# Stopped processes.
last_row -- sh -c 'sh -c "kill -STOP \$\$" & until grep -q "^[0-9]* (sh) T" /proc/$!/stat; do sleep 0.01; done; echo loss 4'
must_have row 'keep 4.0'
must_have row '1 process (sh, stopped by a signal) outlived the command and was ended'
last_row --train-seconds 0.5 -- sh -c 'kill -STOP $$; echo loss 3'
must_have row '1 process (sh) was stopped by a signal'
finish
