#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# failover.sh: a server fails over to an asynchronous standby that lacks its last rows. Each acknowledged row is in the log again
# afterwards, once, and no id names two trials. With a synchronous standby nobody is shown a row that the standby lacks.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test 'standby_down; kill $(jobs -p) 2>/dev/null'
server_start 'wal_level = replica' 'hot_standby = on'
echo 'local replication all trust' >>"$server/data/pg_hba.conf"
server_sql postgres 'SELECT pg_reload_conf()' >/dev/null
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one
must_run init "$uri"

# A standby in the directory of the server; it has its own socket until it takes over the server's.
standby_down() { [ ! -d "$server/standby" ] || as_server "$pg_bin/pg_ctl" -D "$server/standby" -m immediate -w stop >/dev/null 2>&1; }
standby_make()
{
    rm -rf "$server/standby" && as_server mkdir -p "$server/t"
    as_server "$pg_bin/pg_basebackup" -h "$server/s" -p "$server_port" -U lineage -D "$server/standby" -R -X stream -c fast >/dev/null ||
        fail 'no standby'
    printf "unix_socket_directories = '%s'\nlisten_addresses = ''\n" "$server/t" >>"$server/standby/postgresql.conf"
}
standby_up() { as_server "$pg_bin/pg_ctl" -D "$server/standby" -l "$server/t/log" -w -t 60 start >/dev/null || { cat "$server/t/log"; exit 1; }; }
# The standby becomes the server that clients connect to.
fail_over()
{
    server_down immediate
    standby_up
    as_server "$pg_bin/pg_ctl" -D "$server/standby" -w promote >/dev/null
    as_server "$pg_bin/pg_ctl" -D "$server/standby" -m fast -w stop >/dev/null
    mv "$server/data" "$server/old$1" && mv "$server/standby" "$server/data"
    printf "unix_socket_directories = '%s'\nlisten_addresses = '127.0.0.1'\n" "$server/s" >>"$server/data/postgresql.conf"
    server_up
}
on() { XDG_STATE_HOME=$PWD/$1 && export XDG_STATE_HOME && shift && run -C "$uri" "$@"; }
rows() { server_sql trials "SELECT count(*) FROM lineage.record WHERE position(convert_to('$1', 'UTF8') IN bytes) > 0"; }

# ---- rows that the standby never got ----
on a append --status keep --core-metric 1 --hypothesis base
on b append --status discard --core-metric 1 --hypothesis other
standby_make
: >acknowledged
for k in 1 2 3 4 5 6; do
    on a append --status auto --core-metric "0.$k" --parent "$([ $k -lt 3 ] && echo 000 || echo 003)" --hypothesis "a-$k-end"
    must_exit 0
    echo "a-$k-end $(cat out)" >>acknowledged
done
printf '{"hypothesis": "many-1-end", "status": "discard", "core_metric": 1}\n{"hypothesis": "many-2-end", "status": "discard", "core_metric": 1}\n' >many
on a append --json many
must_exit 0
fail_over 1
must_equal 0 "$(rows -end)" 'the standby lacks them'

# Commands that read say so, and deliver nothing; another machine appends meanwhile and gets the ids.
on a best
must_exit 0
must_have err 'acknowledged 7 appends of this machine and no longer has them'
on a verify
must_exit 1
must_have out 'receipts'
must_equal 0 "$(rows -end)" 'reading delivers nothing'
on b append --status discard --core-metric 5 --hypothesis b-new
must_exit 0
must_equal 002 "$(cat out)"
# The machine that sent them delivers them again, and then its new row.
on a append --status discard --core-metric 1 --hypothesis after
must_exit 0
must_have err 'had acknowledged 002 and no longer had it; another trial has that id now, so it is delivered again as 003'
for k in 1 2 3 4 5 6; do must_equal 1 "$(rows "a-$k-end")" "a-$k"; done
must_equal 1 "$(rows many-1-end)" many-1
must_equal 1 "$(rows many-2-end)" many-2
must_equal 1 "$(rows 'acknowledged as 002 before the server lost it')" 'the row says so'
on b query --format tsv
must_equal '' "$(cut -f 1 out | sort | uniq -d)" 'ids that name two trials'
# 003 was the second row, and its children follow it to its new id.
second=$(awk -F '\t' '/a-2-end/ { print $1 }' out)
must_equal "$second" "$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "parent_exp") c = i } /a-4-end/ { print $c }' out)" 'parent of a child'
for machine in a b; do
    on $machine verify
    must_exit 0
done
on a sync
must_equal 'delivered 0' "$(grep delivered out || echo 'delivered 0')" 'nothing twice'

# ---- a received directory cannot bring rows into the log by a forged receipt ----
cp -r a/lineage forged
receipts=$(find forged -name receipts)
sed -i 's/"records":"[0-9a-f]*"/"records":"666f7267656409780a"/; s/"seq":[0-9]*/"seq":900/; s/"request":"../"request":"ff/' "$receipts"
before=$(server_sql trials 'SELECT count(*) FROM lineage.record')
cp "$receipts" "$(find a -name receipts)"
on a append --status discard --core-metric 1 --hypothesis last
must_equal $((before + 1)) "$(server_sql trials 'SELECT count(*) FROM lineage.record')" 'forged receipts'

# ---- with a synchronous standby nothing is lost, and receipts are not kept ----
standby_make
echo "primary_conninfo = 'host=$server/s port=$server_port user=lineage application_name=twin'" >>"$server/standby/postgresql.auto.conf"
standby_up
server_sql postgres "ALTER SYSTEM SET synchronous_standby_names = 'twin'" >/dev/null
server_sql postgres 'SELECT pg_reload_conf()' >/dev/null
on a append --status discard --core-metric 1 --hypothesis sync-1-end
must_exit 0
on a best
must_equal 0 "$(tr -d '\n' <"$(find a -name receipts)" | wc -c)" 'receipts that a standby has witnessed'
server_sql trials "SET synchronous_commit = local; SELECT lineage.flush()" >/dev/null
standby_down
# A row that only this server has is shown to nobody: the reader waits for the standby.
(PGOPTIONS= "$pg_bin/psql" -h "$server/s" -p "$server_port" -U lineage -Xq -d trials -c "SET synchronous_commit = off" \
    -c "SELECT lineage.append(1, (SELECT seq FROM lineage.store WHERE id = 1), gen_random_uuid(), 0, ARRAY[convert_to(E'900\t\n', 'UTF8')], '')" >/dev/null)
checks=$((checks + 1))
if timeout 3 "$pg_bin/psql" -h "$server/s" -p "$server_port" -U lineage -XqAt -d trials -c "SET synchronous_commit = local" \
    -c "SELECT seq, lineage.flush() FROM lineage.store WHERE id = 1" >shown 2>&1; then
    fail "a reader was shown a row that no standby has: $(cat shown)"
fi
# While the standby is down, a command waits once, and not for each of its questions. Each wait leaves a backend that waits on.
backends() { server_sql postgres "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"; }
before=$(backends)
on a append --status discard --core-metric 1 --hypothesis standby-down
must_exit 0
must_have out outbox-
must_equal $((before + 1)) "$(backends)" 'waits for the standby'
standby_up
on a sync
must_exit 0
must_equal 1 "$(rows standby-down)" 'the trial that waited'
must_run -C "$uri" query --limit 1
finish
