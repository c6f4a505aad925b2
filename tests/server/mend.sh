#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# mend.sh: the torn record at the end of a log that a torn file brought. The next append removes it on a server as in a
# directory, both keep its bytes, and lineage.mend accepts nothing else than the torn record.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
server_sql postgres 'CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN' >/dev/null
append() { run -C "$1" append --timestamp 2026-05-01T00:00:00Z --status keep --core-metric 2 --parent 000 --hypothesis after; }

# torn NAME TEXT: a server must treat it like a directory.
n=0
torn()
{
    n=$((n + 1))
    mkdir d$n
    { header; trial 000 '' keep 0.5 first; printf '%b' "$2"; } >d$n/results.tsv
    must_run init "$SERVER/trials/t$n"
    must_run -C "$SERVER/trials/t$n" import --exact d$n/results.tsv
    append d$n
    must_exit 0
    said=$(grep -c torn err)
    append "$SERVER/trials/t$n"
    must_exit 0
    must_equal "$said" "$(grep -c torn err)" "messages about $1"
    must_run -C "$SERVER/trials/t$n" export
    must_match_file d$n/results.tsv out
    cat d$n/results.tsv.torn-* >here 2>/dev/null
    cat state/lineage/t$n-*/results.tsv.torn-* >there 2>/dev/null
    must_match_file here there
    server_sql trials "SELECT encode(string_agg(bytes, ''::bytea ORDER BY position, at), 'hex') FROM lineage.aside WHERE store = $n" >kept
    must_equal "$(od -An -v -tx1 here | tr -d ' \n')" "$(cat kept)" "what the server keeps of $1"
    run -C "$SERVER/trials/t$n" verify
    must_equal 0 "$(grep -v "^checked: " out | grep -c digest)" "digests after $1"
}
torn 'half a row' '001\t2026-05-01T00:0'
torn 'half a cell in quotes' '001\t"2026-05-01'
torn 'an open quote with rows behind it' '001\t"open\n002\tx\n003\ty'
torn 'half of CR LF' '001\tx\r'
torn 'no end but whole' "$(trial 001 000 keep 0.4 whole)"
torn 'nothing' ''
torn 'bytes that are not text' '\0377\0376\0001'

# The function accepts only the first bytes of the torn record, of the current log, and only once.
must_run init "$SERVER/trials/raw"
{ header; printf 'torn off'; } >raw.tsv
must_run -C "$SERVER/trials/raw" import --exact raw.tsv
server_sql trials 'GRANT lineage_writer TO alice; GRANT lineage_reader TO bob' >/dev/null
store=$(server_sql trials "SELECT id FROM lineage.store WHERE name = 'raw'")
state() { server_sql trials "SELECT seq, size, encode(digest, 'hex'), encode(open_end, 'escape'), open_ends FROM lineage.store WHERE id = $store"; }
before=$(state)
server_user=alice
for call in "$store, 0, 8" "$store, 2, 8" "$store, 1, 0" "$store, 1, -1" "$store, 1, 9"; do
    checks=$((checks + 1))
    ! server_sql trials "SELECT lineage.mend($call)" >out 2>err || fail "lineage.mend($call) went through"
    must_have err 'the open end is another one'
    must_equal "$before" "$(server_user='' state)" "after lineage.mend($call)"
done
server_user=bob
server_sql trials "SELECT lineage.mend($store, 1, 8)" >out 2>err
must_have err 'permission denied'
# Three bytes of eight: three line ends take their place as records, and the rest is open.
server_user=alice
server_sql trials "SELECT lineage.mend($store, 1, 3)" >/dev/null
must_equal '4|n off' "$(server_sql trials "SELECT seq, encode(open_end, 'escape') FROM lineage.store WHERE id = $store")"
must_equal 'tor' "$(server_sql trials "SELECT encode(bytes, 'escape') FROM lineage.aside WHERE store = $store")"
server_sql trials "SELECT lineage.mend($store, 4, 5)" >/dev/null
must_equal '4|' "$(server_sql trials "SELECT seq, encode(open_end, 'escape') FROM lineage.store WHERE id = $store")"
must_equal 2 "$(server_sql trials "SELECT count(*) FROM lineage.aside WHERE store = $store")"
must_run -C "$SERVER/trials/raw" verify --digest
must_run -C "$SERVER/trials/raw" export
{ header; printf '\n\n\n'; } >wanted
must_match_file wanted out
finish
