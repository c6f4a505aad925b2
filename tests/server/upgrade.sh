#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# upgrade.sh: databases with rows whose schema has an earlier version (fixtures/server): each is refused by a message that says what to
# do, `lineage init` brings it up to date without a changed byte, and afterwards it is read, verified and appended to.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start 'fsync = off'
server_sql postgres 'CREATE ROLE alice LOGIN' >/dev/null
latest=$(find "$SOURCE/schema/postgresql" -name '[0-9]*.sql' | wc -l)
must_equal "$latest" $(($(find "$SOURCE/fixtures/server" -name 'version-*.sql' | wc -l) + 1)) 'a fixture for each earlier version'
digests() { server_sql "$1" "SELECT string_agg(digest::text, ' ' ORDER BY store, seq) FROM lineage.record"; }
{ header; trial 000 '' keep 1.5 first; trial 001 000 discard 1 second; trial 002 000 keep 2.5 third; } >filled.tsv
# next_id N FIRST: the id of row N, from 0, if rows from FIRST on are appended to the restored copy.
next_id() { if [ $version -lt 7 ]; then echo "00$1"; else echo $((1000000 + $1 - $2)); fi; }

version=0
while [ $((version += 1)) -lt "$latest" ]; do
    database=v$version
    server_sql postgres "CREATE DATABASE $database" >/dev/null
    "$pg_bin/psql" -h "$server/s" -p "$server_port" -U lineage -Xq -v ON_ERROR_STOP=1 -d $database \
        -f "$SOURCE/fixtures/server/version-$version.sql" >/dev/null || fail "fixture $version"
    must_equal $version "$(server_sql $database 'SELECT max(version) FROM lineage.version')" 'version of the fixture'
    digests $database >before
    uri=$SERVER/$database/old
    for command in best query verify; do
        must_fail 3 "has schema version $version; its owner" -C "$uri" $command
    done
    run -C "$uri" append --status discard --core-metric 1 --hypothesis early
    must_exit 3
    must_run init "$uri" --noise-std 0.1
    must_run init "$uri" --noise-std 0.1
    must_equal "$(cat before)" "$(digests $database)" "digests of version $version"
    must_equal "$latest" "$(server_sql $database 'SELECT max(version) FROM lineage.version')" version
    must_run -C "$uri" export
    head -n 4 out >beginning
    must_match_file filled.tsv beginning
    rows=$(($(wc -l <out) - 1)) # from version 4 on the fixture has two rows more, by the functions of that version
    must_equal $((version < 4 ? 3 : 5)) $rows rows
    must_run -C "$uri" verify
    must_run -C "$uri" best
    must_have out 'exp_id              000'
    must_equal 0.1 "$(server_sql $database "SELECT settings::json ->> 'noise_std' FROM lineage.store WHERE id = 1")" settings
    [ $version -lt 2 ] ||
        must_equal 1 "$(server_sql $database "SELECT count(*) FROM lineage.trial_claim WHERE key = 7 AND attempt = 1")" 'the claim'
    [ $version -lt 3 ] || must_equal chunk "$(server_sql $database "SELECT convert_from(bytes, 'UTF8') FROM lineage.chunk")" 'the chunk'

    # The owner, and then a user with a right that the old schema did not have; ids go on where they were.
    server_sql $database 'GRANT lineage_writer TO alice' >/dev/null
    # A database that is another copy of the log leaves ids out from version 7 on.
    n=$((rows - 1))
    for who in lineage alice; do
        n=$((n + 1))
        must_run -C "$(echo "$uri" | sed "s/lineage@/$who@/")" append --status auto --core-metric $n --hypothesis "by $who"
        must_have out "$(next_id $n $rows)"
    done
    must_run -C "$uri" append --status keep --core-metric 2 --hypothesis again
    must_have out "$(next_id $((n + 1)) $rows)"
    run -C "$SERVER/$database/torn" append --status keep --core-metric 2 --hypothesis 'behind an open end'
    must_exit 0
    must_have err 'last record without line end (10 bytes) moved'
    must_have out "$(next_id 3 3)"
    for store in old torn; do
        run -C "$SERVER/$database/$store" verify
        must_equal 0 "$(grep -v "^checked: " out | grep -c digest)" "digests of $store"
    done
    must_run -C "$uri" export
    head -n 4 out >beginning
    must_match_file filled.tsv beginning
    must_equal $((n + 3)) "$(wc -l <out)" 'lines in all'
done
must_equal "$latest" $version 'versions that were upgraded'
finish
