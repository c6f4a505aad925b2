#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# backup.sh: what the guide says about backups of a server: pg_dump of everything, and of the data only into a new schema, give
# back the same bytes, digests, rights and settings; and the queries for monitoring run.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start 'fsync = off'
for database in trials whole data; do server_sql postgres "CREATE DATABASE $database" >/dev/null; done
server_sql postgres 'CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN' >/dev/null
uri=$SERVER/trials/one
must_run init "$uri" --direction lower
server_sql trials "GRANT lineage_writer TO alice, bob; SELECT lineage.let('one', 'alice', 'writer')" >/dev/null
for k in 1 2 3; do must_run -C "$uri" append --status keep --core-metric $k --hypothesis "row $k"; done
run -C "$uri" verify --digest
digest=$(cat out)
run -C "$uri" export
cp out log.tsv
dump() { "$pg_bin/pg_dump" -h "$server/s" -p "$server_port" -U lineage --schema lineage "$@" trials; }
load() { "$pg_bin/psql" -h "$server/s" -p "$server_port" -U lineage -XqAt -v ON_ERROR_STOP=1 -d "$1" -f "$2"; }
# same DATABASE: the store there has the same rows, digest, rights and settings, and takes new rows.
same()
{
    copy=$SERVER/$1/one
    run -C "$copy" export
    must_match_file log.tsv out
    run -C "$copy" verify --digest
    must_equal "$digest" "$(cat out)" "digest of $1"
    must_fail 2 'or none that you may read' -C "$(echo "$copy" | sed 's/lineage@/bob@/')" best
    must_run -C "$(echo "$copy" | sed 's/lineage@/alice@/')" append --status keep --core-metric 0 --hypothesis new
    must_have out 1000000 # the copy may lack rows, so their ids are left out
    must_equal "$(server_sql trials 'SELECT settings FROM lineage.setting ORDER BY n DESC LIMIT 1')" \
        "$(server_sql "$1" 'SELECT settings FROM lineage.setting ORDER BY n DESC LIMIT 1')" "settings of $1"
    must_run -C "$copy" verify
}
dump >whole.sql
load whole whole.sql >out 2>err || fail "restore: $(cat err)"
same whole
# Only the data, into a schema that `lineage init` made: the version and a store must not be there yet.
dump --data-only --disable-triggers >data.sql
for file in "$SOURCE"/schema/postgresql/[0-9]*.sql "$SOURCE/schema/postgresql/grants.sql"; do load data "$file" >/dev/null 2>err || fail "$file: $(cat err)"; done
load data data.sql >out 2>err || fail "restore of data: $(cat err)"
same data

# The queries of the guide run, and print one line for each store or nothing.
sed -n '/^## Monitor a server/,/^## /p' "$SOURCE/cli/man/operations.md" | awk '/^SQL$/ { on = 0 } on; /<<.SQL.$/ { on = 1 }' >queries.sql
must_equal 6 "$(grep -c ';$' queries.sql)" queries
load trials queries.sql >out 2>err || fail "queries: $(cat err)"
finish
