#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# tamper.sh: the server keeps the log append-only: by roles, by triggers that apply to everyone, and by digests against owners,
# which can switch triggers off.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
server_sql postgres 'CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE eve LOGIN' >/dev/null
owner=$SERVER/trials/one
alice=$(echo "$owner" | sed 's/lineage@/alice@/')
bob=$(echo "$owner" | sed 's/lineage@/bob@/')
eve=$(echo "$owner" | sed 's/lineage@/eve@/')
must_run init "$owner"
server_sql trials 'GRANT lineage_writer TO alice; GRANT lineage_reader TO bob' >/dev/null

# refused USER STATEMENT: the server must refuse it, and the log must be unchanged.
sum() { server_sql trials 'SELECT md5(string_agg(seq || encode(bytes, $$hex$$) || encode(digest, $$hex$$), $$ $$ ORDER BY seq)), count(*) FROM lineage.record'; }
refused()
{
    checks=$((checks + 1))
    if server_user=$1 server_sql trials "$2" >out 2>err; then
        fail "$1 could: $2"
    fi
    must_equal "$before" "$(sum)" "the log after $1: $2"
}

# Writers append and read, readers read, others neither.
must_run -C "$alice" append --status keep --core-metric 1
must_run -C "$alice" append --status keep --core-metric 2 --parent 000
must_run -C "$bob" best
must_fail 2 'refused: permission denied' -C "$bob" append --status keep --core-metric 3
must_fail 2 'refused: permission denied' -C "$eve" best
must_equal 0 "$(find state -name '*.trial' | wc -l)" 'what a reader may not append waits'
before=$(sum)

for user in alice bob eve; do
    for statement in "UPDATE lineage.record SET bytes = 'x'" 'DELETE FROM lineage.record' 'TRUNCATE lineage.record' \
        "INSERT INTO lineage.record VALUES (1, 9, 9, 'x', 'x', gen_random_uuid(), 0)" 'UPDATE lineage.store SET size = 0' \
        'DELETE FROM lineage.store' 'SELECT * FROM lineage.store FOR UPDATE' \
        'ALTER TABLE lineage.record DISABLE TRIGGER append_only' 'DROP TABLE lineage.record' 'DROP SCHEMA lineage CASCADE' \
        'CREATE TABLE lineage.x (i int)' 'SET session_replication_role = replica; DELETE FROM lineage.record'; do
        refused $user "$statement"
    done
done
refused bob "SELECT lineage.append(1, 3, gen_random_uuid(), 0, ARRAY['x']::bytea[], '')"
refused bob "SELECT lineage.claim(1, gen_random_uuid(), 0)"

# The triggers refuse the owner, a superuser here, even as a replication role.
for statement in "UPDATE lineage.record SET bytes = 'x'" "UPDATE lineage.record SET bytes = 'x' WHERE false" \
    'DELETE FROM lineage.record' 'TRUNCATE lineage.record' 'TRUNCATE lineage.record, lineage.store, lineage.aside CASCADE' \
    'DELETE FROM lineage.store' 'UPDATE lineage.store SET size = 0' 'UPDATE lineage.store SET seq = seq - 1' \
    'UPDATE lineage.store SET uuid = gen_random_uuid()' "UPDATE lineage.store SET seq = seq + 1, size = size + 1" \
    'DELETE FROM lineage.aside'; do
    refused lineage "$statement"
    refused lineage "SET session_replication_role = replica; $statement"
done

# A writer cannot make the server add a record twice or at another place, nor drop a torn record.
refused alice "SELECT lineage.append(1, 1, gen_random_uuid(), 0, ARRAY['x']::bytea[], '')"
refused alice "SELECT lineage.append(1, 3, (SELECT request FROM lineage.record WHERE seq = 3), 0, ARRAY['x']::bytea[], '')"
refused alice "SELECT lineage.mend(1, 3, 5)"

# The owner of the tables can switch triggers off: the digests show it.
must_run -C "$bob" verify
server_sql trials "ALTER TABLE lineage.record DISABLE TRIGGER append_only;
    UPDATE lineage.record SET bytes = convert_to(replace(convert_from(bytes, 'UTF8'), 'keep	1', 'keep	9'), 'UTF8') WHERE seq = 2;
    ALTER TABLE lineage.record ENABLE ALWAYS TRIGGER append_only" >/dev/null
run -C "$bob" verify
must_exit 1
must_have out 'digest'

# No password, and nobody else's business, in rows, head or the directory.
must_equal '' "$(grep -rl -i password state)"
finish
