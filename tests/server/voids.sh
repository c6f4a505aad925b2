#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# voids.sh: void trials of a log on a server: every client sees them, and a writer that knows the best notices a void by another.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one

label() { "$LINEAGE" -C "$uri" show "$1" --format json >label.json && sed -n 's/^ *"status": "\([a-z_]*\)".*/\1/p' label.json | head -n 1; }

must_run init "$uri" --direction higher
must_run append -C "$uri" --status auto --core-metric 1 --alpha 0.1
must_run append -C "$uri" --status auto --core-metric 9 --alpha 0.9

# A writer that stays open appends without a claim: it remembers the best, and the server tells it when that changed.
mkfifo requests && : >answers
"$LINEAGE" mcp --allow-write -C "$uri" <requests >>answers &
server=$!
exec 9>requests
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' >&9
append_by_agent()
{
    printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"append","arguments":{"status":"auto","core_metric":%s,"hypothesis":"x"}}}\n' "$1" >&9
    answered=$2
    i=0
    while [ "$(wc -l <answers)" -lt "$answered" ] && [ $i -lt 600 ]; do
        sleep 0.1
        i=$((i + 1))
    done
}
append_by_agent 2 2
append_by_agent 3 3
must_equal 'discard discard' "$(label 002) $(label 003)"
run void 001 -C "$uri" --reason 'the evaluator was broken'
must_exit 0
must_equal 004 "$(cat out)"
must_equal 'keep keep' "$(label 002) $(label 003)" 'judged without the void one'
append_by_agent 3.5 4
must_equal keep "$(label 005)" 'compared with the best that counts'
exec 9>&-
wait $server

# Another machine: its mirror is built from the log.
XDG_STATE_HOME=$PWD/other
export XDG_STATE_HOME
must_run best -C "$uri" --format json
must_equal 005 "$(json exp_id)"
must_run void -C "$uri" --format json
must_equal '001 keep 004' "$(json 0.exp_id) $(json 0.status) $(json 0.void_by)"
must_run verify -C "$uri"
run void 001 -C "$uri" --undo
must_exit 0
must_run best -C "$uri" --format json
must_equal 001 "$(json exp_id)"
must_run verify -C "$uri"
must_run export -C "$uri"
cp out log.tsv
must_run init d --direction higher
must_run import -C d --exact log.tsv
must_run best -C d --format json
must_equal 001 "$(json exp_id)"
must_run verify -C d
finish
