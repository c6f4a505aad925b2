#!/bin/sh
# locked.sh: an append waits for another writer and says for whom; it never waits for a client of the mirror.
. "$SOURCE/tests/support/shell.sh"

must_run append --create --status keep --core-metric 1

# Another writer holds the file for two seconds.
mkfifo held
flock results.tsv sh -c 'echo held >held; sleep 2' &
read -r _ <held
run append --status keep --core-metric 0.5
must_exit 0
must_equal 001 "$(cat out)"
must_have err 'waiting for the lock of ./results.tsv'
if grep -q FLOCK /proc/locks 2>/dev/null; then
    must_have err 'held by process'
fi
wait

# An append that does not wait prints no message.
must_run append --status keep --core-metric 0.25
must_equal 002 "$(cat out)"

# Another client keeps a transaction open on the mirror: rows are appended one after another, each decided from the rows
# before it, and the next reader finds them all.
command -v sqlite3 >/dev/null || skip "no sqlite3"
mkfifo say
sqlite3 lineage.db <say >held &
client=$!
exec 3>say
printf "BEGIN IMMEDIATE; SELECT 'held';\n" >&3
read -r _ <held
for score in 0.125 0.5 0.0625; do
    must_run append --status auto --core-metric $score --parent 002
done
must_equal 005 "$(cat out)"
must_equal '003 keep 002|004 discard 003|005 keep 003|' \
    "$(sed -n '5,$p' results.tsv | cut -f 1,5,9 | awk '{ printf "%s %s %s|", $1, $3, $2 }')" "what was decided"
kill -0 "$client" || fail "the other client is gone"
exec 3>&-
wait
must_run query --format tsv
must_equal 7 "$(wc -l <out)"
must_run verify
finish
