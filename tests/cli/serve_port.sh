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
    while [ ! -s "$name.out" ] && kill -0 "$server" 2>/dev/null && [ "$waited" -lt 3000 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
    case $name in refused) ;; *) servers="${servers-} $server" ;; esac
}
port_of()
{
    sed -n 's|^http://127.0.0.1:\([0-9]*\)/.*|\1|p' "$1.out"
}
trap 'code=$?; kill ${servers-} 2>/dev/null; leave_test $code' EXIT

must_run append --create --hypothesis one --status keep --core-metric 1
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

# A token is kept for the next server, in a file that only its user can read.
start_with() { name=$1; shift; rm -f "$name.out"; "$LINEAGE" serve "$@" >"$name.out" 2>"$name.err" & server=$!; servers="$servers $server"
    waited=0
    while [ ! -s "$name.out" ] && kill -0 "$server" 2>/dev/null && [ "$waited" -lt 3000 ]; do sleep 0.1; waited=$((waited + 1)); done; }
token_of() { sed -n 's|.*?token=||p' "$1.out"; }
export XDG_STATE_HOME="$scratch/state"
kept="$XDG_STATE_HOME/lineage/serve_token"
start_with token1 --port 0
start_with token2 --port 0
checks=$((checks + 1))
[ "$(token_of token1 | wc -c)" = 33 ] || fail "no token: $(cat token1.out)"
must_equal "$(token_of token1)" "$(token_of token2)" 'the token of a second server'
must_equal "600 $(token_of token1)" "$(stat -c %a "$kept") $(cat "$kept")" 'the file of the token'
start_with token3 --port 0 --new-token
checks=$((checks + 1))
[ "$(token_of token3)" != "$(token_of token1)" ] || fail '--new-token keeps the token'
must_equal "$(token_of token3)" "$(cat "$kept")" 'the file has the new token'
# Tokens that others may know, or that are damaged, are replaced.
old=$(cat "$kept")
chmod 644 "$kept"
start_with token4 --port 0
checks=$((checks + 1))
[ "$(token_of token4)" != "$old" ] || fail 'a token that others can read is used'
for text in short "$old$old" 0123456789abcdef0123456789ABCDEF '../../../../../../../etc/passwd.'; do
    (umask 077; echo "$text" >"$kept")
    start_with damaged --port 0
    must_equal "600 $(token_of damaged)" "$(stat -c %a "$kept") $(cat "$kept")" "the file instead of '$text'"
    checks=$((checks + 1))
    [ "$(token_of damaged)" != "$text" ] || fail "the token '$text' is used"
done
echo "$old" >elsewhere
ln -sf "$scratch/elsewhere" "$kept"
start_with linked --port 0
checks=$((checks + 1))
[ "$(token_of linked)" != "$old" ] && [ ! -L "$kept" ] && [ "$(cat elsewhere)" = "$old" ] || fail 'a link is followed'
: >notadir
XDG_STATE_HOME="$scratch/notadir" start_with nowhere --port 0
must_have nowhere.err 'cannot be kept'
checks=$((checks + 1))
[ "$(token_of nowhere | wc -c)" = 33 ] || fail "no token without a state directory: $(cat nowhere.out)"
must_equal '' "$(find "$scratch/state" -name 'serve_token.*')" 'no temporary file is left'

# Several stores; a place that is not a store is refused.
must_run init other
must_fail 2 'not both' serve -C other other
must_fail 2 'exclude each other' serve --no-token --new-token
mkdir nostore
must_fail 2 'no store in nostore' serve other nostore
start several --port 0 . other
checks=$((checks + 1))
[ -n "$(port_of several)" ] || fail "several stores: $(cat several.err)"

# When a server has ended, its port can be used again at once.
set -- $servers
kill "$1" && wait "$1"
start again --port "$port"
must_equal "$port" "$(port_of again)" "the port of a server that has ended: $(cat again.err)"

finish
