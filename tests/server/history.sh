#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh
# history.sh: the worker of a grid reads few rows of a long log, and writes the same rows as a worker that has read all of them.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/server.sh"
server_test 'kill $(jobs -p) 2>/dev/null'
server_start 'fsync = off'
server_sql postgres 'CREATE DATABASE trials' >/dev/null
server_sql postgres 'CREATE ROLE alice LOGIN; CREATE ROLE mallory LOGIN' >/dev/null
ROWS=12000

# A grid from the best trial: some points crash, some are better than the best of the store, some are better than each other.
cat >wide.json <<'E'
{"name": "wide", "direction": "higher", "parent": "best",
 "command": ["sh", "-c", "[ {x} != 3 ] || exit 1; echo METRIC score={x}"],
 "grid": {"x": [1, 2, 3, 27.5, 28.25, 28.75, 5, 50, 49, 51, 6, 7]}}
E
must_run init "$SERVER/trials/keys" --direction higher
must_run night wide.json -C "$SERVER/trials/keys" --list --format json
cp out list.json
key() { json "$1.key" list.json; }
link() { printf 'night wide, trial %s, key %s' "$(json "$1.trial" list.json)" "$(key "$1")"; }
must_equal 12 "$(grep -o '"key"' list.json | wc -l)" 'trials of the grid'

# log FILE: ROWS rows with all ten labels; every 400th is kept and continues from the one before. The last keep is void, and one of the two
# before it was void for a while. Of the night, trials 0 and 1 have rows, 10 has one that is void, and 11 has an abort.
log()
{
    header >"$1"
    awk -v n=$ROWS -v one="$(link 0)" -v two="$(link 1)" -v void="$(link 10)" -v abort="$(link 11)" '
        function row(parent, label, score, job, notes) {
            printf "%05d\t2026-05-12T20:30:00Z\topt\t%s\t\t\ttry number %d\t\t%s\t%s\t\t\t\t\t%s\t\t%s\n", i, parent, i, label, score, job, notes
        }
        BEGIN {
            split("discard crash eval_budget_overrun train_budget_overrun size_blocked preflight_crash harness_abort disqualified", labels, " ")
            for (i = 0; i < n; i++) {
                label = labels[i % 8 + 1]
                notes = "alpha=0." i % 100
                if (i == 0) row("", "baseline", 0, "", notes)
                else if (i % 400 == 0) { row(kept, "keep", i / 400, "", notes); kept = sprintf("%05d", i) }
                else if (i == 3001) row(kept, "discard", 1, "", one)
                else if (i == 3002) row(kept, "discard", 2, "", "alpha=3; " two)
                else if (i == 3003) row(kept, "crash", "", "", void)
                else if (i == 3004) row("03003", "harness_abort", "", "lineage-void", "")
                else if (i == 3005) row(kept, "harness_abort", "", "", abort)
                else if (i == 11605) row("11600", "harness_abort", "", "lineage-void", "")
                else if (i == 11606) row("11200", "harness_abort", "", "lineage-void", "")
                else if (i == 11607) row("11200", "harness_abort", "", "lineage-unvoid", "")
                else row(kept, label, label == "discard" ? i % 7 : "", "", notes)
                if (i == 0) kept = "00000"
            }
        }' >>"$1"
}
log log.tsv

# store NAME: a store with that log.
store()
{
    must_run init "$SERVER/trials/$1" --direction higher
    run -C "$SERVER/trials/$1" import --exact log.tsv
    must_exit 0
}
# fetched: how many records the server has looked at for its clients.
fetched()
{
    server_sql trials "SELECT pg_stat_force_next_flush()" >/dev/null
    sleep 1.2 # a backend reports at most once per second
    server_sql trials "SELECT coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_user_tables WHERE relname = 'record'"
}
# on MACHINE ARGUMENT...: a command on another machine, with a mirror of its own.
on()
{
    machine=$1
    shift
    XDG_STATE_HOME=$PWD/$machine "$LINEAGE" "$@" >out 2>err </dev/null
    status=$?
    last="lineage $* on $machine"
}
# new_rows STORE: what the rows behind the log say, without times.
new_rows() { on reader -C "$SERVER/trials/$1" export; sed "1,$((ROWS + 1))d" out | cut -f 1,3-12,16- | sed 's/metrics peak_memory_mb=[0-9.]*; //; s/wall[^;]*;//; s/, [0-9.]* s//'; }
# mirrored MACHINE: how many rows the file of the mirror on that machine has.
mirrored()
{
    for db in "$1"/lineage/*/lineage.db; do
        sqlite3 "$db" 'SELECT count(*) FROM trials' 2>/dev/null || echo 0
    done
}
is_partial='this worker reads only the rows that its trials need'

# ---- the same rows ----
store full
store part
on reader -C "$SERVER/trials/full" best
must_exit 0
on all -C "$SERVER/trials/full" best # its mirror is complete before the night
must_exit 0
must_have out 'exp_id              11200'
on all night wide.json -C "$SERVER/trials/full" --worker --quiet
must_exit 0
must_lack err "$is_partial"
before=$(fetched)
on few night wide.json -C "$SERVER/trials/part" --worker --quiet
must_exit 0
must_have err "$is_partial"
must_lack err 'needs all rows'
must_equal 1 "$(grep -c "$is_partial" err)" 'it says so once'
read=$(($(fetched) - before))
must_equal 0 "$(mirrored few)" 'no mirror of all rows'
[ $read -lt $((ROWS / 2)) ] || fail "$read records were fetched for a worker"
echo "$read records were fetched of $ROWS"
new_rows full >full.tsv
new_rows part >part.tsv
must_match_file full.tsv part.tsv
must_equal 10 "$(wc -l <part.tsv)" 'rows of the night'
must_equal 4 "$(grep -c "${tab}keep$tab" part.tsv)" 'kept rows'
must_have part.tsv "12000${tab}"
run -C "$SERVER/trials/part" verify
must_exit 0
[ ! -e few/lineage/*/KNOWLEDGE.md ] || fail 'KNOWLEDGE.md of a part'

# It goes on from its own rows, and runs nothing twice.
on few night wide.json -C "$SERVER/trials/part" --worker --quiet
must_exit 0
must_have err "$is_partial"
must_equal 10 "$(new_rows part | wc -l)" 'rows after the second start'

# ---- others write meanwhile ----
# While a trial runs, another worker voids the best trial, and another program writes rows: first one with a new id, then one with an
# id that a row of the past has in another spelling. Only the last one makes the worker read all rows.
cat >meddle.sh <<'E'
by_hand()
{
    hex=$(printf '%s\t2026-05-12T20:30:00Z\topt\t\t\t\tby hand\t\tdiscard\t1\t\t\t\t\t\t\t\n' "$1" | od -An -v -tx1 | tr -d ' \n')
    eval "$SQL" >/dev/null
}
case $1 in
1) echo METRIC score=30 ;;
2) XDG_STATE_HOME=$PWD/meddler "$LINEAGE" void "$FIRST" -C "$URI" --reason 'it was broken' >/dev/null; echo METRIC score=29 ;;
3) echo METRIC score=28.5 ;;
4) by_hand 0012100; echo METRIC score=29.5 ;;
5) echo METRIC score=29.25 ;;
6) by_hand exp_00777; echo METRIC score=31 ;;
7) echo METRIC score=30.5 ;;
esac
E
cat >meddle.json <<E
{"name": "meddle", "direction": "higher", "parent": "best", "command": ["sh", "$PWD/meddle.sh", "{x}"], "grid": {"x": [1, 2, 3, 4, 5, 6, 7]}}
E
FIRST=12000
SQL='"'"$pg_bin"'/psql" -h '"$server"'/s -p '"$server_port"' -U lineage -X -q -A -t -v ON_ERROR_STOP=1 -d trials -c "SELECT lineage.append(id, seq, gen_random_uuid(), 0, ARRAY['"'\\\\x\$hex'"'::bytea], '"''"') FROM lineage.store WHERE name = '"'\$STORE'"'"'
export LINEAGE URI STORE FIRST SQL
for STORE in all_rows few_rows; do
    store $STORE
    URI=$SERVER/trials/$STORE
    [ $STORE = few_rows ] || { on $STORE -C "$URI" best; must_exit 0; }
    on $STORE night meddle.json -C "$URI" --worker --quiet
    must_exit 0
    cp err $STORE.err
    new_rows $STORE >$STORE.tsv
done
must_match_file all_rows.tsv few_rows.tsv
must_lack all_rows.err "$is_partial"
must_have few_rows.err "$is_partial"
must_equal 1 "$(grep -c 'needs all rows of' few_rows.err)" 'an id in another spelling'
must_equal '12000:30.0:keep 12001::harness_abort 12002:29.0:keep 12003:28.5:discard 0012100:1:discard 0012101:29.5:keep 0012102:29.25:discard exp_00777:1:discard 0012103:31.0:keep 0012104:30.5:discard 0012105:30.0:discard' \
    "$(awk -F '\t' '{ printf "%s%s:%s:%s", (NR > 1 ? " " : ""), $1, $9, $8 }' few_rows.tsv)" 'rows'

# The server breaks the connections while one trial runs, and loses the last row while another one runs.
cat >storm.sh <<'E'
ask() { "$PSQL" -h "$HOST" -p "$PORT" -U lineage -X -q -A -t -v ON_ERROR_STOP=1 -d trials -c "$1" >/dev/null; }
case $1 in
2) ask 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = $$client backend$$' ;;
4) ask "ALTER TABLE lineage.record DISABLE TRIGGER append_only; ALTER TABLE lineage.store DISABLE TRIGGER check_head;
    DELETE FROM lineage.record r USING lineage.store s WHERE s.name = '$STORE' AND r.store = s.id AND r.seq = s.seq;
    UPDATE lineage.store s SET seq = r.seq, size = r.position + octet_length(r.bytes), digest = r.digest FROM lineage.record r
     WHERE s.name = '$STORE' AND r.store = s.id AND r.seq = s.seq - 1;
    ALTER TABLE lineage.record ENABLE ALWAYS TRIGGER append_only; ALTER TABLE lineage.store ENABLE ALWAYS TRIGGER check_head" ;;
esac
[ "$1" = 3 ] || echo METRIC "score=3$1"
[ "$1" != 3 ] || echo METRIC score=3
E
cat >storm.json <<E
{"name": "storm", "direction": "higher", "parent": "best", "command": ["sh", "$PWD/storm.sh", "{x}"], "grid": {"x": [1, 2, 3, 4, 5]}}
E
PSQL=$pg_bin/psql HOST=$server/s PORT=$server_port
export PSQL HOST PORT
for STORE in all_storm few_storm; do
    store $STORE
    URI=$SERVER/trials/$STORE
    [ $STORE = few_storm ] || { on $STORE -C "$URI" best; must_exit 0; }
    on $STORE night storm.json -C "$URI" --worker --quiet
    must_exit 0
    cp err $STORE.err
    new_rows $STORE >$STORE.tsv
    run -C "$URI" verify
    must_exit 0
done
must_match_file all_storm.tsv few_storm.tsv
must_have few_storm.err "$is_partial"
must_have few_storm.err 'has lost rows'
must_have few_storm.err 'needs all rows of'
must_equal '12000 12001 12003 12004' "$(cut -f 1 few_storm.tsv | tr '\n' ' ' | sed 's/ $//')" 'the id of the lost row is not given again'

# ---- two workers ----
store pair
for who in a b; do
    XDG_STATE_HOME=$PWD/$who "$LINEAGE" night wide.json -C "$SERVER/trials/pair" --worker --quiet >$who.out 2>$who.err </dev/null &
done
wait
for who in a b; do
    must_have $who.err "$is_partial"
    must_equal 0 "$(mirrored $who)" "mirror of $who"
done
must_equal 10 "$(new_rows pair | wc -l)" 'each trial once'
must_equal 10 "$(new_rows pair | grep -o 'key [0-9a-f]*' | sort -u | wc -l)" 'different trials'
run -C "$SERVER/trials/pair" verify
must_exit 0

# ---- rows that the part lacks: the worker reads all rows, and goes on ----
store named
sed 's/"parent": "best"/"parent": "00401"/; s/"wide"/"named"/' wide.json >named.json
on parent night named.json -C "$SERVER/trials/named" --worker --quiet
must_exit 0
must_have err 'needs all rows of'
must_equal 1 "$(grep -c 'needs all rows of' err)" 'it says so once'
must_equal 12 "$(new_rows named | cut -f 3 | grep -c 00401)" 'parents'
must_equal $((ROWS + 12)) "$(mirrored parent)" 'the mirror is complete'
# A void of another worker while the night runs.
must_equal 0 "$(grep -c 'no trial' err)" 'the parent was found'

# The best trial continues from one that continues from a trial that was not kept, so an append cannot exclude a cycle.
cp log.tsv whole.tsv
awk -F '\t' -v OFS='\t' '$1 == "10800" { $4 = "10799" } { print }' whole.tsv >log.tsv
must_equal 1 "$(diff whole.tsv log.tsv | grep -c '^>')" 'another parent'
store deep
mv whole.tsv log.tsv
on deep night wide.json -C "$SERVER/trials/deep" --worker --quiet
must_exit 0
must_have err 'needs all rows of'
must_equal 10 "$(new_rows deep | wc -l)" 'rows of the night'

# ---- stores whose rows cannot be read one by one, or have an id twice ----
store twice
second=$(printf '04000\t2026-05-12T20:30:00Z\topt\t\t\t\tagain\t\tdiscard\t1\t\t\t\t\t\t\t\n' | od -An -v -tx1 | tr -d ' \n')
server_sql trials "SELECT lineage.append(id, seq, gen_random_uuid(), 0, ARRAY['\\x$second'::bytea], '') FROM lineage.store WHERE name = 'twice'" >/dev/null
on twice night wide.json -C "$SERVER/trials/twice" --worker --quiet
must_exit 0
must_have err 'needs all rows of'
must_equal $((ROWS + 11)) "$(mirrored twice)" 'the mirror is complete'
store merged
server_sql trials "UPDATE lineage.store SET apart = false WHERE name = 'merged'" >/dev/null
on merged night wide.json -C "$SERVER/trials/merged" --worker --quiet
must_exit 0
must_have err 'needs all rows of'

# ---- nights that ask about all rows are as before ----
store other
for option in --report '--jobs 2' '--confirm' '--retry crash'; do
    # shellcheck disable=SC2086
    on "other" night wide.json -C "$SERVER/trials/other" --worker --quiet $option
    must_lack err "$is_partial"
done

# ---- what the server finds: never less than a worker needs ----
all=$("$LINEAGE" append --help | grep -c . || true)
for label in $(sed -n '/^    \[LINEAGE_/s/.*{"\([a-z_]*\)", \([A-Z]*\)}.*/\1:\2/p' "$SOURCE/src/store/format/label.c"); do
    hex=$(trial 7 '' "${label%:*}" 1 x | od -An -v -tx1 | tr -d ' \n')
    wanted=f
    [ "${label#*:}" != KEPT ] || wanted=t
    must_equal $wanted "$(server_sql trials "SELECT lineage.matters('\\x$hex'::bytea)")" "whether ${label%:*} matters"
done
# found WANTED KEY RECORD: what the functions say of a record, as E'' text.
found()
{
    must_equal "$1|$2" "$(server_sql trials "SELECT lineage.matters(b), to_hex(lineage.night_key(b)) FROM convert_to(E'$3', 'UTF8') b")" "$3"
}
found t '' '1\ta\t"keep"\tb\n'
found t '' '1\ta\t"ke"ep\tb\n'
found t '' '1\ta\t""keep\tb\n'
found t '' '1\ta\t"baseline"\n'
found f '' '1\ta\t"two words"\t"and ""three"""\t\n'
found t '' '1\ta\t"a\ttab"\tb\n'
found t '' '"1"\ta\tdiscard\n'
found t '' '1\ta\tharness_abort\tlineage-unvoid\n'
found t '' '1\ta\tdiscard\tsnapshots/1_opt\n'
found f '123456789abcdef' '1\tdiscard\tnight a, trial b, key 0123456789abcdef\n'
found f 'ffffffffffffffff' '1\tdiscard\tx=1; night a, trial \\u00fc, key ffffffffffffffff; more\n'
found t '1111111111111111' '1\tdiscard\tnight a, trial b, key 1111111111111111, key 2222222222222222\n'
found f '' '1\tdiscard\tnight a, trial b, key 012345678\n'
must_equal '14|14|14|a b' "$(server_sql trials "SELECT lineage.id_key('exp_14' || chr(9)::text::bytea), lineage.id_key('14' || chr(9)::text::bytea),
    lineage.id_key('\"14\"' || chr(9)::text::bytea), lineage.id_key('a b' || chr(9)::text::bytea)")" 'ids'
must_equal tt "$(server_sql trials "SET standard_conforming_strings = off; SELECT string_agg(left(lineage.matters(convert_to(b, 'UTF8'))::text, 1), '')
    FROM (VALUES ('1' || chr(9) || 'keep' || chr(9)), ('1' || chr(9) || '\"ke\"ep' || chr(10))) v (b)")" 'another setting of a session'

# ---- rights ----
server_sql trials 'GRANT lineage_writer TO alice' >/dev/null
server_sql trials "SELECT lineage.let('part', 'alice', 'reader')" >/dev/null
ids() { server_sql trials "SELECT id FROM lineage.store WHERE name = '$1'"; }
history_of() { server_user=$1 server_sql trials "SELECT count(*) FROM lineage.history($(ids "$2"), '{}', 0, 11000, 2000)" 2>&1; }
server_sql trials "SELECT lineage.let('full', 'lineage', 'owner')" >/dev/null
must_equal 31 "$(history_of alice part)" 'a reader reads'
case $(history_of alice full) in *'does not have the right "reader"'*) ;; *) fail 'a role without rights read the history' ;; esac
case $(history_of mallory part) in *'permission denied'*) ;; *) fail 'a role without grants read the history' ;; esac
server_sql trials 'GRANT lineage_writer TO mallory' >/dev/null
case $(history_of mallory part) in *'does not have the right "reader"'*) ;; *) fail 'a writer of other stores read the history' ;; esac
finish
