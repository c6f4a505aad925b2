#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# readers.sh: readers create no files beside the mirror, and answer correctly beside writers that are killed.
. "$SOURCE/tests/support/shell.sh"

must_run init . --direction lower
for score in 9 8 7; do
    must_run append --status keep --core-metric $score --param alpha=0.$score --param beta=1 --param seed=$score
done
# These keep in the mirror what they read in texts, so only the second time needs no writing.
for command in 'search keep' 'show 001' knobs; do
    # shellcheck disable=SC2086
    run $command
done

# ---- no files ----
if [ "$INSTRUMENTED" = no ] && strace -f -o probe true 2>probe.err; then
    sleep 2.2 # until the file system's clock has moved on, whatever its unit
    for command in best 'query --sort score' render tree chain 'sweep alpha beta' 'suggest --range alpha=0:1' 'compare --by beta' \
        'show 001' export 'search keep' 'knobs'; do
        # shellcheck disable=SC2086
        strace -f -e trace=open,openat,creat -o opened "$LINEAGE" $command >out 2>err </dev/null
        checks=$((checks + 1))
        ! grep -q 'lineage\.db-' opened || fail "lineage $command opens $(grep -c 'lineage\.db-' opened) files of SQLite"
    done
fi

# ---- beside writers that are killed ----
# Each writer appends a better score than the last one and brings the mirror up to date, until it is killed.
write_on()
{
    exec 9>alive
    flock -s 9
    while [ ! -e enough ]; do
        "$LINEAGE" append --status keep --core-metric "$(date +%s%N | sed 's/^/-/')" >/dev/null 2>&1
        "$LINEAGE" best >/dev/null 2>&1
    done
}
# Rows never become fewer, and the best one is the newest or was the newest a moment ago: its score is the least of all.
read_on()
{
    seen=0
    n=0
    while [ $n -lt 25 ]; do
        n=$((n + 1))
        "$LINEAGE" query --format tsv >"rows.$1" 2>"err.$1" || echo "query: $(cat "err.$1")" >>wrong
        now=$(wc -l <"rows.$1")
        [ "$now" -ge "$seen" ] || echo "$now rows after $seen" >>wrong
        seen=$now
        ! grep -q . "err.$1" || cat "err.$1" >>wrong
        "$LINEAGE" best --format tsv >"best.$1" 2>"err.$1" || echo "best: $(cat "err.$1")" >>wrong
    done
}
: >wrong
for reader in 1 2 3; do
    read_on $reader &
    readers="${readers:-} $!"
done
for round in 1 2 3 4 5 6; do
    write_on &
    writer=$!
    sleep 0.7
    kill -KILL $writer 2>/dev/null
    wait $writer 2>/dev/null
done
touch enough
# shellcheck disable=SC2086
wait $readers
flock alive true # the last append of a killed writer goes on without it, and is a row as well
must_equal '' "$(cat wrong)" "wrong answers beside writers"
must_run verify
must_run query --format tsv
must_equal "$(($(wc -l <results.tsv)))" "$(wc -l <out)" "rows of the log and of the answer"
finish
