#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# campaign.sh: several machines append while everything around them fails; then each trial that a command accepted is in the log
# once, and no id names two trials. Prints the counts, and exits with 1 if a row was lost or is there twice.
#
# usage: sh tests/server/campaign.sh [ROUNDS]     default: 1. Builds what is missing in ./build-test.
#
# The machines: one beside the server; one whose commands are killed at random; one whose clock is ten years ahead; one behind a proxy
# that cuts connections at random bytes and changes bytes of their startup; one that is away most of the time. A round kills
# backends, kills the server, fills its disk (as root), has its synchronous standby down, and fails over to a standby
# that lacks the last rows.
rounds=${1:-1}
if [ -z "${LINEAGE:-}" ]; then
    SOURCE=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
    build=${BUILD:-$SOURCE/build-test}
    [ -f "$build/build.ninja" ] || cmake -S "$SOURCE" -B "$build" -G Ninja -DLINEAGE_BUILD_TESTS=ON >/dev/null
    ninja -C "$build" --quiet lineage cut_connection hold_port skewed_clock
    LINEAGE=$build/cli/lineage CUT_CONNECTION=$build/tests/cut_connection
    SKEWED_CLOCK_LIBRARY=$(find "$build/tests" -name '*skewed_clock*.so' | head -n 1)
    export LINEAGE CUT_CONNECTION SKEWED_CLOCK_LIBRARY
fi
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
. "$SOURCE/tests/support/standby.sh"
server_test 'touch stop; standby_down; kill $(jobs -p) 2>/dev/null; umount "$server/small" 2>/dev/null'
server_start 'wal_level = replica' 'hot_standby = on' 'authentication_timeout = 3s' 'wal_sender_timeout = 5s'
standby_allow
server_sql postgres 'CREATE DATABASE trials' >/dev/null
direct=$SERVER/trials/one
must_run init "$direct"
must_run -C "$direct" append --status keep --core-metric 1 --hypothesis first
LINEAGE_STANDBY_WAIT=3
export LINEAGE_STANDBY_WAIT

proxy_port=$(held_port)
proxy=
proxy_start() # SEED
{
    "$CUT_CONNECTION" proxy "$server/s/.s.PGSQL.$server_port" "$proxy_port" "$1" 2>proxy.err &
    proxy=$!
}
proxy_stop() { kill $proxy && wait $proxy 2>/dev/null; }
seed=$(($(date +%s) % 100000 + 1))
proxy_start $seed
through="postgres://lineage@127.0.0.1:$proxy_port/trials/one?connect_timeout=2"
echo "seed $seed"

# append MACHINE URI NAME [COMMAND]: notes the name, exit status and id in results.MACHINE.
append()
{
    XDG_STATE_HOME=$PWD/$1 ${4:-} "$LINEAGE" -C "$2" append --status discard --core-metric 1 --hypothesis "$3" >"o.$1" 2>"e.$1"
    echo "$3 $? $(cat "o.$1")" >>"results.$1"
}
writer() # MACHINE URI [killed|skewed|away]
{
    k=0
    while [ ! -e stop ]; do
        k=$((k + 1))
        name="c-$1-$k-end"
        case ${3:-} in
        killed) append "$1" "$2" "$name" "timeout -s KILL 0.$(printf '%02d' $((k * 7 % 56 + 4)))" ;;
        skewed) (
            SKEWED_CLOCK=$((k % 2 ? 315360000 : -315360000)) LD_PRELOAD=$SKEWED_CLOCK_LIBRARY
            export SKEWED_CLOCK LD_PRELOAD
            append "$1" "$2" "$name"
        ) ;;
        *) append "$1" "$2" "$name" ;;
        esac
        [ "${3:-}" != away ] || sleep 2
        sleep 0.1
    done
}
writer beside "$direct" &
writers=$!
writer killed "$direct" killed &
writers="$writers $!"
writer away "$direct" away &
writers="$writers $!"
writer cut "$through" &
writers="$writers $!"
if [ -f "${SKEWED_CLOCK_LIBRARY:-}" ]; then
    writer skewed "$direct" skewed &
    writers="$writers $!"
else
    echo 'left out: a machine with another clock (no library skewed_clock)'
fi

backends() { ps --ppid "$(head -n 1 "$server/data/postmaster.pid")" -o pid=,args= | sed -n 's/^ *\([0-9]*\) postgres: lineage trials .*/\1/p'; }
fill_disk()
{
    if [ "$(id -u)" -ne 0 ] || ! { mkdir -p "$server/small" && mount -t tmpfs -o size=64m none "$server/small" 2>/dev/null; }; then
        echo 'left out: the full disk of the server (no tmpfs may be mounted here)'
        return
    fi
    chown "$(as_server id -u)" "$server/small"
    as_server "$pg_bin/psql" -h "$server/s" -p "$server_port" -U lineage -Xq -d trials -c "CREATE TABLESPACE small LOCATION '$server/small'" >/dev/null
    server_sql trials 'ALTER TABLE lineage.record SET TABLESPACE small' >/dev/null
    head -c 100000000 /dev/zero >"$server/small/zeros" 2>/dev/null # leaves no room for another page of the table
    sleep 4
    rm -f "$server/small/zeros"
    server_sql trials 'ALTER TABLE lineage.record SET TABLESPACE pg_default' >/dev/null
    server_sql trials 'DROP TABLESPACE small' >/dev/null
    umount "$server/small"
}

round=0
while [ $((round += 1)) -le "$rounds" ]; do
    for k in 1 2 3 4 5 6; do
        sleep 0.5
        for pid in $(backends); do as_server kill "-$([ $k -eq 4 ] && echo KILL || echo TERM)" "$pid" 2>/dev/null; done
    done
    sleep 1
    server_down immediate
    sleep 1
    server_up
    sleep 1
    fill_disk
    # A synchronous standby that is down, and comes up.
    standby_make
    standby_synchronous
    sleep 5
    standby_up
    sleep 2
    standby_down
    server_sql postgres "ALTER SYSTEM RESET synchronous_standby_names" >/dev/null
    server_sql postgres 'SELECT pg_reload_conf()' >/dev/null
    # A failover to a copy that lacks the rows of some seconds.
    standby_make
    sleep 4
    fail_over $round
    sleep 3
done
touch stop
wait $writers
proxy_stop
proxy_start 0

# Each machine delivers what it has.
machines=$(ls results.* | sed 's/results\.//')
unset LINEAGE_STANDBY_WAIT
for pass in 1 2; do
    for machine in $machines; do
        uri=$direct
        [ "$machine" != cut ] || uri=$through
        tries=0
        until XDG_STATE_HOME=$PWD/$machine "$LINEAGE" -C "$uri" sync >"sync.$machine" 2>&1 || [ $((tries += 1)) -gt 3000 ]; do sleep 0.2; done
    done
done
proxy_stop
run -C "$direct" export
must_exit 0
cp out log.tsv
awk -F '\t' 'NR > 1 && match($7, /c-[a-z]+-[0-9]+-end/) { print substr($7, RSTART, RLENGTH), $1 }' log.tsv | sort >in_log

# Accepted: exit status 0. A killed command, and one that failed, may have left a row or none.
cat results.* >results
awk '$2 == 0' results | cut -d ' ' -f 1 | sort >accepted
cut -d ' ' -f 1 in_log | uniq -c | awk '{ print $2, $1 }' >times
once=$(awk 'NR == FNR { n[$1] = $2; next } n[$1] == 1' times accepted | wc -l)
lost=$(awk 'NR == FNR { n[$1] = $2; next } !n[$1]' times accepted | wc -l)
twice=$(awk '$2 > 1' times | wc -l)
waiting=$(find . -path '*/outbox/*' -name '*.trial*' | while read -r file; do grep -l '^lineage-outbox' "$file"; done | wc -l)
{ awk '$2 == 0 && $3 ~ /^[0-9]+$/ { print $1, $3 }' results; cat in_log; } | sort -u >ids
ids=$(cut -d ' ' -f 2 ids | sort | uniq -d | wc -l)
printf '%-48s %8d\n' 'appended' "$(wc -l <results)" \
    'acknowledged with an id' "$(awk '$2 == 0 && $3 ~ /^[0-9]+$/' results | wc -l)" \
    'kept in an outbox at first' "$(awk '$2 == 0 && $3 ~ /^outbox-/' results | wc -l)" \
    'refused with a message' "$(awk '$2 != 0 && $2 < 128' results | wc -l)" \
    'killed' "$(awk '$2 >= 128' results | wc -l)" \
    'accepted, and in the log exactly once' "$once" \
    'accepted, and lost' "$lost" \
    'in the log twice' "$twice" \
    'still in an outbox' "$waiting" \
    'ids that were given to two trials' "$ids" \
    'failovers' "$rounds" \
    'ids left out by the server (times)' "$(server_sql trials 'SELECT count(*) FROM lineage.gap')"
must_equal 0 "$lost" lost
must_equal 0 "$twice" twice
must_equal 0 "$waiting" 'still in an outbox'
must_equal 0 "$ids" 'ids given twice'
must_equal "$(wc -l <accepted)" "$once" 'accepted trials'
must_equal "$rounds" "$(server_sql trials 'SELECT count(*) FROM lineage.gap')" 'gaps'
[ "$lost$ids$twice" = 000 ] || { awk 'NR == FNR { n[$1] = $2; next } !n[$1]' times accepted | head; cut -d ' ' -f 2 ids | sort | uniq -d | head -n 5 >bad; grep -wf bad ids; }
run -C "$direct" verify
must_equal 0 "$(grep -v '^checked: ' out | grep -c digest)" digests
finish
