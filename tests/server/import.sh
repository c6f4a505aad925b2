#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# import.sh [ROWS]: a long log moves to a server while others append. The server ends a claim whose holder is silent for two
# seconds here, which is shorter than parsing the log takes: the import must parse before it claims.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test 'kill $(jobs -p) 2>/dev/null'
rows=${1:-150000}
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one
must_run init "$uri" --direction lower
sed -n '/^CREATE FUNCTION lineage.claim(/,/^END \$\$;/p' "$SOURCE/schema/postgresql/001_log.sql" |
    sed "s/CREATE FUNCTION lineage.claim(/CREATE OR REPLACE FUNCTION lineage.claim_any(/; s/'10s'/'2s'/" >short.sql
must_equal 1 "$(grep -c "'2s'" short.sql)" 'the limit is shorter'
server_sql trials "$(cat short.sql)" >/dev/null

# source NAME ROWS FIRST: a log with ROWS commits, of which only the first is kept.
source()
{
    awk -v n="$2" -v first="$3" 'BEGIN { print "commit\tval_bpb\tmemory_gb\tstatus\tdescription"
        for (i = 0; i < n; i++) printf "%s%07x\t%.6f\t44.0\t%s\ttry %d with lr=%g\n", first, i, 2 + i % 1000 / 1000, i ? "discard" : "keep", i, i / 1000 }' >"$1"
}
source long.tsv "$rows" a
run -C "$uri" import long.tsv
must_exit 0
must_have out "$rows rows imported, 0 left out"
must_equal '' "$(grep -v 'rows are read, \|MB are sent' err)" 'messages'
must_equal $((rows + 1)) "$(server_sql trials 'SELECT count(*) FROM lineage.record')" rows

# Others append meanwhile: discarded trials change nothing for the imported rows, better trials make it parse again.
must_run init "$SERVER/trials/two" --direction lower
for who in 1 2; do
    k=0
    while [ ! -e stop ]; do
        k=$((k + 1))
        score=9
        [ $k -ne 3 ] || score=1.$who
        XDG_STATE_HOME=$PWD/w$who "$LINEAGE" -C "$SERVER/trials/two" append --status auto --core-metric $score --hypothesis "w$who-$k" \
            >>ids 2>>errs || echo "failed $k" >>errs
    done &
done
source other.tsv $((rows / 5)) b
run -C "$SERVER/trials/two" import other.tsv
must_exit 0
touch stop
wait
must_equal '' "$(grep -v 'waiting for the claim' errs)" 'appends of others'
must_equal $((rows / 5 + 1 + $(wc -l <ids))) "$(server_sql trials "SELECT count(*) FROM lineage.record r JOIN lineage.store s ON s.id = r.store WHERE s.name = 'two'")" 'rows of all'
run -C "$SERVER/trials/two" verify
must_exit 0
# An id that is taken meanwhile or before is never used twice: the same commits get other names.
run -C "$SERVER/trials/two" import other.tsv
must_exit 0
must_equal $((rows / 5)) "$(grep -c 'imported under this id' err out | awk -F: '{ s += $2 } END { print s }')" 'renamed rows'
run -C "$SERVER/trials/two" verify
must_exit 0
finish
