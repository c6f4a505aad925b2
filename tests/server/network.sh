#!/bin/sh
# network.sh: workers on other machines, as far as one kernel can play them: a server and two workers in network namespaces of
# their own, joined by links that go down. One worker is cut off for longer than its lease: another runs its trial, and the
# first is notified; its own row is delivered later. Each trial has one row.
#
# Skipped without the right to create namespaces (root, CAP_SYS_ADMIN and CAP_NET_ADMIN). Latency and loss are added if the
# kernel has netem.
# shellcheck disable=SC2034,SC2154
if [ -z "${IN_NAMESPACE:-}" ]; then
    for tool in ip unshare nsenter; do
        command -v $tool >/dev/null || { echo "SKIP no $tool (Debian: iproute2, util-linux)" && exit 77; }
    done
    [ "$(id -u)" -eq 0 ] && unshare --net ip link set lo up 2>/dev/null &&
        unshare --net ip link add lineage0 type veth peer name lineage1 2>/dev/null ||
        { echo 'SKIP no network namespaces here' && exit 77; }
    IN_NAMESPACE=yes
    export IN_NAMESPACE
    exec unshare --net sh "$0" "$@"
fi
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
others=
trap 'code=$?; kill -KILL $others 2>/dev/null; server_remove; leave_test $code' EXIT
. "$SOURCE/tests/support/trainer.sh"
ip link set lo up
server_start "listen_addresses = '*'"
echo 'host all all 10.77.0.0/16 trust' >>"$server/data/pg_hba.conf"
as_server "$pg_bin/pg_ctl" -D "$server/data" reload >/dev/null
server_sql postgres 'CREATE DATABASE network' >/dev/null

# machine NAME NUMBER: a namespace that is kept by a process, and its link to the server.
machine()
{
    unshare --net sleep 1000 &
    eval "$1=$!"
    others="$others $!"
    wait_for sh -c "[ \"\$(readlink /proc/$!/ns/net)\" != \"$(readlink /proc/self/ns/net)\" ]" || fail "no namespace for $1"
    ip link add "to-$1" type veth peer name wire0 netns $!
    ip address add "10.77.$2.1/24" dev "to-$1"
    ip link set "to-$1" up
    nsenter -n -t $! ip address add "10.77.$2.2/24" dev wire0
    nsenter -n -t $! ip link set wire0 up
    nsenter -n -t $! ip link set lo up
    tc qdisc add dev "to-$1" root netem delay 20ms 5ms loss 1% 2>/dev/null || netem='no netem in this kernel: without latency and loss'
}
netem='20 ms of latency, 1 % of loss'
machine a 1
machine b 2
echo "$netem"
store() { echo "postgres://lineage@10.77.$1.1:$server_port/network/one"; }
# on MACHINE NUMBER COMMAND...: runs lineage there.
on()
{
    eval "inside=\$$1"
    machine=$1 number=$2
    shift 2
    XDG_STATE_HOME=$PWD/$machine nsenter -n -t "$inside" env MACHINE="$machine" "$LINEAGE" "$@"
}

cat >train.sh <<'END'
echo "$MACHINE $1" >>"$SEEN"
[ "$1$MACHINE" != 2a ] || sleep 20
[ "$1" != 9 ] || sleep 4
sleep 0.3
echo "METRIC loss=$1"
END
SEEN=$PWD/seen
export SEEN
sweep() # NAME VALUES
{
    printf '{"name": "%s", "score": "loss", "grace_seconds": 1, "command": "sh %s {x}", "grid": {"x": [%s]}}\n' \
        "$1" "$PWD/train.sh" "$2" >"$1.json"
}
sweep first 1
sweep all 2,3,4,5,6,7,8
sweep alone 9
on b 2 init "$(store 2)" --direction lower >out 2>err || { fail "init: $(cat err)"; finish; }
on b 2 night first.json -C "$(store 2)" --worker -q >out 2>err || fail "the baseline: $(cat err)"

# ---- cut off for longer than its lease: b runs a's trial, and a is late ----

on a 1 night all.json -C "$(store 1)" --worker --lease 3 >out.a 2>err.a </dev/null &
pid_a=$!
wait_for grep -q '^a 2' seen || fail "a began nothing: $(cat err.a)"
ip link set to-a down
on b 2 night all.json -C "$(store 2)" --worker --lease 3 >out.b 2>err.b </dev/null &
pid_b=$!
for i in 1 2 3; do # b's link is a bad one
    sleep 0.4
    ip link set to-b down
    sleep 0.4
    ip link set to-b up
done
wait "$pid_b"
must_equal 0 $? "the worker that stayed: $(cat err.b)"
must_equal 7 "$(grep -c . out.b)" "it has all rows: $(cat out.b)"
must_equal 1 "$(grep -c '^b 2$' seen)" 'the trial that a had, too'
ip link set to-a up
wait "$pid_a"
must_equal 0 $? "the worker that was cut off: $(cat err.a)"
checks=$((checks + 1))
grep -q 'was first: its row counts\|its lease ended and another worker has begun it' err.a || fail "the late worker prints nothing: $(cat err.a)"
must_equal '' "$(cat out.a)" 'and has no row'

# ---- cut off until its trial ends: the row waits on that machine, and is delivered when the link is restored ----

on a 1 night alone.json -C "$(store 1)" --worker --lease 3 >out.a 2>err.a </dev/null &
pid_a=$!
wait_for grep -q '^a 9' seen || fail "a began nothing: $(cat err.a)"
ip link set to-a down
tries=0
until [ -s out.a ] || [ $tries -gt 3000 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
must_equal outbox "$(cut -d - -f 1 out.a)" "it waits in the outbox: $(cat err.a)"
ip link set to-a up
wait "$pid_a"
must_equal 0 $? "the worker whose row waits: $(cat err.a)"
on a 1 sync -C "$(store 1)" >out 2>err || fail "sync: $(cat err)"

on b 2 export -C "$(store 2)" >rows.tsv
must_equal 'all x=2|all x=3|all x=4|all x=5|all x=6|all x=7|all x=8|alone x=9|first x=1|' \
    "$(sed -n 's/.*night [a-z]*, trial \(.*\), key .*/\1/p' rows.tsv | sort | tr '\n' '|')" 'each trial has one row'
on a 1 verify -C "$(store 1)" >out 2>err || fail "verify: $(cat out err)"
nobody_holds() { [ "$(server_sql network 'SELECT count(*) FROM lineage.trial_claim WHERE until > clock_timestamp()')" = 0 ]; }
checks=$((checks + 1))
wait_for nobody_holds || fail 'a claim outlasts its lease'
finish
