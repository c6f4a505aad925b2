#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# serve.sh: the live page of a store on a server shows and announces rows from every source, also after a restart.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
command -v python3 >/dev/null || { echo "skipped: no python3" >&2; exit 77; }
server_test 'kill "${serving:-}" 2>/dev/null'
server_start
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one
must_run init "$uri"
"$LINEAGE" -C "$uri" serve --port 0 --no-token >address 2>messages &
serving=$!

# until_has COMMAND TEXT: repeats COMMAND until its output contains TEXT, for at most half a minute.
until_has()
{
    tries=0
    until sh -c "$1" >page 2>/dev/null && grep -q -- "$2" page || [ $tries -ge 3000 ]; do
        tries=$((tries + 1))
        sleep 0.2
    done
    checks=$((checks + 1))
    grep -q -- "$2" page || fail "no '$2' in what '$1' prints"
}

until_has 'cat address' http
if grep -q 'microhttpd' messages; then
    echo "skipped: no libmicrohttpd" >&2
    exit 77
fi
fetch="python3 -c 'import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen(open(\"address\").read().strip()).read())'"
python3 -u -c 'import urllib.request as u
for line in u.urlopen(open("address").read().strip() + "events"): print(line.decode(), end="")' >events 2>/dev/null &
listener=$!
until_has "$fetch" '<html'
until_has 'cat events' ': here' # a listener that comes after a change hears of the next one
must_run -C "$uri" append --status keep --core-metric 2.0 --hypothesis the-first-row
until_has "$fetch" the-first-row
until_has 'cat events' 'event: rows'
server_down fast
until_has "$fetch" the-first-row
server_up
must_run -C "$uri" append --status keep --core-metric 1.0 --hypothesis the-second-row
until_has "$fetch" the-second-row
until_has 'grep -c "event: rows" events' '[2-9]'
kill $serving
wait $serving || fail "serve ends with a failure"
serving=
kill $listener 2>/dev/null

finish
