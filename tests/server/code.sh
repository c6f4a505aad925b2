#!/bin/sh
# code.sh: a trial goes on from a discarded trial of another machine, with its files; they come from the server.
# shellcheck disable=SC2016,SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
command -v git >/dev/null || skip 'no git'
server_start
server_sql postgres 'CREATE DATABASE code' >/dev/null
uri=$SERVER/code/one
on() # MACHINE: the commands below run on it
{
    XDG_STATE_HOME=$PWD/$1
    export XDG_STATE_HOME
}
place() # of the code on a machine
{
    echo "$PWD/$1"/lineage/one-*/lineage_code
}
row() # ID COLUMN
{
    "$LINEAGE" export -C "$uri" | awk -F'\t' -v id="$1" -v column="$2" '$1 == id { print $column }'
}
printf 'x=1\necho METRIC loss=$x\n' >prog.sh
cat >sweep.json <<'END'
{"name": "code", "direction": "lower", "score": "loss", "files": ["prog.sh"], "command": "cd {workdir} && sh prog.sh",
 "trials": [{"name": "root"}]}
END
n=0
plan()
{
    n=$((n + 1))
    printf '%s\n' "$1" >one
    run night sweep.json -C "$uri" --planner 'cat >/dev/null; cat one' --trials $n -q
    must_exit 0
}
to() # FROM TO
{
    printf '"diff": "--- a/prog.sh\\n+++ b/prog.sh\\n@@ -1,2 +1,2 @@ from %s to %s\\n-x=%s\\n+x=%s\\n echo METRIC loss=$x\\n"' "$1" "$2" "$1" "$2"
}

on a
must_run init "$uri" --direction lower
plan "{$(to 1 3), \"hypothesis\": \"x 3\"}"
must_equal 'discard 3.0' "$(row 001 9) $(row 001 10)"

# Another machine, which has none of the files: the diff applies to those of the discarded trial only.
on b
plan "{\"parent\": \"001\", $(to 3 2), \"hypothesis\": \"x 2\", \"again\": \"mine\"}"
must_equal '001 discard 2.0' "$(row 002 4) $(row 002 9) $(row 002 10)"
must_run verify -C "$uri"

# On a third machine verify asks the server but fetches nothing; only requested objects are fetched.
on c
must_run verify -C "$uri"
must_equal '' "$(find "$(place c)" -type f 2>/dev/null)"
must_run code 002 -C "$uri" prog.sh
must_equal 'x=2' "$(head -n 1 out)"
must_run diff 002 -C "$uri"
must_have out '+x=2'

# Cleaning keeps code, however old it is.
server_sql code "UPDATE lineage.blob SET made = made - interval '9 days'; UPDATE lineage.chunk SET used = used - interval '9 days'" >/dev/null
must_run sync --clean 1 -C "$uri"
on d
must_run code 002 -C "$uri" --diff
must_have out '+x=2'

# Bytes that were changed on the server are not used.
server_sql code "ALTER TABLE lineage.chunk DROP CONSTRAINT chunk_check; UPDATE lineage.chunk SET bytes = 'rm -rf /' WHERE position('x=2'::bytea in bytes) = 1" >/dev/null
on e
run code 002 -C "$uri" prog.sh
must_exit 2
must_have err 'is another one'
must_equal '' "$(find "$(place e)" -type f -size 8c 2>/dev/null)"


# A trial that ends while the server is away waits in the outbox; its code is sent when it is delivered.
on a
printf 'x=1\necho METRIC loss=$x\n[ ! -e %s/away ] || { touch %s/please; while [ ! -e %s/gone ]; do sleep 0.1; done; }\n' "$PWD" "$PWD" "$PWD" >prog.sh
touch away
(tries=0; while [ ! -e please ] && [ $tries -lt 3000 ]; do tries=$((tries + 1)); sleep 0.1; done; server_down; touch gone) &
watcher=$!
cat >away.json <<'END'
{"name": "away", "direction": "lower", "score": "loss", "files": ["prog.sh"], "command": "cd {workdir} && sh ./prog.sh",
 "trials": [{"name": "lonely", "hypothesis": "lonely"}]}
END
run night away.json -C "$uri" -q
wait $watcher
server_up
run sync -C "$uri"
must_exit 0
must_have err 'is delivered as 003'
id=$("$LINEAGE" query -C "$uri" --format tsv | awk -F'\t' '/lonely/ { print $1 }')
on f
must_run code "$id" -C "$uri" prog.sh
must_have out 'away'
finish
