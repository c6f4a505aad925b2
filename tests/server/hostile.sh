#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# hostile.sh: roles that log in with psql and try to damage stores: records that merge, ids that jump, settings that no program
# reads, leases for years, and the stores of other teams. The server refuses each, and the log, the settings and the claims
# are unchanged.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
server_sql postgres 'CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE mallory LOGIN; CREATE ROLE team NOLOGIN;
    CREATE ROLE "Odd ""name" LOGIN' >/dev/null
must_run init "$SERVER/trials/one"
must_run init "$SERVER/trials/two" --direction lower
server_sql trials 'GRANT lineage_writer TO alice, bob, mallory, "Odd ""name"; GRANT team TO alice' >/dev/null
as() { echo "$SERVER/trials/$2" | sed "s/lineage@/$1@/"; }
must_run -C "$(as alice one)" append --status keep --core-metric 1
must_run -C "$(as alice two)" append --status keep --core-metric 1

# state: everything that an attack could change.
state()
{
    server_sql trials "SELECT md5(string_agg(r::text, ' ' ORDER BY store, seq)) FROM lineage.record r;
        SELECT md5(string_agg(s::text, ' ' ORDER BY id)) FROM lineage.store s;
        SELECT md5(string_agg(c::text, ' ' ORDER BY store, key)) FROM lineage.trial_claim c;
        SELECT md5(string_agg(c::text, ' ' ORDER BY n)) FROM lineage.setting c;
        SELECT md5(string_agg(m::text, ' ' ORDER BY store, role)) FROM lineage.member m;
        SELECT count(*) FROM lineage.blob; SELECT count(*) FROM lineage.chunk; SELECT count(*) FROM lineage.aside"
}
# refused USER TEXT STATEMENT: fails with TEXT, and changes nothing.
refused()
{
    checks=$((checks + 1))
    if server_user=$1 server_sql trials "$3" >out 2>err; then
        fail "$1 could: $3"
    fi
    must_have err "$2"
    must_equal "$before" "$(state)" "the stores after $1: $3"
}

# ---- records ----
before=$(state)
for record in 'x' 'x\ty' 'x\n\n' 'x\ny\n' '"x\n' 'x\t"y\n' 'x\r\n\n' 'a\rb\n' '"a"\n"b\n' '' '\n\n'; do
    refused mallory 'a record is one line' "SELECT lineage.append(1, 2, gen_random_uuid(), 0, ARRAY[convert_to(E'$record', 'UTF8')], '')"
done
refused mallory 'a record is one line' "SELECT lineage.append(1, 2, gen_random_uuid(), 0, ARRAY[NULL]::bytea[], '')"
for rest in '' 'x' 'x\n' '\tx' '\tx\ny\n' '\t"x\n'; do
    refused mallory 'a record is one line' "SELECT lineage.append_next(1, 2, gen_random_uuid(), convert_to(E'$rest', 'UTF8'), true)"
done
refused mallory 'a record is one line' \
    "SET standard_conforming_strings = off; SELECT lineage.append(1, 2, gen_random_uuid(), 0, ARRAY['\\\\x610a610a'::bytea], '')"
must_equal 'tttt' "$(server_sql trials "SELECT string_agg(left(lineage.is_record(b)::text, 1), '') FROM (VALUES ('\\x0a'::bytea),
    (convert_to(E'1\\t\"two\\nlines \"\"q\"\" \\u00fc\"x\\t5\" disk\\\\\\n', 'UTF8')), (E'a\\r\\n'), (convert_to(E'\"\"\\t\\r', 'UTF8'))) v (b)")" 'records'

# ---- ids: a statement that the records do not justify is left out, and ids go on ----
row=$(trial 005 000 discard 1 five | od -An -v -tx1 | tr -d ' \n')
seq() { server_sql trials "SELECT seq FROM lineage.store WHERE id = 1"; }
for next in 0 1 9223372036854775807 100 -5; do
    server_user=mallory server_sql trials "SELECT lineage.append(1, $(seq), gen_random_uuid(), 0, ARRAY['\\x$row'::bytea], '', $next, 18)" >/dev/null
    row=$(trial "00$((6 + checks % 3))" 000 discard 1 more | od -An -v -tx1 | tr -d ' \n')
    checks=$((checks + 1))
done
ids=$(server_sql trials "SELECT next_id FROM lineage.store WHERE id = 1")
[ "$ids" -le 9 ] || fail "the next id became $ids"
must_run -C "$(as alice one)" append --status discard --core-metric 0
must_have out 009
must_run -C "$(as alice one)" append --status discard --core-metric 0
must_equal 0 "$(server_sql trials "SELECT count(*) FROM lineage.store WHERE next_id > 20")" 'ids'
before=$(state)
refused lineage 'the head of a store follows its records' 'UPDATE lineage.store SET next_id = 0'
# A statement about ids that were given is believed up to 10^9 ids ahead.
for given in -5 9223372036854775807 100000000000000000 2000000000; do
    server_user=mallory server_sql trials "SELECT lineage.skip_ids(1, $given)" >/dev/null
    must_equal "$before" "$(state)" "ids after $given"
done
server_user=mallory server_sql trials 'SELECT lineage.skip_ids(1, 900)' >/dev/null
must_run -C "$(as alice one)" append --status discard --core-metric 0
must_have out 1000000
must_equal "11 1000000 mallory" "$(server_sql trials "SELECT ids_from || ' ' || ids_to || ' ' || writer FROM lineage.gap")" 'the gap is on record'
before=$(state)
refused lineage append-only 'DELETE FROM lineage.gap'
refused mallory 'permission denied' 'INSERT INTO lineage.gap (store, seq, ids_from, ids_to, old_place, new_place) VALUES (1, 1, 1, 1, $$$$, $$$$)'

# ---- settings: only valid ones, and their history stays ----
settings() { echo "SELECT lineage.set_settings(1, (SELECT settings FROM lineage.store WHERE id = 1), '$1')"; }
for bad in '' '[]' '{' '{"direction": "up"}' '{"direction": 1}' '{"noise_std": -1}' '{"noise_std": 1e999}' '{"noise_std": "1"}' \
    '{"noise_seeds": 1.5}' '{"noise_seeds": 4294967296}' '{"log": "postgres://evil.example/x"}' '{"no_such": 1}' \
    '{"direction": "lower", "direction": "higher"}' "{\"metric\": \"$(printf '%064d' 0)\"}"; do
    refused mallory 'settings are not valid' "$(settings "$bad")"
done
for statement in 'UPDATE lineage.setting SET settings = $$$$' 'DELETE FROM lineage.setting' 'TRUNCATE lineage.setting'; do
    refused lineage append-only "$statement"
    refused mallory 'permission denied' "$statement"
done
server_user=alice server_sql trials "$(settings '{"direction": "higher", "noise_std": 0.5}')" >/dev/null
must_equal '2 alice' "$(server_sql trials "SELECT count(*), max(writer) FILTER (WHERE settings LIKE '%0.5%') FROM lineage.setting WHERE store = 1" | tr '|' ' ')" history
# The list of keys is the same as in the program.
must_equal "$(sed -n '/^static const char \*const keys\[\]/,/NULL};/p' "$SOURCE/src/store/format/config.c" | grep -o '"[a-z_]*"' | tr -d '"' | grep -v '^log$' | sort)" \
    "$(server_sql trials "SELECT prosrc FROM pg_proc WHERE proname = 'settings_fault'" | sed -n '/known text\[\]/,/\];/p' | grep -o "'[a-z_]*'" | tr -d "'" | sort)" keys

# ---- leases: a day at most, and only their holder renews or ends them ----
server_user=alice server_sql trials "SELECT lineage.claim_trial(1, 'n', ARRAY[7]::bigint[], 'host:1', 1e9, 0)" >/dev/null
must_equal t "$(server_sql trials "SELECT until < now() + interval '25 hours' AND until > now() + interval '23 hours' AND holder = 'alice' FROM lineage.trial_claim WHERE key = 7")" lease
server_user=alice server_sql trials "SELECT lineage.renew_trial(1, 7, 1, 'host:1', 'host:1', 'NaN', NULL)" >/dev/null
must_equal t "$(server_sql trials "SELECT until < now() + interval '25 hours' FROM lineage.trial_claim WHERE key = 7")" 'renewed lease'
before=$(state)
for statement in "SELECT lineage.renew_trial(1, 7, 1, 'host:1', 'mine', 1e9, NULL)" "SELECT lineage.release_trial(1, 7, 1, 'host:1', true, false)" \
    "SELECT lineage.release_trial(1, 7, 1, 'host:1', false, false)" "SELECT lineage.release_trial(1, 7, 1, 'host:1', true, true)" \
    "SELECT lineage.claim_trial(1, 'n', ARRAY[7]::bigint[], 'mine', 60, 0)"; do
    server_user=mallory server_sql trials "$statement" >/dev/null
    must_equal "$before" "$(state)" "claims after $statement"
done
server_user=alice server_sql trials "SELECT lineage.release_trial(1, 7, 1, 'host:1', true, false)" >/dev/null
must_equal 0 "$(server_sql trials 'SELECT count(*) FROM lineage.trial_claim WHERE key = 7')" 'ended by its holder'

# ---- rights per store ----
before=$(state)
refused mallory 'does not have the right "owner"' "SELECT lineage.let('two', 'mallory', 'owner')"
refused mallory 'does not have the right "owner"' "SELECT lineage.let_all('two')"
refused mallory 'does not have the right "owner"' "SELECT lineage.let('nosuch', 'mallory', 'owner')"
refused lineage 'no role' "SELECT lineage.let('two', 'nobody-here', 'writer')"
refused lineage 'no role' "SELECT lineage.let('two', 'alice', 'king')"
server_sql trials "SELECT lineage.let('two', 'team', 'writer'); SELECT lineage.let('two', 'bob', 'reader');
    SELECT lineage.let('two', 'Odd \"name', 'owner')" >/dev/null
must_run -C "$(as alice two)" append --status auto --core-metric 2
must_run -C "$(as bob two)" best
must_fail 2 'does not have the right "writer"' -C "$(as bob two)" append --status keep --core-metric 1
must_equal 0 "$(find state -name '*.trial' | wc -l)" 'what a reader may not append waits'
must_fail 2 "no store 'two', or none that you may read" -C "$(as mallory two)" best
must_fail 2 "no store 'two', or none that you may read" -C "$(as mallory two)" append --status keep --core-metric 1
must_run -C "$(as mallory one)" best
before=$(state)
head="(SELECT seq FROM lineage.store WHERE id = 2)"
for user in mallory bob; do
    refused $user 'does not have the right "writer"' "SELECT lineage.append(2, 3, gen_random_uuid(), 0, ARRAY['x']::bytea[], '')"
    refused $user 'does not have the right "writer"' "SELECT lineage.append_next(2, 3, gen_random_uuid(), convert_to(E'\\tx\\n', 'UTF8'), true)"
    refused $user 'does not have the right "writer"' "SELECT lineage.claim(2, gen_random_uuid(), 0)"
    refused $user 'does not have the right "writer"' "SELECT lineage.mend(2, 3, 1)"
    refused $user 'does not have the right "writer"' "SELECT lineage.set_settings(2, '{}', '{}')"
    refused $user 'does not have the right "writer"' "SELECT lineage.claim_trial(2, 'n', ARRAY[7]::bigint[], 'x', 60, 0)"
    refused $user 'does not have the right "writer"' "SELECT lineage.renew_trial(2, 7, 1, 'x', 'x', 60, NULL)"
    refused $user 'does not have the right "writer"' "SELECT lineage.release_trial(2, 7, 1, 'x', true, true)"
    refused $user 'does not have the right "writer"' "SELECT lineage.skip_ids(2, 900)"
    refused $user 'does not have the right "writer"' "SELECT lineage.put_chunk(2, sha256('x'), 'x')"
    refused $user 'does not have the right "writer"' "SELECT lineage.has_chunk(2, sha256('x'))"
    refused $user 'does not have the right "writer"' "SELECT lineage.name_blob(2, 'snapshots/x', '[]')"
    refused $user 'does not have the right "writer"' "SELECT lineage.clean_blobs(2, ARRAY[]::text[], 0)"
    for inner in "claim_any(2, gen_random_uuid(), 0)" "has_chunk_any(2, 'x')" "name_blob_any(2, 'snapshots/x', '[]')" \
        "claim_trial_any(2, 'n', ARRAY[7]::bigint[], 'x', 60, 0)" "renew_trial_any(2, 7, 1, 'x', 'x', 60, NULL)" \
        "release_trial_any(2, 7, 1, 'x', true, true)" "leave_gap(2, 5)" "place()" \
        "demand(2, 'reader')"; do
        refused $user 'permission denied for function' "SELECT lineage.$inner"
    done
    refused $user 'permission denied' "INSERT INTO lineage.member VALUES (2, 'mallory'::regrole, 'owner')"
    refused $user 'permission denied' 'UPDATE lineage.store SET open = true'
    refused $user 'must be owner' 'ALTER TABLE lineage.record DISABLE ROW LEVEL SECURITY'
done
for table in store record aside trial_claim blob chunk member setting gap; do
    column=store
    [ $table != store ] || column=id
    must_equal 0 "$(server_user=mallory server_sql trials "SELECT count(*) FROM lineage.$table WHERE $column = 2")" "mallory sees $table"
done
must_equal 0 "$(server_user=mallory server_sql trials "SET row_security = on; SELECT count(*) FROM lineage.record WHERE store = 2")"
server_user='Odd "name' server_sql trials "SELECT lineage.let('two', 'team', 'none'); SELECT lineage.let('two', 'mallory', 'writer')" >/dev/null
must_fail 2 'or none that you may read' -C "$(as alice two)" best
must_run -C "$(as mallory two)" append --status auto --core-metric 3
server_user='Odd "name' server_sql trials "SELECT lineage.let_all('two')" >/dev/null
must_run -C "$(as alice two)" best

for store in one two; do
    run -C "$(as alice $store)" verify
    must_equal 0 "$(grep -v '^checked: ' out | grep -c digest)" "digests of $store"
done
finish
