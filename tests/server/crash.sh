#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# crash.sh: a server loses data that it had not flushed. Acknowledged rows and rows that any reader saw survive, and mirrors
# follow. Commits that do not wait stay unflushed for long here, because the server flushes only every 10 s.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test 'kill $(jobs -p) 2>/dev/null'
server_start 'wal_writer_delay = 10s' 'wal_writer_flush_after = 1GB' 'bgwriter_lru_maxpages = 0'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one
must_run init "$uri"
must_run -C "$uri" append --status keep --core-metric 1 --hypothesis first
server_sql postgres 'CREATE ROLE bob LOGIN' >/dev/null
server_sql trials 'GRANT lineage_reader TO bob' >/dev/null

crash()
{
    server_down immediate
    server_up
}
records() { server_sql trials 'SELECT seq FROM lineage.store'; }
# A committed row that is not on disk: an append that was cut off before its flush.
leave()
{
    server_sql trials "SELECT lineage.append(1, s.seq, gen_random_uuid(), 0, ARRAY[convert_to(E'$1\t2026-05-01T00:00:00Z\top\t\t\t\t$2\t\tdiscard\t1\t\t\t\t\t\t\t\n', 'UTF8')], '')
        FROM lineage.store s" >/dev/null
}

# ---- it is lost if nobody saw it, and survives if anybody did, even a reader ----
leave 001 unseen
crash
must_equal 2 "$(records)" 'records after the crash: the row that nobody was shown is gone, or this test tests nothing'
for reader in "$uri" "$(echo "$uri" | sed 's/lineage@/bob@/')"; do
    leave "$(printf '%03d' $(($(records) - 1)))" seen
    run -C "$reader" query --format tsv
    must_exit 0
    must_have out seen
    n=$(records)
    crash
    must_equal "$n" "$(records)" 'records after the crash: what a reader was shown'
done
leave 003 exported
must_run -C "$uri" export
must_have out exported
crash
run -C "$uri" export
must_have out exported

# ---- a server that is reset, and other rows that replace the lost ones ----
server_down fast
as_server cp -a "$server/data" "$server/before"
server_up
pair() { printf '{"exp_id": "%s", "timestamp": "2026-05-01T00:00:00Z", "status": "discard", "core_metric": 1, "hypothesis": "%s"}' "$1" "$2"; }
two()
{
    pair 100 "$1" >one.json
    pair 101 same >two.json
    run -C "$uri" append --json one.json && run -C "$uri" append --json two.json
}
two xxxx
must_run -C "$uri" query --format tsv
must_have out xxxx
cp -R state others
server_down fast
as_server rm -rf "$server/data"
as_server mv "$server/before" "$server/data"
server_up
XDG_STATE_HOME=$PWD/elsewhere two yyyy
XDG_STATE_HOME=$PWD/elsewhere run -C "$uri" append --status discard --core-metric 2 --hypothesis zzzz
run -C "$uri" query --format tsv
must_exit 0
must_have err 'has lost rows'
must_have out yyyy
must_have out zzzz
must_lack out xxxx
run -C "$uri" verify
must_exit 1
must_have out 'acknowledged 2 appends of this machine and no longer has them'
# The machine that has the receipts delivers them before it appends, under new ids, because theirs are taken.
XDG_STATE_HOME=$PWD/others run -C "$uri" append --status discard --core-metric 2 --hypothesis wwww
must_exit 0
must_equal 105 "$(cat out)" 'the next id'
XDG_STATE_HOME=$PWD/others must_run -C "$uri" query --format tsv
must_equal 1 "$(grep -c xxxx out)"
must_equal 1 "$(grep -c yyyy out)"

# ---- crashes under 8 writers and their readers ----
writer()
{
    k=0
    while [ ! -e stop ]; do
        k=$((k + 1))
        id=$("$LINEAGE" -C "$uri" append --status discard --core-metric 3 --hypothesis "w$1-$k-" 2>>errs.$1) && echo "w$1-$k- $id" >>taken.$1
    done
}
watcher() { while [ ! -e stop ]; do "$LINEAGE" -C "$uri" query --metric 3 --format tsv >>shown 2>>errs.query; done; }
for i in 1 2 3 4 5 6 7 8; do
    (XDG_STATE_HOME=$PWD/state$i && export XDG_STATE_HOME && writer $i) &
done
(XDG_STATE_HOME=$PWD/watcher && export XDG_STATE_HOME && watcher) &
(XDG_STATE_HOME=$PWD/follower && export XDG_STATE_HOME && exec "$LINEAGE" -C "$uri" follow >followed 2>errs.follow) &
follower=$!
for round in 1 2 3 4 5 6; do
    sleep 1.5
    crash
done
touch stop
sleep 1
kill $follower 2>/dev/null
wait
for i in 1 2 3 4 5 6 7 8; do
    tries=0
    until XDG_STATE_HOME=$PWD/state$i run -C "$uri" sync && [ "$status" -eq 0 ] || [ $((tries += 1)) -gt 3000 ]; do sleep 0.2; done
    must_exit 0
done
must_run -C "$uri" export
mv out truth
must_equal '' "$(cat taken.* | cut -d' ' -f1 | sort >names; cut -f7 truth | grep '^w[1-8]-' | sort | uniq -d)" 'rows of one trial twice'
must_equal '' "$(cut -f7 truth | sort | comm -13 - names)" 'acknowledged, and not there'
must_equal '' "$(cat taken.* | grep -v outbox- | tr ' ' '\t' | sort >names; awk -F '\t' '{ print $7 "\t" $1 }' truth | sort | comm -13 - names)" \
    'acknowledged under another id'
must_equal '' "$(grep -v '^exp_id' shown | cut -f1,2,9 | sort -u >lines; cut -f1,2,7 truth | sort | comm -13 - lines)" 'shown by query, and not there'
must_equal '' "$(grep -v '^exp_id' followed | cut -f1,2,9 | sort -u >lines; cut -f1,2,7 truth | sort | comm -13 - lines)" 'shown by follow, and not there'
[ "$(wc -l <followed)" -gt 10 ] && [ "$(cat taken.* | grep -vc outbox-)" -gt 10 ] || fail 'hardly anything was appended'
for i in 1 2 3 4 5 6 7 8; do
    XDG_STATE_HOME=$PWD/state$i run -C "$uri" query --format tsv
    must_exit 0
    must_equal "$(cut -f1,2,7 truth)" "$(cut -f1,2,9 out)" "what mirror $i says"
done
must_equal 0 "$(find state[1-8] -name '*.trial' | wc -l)" 'what waits'
must_run -C "$uri" verify
finish
