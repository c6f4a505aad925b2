#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# move.sh: a log is moved from a directory to a server and back without a changed byte and with the same digests. Followers of its
# rows survive a restart of the server, and a change by a superuser is detected.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start
server_sql postgres 'CREATE DATABASE trials' >/dev/null
one=$SERVER/trials/one two=$SERVER/trials/two
must_run init "$one"
must_run init "$two"

# head_of STORE: the digest of its last record.
head_of()
{
    run -C "$1" verify --digest
    tail -n 1 out | cut -d' ' -f1
}

mkdir a b
must_run -C a append --create --status keep --core-metric 1.5 --hypothesis 'a "quoted" one'
must_run -C a append --status crash --hypothesis second
printf 'short\trow\r\n\n\377\376\tno text\nlone\rreturns\nand\t"torn' >>a/results.tsv

# There, back, and again.
must_run -C "$one" import --exact a/results.tsv
must_run -C "$one" import --exact a/results.tsv
must_equal '0 bytes imported' "$(cat out)"
must_run -C "$one" export
must_match_file a/results.tsv out
cp out back.tsv
must_run -C b import --exact back.tsv
must_match_file a/results.tsv b/results.tsv
must_run -C b export --output copy.tsv
must_run -C "$two" import --exact copy.tsv
must_equal "$(head_of a)" "$(head_of "$one")" "digest on the server"
must_equal "$(head_of a)" "$(head_of "$two")" "digest on the server"
must_equal "$(head_of a)" "$(head_of b)" "digest of the file that came back"

# The rest, behind a torn record; and never over rows of its own.
printf ' end"\nmore\trows\n' >>a/results.tsv
must_run -C "$one" import --exact a/results.tsv
must_run -C "$one" export
must_match_file a/results.tsv out
run -C "$two" append --status keep --core-metric 1.0
must_exit 0
must_fail 2 'not those of the file' -C "$two" import --exact a/results.tsv

# Many records, in more than one call to the server.
{
    header
    awk 'BEGIN { for (i = 0; i < 20000; i++) printf "%d\t%s\n", i, "some text that is as long as a hypothesis may be" }'
} >many.tsv
must_run init "$SERVER/trials/many"
must_run -C "$SERVER/trials/many" import --exact many.tsv
must_run -C "$SERVER/trials/many" export --output many.out
must_match_file many.tsv many.out

# Following rows through a restart of the server.
three=$SERVER/trials/three
must_run init "$three"
"$LINEAGE" -C "$three" follow --limit 2 --format json >rows 2>errors &
follower=$!
sleep 1
must_run -C "$three" append --status keep --core-metric 2.0 --hypothesis first
tries=0
until grep -q first rows || [ $tries -ge 3000 ]; do tries=$((tries + 1)) && sleep 0.1; done
must_have rows first
server_down fast
tries=0
until grep -q 'is away' errors || [ $tries -ge 3000 ]; do tries=$((tries + 1)) && sleep 0.1; done
must_have errors 'is away'
server_up
must_run -C "$three" append --status keep --core-metric 1.0 --hypothesis second
wait $follower || fail "follow through a restart"
must_equal 2 "$(wc -l <rows | tr -d ' ')" "rows that were followed"
must_have rows second

# A change that no role of lineage may make: the changed record is detected, and digests are not recomputed.
must_run -C "$three" verify --digest
noted=$(tail -n 1 out | cut -d' ' -f1)
must_run -C "$three" append --status keep --core-metric 0.5 --hypothesis third
must_run -C "$three" verify --head "$noted"
server_sql trials "ALTER TABLE lineage.record DISABLE TRIGGER append_only;
    UPDATE lineage.record r SET bytes = replace(encode(bytes, 'escape'), 'first', 'fiRst')::bytea
    FROM lineage.store s WHERE s.id = r.store AND s.name = 'three' AND r.seq = 2" >/dev/null
must_run -C "$three" rebuild
run -C "$three" verify --head "$noted"
must_exit 1
must_have out 'results.tsv:2: digest: record 2 '
must_fail 2 'never again' -C "$three" rebuild --digests
server_sql trials "DELETE FROM lineage.record r USING lineage.store s
    WHERE s.id = r.store AND s.name = 'three' AND r.seq = 4" >/dev/null
run -C "$three" verify
must_exit 1
must_have out 'are gone'

finish
