#!/bin/sh
# server_bench.sh: the log in PostgreSQL on this machine: rows per second of 1, 8 and 32 writers, compared with bare INSERTs
# of the same bytes (pgbench) and with the file; and reading 100,000 rows. Ratios are of one run, on the disk of /tmp.
#
# usage: sh tests/bench/server_bench.sh [SECONDS]      (default: 4 for each line)
# LINEAGE: the command; APPEND_RATE: tests/bench/append_rate of the same build.
set -eu

usage() { sed -n '2,/^set -eu$/{ /^set -eu$/d; s/^# \{0,1\}//; p; }' "$0"; }
case ${1:-} in
-h | --help) usage && exit 0 ;;
-*) printf 'server_bench.sh: unknown option %s; see sh %s --help\n' "$1" "$0" >&2 && exit 2 ;;
esac
here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
: "${LINEAGE:=$here/build-test/cli/lineage}" "${APPEND_RATE:=$here/build-test/tests/bench/append_rate}"
seconds=${1:-4}
. "$here/tests/support/server.sh"
work=$(mktemp -d /tmp/lineage-bench.XXXXXX)
trap 'server_remove; rm -rf "$work"' EXIT
XDG_STATE_HOME=$work/state
export XDG_STATE_HOME
server_start
server_sql postgres 'CREATE DATABASE bench' >/dev/null
"$LINEAGE" init "$SERVER/bench/one"
"$LINEAGE" -C "$SERVER/bench/one" append --status discard --specialist opt --core-metric 34.51 \
    --hypothesis 'raise the learning rate of the embedding, keep the warm-up' >/dev/null
row=$(server_sql bench 'SELECT bytes FROM lineage.record ORDER BY seq DESC LIMIT 1')
server_sql bench 'CREATE TABLE bare (seq bigserial PRIMARY KEY, bytes bytea NOT NULL)' >/dev/null
echo "INSERT INTO bare (bytes) VALUES ('$row');" >"$work/insert.sql"

bare() { "$pg_bin/pgbench" -h "$server/s" -p "$server_port" -U lineage -n -M prepared -c "$1" -j 2 -T "$seconds" -f "$work/insert.sql" bench 2>/dev/null |
    sed -n 's/^tps = \([0-9.]*\).*/\1/p'; }
stores()
{
    for i in $(seq "$1"); do
        mkdir -p "$work/d$i"
        echo "{\"log\": \"$SERVER/bench/one\"}" >"$work/d$i/lineage.json"
        echo "$work/d$i"
    done
}
files() { for i in $(seq "$1"); do echo "$work/file"; done; }
"$LINEAGE" init "$work/file"
printf '%-8s %14s %14s %14s %12s %12s\n' writers 'bare INSERT/s' 'server/s' 'file/s' 'bare/server' 'file/server'
for n in 1 8 32; do
    b=$(bare $n)
    # shellcheck disable=SC2046 # a list of directories
    s=$("$APPEND_RATE" "$seconds" $(stores $n))
    # shellcheck disable=SC2046
    f=$("$APPEND_RATE" "$seconds" $(files $n))
    printf '%-8s %14s %14s %14s %12s %12s\n' $n "$b" "$s" "$f" "$(echo "$b $s" | awk '{printf "%.2f", $1 / $2}')" \
        "$(echo "$f $s" | awk '{printf "%.2f", $1 / $2}')"
done

# 100,000 rows: into the server, out of it into an empty mirror, and then one more row.
now() { date +%s.%N; }
took() { echo "$1 $(now)" | awk '{printf "%.2f s", $2 - $1}'; }
awk 'BEGIN { OFS = "\t"; print "exp_id", "timestamp", "specialist", "parent_exp", "baseline_exp", "domain", "hypothesis", "expected_delta", "status", "core_metric", "val_bpb", "delta_vs_best", "train_s", "total_s", "job_name", "snapshot_path", "notes"
    for (i = 0; i < 100000; i++) print i, "2026-05-01T00:00:00Z", "opt", "", "", "", "raise the learning rate", "", "discard", i % 97 / 10, "", "", "", "", "", "", "lr=0." i % 10 }' >"$work/rows.tsv"
"$LINEAGE" init "$SERVER/bench/large"
mkdir "$work/large" "$work/copy"
echo "{\"log\": \"$SERVER/bench/large\"}" | tee "$work/copy/lineage.json" >"$work/large/lineage.json"
start=$(now)
"$LINEAGE" -C "$work/large" import "$work/rows.tsv" >/dev/null
echo "import of 100,000 rows: $(took "$start")"
start=$(now)
"$LINEAGE" -C "$work/copy" query --limit 1 >/dev/null
echo "first mirror of 100,000 rows: $(took "$start")"
mkdir "$work/same"
cp "$work/rows.tsv" "$work/same/results.tsv"
start=$(now)
"$LINEAGE" -C "$work/same" query --limit 1 >/dev/null
echo "the same from the file: $(took "$start")"
"$LINEAGE" -C "$work/large" append --status discard --core-metric 1 >/dev/null
start=$(now)
"$LINEAGE" -C "$work/copy" query --limit 1 >/dev/null
echo "one row more: $(took "$start")"
start=$(now)
"$LINEAGE" -C "$work/copy" query --limit 1 >/dev/null
echo "nothing new: $(took "$start")"
start=$(now)
"$LINEAGE" -C "$work/same" query --limit 1 >/dev/null
echo "nothing new, the file: $(took "$start")"
