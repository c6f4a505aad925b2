#!/bin/sh
# nights.sh: nights are killed at any instant and resumed: the night, its command, or both; with one trial at a time and with
# three. In the end every trial has exactly one row, and no process is left.
#
# usage: LINEAGE=PROGRAM sh tests/fault/nights.sh [KILLS] [SEED]     (default: 12 kills, seed 1)
set -u
kills=${1:-12}
random=${2:-1}
: "${LINEAGE:?names the program}"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lineage-nights.XXXXXX") || exit 3
trap 'rm -rf "$scratch"' EXIT
trap 'exit 3' HUP INT TERM
cd "$scratch" || exit 3
[ -r /proc/self/environ ] || { echo 'no /proc: skipped' && exit 77; }
LINEAGE_NIGHTS_MARK=nights.$$
export LINEAGE_NIGHTS_MARK

# A trial whose child processes survive unless they are ended.
cat >train.sh <<'END'
setsid sleep 31 &
(sleep 32 &)
sleep 0.15
echo "METRIC loss=$1"
END
cat >sweep.json <<'END'
{"name": "s", "direction": "lower", "score": "loss", "grace_seconds": 1, "command": "sh train.sh {x}",
 "grid": {"x": [1, 2, 3, 4]}, "ranges": {"x": "5:9:integer"}, "propose": {"method": "sobol", "trials": 4}}
END

# below N: a random number from 0 to N - 1, determined by the seed.
below()
{
    random=$(((random * 1103515245 + 12345) % 2147483648))
    drawn=$((random / 65536 % $1))
}
# ours PATTERN: processes of this test whose command line matches.
ours()
{
    for process in $(grep -lzx "LINEAGE_NIGHTS_MARK=$LINEAGE_NIGHTS_MARK" /proc/[0-9]*/environ 2>/dev/null); do
        process=${process%/environ}
        tr '\0' ' ' 2>/dev/null <"$process/cmdline" | grep -q "$1" && echo "${process#/proc/}"
    done 2>/dev/null
}
all='sleep 3[12]\|train\.sh\|night sweep\.json'
failures=0
fail()
{
    echo "FAIL $*"
    failures=$((failures + 1))
}
# wait_until_gone WHAT: waits until the guardian has ended the processes of a killed night, which takes a while on a slow machine.
wait_until_gone()
{
    tries=0
    while [ -n "$(ours "$all")" ]; do
        tries=$((tries + 1))
        if [ $tries -gt 3000 ]; then
            fail "$1: still running: $(for pid in $(ours "$all"); do tr '\0' ' ' <"/proc/$pid/cmdline"; done)"
            kill -9 $(ours "$all")
            return
        fi
        sleep 0.1
    done
}
# check STORE: every trial of the list and of the ranges has one row.
check()
{
    # A copy that was cut off is a state that the format allows; the next append would remove it, but there may be none.
    # A note is telemetry without a row, as a kill between the two leaves it.
    "$LINEAGE" verify -C "$1" 2>&1 | grep -v 'a copy that was cut off; the next append removes it\|^note: \|^checked: ' >verified &&
        fail "$1: $(head -n 3 verified)"
    sed 1d "$1/results.tsv" | awk -F '\t' '$9 != "harness_abort"' | sed -n 's/.*night s, trial \(.*\), key .*/\1/p' | sort >had
    sort -u had | cmp -s - had || fail "$1: a trial has two rows: $(uniq -d had | head -n 3)"
    [ "$(wc -l <had)" -eq 8 ] || fail "$1: $(wc -l <had) trials have rows, not 8"
}

killed=0
store=0
while [ $killed -lt "$kills" ]; do
    store=$((store + 1))
    jobs=$((store % 2 * 2 + 1))
    for attempt in 1 2 3 4 5 6 7 8; do
        "$LINEAGE" night sweep.json -C "n$store" -q --jobs $jobs --stop-after 0 >/dev/null 2>err &
        night=$!
        below 90
        sleep "$(awk "BEGIN { print $drawn / 100 }")"
        below 3
        [ $drawn -eq 0 ] || kill -9 $(ours '^sh train\.sh') 2>/dev/null
        [ $drawn -eq 1 ] || kill -9 $night 2>/dev/null
        killed=$((killed + 1))
        [ $drawn -ne 1 ] || sleep 0.3
        kill -9 $night 2>/dev/null
        wait $night 2>/dev/null
        [ $killed -lt "$kills" ] || break
    done
    wait_until_gone "store n$store"
    "$LINEAGE" night sweep.json -C "n$store" -q --jobs $jobs --stop-after 0 >/dev/null 2>err || fail "n$store: $(cat err)"
    wait_until_gone "store n$store, done"
    check "n$store"
done
echo "$killed nights killed over $store stores, $failures failures"
[ $failures -eq 0 ]
