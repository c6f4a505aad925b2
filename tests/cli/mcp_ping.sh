#!/bin/sh
# mcp_ping.sh: `lineage mcp` answers a ping while a statement works that would never end, and ends the statement when it is
# cancelled, also between two rows that are long to match.
. "$SOURCE/tests/support/shell.sh"

must_run append --create --status keep --core-metric 1
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
# The statement has ended, so the next request is answered; without the cancellation the answer to 1 would come first.
for id in 4 6; do
    echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"tools/call\",\"params\":{\"name\":\"sql\",\"arguments\":{\"statement\":\"SELECT $id AS n\"}}}" >&3
    wait_for sh -c "grep -q '\"id\":$id,' answers"
    [ $id = 4 ] || break
    echo '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"sql","arguments":{"statement":"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT sum(printf('"'%.*c', 2000000, 'a'"') LIKE '"'%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab%'"') FROM c"}}}' >&3
    echo '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}' >&3
done
exec 3>&-
wait
must_have answers '"id":3,"result":{}'
must_lack answers '"id":1,'
must_lack answers '"id":5,'
finish
