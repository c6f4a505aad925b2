#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# calls.sh: every call of libpq, every allocation and every file call fails, one at a time, in every operation on a store on a
# server (call_faults.c). Runs every 79th fault, under sanitizers every 127th; STEP=1 runs all. ONLY=append: one operation.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
must_run init "$SERVER/trials/calls"
header | sed "s/\$/${tab}team/" >wider.tsv
must_run -C "$SERVER/trials/calls" import --exact wider.tsv
mkdir -p store/work
echo 'some code' >store/work/main.py
echo "{\"log\": \"$SERVER/trials/calls\"}" >store/lineage.json
must_run trust store
[ "$INSTRUMENTED" = sanitizers ] && coarse=127 || coarse=79
"$CALL_FAULTS" store "$SERVER/trials" "${STEP:-$coarse}" ${ONLY:+"$ONLY"} >out 2>err
status=$?
last="call_faults"
must_exit 0
cat out
must_equal "$(server_sql trials 'SELECT count(*) FROM lineage.record WHERE part = 0')" \
    "$(server_sql trials "SELECT count(DISTINCT request) FROM lineage.record")" 'one request for each'
run -C "$SERVER/trials/calls" verify
must_equal 0 "$(grep -v "^checked: " out | grep -c digest)" 'digests'
finish
