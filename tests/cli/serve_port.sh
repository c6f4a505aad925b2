#!/bin/sh
# serve_port.sh: two servers never share a port: a port that is in use is refused, or the next free one is taken.
# shellcheck disable=SC1091
. "$SOURCE/tests/support/shell.sh"

# start NAME OPTION...: starts a server whose output is NAME.out, and waits for its address or its end.
start()
{
    name=$1
    shift
    "$LINEAGE" serve --no-token "$@" >"$name.out" 2>"$name.err" &
    server=$!
    waited=0
    while [ ! -s "$name.out" ] && kill -0 "$server" 2>/dev/null && [ "$waited" -lt 300 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    case $name in refused) ;; *) servers="${servers-} $server" ;; esac
}
port_of()
{
    sed -n 's|^http://127.0.0.1:\([0-9]*\)/.*|\1|p' "$1.out"
}
trap 'kill ${servers-} 2>/dev/null; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

must_run append --hypothesis one --status keep --core-metric 1
start first --port 0
port=$(port_of first)
[ -n "$port" ] || fail "no address: $(cat first.out first.err)"

# A port that was asked for is refused while it is in use.
start refused --port "$port"
wait "$server" && fail 'two servers listen on one port'
must_have refused.err "cannot listen on 127.0.0.1:$port"
must_have refused.err 'in use'
must_have refused.err '--port'

# Without --port the server takes the next free port and prints it.
start second
start third
checks=$((checks + 1))
[ -n "$(port_of second)" ] && [ -n "$(port_of third)" ] && [ "$(port_of second)" != "$(port_of third)" ] ||
    fail "two servers without --port: '$(cat second.out)' '$(cat third.out)' '$(cat third.err)'"
must_have third.err 'is in use; this server takes'

# When a server has ended, its port can be used again at once.
set -- $servers
kill "$1" && wait "$1"
start again --port "$port"
must_equal "$port" "$(port_of again)" "the port of a server that has ended: $(cat again.err)"

finish
