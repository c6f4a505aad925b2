#!/bin/sh
# init_from.sh: `lineage init --from` makes a store from a log that an agent or another tool has kept by hand.
. "$SOURCE/tests/support/shell.sh"

five()
{
    printf 'commit\tval_bpb\tmemory_gb\tstatus\tdescription\n'
    printf 'a1b2c3d\t0.997900\t44.0\tkeep\tbaseline\n'
    printf 'b2c3d4e\t0.993200\t44.2\tKEEP\tincrease LR to 0.04\n'
    printf '1234567\t1.005000\t44.0\tdiscard\tswitch to\tGeLU\n'
    printf 'd4e5f6a\t0.000000\t0.0\tcrash\tdouble model width (OOM)\n\n'
    printf 'd4e5f6a\tN/A\t0.0\tfailed\tagain\n'
    printf 'e5f6a7b\tx\t1\tkeep\tbad\n'
    printf 'f6a7b8c\t0.99\t44.1\tkeep\t"a ""quoted"" text"\n'
}
parents()
{
    sed 1d "$1/results.tsv" | cut -f 1,4,9 | tr '\t\n' ': '
}

# ---- in place ----
mkdir loop
five >loop/results.tsv
cp loop/results.tsv five
run init loop --from loop/results.tsv
must_exit 0
must_have out '6 rows converted, 1 left out; the original is results.tsv.original'
must_have err "loop/results.tsv:8: e5f6a7b: val_bpb 'x' is not a number"
must_match_file five loop/results.tsv.original
must_equal 'a1b2c3d::keep b2c3d4e:a1b2c3d:keep g1234567:b2c3d4e:discard d4e5f6a:b2c3d4e:crash d4e5f6a-2:b2c3d4e:crash f6a7b8c:b2c3d4e:keep ' \
    "$(parents loop)"
must_run -C loop show g1234567
must_have out 'switch to GeLU'
must_run -C loop query --param memory_gb=44.05: --format tsv
must_equal 'b2c3d4e f6a7b8c' "$(sed 1d out | cut -f 1 | tr '\n' ' ' | sed 's/ $//')" "other columns are kept"
must_run -C loop verify
must_run -C loop chain f6a7b8c
must_have out a1b2c3d
must_run -C loop best --format json
must_equal 'f6a7b8c 0.99' "$(json exp_id) $(json score)"
must_run run -C loop -q -m val_bpb -- echo val_bpb: 0.98
must_equal 000 "$(cat out)"
must_equal '.results.tsv.digests lineage.db lineage.json' \
    "$(cd loop && ls -d .[a-z]* lineage.db lineage.json | tr '\n' ' ' | sed 's/ $//')"

# A second conversion would lose rows, so it is refused and changes nothing.
cp loop/results.tsv before
must_fail 2 'is there already' init loop --from five
must_match_file before loop/results.tsv
must_fail 2 'is another file' init loop --from loop/results.tsv
must_match_file before loop/results.tsv

# An empty log becomes an empty store; run works at once.
mkdir fresh
head -n 1 five >fresh/results.tsv
must_run -C fresh init --from fresh/results.tsv
must_have out '0 rows converted'
must_run run -C fresh -q -m val_bpb -- echo val_bpb: 0.98
must_equal 000 "$(cat out)"

# ---- other logs ----
printf 'run,loss,note\r\n1,2.5,"a, b"\r\n2,2.4,\r\n3,,"two\nlines"\r\n4,2.45,x\r\n' >log.csv
cp log.csv csv
must_fail 2 'its columns are: run, loss, note' init new --from log.csv
must_fail 2 '--direction lower|higher' init new --from log.csv --metric loss
must_fail 2 "no column 'y'" init new --from log.csv --metric loss --direction lower --column run=y
must_fail 2 "no column 'z'" init new --from log.csv --metric loss --direction lower --column z=exp_id
must_fail 2 "not NAME=" init new --from log.csv --metric loss --direction lower --column run
must_fail 2 '--column belongs to --from' init new --column run=exp_id
must_fail 2 'No such file' init new --from nothing.csv
: >nothing
must_fail 2 'it has no header' init new --from nothing
[ ! -e new ] || fail "a refused conversion left a directory"
must_run init deep/new --from log.csv --metric loss --direction lower --column run=exp_id --column note=hypothesis
must_match_file csv log.csv
for row in '1 keep -' '2 keep 1' '3 crash 2' '4 discard 2'; do
    # shellcheck disable=SC2086 # id, status and parent
    set -- $row
    must_run -C deep/new show "$1" --format json
    must_equal "$2 ${3#-}" "$(json status) $(json parent_exp)"
done
must_run -C deep/new show 3 --format json
must_equal 'two
lines' "$(json hypothesis)"
must_run -C deep/new verify
must_run init up --from log.csv --column loss=core_metric --direction higher
must_run -C up best --format json
must_equal '000 2.5' "$(json exp_id) $(json score)"
must_run -C up query --format json --status discard
must_have out '"parent_exp": "000"'

# pandas writes parents as floats, because the first trial has none. They are found in a log that is read in place, too. Ids of
# this form and numbers without a trial stay. A time that cannot be read is named.
{
    printf 'exp_id\ttimestamp\tparent_exp\tstatus\tcore_metric\n0\t\t\tbaseline\t30\n1\t\t0.0\tkeep\t31\n2\tnoon\t1.0\tkeep\t32\n'
    printf '7.0\t\t2.0\tkeep\t33\n7\t\t2.0\tdiscard\t33\n8\t\t7.0\tkeep\t34\n9\t\t99.0\tdiscard\t1\n'
} >floats.tsv
run init pandas --from floats.tsv --direction higher
must_exit 0
must_have err "floats.tsv:4: 2: timestamp 'noon' is not a date"
must_run -C pandas query --format json
must_equal '0 1 2 2 7.0' "$(for i in 1 2 3 4 5; do json "$i.parent_exp"; done | tr '\n' ' ' | sed 's/ $//')"
run -C pandas verify
must_have out "parent: 9: parent_exp '99.0' is not in the store"
must_equal 1 "$(grep -c ': parent: ' out)"
mkdir in_place
sed 's/^\([0-9]\)\t/00\1\t/' floats.tsv >in_place/results.tsv
must_run -C in_place query --format json
must_equal '000 001 002 002 7.0' "$(for i in 1 2 3 4 5; do json "$i.parent_exp"; done | tr '\n' ' ' | sed 's/ $//')"
must_run -C in_place append --status discard --core-metric 1 --parent 008
run -C in_place verify
must_lack out ': mirror: '

# A header with too many columns is refused.
awk 'BEGIN { for (i = 0; i < 600; i++) printf "c%d\t", i; print "val_bpb" }' >wide
must_fail 2 'more than 512' init new --from wide

# A kill in the middle leaves the old log or the store, and the command can be repeated.
for ms in 1 2 3 4 5 6 8 10 12 15; do
    rm -rf killed
    mkdir killed
    five >killed/results.tsv
    "$LINEAGE" init killed --from killed/results.tsv >/dev/null 2>&1 &
    pid=$!
    sleep "$(printf '0.%03d' "$ms")"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    if [ "$(head -c 6 killed/results.tsv)" = commit ]; then
        must_match_file five killed/results.tsv
        run init killed --from killed/results.tsv
        must_exit 0
    fi
    must_equal 6 "$(sed 1d killed/results.tsv | wc -l | tr -d ' ')"
    must_match_file five killed/results.tsv.original
    must_run -C killed verify
done
finish
