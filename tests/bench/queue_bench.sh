#!/bin/sh
# queue_bench.sh: how often a server can hand out trials and take rows, with several clients in parallel; then a simulation
# of more workers than this machine has (claim_queue.py). One machine runs server and clients.
#
# usage: sh tests/bench/queue_bench.sh [SECONDS]     (default: 5 for each line; LINEAGE names the program, CLAIM_BENCH claim_bench)
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'queue_bench.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
set +e # a line that cannot be measured is left at 0
# shellcheck disable=SC2154
seconds=${1:-5}
SOURCE=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
LINEAGE=${LINEAGE:-$SOURCE/build-test/cli/lineage}
XDG_STATE_HOME=$(mktemp -d)
export XDG_STATE_HOME
. "$SOURCE/tests/support/server.sh"
trap 'server_remove; rm -rf "$XDG_STATE_HOME"' EXIT
server_start "synchronous_commit = ${COMMIT:-on}"
server_sql postgres 'CREATE DATABASE bench' >/dev/null
"$LINEAGE" init "$SERVER/bench/one" --direction lower || exit 3

cat >"$XDG_STATE_HOME/claim.sql" <<'END'
\set first random(1, 1000000000)
SELECT coalesce(max(which), 0) AS which, coalesce(max(of_attempt), 0) AS attempt FROM lineage.claim_trial(1, 'n', ARRAY(SELECT g + :first::bigint * 1000 FROM generate_series(1, 200) g), 'w' || :client_id, 60, 0) \gset
SELECT lineage.release_trial(1, :which + :first::bigint * 1000, :attempt, 'w' || :client_id, true, false);
END
cat >"$XDG_STATE_HOME/list.sql" <<'END'
SELECT coalesce(max(which), 0) AS which, coalesce(max(of_attempt), 0) AS attempt FROM lineage.claim_trial(1, 's', ARRAY(SELECT g::bigint FROM generate_series(1, 200) g), 'w' || :client_id, 60, 0) \gset
SELECT lineage.release_trial(1, :which, :attempt, 'w' || :client_id, false, false);
END
cat >"$XDG_STATE_HOME/renew.sql" <<'END'
SELECT lineage.renew_trial(1, 1 + :client_id, 1, 'w' || :client_id, 'w' || :client_id, 60, '{"name": "t", "step": 3}');
END
cat >"$XDG_STATE_HOME/append.sql" <<'END'
BEGIN;
SELECT seq FROM lineage.claim(1, gen_random_uuid(), -1) \gset
SELECT lineage.append(1, :seq, gen_random_uuid(), 0, ARRAY[convert_to(repeat('x', 499) || E'\n', 'UTF8')], '');
COMMIT;
SELECT lineage.flush();
END
cat >"$XDG_STATE_HOME/next.sql" <<'END'
SELECT * FROM lineage.append_next(1, :known, gen_random_uuid(), convert_to(repeat('x', 496) || E'\n', 'UTF8'), false);
SELECT lineage.flush();
END
cat >"$XDG_STATE_HOME/insert.sql" <<'END'
INSERT INTO plain VALUES (convert_to(repeat('x', 499) || E'\n', 'UTF8'));
END
server_sql bench 'CREATE TABLE plain (bytes bytea)' >/dev/null
known=0

printf '%-44s%10s%12s%12s\n' what clients per\ second 'ms each'
for what in list claim renew append next insert; do
    case $what in
    list) said='claim and give up, of one list of 200' ;;
    claim) said='claim and finish, lists of their own' ;;
    renew) said='renew a lease' ;;
    append) said='append a row of 500 bytes, with a claim' ;;
    next)
        said='the same without a claim'
        known=$(server_sql bench "SELECT a.seq FROM lineage.store s, lineage.append(s.id, s.seq, gen_random_uuid(), 0, ARRAY['x']::bytea[], '', 1, 3, false) a WHERE s.id = 1")
        ;;
    insert) said='bare INSERT of the same bytes' ;;
    esac
    for clients in 1 8 32; do
        rate=$("$pg_bin/pgbench" -h "$server/s" -p "$server_port" -U lineage -n -M prepared -c $clients -j 2 -T "$seconds" -D known="$known" \
            -f "$XDG_STATE_HOME/$what.sql" bench 2>&1 | sed -n 's/^tps = \([0-9.]*\).*/\1/p')
        awk -v said="$said" -v c=$clients -v rate="${rate:-0}" \
            'BEGIN { printf "%-44s%10d%12.0f%12.2f\n", said, c, rate, rate ? 1000 / rate : 0 }'
    done
done

# Through the library: on the server, and in a directory.
CLAIM_BENCH=${CLAIM_BENCH:-$SOURCE/build-test/tests/bench/claim_bench}
"$LINEAGE" init "$XDG_STATE_HOME/directory" --direction lower || exit 3
printf '\non the server\n'
"$CLAIM_BENCH" "$SERVER/bench/one" "$seconds"
printf '\nin a directory\n'
"$CLAIM_BENCH" "$XDG_STATE_HOME/directory" "$seconds"
