#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# tls.sh: TLS as the name of a store requests it, names with several hosts, services and password files; and no password is
# visible to other users.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
command -v openssl >/dev/null || { echo 'skipped: no openssl' >&2; exit 77; }
server_test
PGPASSFILE=$PWD/passwords
export PGPASSFILE
echo '*:*:*:alice:right horse' >passwords && chmod 600 passwords

# An authority with a certificate for localhost, and an unknown one.
certificate() { openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -addext "subjectAltName=DNS:$1" -keyout "$2.key" -out "$2.crt" 2>/dev/null; }
certificate localhost server_ && certificate localhost other_ || { echo 'skipped: this openssl makes no certificate' >&2; exit 77; }

server_start
as_server tee "$server/data/server.crt" <server_.crt >/dev/null
as_server tee "$server/data/server.key" <server_.key >/dev/null
as_server chmod 600 "$server/data/server.key"
server_sql postgres 'CREATE DATABASE trials' >/dev/null
server_sql postgres "CREATE ROLE alice LOGIN PASSWORD 'right horse'" >/dev/null
server_sql postgres 'ALTER SYSTEM SET ssl = on' >/dev/null
printf 'local all all trust\nhostssl all alice 127.0.0.1/32 scram-sha-256\n' | as_server tee "$server/data/pg_hba.conf" >/dev/null
server_down fast
server_up
must_run init "$SERVER/trials/one"
server_sql trials 'GRANT lineage_writer TO alice' >/dev/null
at=postgres://alice@localhost:$server_port/trials/one

# TLS as the name requests. hostaddr, because localhost may be ::1 first.
must_run -C "$at?sslmode=require&hostaddr=127.0.0.1" append --status keep --core-metric 1 --hypothesis first
must_run -C "$at?sslmode=verify-full&sslrootcert=$PWD/server_.crt&hostaddr=127.0.0.1" best
for wrong in "sslmode=verify-full&sslrootcert=$PWD/other_.crt" "sslmode=verify-ca&sslrootcert=$PWD/other_.crt"; do
    must_fail 2 'certificate verify failed' -C "$at?$wrong&hostaddr=127.0.0.1" append --status keep --core-metric 2
done
must_fail 2 'root certificate file' -C "$at?sslmode=verify-full&sslrootcert=/nowhere/ca&hostaddr=127.0.0.1" best
must_fail 2 'does not match host name' -C "postgres://alice@127.0.0.1:$server_port/trials/one?sslmode=verify-full&sslrootcert=$PWD/server_.crt" best
must_fail 2 'no encryption' -C "postgres://alice@127.0.0.1:$server_port/trials/one?sslmode=disable" best
must_equal 0 "$(find state -name '*.trial' -exec grep -l '^lineage-outbox' {} + | wc -l)" 'what waits'

# Several hosts: the first is dead, the second is the server; one that can be written to; a server that refuses is not skipped.
two="postgres://alice@127.0.0.1:1,127.0.0.1:$server_port/trials/one"
must_run -C "$two" append --status keep --core-metric 2 --parent 000 --hypothesis second
must_run -C "$two?target_session_attrs=read-write" append --status keep --core-metric 3 --parent 001
server_sql postgres "ALTER ROLE alice SET default_transaction_read_only = on" >/dev/null
run -C "$two?target_session_attrs=read-write&sslmode=require" append --status keep --core-metric 4 --parent 002
must_exit 0
must_have err 'is away: '
server_sql postgres "ALTER ROLE alice RESET default_transaction_read_only" >/dev/null
run -C "$two?target_session_attrs=read-write&sslmode=require" sync
must_exit 0
must_have err 'is delivered as 003'
run -C "postgres://alice@127.0.0.1:1,127.0.0.1:2/trials/one" best
must_exit 3
must_have err 'is away: '
echo '*:*:*:alice:wrong horse' >passwords
must_fail 2 'password authentication failed' -C "$two" best
echo '*:*:*:alice:right horse' >passwords

# A service file may have the password; so may the environment.
printf '[trials]\nhost=127.0.0.1\nport=%s\nuser=alice\ndbname=trials\npassword=right horse\nsslmode=require\n' "$server_port" >service.conf
PGSERVICEFILE=$PWD/service.conf PGPASSFILE=/nowhere "$LINEAGE" -C 'postgresql:///?service=trials&store=one' best >out 2>err
must_equal 0 $? 'exit status with a service file'
PGPASSWORD='right horse' PGPASSFILE=/nowhere "$LINEAGE" -C "$two" best >out 2>err
must_equal 0 $? 'exit status with PGPASSWORD'
PGPASSFILE=/nowhere "$LINEAGE" -C "$two" best >out 2>err
must_equal 2 $? 'exit status without a password'

# Other users never see a password: not in the list of processes, nor in rows, paths, settings, messages, the server's log.
PGPASSWORD='right horse' "$LINEAGE" -C "$two" follow >followed 2>&1 &
follower=$!
sleep 1
must_equal '' "$(tr '\0' ' ' <"/proc/$follower/cmdline" | grep horse)" 'the list of processes'
kill $follower
wait $follower 2>/dev/null
must_equal '' "$(grep -r horse state out err followed "$server/s/log" 2>/dev/null)" 'files and messages'
must_equal 0 "$(server_sql trials "SELECT count(*) FROM lineage.record WHERE position('horse'::bytea IN bytes) > 0")" 'rows'
must_equal '' "$(find state | grep horse)" 'paths'
finish
