#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# cut.sh: the connection is cut after byte N in both directions, once and each time, and bytes of the startup are changed on the way
# (cut_connection.c). Runs every 149th cut and every 61st byte; STEP=1 runs all.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start 'fsync = off' 'authentication_timeout = 2s'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
proxy_port=$(held_port)
must_run init "$SERVER/trials/cut"
header | sed "s/\$/${tab}team/" >wider.tsv # trials have a column that only this log has
must_run -C "$SERVER/trials/cut" import --exact wider.tsv
mkdir store
echo "{\"log\": \"postgres://lineage@127.0.0.1:$proxy_port/trials/cut\"}" >store/lineage.json
must_run trust store
"$CUT_CONNECTION" store "$server/s/.s.PGSQL.$server_port" "$proxy_port" "${STEP:-149}" >out 2>err
status=$?
last="cut_connection"
must_exit 0
cat out
must_equal "$(server_sql trials 'SELECT count(*) FROM lineage.record')" \
    "$(server_sql trials "SELECT count(DISTINCT request) FROM lineage.record")" 'one row for each request'
must_run -C "$SERVER/trials/cut" verify

# ---- bytes of the startup that arrive changed ----
mkdir changed
echo "{\"log\": \"postgres://lineage@127.0.0.1:$proxy_port/trials/cut?connect_timeout=2\"}" >changed/lineage.json
must_run trust changed
"$CUT_CONNECTION" changed "$server/s/.s.PGSQL.$server_port" "$proxy_port" "${STEP:-61}" corrupt >out 2>err
status=$?
last="cut_connection corrupt"
must_exit 0
cat out
must_equal "$(server_sql trials 'SELECT count(*) FROM lineage.record')" \
    "$(server_sql trials "SELECT count(DISTINCT request) FROM lineage.record")" 'one row for each request'
must_run -C "$SERVER/trials/cut" verify
finish
