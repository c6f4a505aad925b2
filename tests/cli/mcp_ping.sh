#!/bin/sh
# mcp_ping.sh: `lineage mcp` answers a ping while a statement works that would never end.
. "$SOURCE/tests/support/shell.sh"

must_run append --status keep --core-metric 1
must_run sql 'SELECT 1'
mkfifo requests
"$LINEAGE" mcp <requests >answers &
exec 3>requests
{
    echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
    echo '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sql","arguments":{"statement":"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"}}}'
    echo '{"jsonrpc":"2.0","id":2,"method":"ping"}'
} >&3
# The statement itself is ended after 20 seconds; then its answer would come first.
until [ "$(wc -l <answers)" -ge 2 ]; do sleep 0.1; done
must_have answers '"id":2,"result":{}'
must_lack answers '"id":1,'
# A ping that comes later is answered too, and the cancelled request is not.
echo '{"jsonrpc":"2.0","id":3,"method":"ping"}' >&3
until [ "$(wc -l <answers)" -ge 3 ]; do sleep 0.1; done
echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}' >&3
exec 3>&-
wait
must_have answers '"id":3,"result":{}'
must_lack answers '"id":1,'
finish
