#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# late.sh: a worker that starts while its server is away waits, says so once, and runs its night with the server's settings when
# the server answers. --list and a night without --worker do not wait.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test 'kill $(jobs -p) 2>/dev/null'
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one
must_run init "$uri" --direction higher
printf '{"name": "all", "score": "acc", "direction": "higher", "command": "echo METRIC acc={x}", "grid": {"x": [1, 2]}}\n' >all.json
server_down
"$LINEAGE" night all.json -C "$uri" --worker -q >worker.out 2>worker.err </dev/null &
worker=$!
tries=0
until [ -s worker.err ] || [ $((tries += 1)) -gt 3000 ]; do sleep 0.1; done
run -C "$uri" night all.json
must_exit 3
# This machine never saw the settings, so no command compares them.
run -C "$uri" append --direction higher --status discard --metric 1 --hypothesis early
must_exit 3
must_equal 0 "$(grep -c 'score is better' err)" 'the direction is not known'
sleep 5 # two more tries of the worker
checks=$((checks + 1))
kill -0 $worker 2>/dev/null || fail "the worker has gone: $(cat worker.err)"
must_equal 1 "$(grep -c 'this worker begins when the server answers' worker.err)" 'said once'
server_up
wait $worker
must_equal 0 $? "worker: $(cat worker.err)"
run -C "$uri" best --format json
must_exit 0
must_equal 2.0 "$(sed -n 's/.*"core_metric": *\([0-9.]*\).*/\1/p' out | head -n 1)" 'best by the settings of the server'
must_equal 3 "$(server_sql trials 'SELECT count(*) FROM lineage.record')" 'rows, with the header'
finish
