#!/bin/sh
# leases.sh: a lease is renewed while files are sent and fetched, however long that takes, so that nobody else begins the trial.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
workers=
server_test 'kill -KILL $workers 2>/dev/null'
. "$SOURCE/tests/support/trainer.sh"
server_start
server_sql postgres 'CREATE DATABASE leases' >/dev/null
uri=$SERVER/leases/one
XDG_STATE_HOME=$PWD/a
export XDG_STATE_HOME
must_run init "$uri" --direction lower

SEEN=$PWD/seen
export SEEN
cat >train.sh <<'END'
echo "$1" >>"$SEEN"
cd "$LINEAGE_WORKDIR" || exit 1
head -c 1100000 /dev/urandom >weights
[ -z "${LINEAGE_PARENT_SNAPSHOT:-}" ] || cmp "$LINEAGE_PARENT_SNAPSHOT/weights" "$KEPT" || exit 1
[ "$1" != 1 ] || cp weights "$KEPT"
echo "METRIC loss=$1"
END
KEPT=$PWD/kept
export KEPT
printf '{"name": "s", "direction": "lower", "score": "loss", "grace_seconds": 1, "command": "sh %s {x}", "grid": {"x": [1]}}\n' \
    "$PWD/train.sh" >parent.json
printf '{"name": "t", "direction": "lower", "score": "loss", "grace_seconds": 1, "command": "sh %s {x}", "parent": "best", "grid": {"x": [2]}}\n' \
    "$PWD/train.sh" >child.json
worker() # MACHINE SWEEP
{
    XDG_STATE_HOME=$PWD/$1 "$LINEAGE" night "$2.json" -C "$uri" --worker --lease 3 -q >>"out.$1" 2>>"err.$1" </dev/null &
    pid=$!
    workers="$workers $pid"
}
ends() # PID MACHINE
{
    wait "$1"
    must_equal 0 $? "worker of machine $2: $(cat "err.$2")"
    must_equal '' "$(cat "err.$2")" "machine $2 heard nothing"
}

# A piece of a snapshot that takes longer to send than the lease lasts.
server_sql leases "CREATE OR REPLACE FUNCTION lineage.put_chunk(of_store integer, of_digest bytea, new_bytes bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER AS \$\$ SELECT CASE WHEN octet_length(new_bytes) > 1000000 THEN pg_sleep(6) END;
    INSERT INTO lineage.chunk (store, digest, bytes) VALUES (of_store, of_digest, new_bytes)
    ON CONFLICT (store, digest) DO UPDATE SET used = clock_timestamp() \$\$" >/dev/null
worker a parent
first=$pid
wait_for test -s seen || fail 'not begun'
worker b parent
ends "$pid" b
ends "$first" a
must_equal 1 "$(cat seen)" 'begun once'

# Fetching: the pieces cannot be read for the time of some leases. The worker that has the trial keeps it.
server_sql leases 'BEGIN; LOCK TABLE lineage.chunk; SELECT pg_sleep(6); COMMIT' >/dev/null &
workers="$workers $!"
wait_for sh -c "[ \"\$($pg_bin/psql -h $server/s -p $server_port -U lineage -XqAt -d leases -c \"SELECT count(*) FROM pg_locks WHERE relation = 'lineage.chunk'::regclass AND mode = 'AccessExclusiveLock'\")\" = 1 ]"
worker c child
first=$pid
worker d child
ends "$pid" d
ends "$first" c
must_equal '1 2' "$(tr '\n' ' ' <seen | sed 's/ $//')" 'the child is begun once'
workers=
finish
