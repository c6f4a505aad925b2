#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh and trainer.sh
# commands.sh: every command on a store in PostgreSQL prints what it prints on a directory, and the log has the same bytes.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
. "$SOURCE/tests/support/trainer.sh"
server_start
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one

# Paths and the time are what may differ.
plain()
{
    sed -E "s#(\./|$PWD/)?state/lineage/[a-z]+-[0-9a-f]{16}#STORE#g; s#$uri#STORE#g; s#(^|[ /\"'])d/#\1STORE/#g; s#STORE/results.tsv\$#STORE#; s#: d has no#: STORE has no#; s#-C d #-C STORE #g" "$1"
}

# both ARGUMENT...: runs the command on both stores; status, output and messages must be equal.
both()
{
    run -C d "$@"
    status_d=$status
    plain out >out.d
    plain err >err.d
    run -C "$uri" "$@"
    must_exit "$status_d"
    plain out >out.u
    plain err >err.u
    must_match_file out.d out.u
    must_match_file err.d err.u
}

log_bytes() { server_sql trials "SELECT encode(string_agg(bytes, ''::bytea ORDER BY r.seq), 'base64') FROM lineage.record r
    JOIN lineage.store s ON s.id = r.store WHERE s.name = '${1:-one}'" | base64 -d; }

must_run init d --direction higher --noise-std 0.01 --noise-seeds 2
must_run init "$uri" --direction higher --noise-std 0.01 --noise-seeds 2
must_run init "$uri" --direction higher --noise-std 0.01 --noise-seeds 2
must_fail 2 'other settings' init "$uri" --direction lower
must_fail 2 'the server has no store' -C "$SERVER/trials/two" best
server_sql postgres 'CREATE DATABASE bare' >/dev/null
must_fail 2 'has no lineage' -C "$SERVER/bare/one" best

both best
both append --timestamp 2026-05-01T00:00:00Z --status keep --core-metric 0.5 --specialist opt --hypothesis first --param lr=0.1
both append --timestamp 2026-05-01T00:00:01Z --status auto --core-metric 0.4 --parent 000 --hypothesis 'worse, "quoted"' --param lr=0.2
both append --timestamp 2026-05-01T00:00:02Z --status auto --core-metric 0.9 --parent exp_000 --hypothesis "two
lines" --alpha 0.3
both append --status keep --core-metric 1 --parent 077
both append --exp-id exp_001 --status keep --core-metric 1
both append --status keep
mkdir work && echo 'code' >work/main.py
both append --timestamp 2026-05-01T00:00:03Z --status auto --core-metric 0.95 --parent 002 --specialist opt --snapshot work \
    --telemetry "$SOURCE/tests/server/telemetry.json" --format json
printf '{"timestamp":"2026-05-02T00:00:00Z","hypothesis":"a","status":"auto","core_metric":0.97,"parent_exp":"003"}\n{"timestamp":"2026-05-02T00:00:01Z","hypothesis":"b","status":"auto","core_metric":0.1,"parent_exp":"004"}\n' >many.json
both append --json many.json
printf '{"hypothesis":"a","status":"keep","core_metric":1}\n{"hypothesis":"b","status":"keep","core_metric":2,"parent_exp":"no"}\n' >bad.json
both append --json bad.json

{ header; trial x1 '' keep 0.2 imported 'lr=0.3'; trial x2 x1 discard 0.1 'imported too'; } >other.tsv
both import other.tsv
both import other.tsv

for command in best 'chain 004' 'show 003' tree query 'query --param lr=0.1..0.3 --format json' 'sweep lr' 'tried lr=0.2' \
    'render' 'render --style fieldkit' 'compare lr --baseline lr=0.1' 'suggest lr=0.1..1 --seed 1' 'diff 003 002' \
    'sql "SELECT count(*), sum(score) FROM trials"' 'sql "SELECT * FROM step_metrics"' verify rebuild verify status; do
    eval "both $command"
done
run -C d report --output d.html
run -C "$uri" report --output u.html
must_exit 0
plain d.html | sed 's/<time[^>]*>[^<]*//; s/STORE//g; s#[^<> ]*lineage-test[^< ]*##g' >d.page
plain u.html | sed 's/<time[^>]*>[^<]*//; s/STORE//g; s#[^<> ]*lineage-test[^< ]*##g' >u.page
checks=$((checks + 1))
[ "$(wc -c <u.page)" -gt 10000 ] || fail 'no report'

# Agents.
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"best","arguments":{}}}' >ask
"$LINEAGE" -C d mcp <ask | plain /dev/stdin >mcp.d
"$LINEAGE" -C "$uri" mcp <ask | plain /dev/stdin >mcp.u
must_match_file mcp.d mcp.u
must_have mcp.u 0.95

# The log has the same bytes.
log_bytes >log
must_match_file log d/results.tsv
must_equal "$(server_sql trials 'SELECT seq FROM lineage.store')" "$(server_sql trials 'SELECT count(*) FROM lineage.record')"

# Running a command, training, a night: the same rows except for times.
untimed() { cut -f 1,3-12,17 "$1" | sed -E 's/[0-9.]+ ?s\b//g'; }
for store in d2 "$SERVER/trials/two"; do
    must_run init "$store" --direction higher
    run -C "$store" run --score 'score ([0-9.]+)' -- sh -c 'echo score 0.25'
    must_run train tiny.json -C "$store" -q
    cat >ladder.json <<'END'
{"name": "ladder", "recipe": "tiny.json", "trials": [{"name": "grpo"}], "grid": {"seed": [1, 2]}}
END
    run night ladder.json -C "$store"
    must_exit 0
    run night ladder.json -C "$store"
    must_have err 'all 2 trials have their rows'
    must_run -C "$store" verify
done
log_bytes two >two
untimed two >two.untimed
untimed d2/results.tsv >d2.untimed
must_match_file d2.untimed two.untimed

# A separate directory, and a second machine that knows only the name.
mkdir own
echo "{\"log\": \"$uri\"}" >own/lineage.json
must_fail 2 'lineage trust own' -C own best
must_run trust own
run -C d best
cp out best.d
must_run -C own best
must_match_file best.d out
XDG_STATE_HOME=$PWD/elsewhere must_run -C "$uri" best
must_match_file best.d out
must_run -C own append --status keep --core-metric 0.99 --parent 004
must_run -C "$uri" best --format json
must_equal 0.99 "$(json core_metric)"

# A service names the server, and a password file has the password.
printf '[trials]\nhost=%s\nport=%s\nuser=lineage\ndbname=trials\n' "$server/s" "$server_port" >service.conf
PGSERVICEFILE=$PWD/service.conf must_run -C 'postgresql:///?service=trials&store=one' best --format json
must_equal 0.99 "$(json core_metric)"
finish
