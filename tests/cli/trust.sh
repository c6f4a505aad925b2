#!/bin/sh
# trust.sh: the server that a directory's lineage.json names is obeyed only after `lineage trust`. Without a server: a
# listener notes whether anybody connects. tests/server/trust.sh has the rest.
. "$SOURCE/tests/support/shell.sh"
XDG_STATE_HOME=$scratch/other "$LINEAGE" -C postgres://nobody@127.0.0.1:1/db best 2>&1 | grep -q 'built without' && skip "built without PostgreSQL"
command -v python3 >/dev/null || skip "no python3"

# The listener accepts connections until the test ends, and writes a line for each.
cat >listen.py <<'END'
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen(8)
open("port.new", "w").write(str(s.getsockname()[1]))
import os
os.rename("port.new", "port")
while True:
    c, _ = s.accept()
    open("connected", "a").write("connected\n")
    c.close()
END
python3 listen.py &
listener=$!
trap 'code=$?; kill $listener 2>/dev/null; leave_test $code' EXIT
i=0
while [ ! -s port ] && [ $i -lt 3000 ]; do sleep 0.1; i=$((i + 1)); done
server=postgres://reader@127.0.0.1:$(cat port)/trials/atpo
mkdir received && printf '{"log": "%s"}\n' "$server" >received/lineage.json

# No command connects, whether it reads, writes or creates.
for command in best 'query --format tsv' verify sync render 'append --status keep --core-metric 1' rebuild export status 'serve --port 0' \
    'run -- sh -c exit' 'import x.tsv' mcp 'sql SELECT+1'; do
    # shellcheck disable=SC2086
    must_fail 2 'lineage trust received' -C received $command
done
must_fail 2 'lineage trust received' init received
must_equal '' "$(cat connected 2>/dev/null)" "connections to a server that is not trusted"
must_equal lineage.json "$(ls -A received)" "files in the directory"

# After `trust` they do; the listener is not a server.
must_run trust received
must_equal "received is trusted with the log $server" "$(cat out)"
run -C received best
must_exit 3
must_have connected connected
must_run trust --list --format tsv
must_equal "directory${tab}server|$scratch/received${tab}$server|" "$(tr '\n' '|' <out)"

# The trust holds for this server only.
sed -i.bak 's/atpo/other/' received/lineage.json
must_fail 2 "and you trusted it with $server" -C received best
mv received/lineage.json.bak received/lineage.json

# It moves with the directory, and a copy is not trusted.
mv received moved
cp -R moved received
must_fail 2 'lineage trust received' -C received best
run -C moved best
must_exit 3
must_fail 2 'lineage trust received' -C received best

# It can be withdrawn, also from a directory that is gone.
must_run trust moved
must_run trust --withdraw moved
must_equal 'moved is no longer trusted' "$(cat out)"
must_fail 2 'lineage trust moved' -C moved best
run trust --withdraw moved
must_exit 1
must_run trust moved
rm -rf moved
must_run trust --withdraw "$scratch/moved"
must_run trust --list --format tsv
must_equal 1 "$(wc -l <out)"

# Bad arguments.
must_run init plain
must_fail 2 'names no server' trust plain
must_fail 2 'cannot open the directory' trust nowhere
mkdir escapes && printf '{"log": "postgres://h\\u001b[2Jx/d"}\n' >escapes/lineage.json
must_fail 2 'control characters' trust escapes
must_fail 2 'only directories need trust' trust "$server"
must_fail 2 '--list takes no directory' trust --list received
must_fail 2 '--format belongs to --list' trust --format json received

# Without a state directory nothing can be trusted.
(unset XDG_STATE_HOME HOME && exec "$LINEAGE" -C received best) >out 2>err
status=$?
must_exit 2
must_have err 'neither XDG_STATE_HOME nor HOME'

# A record that another user wrote does not count.
if [ "$(id -u)" -eq 0 ]; then
    must_run trust received
    chown 65534 "$XDG_STATE_HOME"/lineage/stores/*
    must_fail 2 'lineage trust received' -C received best
fi
finish
