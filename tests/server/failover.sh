#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# failover.sh: a server fails over to an asynchronous standby that lacks its last rows. Each acknowledged row is in the log again
# afterwards, once, under its id, which nobody else got meanwhile. With a synchronous standby nobody is shown a row that the standby
# lacks, and commands wait for it only as long as they may.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
. "$SOURCE/tests/support/standby.sh"
server_test 'standby_down; kill $(jobs -p) 2>/dev/null'
server_start 'wal_level = replica' 'hot_standby = on'
standby_allow
server_sql postgres 'CREATE DATABASE trials' >/dev/null
uri=$SERVER/trials/one
must_run init "$uri"

on() { XDG_STATE_HOME=$PWD/$1 && export XDG_STATE_HOME && shift && run -C "$uri" "$@"; }
rows() { server_sql trials "SELECT count(*) FROM lineage.record WHERE position(convert_to('$1', 'UTF8') IN bytes) > 0"; }

# ---- rows that the standby never got ----
on a append --status keep --core-metric 1 --hypothesis base
on b append --status discard --core-metric 1 --hypothesis other
standby_make
: >acknowledged
for k in 1 2 3 4 5 6; do
    on a append --status auto --core-metric "0.$k" --parent "$([ $k -lt 3 ] && echo 000 || echo 003)" --hypothesis "a-$k-end"
    must_exit 0
    echo "a-$k-end $(cat out)" >>acknowledged
done
printf '{"hypothesis": "many-1-end", "status": "discard", "core_metric": 1}\n{"hypothesis": "many-2-end", "status": "discard", "core_metric": 1}\n' >many
on a append --json many
must_exit 0
fail_over 1
must_equal 0 "$(rows -end)" 'the standby lacks them'

# Commands that read say so, and deliver nothing; another machine appends meanwhile and gets the ids.
on a best
must_exit 0
must_have err 'acknowledged 7 appends of this machine and no longer has them'
on a verify
must_exit 1
must_have out 'receipts'
must_equal 0 "$(rows -end)" 'reading delivers nothing'
on b append --status discard --core-metric 5 --hypothesis b-new
must_exit 0
must_equal 1000000 "$(cat out)" 'the ids of the lost rows are left out, although the machine that has them is away'
on b append --status discard --core-metric 5 --hypothesis b-next
must_equal 1000001 "$(cat out)"
# The machine that sent them delivers them again under their ids, and then its new row.
on a append --status discard --core-metric 1 --hypothesis after
must_exit 0
must_equal 1000002 "$(cat out)"
must_have err 'had acknowledged a row and no longer had it; it is delivered again'
must_lack err 'another trial has that id now'
for k in 1 2 3 4 5 6; do must_equal 1 "$(rows "a-$k-end")" "a-$k"; done
must_equal 1 "$(rows many-1-end)" many-1
must_equal 1 "$(rows many-2-end)" many-2
on b query --format tsv
must_equal '' "$(cut -f 1 out | sort | uniq -d)" 'ids that name two trials'
while read -r name id; do
    must_equal "$id" "$(awk -F '\t' -v name="$name" 'index($0, name) { print $1 }' out)" "the id of $name"
done <acknowledged
must_equal 003 "$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "parent_exp") c = i } /a-4-end/ { print $c }' out)" 'parent of a child'
must_equal '2 1000000' "$(server_sql trials "SELECT ids_from || ' ' || ids_to FROM lineage.gap")" 'the gap is on record'
for machine in a b; do
    on $machine verify
    must_exit 0
done
on a sync
must_equal 'delivered 0' "$(grep delivered out || echo 'delivered 0')" 'nothing twice'

# ---- a second failover, with writers that are all away, among them one that chose an id of its own ----
standby_make
on a append --status discard --core-metric 1 --hypothesis c-1-end
must_equal 1000003 "$(cat out)"
on a append --exp-id 1500000 --status discard --core-metric 1 --hypothesis c-2-end
must_exit 0
fail_over 2
must_equal 0 "$(rows c-1-end)" 'the standby lacks it'
on c append --status discard --core-metric 1 --hypothesis c-new
must_exit 0
must_equal 2000000 "$(cat out)"
# Three processes find the same rows missing and deliver them, while a fourth appends: each row once, and no receipt is lost or cut.
cp "$(find a -name receipts)" earlier-receipts
syncs=
for k in 1 2 3; do
    XDG_STATE_HOME=$PWD/a "$LINEAGE" -C "$uri" sync >/dev/null 2>&1 &
    syncs="$syncs $!"
done
on a append --status discard --core-metric 1 --hypothesis after-2
must_equal 2000001 "$(cat out)"
# shellcheck disable=SC2086
wait $syncs
python3 -c '
import json, sys
requests = [{json.loads(line)["request"] for line in open(name) if line.strip()} for name in sys.argv[1:]]
print(len(requests[0] - requests[1]))' earlier-receipts "$(find a -name receipts)" >out 2>err
must_equal 0 "$(cat out)" "receipts after deliveries at once: $(tail -n 1 err)"
must_equal 1 "$(rows c-1-end)" c-1
must_equal 1 "$(rows c-2-end)" c-2

# ---- files of the server that are set back, which the server cannot notice: the first machine that knows of lost rows tells it ----
server_down fast
cp -a "$server/data" "$server/earlier"
server_up
set_back() { server_down fast && rm -rf "$server/data" && cp -a "$server/earlier" "$server/data" && server_up; }
on a append --status discard --core-metric 1 --hypothesis d-1-end
must_equal 2000002 "$(cat out)"
on b best
set_back
# b has read the row, and a reading command of b is the first to notice.
on b verify
must_exit 1
on b best
must_exit 0
must_have err 'has lost rows that lineage.db has read; making it anew'
on c append --status discard --core-metric 1 --hypothesis d-new
must_equal 3000000 "$(cat out)" 'ids after a mirror that has more'
on a append --status discard --core-metric 1 --hypothesis d-after
must_equal 3000001 "$(cat out)"
must_equal 1 "$(rows d-1-end)" d-1
# With receipts alone, whose machine reads first.
server_down fast
rm -rf "$server/earlier" && cp -a "$server/data" "$server/earlier"
server_up
on a append --status discard --core-metric 1 --hypothesis e-1-end
must_equal 3000002 "$(cat out)"
set_back
find a -name lineage.db -delete
on a best
must_have err 'acknowledged 1 appends of this machine and no longer has them'
on c append --status discard --core-metric 1 --hypothesis e-new
must_equal 4000000 "$(cat out)" 'ids after receipts'
on a sync
must_exit 0
must_equal 1 "$(rows e-1-end)" e-1
# If all machines that know of them are away, an id can be given again; then the row gets another one, and says so.
server_down fast
rm -rf "$server/earlier" && cp -a "$server/data" "$server/earlier"
server_up
on a append --status discard --core-metric 1 --hypothesis f-1-end
taken=$(cat out)
on a append --status discard --parent "$taken" --core-metric 1 --hypothesis f-2-end
set_back
on c append --status discard --core-metric 1 --hypothesis f-new
must_equal "$taken" "$(cat out)"
on a append --status discard --core-metric 1 --hypothesis f-after
must_have err "had acknowledged $taken and no longer had it; another trial has that id now, so it is delivered again as"
must_equal 1 "$(rows "acknowledged as $taken before the server lost it")" 'the row says so'
on b query --format tsv
must_equal '' "$(cut -f 1 out | sort | uniq -d)" 'ids that name two trials'
again=$(awk -F '\t' '/f-1-end/ { print $1 }' out)
must_equal "$again" "$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "parent_exp") c = i } /f-2-end/ { print $c }' out)" 'parent of a child'

# ---- a command that is killed when the server has its row, before it could note that ----
# A pipe that nobody reads holds the command where it would write the receipt. The next command finds the request on the server, and
# must note the receipt before it removes the request: the row would be lost with the server's last rows.
standby_make
receipts=$(find a -name receipts)
mv "$receipts" kept-receipts
mkfifo "$receipts"
XDG_STATE_HOME=$PWD/a "$LINEAGE" -C "$uri" append --status discard --core-metric 1 --hypothesis killed-1-end >killed.out 2>&1 &
killed=$! tries=0
until [ "$(rows killed-1-end)" = 1 ] || [ $((tries += 1)) -gt 3000 ]; do sleep 0.1; done
kill -KILL $killed
wait $killed 2>/dev/null
rm "$receipts"
mv kept-receipts "$receipts"
must_equal '' "$(cat killed.out)" 'it was killed before it acknowledged the row'
on a sync
must_exit 0
must_equal 1 "$(rows killed-1-end)" 'once'
must_equal 1 "$(grep -c "$(printf killed-1-end | od -An -tx1 | tr -d ' \n')" "$receipts")" 'the receipt of a request that was found'

# ---- an append that is too long for a line of the receipts has a file beside them ----
{ header; trial 000 '' discard 1 "import-$(printf '%0400d' 0)-end"; } >one.tsv
awk -F '\t' -v OFS='\t' 'NR == 1 { print; next } { for (k = 1; k <= 3000; k++) { $1 = 100000 + k; print } }' one.tsv >long.tsv
checks=$((checks + 1))
[ "$(wc -c <long.tsv)" -gt 1048576 ] || fail 'a short import'
on a import long.tsv
must_exit 0
must_equal 1 "$(find a -name 'receipt-*' | wc -l)" 'a file beside the receipts'
fail_over 3
must_equal 0 "$(rows import-)" 'the standby lacks it'
must_equal 0 "$(rows killed-1-end)" 'the standby lacks it, too'
on c append --status discard --core-metric 1 --hypothesis long-new
must_equal 6000000 "$(cat out)"
on a sync
must_exit 0
must_equal 3000 "$(rows import-)" 'rows of the import'
on a sync
must_equal 3000 "$(rows import-)" 'rows of the import, once'
must_equal 1 "$(rows killed-1-end)" 'the row whose command was killed'
# Without its file it cannot be delivered, which keeps nothing else.
server_down fast
rm -rf "$server/earlier" && cp -a "$server/data" "$server/earlier"
server_up
sed 's/^10/20/; s/import-/again-/' long.tsv >long2.tsv
on a import long2.tsv
must_exit 0
on a append --status discard --core-metric 1 --hypothesis g-1-end
find a -name 'receipt-*' -delete
set_back
on a append --status discard --core-metric 1 --hypothesis g-2-end
must_exit 0
must_have err 'cannot be delivered again: its file in'
must_equal '1 1 0' "$(rows g-1-end) $(rows g-2-end) $(rows again-)" 'the other rows'
on a best
must_lack err 'no longer has'

# ---- a delivery that stops half-way, after more rows than are looked at in the file, goes on later ----
server_down fast
rm -rf "$server/earlier" && cp -a "$server/data" "$server/earlier"
server_up
for k in $(seq -w 24); do on a append --status discard --core-metric 1 --hypothesis "half-$k-end"; done
set_back
server_sql trials "CREATE FUNCTION half_way() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN
    IF position(''half-21-end''::bytea IN NEW.bytes) > 0 THEN RAISE ''refused''; END IF; RETURN NEW; END';
    CREATE TRIGGER half_way BEFORE INSERT ON lineage.record FOR EACH ROW EXECUTE FUNCTION half_way()" >/dev/null
on a sync
checks=$((checks + 1))
[ "$status" -ne 0 ] || fail 'the server refused a row, and sync succeeded'
must_equal 20 "$(rows half-)" 'rows before the one that the server refused'
server_sql trials 'DROP TRIGGER half_way ON lineage.record; DROP FUNCTION half_way()' >/dev/null
on a best
must_have err 'acknowledged 4 appends of this machine and no longer has them'
on a append --status discard --core-metric 1 --hypothesis half-after
must_exit 0
for k in $(seq -w 24); do must_equal 1 "$(rows "half-$k-end")" "half-$k"; done
on a best
must_lack err 'no longer has'

# ---- a receipt goes when a standby has its row, whatever its age, and an older half goes when there are too many ----
receipts=$(find a -name receipts)
checks=$((checks + 1))
[ -s "$receipts" ] || fail 'no receipts'
grep -v '^$' "$receipts" | tail -n 1 >line
n=$((70000000 / $(wc -c <line)))
for k in $(seq 100); do cat line; done >hundred
for k in $(seq $((n / 100))); do cat hundred; done >"$receipts"
lines=$(wc -l <"$receipts")
on a best
must_have err 'has reached 64 MiB'
must_equal $((lines - lines / 2)) "$(wc -l <"$receipts")" 'the newer half'
tail -n 5 "$receipts" >few && cp few "$receipts"
on a best
must_equal 5 "$(wc -l <"$receipts")" 'receipts without a standby'
standby_make
standby_up
tries=0
until on a best && [ ! -s "$receipts" ] || [ $((tries += 1)) -gt 3000 ]; do sleep 0.1; done
must_equal 0 "$(wc -c <"$receipts")" 'receipts of rows that a standby has'
standby_down
on a append --status discard --core-metric 1 --hypothesis h-1-end

# ---- a received directory cannot bring rows into the log by a forged receipt ----
cp -r a/lineage forged
receipts=$(find forged -name receipts)
sed -i 's/"records":"[0-9a-f]*"/"records":"666f7267656409780a"/; s/"seq":[0-9]*/"seq":900/; s/"request":"../"request":"ff/' "$receipts"
before=$(server_sql trials 'SELECT count(*) FROM lineage.record')
cp "$receipts" "$(find a -name receipts)"
on a append --status discard --core-metric 1 --hypothesis last
must_equal $((before + 1)) "$(server_sql trials 'SELECT count(*) FROM lineage.record')" 'forged receipts'

# ---- with a synchronous standby nothing is lost, and receipts are not kept ----
standby_make
standby_synchronous
standby_up
on a append --status discard --core-metric 1 --hypothesis sync-1-end
must_exit 0
on a best
must_equal 0 "$(tr -d '\n' <"$(find a -name receipts)" | wc -c)" 'receipts that a standby has witnessed'
server_sql trials "SET synchronous_commit = local; SELECT lineage.flush()" >/dev/null
standby_down
# A row that only this server has is shown to nobody: the reader waits for the standby.
(PGOPTIONS= "$pg_bin/psql" -h "$server/s" -p "$server_port" -U lineage -Xq -d trials -c "SET synchronous_commit = off" \
    -c "SELECT lineage.append(1, (SELECT seq FROM lineage.store WHERE id = 1), gen_random_uuid(), 0, ARRAY[convert_to(E'900\t\n', 'UTF8')], '')" >/dev/null)
checks=$((checks + 1))
if timeout 3 "$pg_bin/psql" -h "$server/s" -p "$server_port" -U lineage -XqAt -d trials -c "SET synchronous_commit = local" \
    -c "SELECT seq, lineage.flush() FROM lineage.store WHERE id = 1" >shown 2>&1; then
    fail "a reader was shown a row that no standby has: $(cat shown)"
fi
# While the standby is down, a command waits once, and not for each of its questions: one that reads for 2.5 s, and one that appends
# as long as LINEAGE_STANDBY_WAIT says. Each wait leaves a backend that waits on.
backends() { server_sql postgres "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"; }
waits=$(backends)
on a best
must_exit 0
must_have err 'no synchronous standby has confirmed within 2.5 s'
must_have err 'this is the lineage as of'
waits=$((waits + 1))
must_equal $waits "$(backends)" 'a reading command waits once'
LINEAGE_STANDBY_WAIT=3
export LINEAGE_STANDBY_WAIT
on a append --status discard --core-metric 1 --hypothesis standby-down
must_exit 0
must_have out outbox-
must_have err 'no synchronous standby has confirmed within 3 s; the trial is kept as outbox-'
waits=$((waits + 2)) # once as a command that opens a store, and once as an append
must_equal $waits "$(backends)" 'an appending command waits once more'
on a best
must_have err 'no synchronous standby has confirmed within 2.5 s'
must_equal 1 "$(ls "$(dirname "$(find a -name receipts)")"/*.trial | wc -l)" 'a reading command delivers nothing'
waits=$((waits + 1))
must_equal $waits "$(backends)" 'with a trial in the outbox a reading command waits no longer'
# A worker's claim, its renewal and its end do not wait for standbys.
server_sql trials "SELECT lineage.claim_trial(1, 'night', ARRAY[7]::bigint[], 'host:1', 60, 0)" >/dev/null
must_equal t "$(server_sql trials "SELECT lineage.renew_trial(1, 7, 1, 'host:1', 'host:1', 60, '')")" renewed
server_sql trials "SELECT lineage.release_trial(1, 7, 1, 'host:1', true, false)" >/dev/null
must_equal $waits "$(backends)" 'claims'
for bad in 0 2 3601 nan 5x; do
    LINEAGE_STANDBY_WAIT=$bad
    on a best
    must_exit 2
    must_have err "LINEAGE_STANDBY_WAIT=$bad: the seconds that an append waits for a standby are a number from 3 to 3600"
done
unset LINEAGE_STANDBY_WAIT
standby_up
on a sync
must_exit 0
must_equal 1 "$(rows standby-down)" 'the trial that waited'
must_run -C "$uri" query --limit 1
finish
