#!/bin/sh
# clean.sh: blobs are removed by their rule while others send and name them. A blob with a name has all its pieces, a piece
# that was sent or found within a day stays, and in the end no unused blob is left. Here the day of the rule lasts some seconds.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
[ -x "$pg_bin/pgbench" ] || skip 'no pgbench'
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE clean' >/dev/null
must_run init "$SERVER/clean/one" --direction lower
day=8
sed -n '/^CREATE OR REPLACE FUNCTION lineage.clean_blobs/,/^END \$\$;/p' "$SOURCE/schema/postgresql/005_code.sql" |
    sed "s/days => 1)/secs => $day)/" >short.sql
must_equal 1 "$(grep -c "secs => $day" short.sql)" 'the day is shorter'
server_sql clean "$(cat short.sql)" >/dev/null

# Sends like a client: each missing piece of three, then the name. Some blobs are sent all the time, some once.
cat >send.sql <<'END'
\set a random_zipfian(1, 20000, 1.05)
\set b random_zipfian(1, 20000, 1.05)
\set c random_zipfian(1, 20000, 1.05)
\set name random_zipfian(1, 5000, 1.05)
SELECT lineage.put_chunk(1, sha256(n::text::bytea), n::text::bytea) FROM (VALUES (:a), (:b), (:c)) v (n)
 WHERE NOT lineage.has_chunk(1, sha256(n::text::bytea));
SELECT lineage.name_blob(1, 'checkpoints/' || :name, jsonb_build_array(jsonb_build_object('path', '', 'mode', 420, 'chunks',
    jsonb_build_array(encode(sha256(':a'), 'hex'), encode(sha256(':b'), 'hex'), encode(sha256(':c'), 'hex')))));
END
sed -i "s/sha256(':\([abc]\)')/sha256((:\1)::text::bytea)/g" send.sql
server_sql clean 'CREATE TABLE removed (n_blobs bigint, n_bytes bigint)' >/dev/null
echo 'INSERT INTO removed SELECT * FROM lineage.clean_blobs(1, ARRAY[]::text[], 0);' >clean.sql
missing="SELECT count(*) FROM lineage.blob b, lineage.chunks_of(b.manifest) d
    WHERE NOT EXISTS (SELECT FROM lineage.chunk c WHERE c.store = 1 AND c.digest = d)"
"$pg_bin/pgbench" -h "$server/s" -p "$server_port" -U lineage -n -c 6 -j 2 -T $((2 * day)) -f send.sql@9 -f clean.sql@1 clean >bench.out 2>&1
must_equal 0 $? "$(tail -n 5 bench.out)"
must_equal 0 "$(server_sql clean "$missing")" 'pieces of a blob that are gone'
checks=$((checks + 1))
[ "$(server_sql clean 'SELECT least(sum(n_blobs), sum(n_bytes)) FROM removed')" -gt 0 ] || fail "nothing was removed: $(cat bench.out)"

# After a day without activity, blobs newer than the rule stay and the others are removed.
server_sql clean "UPDATE lineage.blob SET made = now() - CASE WHEN name < 'checkpoints/3' THEN interval '1 hour' ELSE '0' END;
    UPDATE lineage.chunk SET used = used - interval '1 hour'" >/dev/null
kept=$(server_sql clean "SELECT count(*) FROM lineage.blob WHERE name >= 'checkpoints/3'")
server_sql clean "SELECT lineage.clean_blobs(1, ARRAY[]::text[], 0)" >/dev/null
must_equal "$kept" "$(server_sql clean 'SELECT count(*) FROM lineage.blob WHERE made > now() - interval '"'1 minute'")" 'new ones stay'
must_equal 0 "$(server_sql clean "SELECT count(*) FROM lineage.blob WHERE name < 'checkpoints/3'")" 'old ones go'
must_equal "$(server_sql clean 'SELECT count(DISTINCT d) FROM lineage.blob b, lineage.chunks_of(b.manifest) d')" \
    "$(server_sql clean 'SELECT count(*) FROM lineage.chunk')" 'and their pieces, no others'
must_equal 0 "$(server_sql clean "$missing")"
finish
