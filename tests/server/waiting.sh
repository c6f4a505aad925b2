#!/bin/sh
# waiting.sh: workers without a trial to claim are woken when there is one: after a parent's row, after a trial was given up, and
# in a directory after its worker was killed. Leases are so long that a worker that is not woken waits longer than this test
# may take. Over a server, then in a directory.
# shellcheck disable=SC2034,SC2154
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
workers=
server_test 'kill -KILL $workers 2>/dev/null'
. "$SOURCE/tests/support/trainer.sh"
server_start
server_sql postgres 'CREATE DATABASE waiting' >/dev/null

cat >train.sh <<'END'
echo "begin $1 $(date +%s%N)" >>"$SEEN"
[ ! -e "$SEEN.slow" ] || { rm "$SEEN.slow"; echo begun >"$SEEN.begun"; sleep 100; }
sleep "$2"
echo "METRIC loss=$1"
echo "end $1 $(date +%s%N)" >>"$SEEN"
END
cat >family.json <<END
{"name": "family", "direction": "lower", "score": "loss", "grace_seconds": 1, "command": "sh $PWD/train.sh {x} {s}",
 "trials": [{"name": "parent", "params": {"x": 1, "s": 4}},
            {"name": "one", "parent": "parent", "params": {"x": 2, "s": 2}},
            {"name": "two", "parent": "parent", "params": {"x": 3, "s": 2}},
            {"name": "three", "parent": "parent", "params": {"x": 4, "s": 2}}]}
END
cat >alone.json <<END
{"name": "alone", "direction": "lower", "score": "loss", "grace_seconds": 1, "command": "sh $PWD/train.sh {x} 0", "grid": {"x": [7]}}
END
worker() # SWEEP STORE OPTION...
{
    sweep=$1 of=$2
    shift 2
    "$LINEAGE" night "$sweep.json" -C "$of" --worker --lease 10000 -q "$@" >>out.w 2>>err.w </dev/null &
    pid=$!
    workers="$workers $pid"
}
when() { sed -n "s/^$1 $2 //p" "$SEEN"; }

for kind in server directory; do
    SEEN=$PWD/$kind.seen
    export SEEN
    family=$PWD/$kind-family alone=$PWD/$kind-alone
    [ $kind = directory ] || family=$SERVER/waiting/family alone=$SERVER/waiting/alone
    must_run init "$family" --direction lower
    must_run init "$alone" --direction lower

    # Two workers for three children, one of them with two slots: all begin when the parent has its row.
    worker family "$family"
    first=$pid
    wait_for grep -q 'begin 1' "$SEEN" || fail 'no parent'
    worker family "$family" --jobs 2
    wait "$first"
    must_equal 0 $? "$kind: the first worker: $(cat err.w)"
    wait "$pid"
    must_equal 0 $? "$kind: the second: $(cat err.w)"
    must_equal 8 "$(wc -l <"$SEEN")" "$kind: each is begun once"
    last=$(for x in 2 3 4; do when begin $x; done | sort -n | tail -n 1)
    soonest=$(for x in 2 3 4; do when end $x; done | sort -n | head -n 1)
    checks=$((checks + 1))
    [ "$last" -lt "$soonest" ] || fail "$kind: a child began only when another had ended: $(cat "$SEEN")"

    # An interrupted worker gives up its trial, and a waiting one takes it.
    : >"$SEEN.slow"
    worker alone "$alone"
    first=$pid
    wait_for test -e "$SEEN.begun" || fail 'not begun'
    worker alone "$alone"
    sleep 0.5
    kill -TERM "$first"
    wait "$first"
    must_equal 130 $? "$kind: interrupted"
    wait "$pid"
    must_equal 0 $? "$kind: the one that waited: $(cat err.w)"
    run query -C "$alone" --format tsv --status baseline
    must_equal 2 "$(wc -l <out)" "$kind: the trial has its row"
done

# On the same machine the kernel reports a killed worker.
rm -rf "$alone" "$SEEN" "$SEEN.begun"
must_run init "$alone" --direction lower
: >"$SEEN.slow"
worker alone "$alone"
first=$pid
wait_for test -e "$SEEN.begun" || fail 'not begun'
worker alone "$alone"
sleep 0.5
kill -KILL "$first"
wait "$first" 2>/dev/null
wait "$pid"
must_equal 0 $? "after a kill: $(cat err.w)"
must_equal 2 "$(grep -c begin "$SEEN")" 'begun twice'

# A long list of which other workers hold more trials than are queried at a time.
printf '{"name": "long", "direction": "lower", "score": "loss", "command": "echo METRIC loss={x}", "grid": {"x": [%s]}, "order": "grid"}\n' \
    "$(seq -s , 1 602)" >long.json
must_run init "$SERVER/waiting/long" --direction lower
must_run append -C "$SERVER/waiting/long" --status baseline --core-metric 1000 --hypothesis first
must_run night long.json -C "$SERVER/waiting/long" --list --format tsv
sed -n '2,$p' out | cut -f 5 | head -n 600 |
    sed "s/.*/(3, x'&'::bit(64)::bigint, 'long', 'elsewhere:1', 1, now() + interval '1 hour')/" | paste -sd , >held
server_sql waiting "INSERT INTO lineage.trial_claim (store, key, night, worker, attempt, until) VALUES $(cat held)" >/dev/null
worker long "$SERVER/waiting/long"
wait_for sh -c "[ \$(grep -c 'x=60[12]' out.w) -eq 2 ]" || fail "the last of a long list: $(tail -n 3 out.w err.w)"
kill -TERM "$pid"
wait "$pid"
must_equal 2 "$(grep -c 'long x=' out.w)" 'the two that are free'
workers=
finish
