#!/bin/sh
# workers.sh: a night shared by workers that are killed, or suspended for longer than their leases and resumed, with clocks that
# are hours apart and trials that are killed. With ON_SERVER, the store is on a server that is stopped and started, and three
# directories represent three machines. In the end every trial has one row that counts, and no process is left.
#
# usage: LINEAGE=PROGRAM sh workers.sh [WORKERS] [TRIALS] [SEED]     (default: 4 workers, 40 trials, seed 1)
#        SKEWED_CLOCK_LIBRARY=FILE   gives each worker a clock of its own
#        ON_SERVER=yes SOURCE=DIR    a store in PostgreSQL instead of a directory
# shellcheck disable=SC2154
set -u
workers=${1:-4}
trials=${2:-40}
random=${3:-1}
: "${LINEAGE:?names the program}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lineage-workers.XXXXXX") || exit 3
server=
trap 'kill -KILL $(ours .) 2>/dev/null; [ -z "$server" ] || server_remove; rm -rf "$scratch"' EXIT
trap 'exit 3' HUP INT TERM
cd "$scratch" || exit 3
[ -r /proc/self/environ ] || { echo 'no /proc: skipped' && exit 77; }
LINEAGE_WORKERS_MARK=workers.$$
store=$scratch/store
if [ -n "${ON_SERVER:-}" ]; then
    . "$SOURCE/tests/support/server.sh"
    server_start
    server_sql postgres 'CREATE DATABASE nights' >/dev/null
    store=$SERVER/nights/shared
    XDG_STATE_HOME=$scratch/machine0 "$LINEAGE" init "$store" --direction lower || exit 3
fi
export LINEAGE_WORKERS_MARK

cat >train.sh <<'END'
echo "$1" >>"$SEEN"
sleep 0.$(($1 % 4 + 1))
echo "METRIC loss=$1"
END
SEEN=$scratch/seen
export SEEN
x=1
i=2
while [ $i -le "$trials" ]; do
    x=$x,$i
    i=$((i + 1))
done
printf '{"name": "s", "direction": "lower", "score": "loss", "grace_seconds": 1, "command": "sh %s {x}", "grid": {"x": [%s]}}\n' \
    "$scratch/train.sh" "$x" >sweep.json

# below N: a random number from 0 to N - 1, determined by the seed.
below()
{
    random=$(((random * 1103515245 + 12345) % 2147483648))
    drawn=$((random / 65536 % $1))
}
# ours PATTERN: processes of this test whose command line matches.
ours()
{
    for process in $(grep -lzx "LINEAGE_WORKERS_MARK=$LINEAGE_WORKERS_MARK" /proc/[0-9]*/environ 2>/dev/null); do
        process=${process%/environ}
        [ "${process#/proc/}" != $$ ] || continue
        tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -q "$1" && echo "${process#/proc/}"
    done 2>/dev/null
}
failures=0
fail()
{
    echo "FAIL $*"
    failures=$((failures + 1))
}
# begin I: starts worker I on its machine with its clock.
begin()
{
    (
        if [ -n "${SKEWED_CLOCK_LIBRARY:-}" ]; then
            LD_PRELOAD=$SKEWED_CLOCK_LIBRARY
            SKEWED_CLOCK=$((($1 - workers / 2) * 5000))
            export LD_PRELOAD SKEWED_CLOCK
        fi
        XDG_STATE_HOME=$scratch/machine$(($1 % 3))
        export XDG_STATE_HOME
        exec "$LINEAGE" night sweep.json -C "$store" --worker --lease 1 --stop-after 0 -q
    ) >>"out.$1" 2>>"err.$1" </dev/null &
    eval "pid_$1=$!"
}
# end I: the exit status of worker I.
end()
{
    eval "wait \$pid_$1"
    ended=$?
    eval "pid_$1="
    if [ $ended -eq 3 ] && [ -n "$server" ] && tail -n 1 "err.$1" | grep -q 'is away: .*No such file'; then
        away=$((away + 1)) # it found no server at the start
        begin "$1"
        return
    fi
    [ $ended -eq 0 ] || fail "worker $1 ended with $ended: $(tail -n 3 "err.$1")"
}

i=0
while [ $i -lt "$workers" ]; do
    begin $i
    i=$((i + 1))
done
away=0 killed=0 stopped=0 crashed=0 restarted=0 at_work=1 turns=0
while [ $at_work -gt 0 ]; do
    turns=$((turns + 1))
    sleep 0.05
    below "$workers"
    victim=$drawn
    eval "pid=\$pid_$victim"
    below 12
    if [ -z "$pid" ] || [ $turns -gt 3000 ]; then
        :
    elif [ $drawn -lt 3 ]; then
        kill -KILL "$pid" 2>/dev/null && killed=$((killed + 1))
        wait "$pid" 2>/dev/null
        begin "$victim"
    elif [ $drawn -lt 5 ]; then
        if kill -STOP "$pid" 2>/dev/null; then
            stopped=$((stopped + 1))
            (sleep 1.7; kill -CONT "$pid" 2>/dev/null) &
        fi
    elif [ $drawn -eq 5 ]; then
        for pid in $(ours 'train\.sh' | head -n 1); do
            kill -KILL "$pid" 2>/dev/null && crashed=$((crashed + 1))
        done
    elif [ $drawn -eq 6 ] && [ -n "$server" ] && [ $((turns % 3)) -eq 0 ]; then
        server_down immediate
        server_up
        restarted=$((restarted + 1))
    fi
    at_work=0
    i=0
    while [ $i -lt "$workers" ]; do
        eval "pid=\$pid_$i"
        if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && [ "$(cut -d ' ' -f 3 "/proc/$pid/stat" 2>/dev/null)" != Z ]; then
            at_work=$((at_work + 1))
        elif [ -n "$pid" ]; then
            end $i
        fi
        i=$((i + 1))
    done
done

# A worker that was suspended at the end may still have to learn that it is late; a guardian ends the trials of a killed one.
tries=0
while [ -n "$(ours 'train\.sh\|night sweep')" ] && [ $tries -lt 3000 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
[ $tries -lt 3000 ] || fail "still running: $(ours 'train\.sh\|night sweep' | tr '\n' ' ')"
for machine in 0 1 2; do
    XDG_STATE_HOME=$scratch/machine$machine "$LINEAGE" night sweep.json -C "$store" --worker -q >last 2>&1 || fail "the last worker: $(cat last)"
done
XDG_STATE_HOME=$scratch/machine0
export XDG_STATE_HOME
"$LINEAGE" export -C "$store" >rows.tsv 2>/dev/null || cp "$store/results.tsv" rows.tsv
sed 1d rows.tsv | awk -F '\t' '$9 != "harness_abort"' | sed -n 's/.*night s, trial \(.*\), key .*/\1/p' | sort >had
sort -u had | cmp -s - had || fail "a trial has two rows: $(uniq -d had | head -n 3)"
[ "$(wc -l <had)" -eq "$trials" ] || fail "$(wc -l <had) trials have rows, not $trials"
elsewhere='a copy that was cut off; the next append removes it'
"$LINEAGE" verify -C "$store" 2>&1 | grep -v "$elsewhere\|^note: \|^checked: " >verified &&
    fail "verify: $(head -n 3 verified)"
# A worker that was killed between its row and the end of its claim leaves the claim, which lapses with the lease of a second.
tries=0 shown=0
while [ $shown -ne 1 ] && [ $tries -lt 3000 ]; do
    tries=$((tries + 1))
    "$LINEAGE" status -C "$store" >status.out 2>&1
    shown=$?
    [ $shown -eq 1 ] || sleep 0.1
done
[ $shown -eq 1 ] || fail "status: $(cat status.out)"
echo "$workers workers, $trials trials: begun $(wc -l <seen) times; $killed workers killed, $stopped stopped, $crashed trials killed," \
    "$restarted restarts of the server, $(cat err.* | grep -c 'was first: its row counts') came late; $failures failures"
[ $failures -eq 0 ]
