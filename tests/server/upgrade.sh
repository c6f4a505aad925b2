#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# upgrade.sh: a store that an older program filled, with schema version 3: it is refused by a message that says what to do, `lineage
# init` brings it up to date without a changed byte, and afterwards it is read, verified and appended to.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
server_sql postgres 'CREATE ROLE alice LOGIN' >/dev/null
uri=$SERVER/trials/old
for version in 1 2 3; do
    server_sql trials "BEGIN; $(cat "$SOURCE"/schema/postgresql/00"${version}"_*.sql)
        ; INSERT INTO lineage.version (version) VALUES ($version); COMMIT" >/dev/null
done

# as_records: lines of a file as an array of bytea, line ends with them.
as_records() { while IFS= read -r line; do printf "'\\\\x%s0a'::bytea\n" "$(printf '%s' "$line" | od -An -v -tx1 | tr -d ' \n')"; done | paste -s -d , -; }
{ header; trial 000 '' keep 1.5 first; trial 001 000 discard 1 second; trial 002 000 keep 2.5 third; } >filled.tsv
server_sql trials "INSERT INTO lineage.store (name, settings) VALUES ('old', '{}')" >/dev/null
server_sql trials "SELECT lineage.append(1, 0, gen_random_uuid(), 0, ARRAY[$(as_records <filled.tsv)], '')" >/dev/null
server_sql trials "SELECT lineage.claim_trial(1, 'night', ARRAY[7]::bigint[], 'host:1', 3600, 0)" >/dev/null
printf 'half a row' | od -An -v -tx1 | tr -d ' \n' >torn
server_sql trials "INSERT INTO lineage.store (name, settings) VALUES ('torn', '{}')" >/dev/null
server_sql trials "SELECT lineage.append(2, 0, gen_random_uuid(), 0, ARRAY[$(as_records <filled.tsv)], '\\x$(cat torn)')" >/dev/null
server_sql trials "SELECT string_agg(digest::text, ' ' ORDER BY store, seq) FROM lineage.record" >before

for command in best query verify; do
    must_fail 3 'has schema version 3; its owner' -C "$uri" $command
done
must_run init "$uri"
must_run init "$uri"
must_equal "$(cat before)" "$(server_sql trials "SELECT string_agg(digest::text, ' ' ORDER BY store, seq) FROM lineage.record")" digests
must_equal "$(find "$SOURCE/schema/postgresql" -name '[0-9]*.sql' | wc -l)" "$(server_sql trials 'SELECT max(version) FROM lineage.version')" version
must_run -C "$uri" export
must_match_file filled.tsv out
must_run -C "$uri" verify
must_run -C "$uri" best
must_have out 'exp_id              000'
must_equal 1 "$(server_sql trials "SELECT count(*) FROM lineage.trial_claim WHERE key = 7 AND attempt = 1")" 'the claim'

# The owner, and then a user with a right that the old schema did not have.
server_sql trials 'GRANT lineage_writer TO alice' >/dev/null
n=2
for who in lineage alice; do
    n=$((n + 1))
    must_run -C "$(echo "$uri" | sed "s/lineage@/$who@/")" append --status auto --core-metric $n --hypothesis "by $who"
    must_have out "00$n"
done
must_run -C "$uri" append --status keep --core-metric 2 --hypothesis torn
run -C "$SERVER/trials/torn" append --status keep --core-metric 2 --hypothesis 'behind an open end'
must_exit 0
must_have err 'last record without line end (10 bytes) moved'
for store in old torn; do
    run -C "$SERVER/trials/$store" verify
    must_equal 0 "$(grep -v "^checked: " out | grep -c digest)" "digests of $store"
done
must_run -C "$uri" export
head -n 4 out >beginning
must_match_file filled.tsv beginning
must_equal 7 "$(wc -l <out)" 'lines in all'

finish
