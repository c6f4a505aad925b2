#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# refused.sh: a mistake of the user (name, database, role, password, rights, TLS) is an error that names it, with exit status 2.
# No trial is stored for a server that will never accept it, and no stored trial is lost.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
PGPASSFILE=$PWD/passwords
export PGPASSFILE
server_start
server_sql postgres "CREATE DATABASE trials" >/dev/null
server_sql postgres "CREATE DATABASE closed" >/dev/null
server_sql postgres "CREATE DATABASE bare" >/dev/null
server_sql postgres "REVOKE CONNECT ON DATABASE closed FROM PUBLIC; CREATE ROLE alice LOGIN PASSWORD 'right horse';
    CREATE ROLE nologin NOLOGIN PASSWORD 'right horse'; CREATE ROLE full LOGIN CONNECTION LIMIT 0 PASSWORD 'right horse';
    CREATE ROLE nowhere LOGIN PASSWORD 'right horse'; CREATE ROLE expired LOGIN PASSWORD 'right horse' VALID UNTIL '2020-01-01'" >/dev/null
{
    echo 'local all all trust'
    echo 'host all nowhere 127.0.0.1/32 reject'
    echo 'hostssl all tls 127.0.0.1/32 scram-sha-256'
    echo 'host all alice,nologin,full,expired,nobody 127.0.0.1/32 scram-sha-256'
} >hba
cp hba "$server/data/pg_hba.conf" && chmod a+r "$server/data/pg_hba.conf"
server_sql postgres 'SELECT pg_reload_conf()' >/dev/null
password() { echo "*:*:*:*:$1" >"$PGPASSFILE" && chmod 600 "$PGPASSFILE"; }
waiting() { find state* -name '*.trial' -exec grep -l '^lineage-outbox' {} + | wc -l; }
password 'right horse'
must_run init "$SERVER/trials/one"
server_sql trials 'GRANT lineage_writer TO alice, nologin, nowhere, full, expired' >/dev/null
at=127.0.0.1:$server_port

# refused TEXT NAME: by every command, and nothing waits.
refused()
{
    must_fail 2 "$1" -C "$2" append --status keep --core-metric 1 --hypothesis lost
    must_fail 2 "$1" -C "$2" best
    must_fail 2 "$1" -C "$2" sync
    must_equal 0 "$(waiting)" "what waits for $2"
    must_equal '' "$(grep -r -l 'right horse\|wrong horse' err out state 2>/dev/null)" "the password of $2"
}

must_run -C "postgres://alice@$at/trials/one" append --status keep --core-metric 1 --hypothesis first
password 'wrong horse'
refused 'password authentication failed for user "alice"' "postgres://alice@$at/trials/two"
must_fail 2 'password authentication failed' init "postgres://alice@$at/trials/two"
refused 'no password supplied' "postgres://alice@$at/trials/two?passfile=/nowhere"
password 'right horse'
refused 'password authentication failed for user "nobody"' "postgres://nobody@$at/trials/one" # the server does not reveal which roles exist
refused 'password authentication failed' "postgres://expired@$at/trials/one"
refused 'role "nologin" is not permitted to log in' "postgres://nologin@$at/trials/one"
refused 'pg_hba.conf rejects connection' "postgres://nowhere@$at/trials/one"
refused 'no pg_hba.conf entry for host "127.0.0.1", user "tls"' "postgres://tls@$at/trials/one"
refused 'no pg_hba.conf entry for host "127.0.0.1", user "unknown"' "postgres://unknown@$at/trials/one"
refused 'database "nosuch" does not exist' "postgres://alice@$at/nosuch/one"
must_fail 2 'database "nosuch" does not exist' init "$SERVER/nosuch/one"
refused 'permission denied for database "closed"' "postgres://alice@$at/closed/one"
refused 'has no lineage' "postgres://alice@$at/bare/one"
refused "the server has no store 'two'" "postgres://alice@$at/trials/two"
refused 'server does not support SSL' "postgres://alice@$at/trials/one?sslmode=require"
refused 'channel binding' "postgres://alice@$at/trials/one?channel_binding=require"
refused 'invalid sslmode value' "postgres://alice@$at/trials/one?sslmode=safe"
refused 'invalid URI query parameter' "postgres://alice@$at/trials/one?no_such_word=1"
refused 'invalid port number' "postgres://alice@127.0.0.1:99999/trials/one"
refused 'invalid integer value' "postgres://alice@$at/trials/one?keepalives_idle=long"
refused 'definition of service "nosuch" not found' 'postgresql:///?service=nosuch&store=one'
refused 'unrecognized configuration parameter' "postgres://alice@$at/trials/one?options=-c%20no_such_word%3D1"
refused 'requirepeer specifies' "$SERVER/trials/one?requirepeer=nosuch"

# No server, one without space, one with another protocol: these faults may pass, so the trial is kept.
for name in "postgres://alice@127.0.0.1:1/trials/one" "postgres://alice@nosuch.invalid/trials/one" \
    "postgres://alice@%2Fnowhere/trials/one" "postgres://full@$at/trials/one"; do
    run -C "$name" append --status keep --core-metric 1 --hypothesis kept
    must_exit 0
    must_have err 'is away: '
    must_have out outbox-
    case $name in *nosuch.invalid*) must_have err '"nosuch.invalid"' ;; esac
done
must_equal 4 "$(waiting)"
rm -rf state

# A password that changes while a trial waits: every command reports it, and nothing is lost.
name=postgres://alice@$at/trials/one
must_run -C "$name" best
server_down immediate
run -C "$name" append --status keep --core-metric 2 --parent 000 --hypothesis waits
must_exit 0
must_equal 1 "$(waiting)"
server_up
server_sql postgres "ALTER ROLE alice PASSWORD 'wrong horse'" >/dev/null
for command in sync best 'append --status keep --core-metric 3 --hypothesis no'; do
    # shellcheck disable=SC2086
    must_fail 2 'password authentication failed for user "alice"' -C "$name" $command
    must_equal 1 "$(waiting)"
done
password 'wrong horse'
run -C "$name" sync
must_exit 0
must_have err 'is delivered as 001'
must_equal 0 "$(waiting)"

# A trial that runs meanwhile has ended when it is refused: it is kept, with a notice.
server_sql trials 'CREATE FUNCTION change() RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
    ALTER ROLE alice PASSWORD $p$right horse$p$; SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity WHERE usename = $p$alice$p$ $$' >/dev/null
cat >trial.sh <<END
"$pg_bin/psql" -h "$server/s" -p "$server_port" -U lineage -X -q -d trials -c 'SELECT change()' >/dev/null
echo METRIC acc=0.75
END
run -C "$name" run --score acc -- sh trial.sh
must_exit 0
must_have err 'password authentication failed for user "alice"; the trial is kept as outbox-'
must_equal 1 "$(waiting)"
password 'right horse'
run -C "$name" sync
must_exit 0
must_have err 'is delivered as 002'

# Without the right to append: an append by a reader is refused and not stored, and waiting trials stay until it is granted.
server_sql trials 'CREATE FUNCTION demote() RETURNS void LANGUAGE sql SECURITY DEFINER AS $$
    REVOKE lineage_writer FROM alice; GRANT lineage_reader TO alice $$' >/dev/null
sed 's/change()/demote()/' trial.sh >demoted.sh
run -C "$name" run --score acc -- sh demoted.sh
must_exit 0
must_have err 'refused: permission denied for function'
must_have err 'the trial is kept as outbox-'
must_equal 1 "$(waiting)"
must_run -C "$name" best
must_fail 2 'refused: permission denied for function' -C "$name" append --status keep --core-metric 4 --hypothesis no
run -C "$name" sync
must_exit 2
must_have err 'refused: permission denied for function'
must_have out 'waiting 1'
must_equal 1 "$(waiting)"
server_sql trials 'GRANT lineage_writer TO alice' >/dev/null
run -C "$name" sync
must_exit 0
must_have err 'is delivered as 003'

# A store that is dropped under a trial that waits does not make a refused trial of it.
server_down immediate
run -C "$name" append --status keep --core-metric 3 --hypothesis later
must_exit 0
server_up
server_sql trials 'ALTER SCHEMA lineage RENAME TO elsewhere' >/dev/null
must_fail 2 'has no lineage' -C "$name" sync
must_equal 1 "$(waiting)"
server_sql trials 'ALTER SCHEMA elsewhere RENAME TO lineage' >/dev/null
run -C "$name" sync
must_exit 0
must_have err 'is delivered as 004'
must_equal 5 "$(server_sql trials 'SELECT count(*) - 1 FROM lineage.record')" 'rows'
finish
