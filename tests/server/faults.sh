#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# faults.sh: the server is stopped, killed, suspended, or its disk is full, while writers continue. In the end every trial that
# a command accepted has one row.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test 'kill $(jobs -p) 2>/dev/null; server_down; umount "$server/small" 2>/dev/null'
server_start
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one
must_run init "$uri"

# rows HYPOTHESIS: the number of rows in the log with it.
rows() { server_sql trials "SELECT count(*) FROM lineage.record WHERE position(convert_to('$1' || E'\t', 'UTF8') IN bytes) > 0"; }
log_is_sound()
{
    must_equal 0 "$(server_sql trials "SELECT count(*) FROM (SELECT sha256(coalesce(lag(digest) OVER w, decode(repeat('00', 32), 'hex'))
        || bytes) <> digest AS bad, seq <> row_number() OVER w AS gap FROM lineage.record WINDOW w AS (ORDER BY seq)) x
        WHERE bad OR gap")" 'digests and numbers'
    run -C "$uri" verify
    must_exit 0
}

# ---- 32 processes at once, each with its own directory, some with a clock of another year ----
must_run -C "$uri" append --status keep --core-metric 1 --hypothesis first
for i in $(seq 32); do
    (
        XDG_STATE_HOME=$PWD/state$i
        for k in 1 2 3 4 5; do
            "$LINEAGE" -C "$uri" append --status auto --core-metric "0.$i" --parent 000 --hypothesis "w$i-$k" \
                $([ $((i % 4)) -ne 0 ] || echo --timestamp "20$((10 + i))-01-01T00:00:00Z")
        done >ids$i 2>errs$i
    ) &
done
wait
must_equal 160 "$(cat ids? ids?? | sort -u | grep -c '^[0-9]*$')" 'ids, each once'
must_equal '' "$(cat errs? errs?? | grep -v 'waiting for the claim')" 'messages'
must_equal 161 "$(server_sql trials 'SELECT count(*) - 1 FROM lineage.record')" 'rows'
log_is_sound

# ---- killed between commands, and started again ----
server_down immediate
run -C "$uri" append --status keep --core-metric 2 --hypothesis away1
must_exit 0
must_have out outbox-
must_have err 'is kept as outbox-'
run -C "$uri" best
must_exit 0
must_have err 'this is the lineage as of 20'
run -C "$uri" sync
must_exit 3
must_have out 'waiting 1'
run -C "$uri" verify
must_exit 3
server_up
run -C "$uri" sync
must_exit 0
must_have err 'is delivered as 161'
must_equal 1 "$(rows away1)"

# ---- a writer that continues after kills of backends, of the whole server, and of itself ----
writer()
{
    k=0
    while [ ! -e stop ]; do
        k=$((k + 1))
        "$LINEAGE" -C "$uri" append --status discard --core-metric 3 --hypothesis "$1-$k" --telemetry "$SOURCE/tests/server/telemetry.json" \
            >>ids.$1 2>>errs.$1 && echo "$1-$k" >>taken
    done
}
writer a &
writer b &
# The backends of this server only.
backends() { ps --ppid "$(head -n 1 "$server/data/postmaster.pid")" -o pid=,args= | sed -n 's/^ *\([0-9]*\) postgres: lineage trials .*/\1/p'; }
for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
    sleep 0.3
    for pid in $(backends); do
        case $round in 3 | 6 | 7) ;; *) as_server kill -TERM "$pid" 2>/dev/null ;; esac
    done
    case $round in
    6) # suspended, then resumed: a client that gave them up in between must not count them twice
        stopped=$(backends)
        as_server kill -STOP $stopped 2>/dev/null
        sleep 1
        as_server kill -CONT $stopped 2>/dev/null
        ;;
    3 | 7) as_server kill -KILL $(backends) 2>/dev/null ;; # the server starts itself again
    5 | 10)
        server_down immediate
        sleep 0.2
        server_up
        ;;
    esac
done
touch stop
wait
tries=0
until run -C "$uri" sync && [ "$status" -eq 0 ] || [ $((tries += 1)) -gt 3000 ]; do sleep 0.2; done
must_exit 0
for name in $(cat taken); do
    n=$(rows "$name")
    [ "$n" = 1 ] || fail "$name has $n rows"
done
checks=$((checks + $(wc -l <taken)))
must_equal "$(server_sql trials 'SELECT count(*) - 1 FROM lineage.record')" \
    "$(server_sql trials 'SELECT count(DISTINCT request) FROM lineage.record')" 'one row for each request'
log_is_sound

# ---- the server ends a client that is suspended while it holds the claim; a suspended backend makes its client wait ----
"$pg_bin/psql" -h "$server/s" -p "$server_port" -U lineage -X -q trials >/dev/null 2>&1 <<'END' &
BEGIN; SELECT * FROM lineage.claim(1, gen_random_uuid(), 0);
\! sleep 40
END
holder=$!
sleep 0.5
start=$(date +%s)
run -C "$uri" append --status keep --core-metric 4 --hypothesis after-holder
must_exit 0
must_have err 'waiting for the claim'
must_equal 1 "$(rows after-holder)"
checks=$((checks + 1))
[ $(($(date +%s) - start)) -lt 35 ] || fail 'the claim was not freed'
kill $holder 2>/dev/null

# ---- disk full on the server: nothing is lost or half written ----
if [ "$(id -u)" -eq 0 ] && mkdir "$server/small" && mount -t tmpfs -o size=1m none "$server/small" 2>/dev/null; then
    chown "$(as_server id -u)" "$server/small"
    server_sql trials "CREATE TABLESPACE small LOCATION '$server/small'" >/dev/null
    server_sql postgres "CREATE DATABASE full_disk" >/dev/null
    full=$SERVER/full_disk/one
    must_run init "$full"
    server_sql full_disk 'ALTER TABLE lineage.record SET TABLESPACE small' >/dev/null
    head -c 60000 /dev/urandom | base64 -w 0 >long
    for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
        printf '{"status": "discard", "core_metric": 1, "hypothesis": "%s-%s"}' "$(cat long)" $k >long.json
        run -C "$full" append --json long.json
        must_exit 0
        ! grep -q outbox- out || break
    done
    must_have err 'No space left'
    must_equal $((k - 1)) "$(server_sql full_disk "SELECT count(*) - 1 FROM lineage.record")" 'rows before the disk was full'
    server_sql full_disk 'ALTER TABLE lineage.record SET TABLESPACE pg_default' >/dev/null
    run -C "$full" sync
    must_exit 0
    must_equal "$k" "$(server_sql full_disk "SELECT count(*) - 1 FROM lineage.record")" 'rows with room'
    must_run -C "$full" verify
else
    echo 'skipped: the full disk of a server (no tmpfs may be mounted here)'
fi
finish
