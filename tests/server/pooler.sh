#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# pooler.sh: writers behind PgBouncer in transaction mode, which gives each transaction another session of the server. Prepared
# statements of a client are then missing, or are there already; every append must be in the log all the same, once.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
pooler=$(command -v pgbouncer || ls /usr/sbin/pgbouncer 2>/dev/null) || { echo 'SKIP no pgbouncer (Debian: pgbouncer)' && exit 77; }
server_test 'kill $(jobs -p) 2>/dev/null; kill "$(cat "$server/s/pooler.pid" 2>/dev/null)" 2>/dev/null'
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
must_run init "$SERVER/trials/one"
pooler_port=$(held_port)
# From 1.21 on, a pooler keeps the prepared statements of its clients. Without, a session is seen to change: its log has an error.
without_statements()
{
    "$pooler" --version | awk 'NR == 1 { split($2, v, "."); if (v[1] > 1 || v[2] >= 21) print "max_prepared_statements = 0" }'
}
cat >"$server/s/pooler.ini" <<END2
[databases]
trials = host=$server/s port=$server_port dbname=trials user=lineage
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = $pooler_port
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
pidfile = $server/s/pooler.pid
$(without_statements)
logfile = $server/s/pooler.log
END2
chmod a+r "$server/s/pooler.ini"
as_server "$pooler" -d "$server/s/pooler.ini" >/dev/null 2>&1
uri=postgres://lineage@127.0.0.1:$pooler_port/trials/one
tries=0
until "$LINEAGE" -C "$uri" query --limit 1 >/dev/null 2>&1; do
    [ $((tries += 1)) -lt 3000 ] || { cat "$server/s/pooler.log" >&2; exit 1; }
    sleep 0.1
done
must_run -C "$uri" append --status keep --core-metric 1 --hypothesis first

for i in 1 2 3 4 5 6; do
    (
        XDG_STATE_HOME=$PWD/state$i
        export XDG_STATE_HOME
        for k in 1 2 3 4 5 6 7 8; do
            "$LINEAGE" -C "$uri" append --status auto --core-metric "0.$i" --parent 000 --hypothesis "w$i-$k" >>"ids$i" 2>>"errs$i"
        done
        # One handle that sends row after row.
        for k in 1 2 3 4 5; do
            printf '{"hypothesis": "b%s-%s", "status": "auto", "core_metric": 0.5, "parent_exp": "000"}\n' "$i" "$k"
        done >"batch$i"
        "$LINEAGE" -C "$uri" append --json "batch$i" >>"ids$i" 2>>"errs$i"
    ) &
done
wait
must_equal '' "$(cat errs? | grep -v 'waiting for the claim')" 'messages'
must_equal 78 "$(cat ids? | tr ' ' '\n' | sort -u | grep -c '^[0-9]*$')" 'ids, each once'
must_equal 0 "$(find . -name '*.trial' -size +0 -path '*outbox*' -exec grep -l '^lineage-outbox' {} + 2>/dev/null | wc -l)" 'waiting trials'
must_equal 80 "$(server_sql trials 'SELECT count(*) FROM lineage.record')" 'records, with the header and the first row'
run -C "$SERVER/trials/one" verify
must_exit 0

# Handles that live long and change sessions between appends.
must_run init "$SERVER/trials/race" --direction higher
for i in 1 2 3 4 5 6 7 8; do
    mkdir d$i
    echo "{\"log\": \"${uri%one}race\"}" >d$i/lineage.json
    must_run trust d$i
done
"$RACE" 30 d1 d2 d3 d4 d5 d6 d7 d8 >out 2>err
must_equal 0 $? "race: $(cat err)"
must_equal 241 "$(server_sql trials "SELECT count(*) FROM lineage.record r JOIN lineage.store s ON s.id = r.store WHERE s.name = 'race'")" 'records of the race'
checks=$((checks + 1))
grep -q 'prepared statement' "$server/s/log" || fail 'no session was shared, so nothing was tested'
finish
