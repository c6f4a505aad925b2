#!/bin/sh
# trust.sh: a received directory whose log is on a server sends nothing of this user: neither passwords nor prepared trials.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test
server_start
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/mine
must_run init "$uri" --direction higher
must_run -C "$uri" append --status baseline --core-metric 1

rows() { "$LINEAGE" -C "$uri" query --format tsv 2>/dev/null | wc -l; }

# An attacker with a state directory of their own prepares a trial that waits.
mkdir theirs
printf '{"log": "%s"}\n' "$uri" >theirs/lineage.json
mine=$XDG_STATE_HOME
XDG_STATE_HOME=$PWD/attacker
must_run trust theirs
server_down immediate
run -C theirs append --status keep --core-metric 99 --hypothesis forged
must_exit 0
must_have out outbox-
server_up
XDG_STATE_HOME=$mine
cp -R theirs received

# This user trusts the directory; the prepared trial still waits, whichever command runs.
must_run trust received
for command in best 'query --format tsv' verify; do
    # shellcheck disable=SC2086
    run -C received $command
    must_exit 0
    must_lack err delivered
done
run -C received append --status keep --core-metric 2
must_exit 0
must_have err 'is not delivered, because this user did not write it'
must_equal 3 "$(rows)" "rows, with the header"
run -C received sync
must_exit 1
must_equal 'waiting 1' "$(cat out)"
run -C received best --format json
must_equal 2.0 "$(json core_metric)"

# A changed request does not become one of this user.
file=$(ls received/outbox/*.trial)
cp "$file" forged
sed -i 's/99/98/' "$file"
run -C received sync
must_equal 3 "$(rows)" "rows, with the header"
rm -rf received/outbox/*
cp forged "$file"

# A user who knows better says so.
run -C received sync --foreign
must_exit 0
must_have err delivered
must_equal 4 "$(rows)" "rows, with the header"

# Own trials wait for a command that appends; one that reads delivers nothing.
server_down immediate
run -C received append --status keep --core-metric 3
must_have out outbox-
server_up
run -C received best --format json
must_exit 0
must_lack err delivered
must_equal 4 "$(rows)" "rows, with the header"
run -C received append --status discard --core-metric 1
must_exit 0
must_have err delivered
must_equal 6 "$(rows)" "rows, with the header"

# A waiting trial does not go to another server.
server_down immediate
run -C received append --status keep --core-metric 5
must_have out outbox-
server_up
must_run init "$SERVER/trials/second" --direction higher
printf '{"log": "%s"}\n' "$SERVER/trials/second" >received/lineage.json
must_fail 2 'and you trusted it with' -C received best
must_run trust received
run -C received sync
must_exit 1
must_have err 'is not delivered'
printf '{"log": "%s"}\n' "$uri" >received/lineage.json
must_run trust received
run -C received sync
must_exit 0
must_equal 7 "$(rows)" "rows, with the header"

# The key is for this user only, and without it nothing is taken for its own.
must_equal 600 "$(stat -c %a "$XDG_STATE_HOME/lineage/key")"
finish
