#!/bin/sh
# init.sh: `lineage init` writes settings once, and the other commands follow them.
. "$SOURCE/tests/support/shell.sh"

must_run init store --direction higher --metric val_bpb --metric-label bpb --min-delta 0.5 --noise-std 0.25 \
    --noise-seeds 4
must_equal higher "$(json direction store/lineage.json)"
must_equal val_bpb "$(json metric store/lineage.json)"
must_equal bpb "$(json metric_label store/lineage.json)"
must_equal 0.5 "$(json min_delta store/lineage.json)"
must_equal 4 "$(json noise_seeds store/lineage.json)"
must_equal lineage.json "$(ls store)" "only the settings are there"

# Repeating the same init is not an error; different settings are, and change nothing.
must_run init store --direction higher --metric val_bpb --metric-label bpb --min-delta 0.5 --noise-std 0.25 \
    --noise-seeds 4
cp store/lineage.json before
must_fail 2 "already there" init store --direction lower
must_match_file before store/lineage.json

must_run -C store append --status keep --val-bpb 1
must_run -C store append --status keep --val-bpb 2
must_run -C store best --format json
must_equal 001 "$(json exp_id)"
must_equal 2.0 "$(json score)"
must_equal 1.0 "$(json delta_vs_best)"

must_run -C made init
[ -f made/lineage.json ] || fail "init -C DIR made nothing"
must_fail 2 "--direction 'up'" init other --direction up
must_fail 2 "--min-delta '-1'" init other --min-delta -1
must_fail 2 "--noise-std 'nan'" init other --noise-std nan
must_fail 2 "--noise-seeds '1.5'" init other --noise-seeds 1.5
must_run init named --direction lower --metric val_loss
must_run append -C named --status auto --core-metric 3 --hypothesis first
must_run init named --direction lower --metric val_loss
must_fail 2 'not "metric": "acc"' init named --direction lower --metric acc
must_run render -C named
must_have out '(val_loss=3, lower is better)'
# A log that the user's own program writes has a column of that name, before or after `init`.
for name in val_loss score; do
    for order in before after; do
        store=$name-$order
        mkdir "$store"
        [ "$order" = after ] || must_run init "$store" --direction lower --metric $name
        printf 'commit\t%s\tmemory_gb\tstatus\tdescription\naaaaaaa\t3\t1\tkeep\tx\nbbbbbbb\t2\t1\tkeep\ty\n' $name >"$store/results.tsv"
        run init "$store" --direction lower --metric $name
        must_exit 0
        must_run best -C "$store" --format json
        must_equal 'bbbbbbb 2.0' "$(json exp_id) $(json score)" "$store"
        must_run verify -C "$store"
    done
done
# The mirror is made anew where another column is the score.
printf 'commit\tval_loss\tother\tstatus\naaaaaaa\t3\t4\tkeep\nbbbbbbb\t2\t5\tkeep\n' >val_loss-before/results.tsv
run best -C val_loss-before --format json
must_equal 2.0 "$(json score)"
sed 's/val_loss/other/' val_loss-before/lineage.json >changed
cp changed val_loss-before/lineage.json
run best -C val_loss-before --format json
must_equal 'aaaaaaa 4.0' "$(json exp_id) $(json score)"
must_run verify -C val_loss-before
must_fail 2 "longer than 63" init other --metric "$(printf '%064d' 0)"
[ ! -e other ] || fail "a refused init left a directory"
# Parent directories are created, and removed again if the store cannot be created.
must_run init runs/deep/atpo
[ -f runs/deep/atpo/lineage.json ] || fail "init runs/deep/atpo made nothing"
must_run -C runs/deeper/store/ init
[ -f runs/deeper/store/lineage.json ] || fail "init -C runs/deeper/store/ made nothing"
must_fail 2 "--direction 'up'" init never/there/store --direction up
[ ! -e never ] || fail "a refused init left a parent"
touch file
run init file/store
must_exit 3
if [ "$(id -u)" -ne 0 ]; then
    mkdir closed && chmod 555 closed
    must_fail 3 closed init closed/a/b
fi
mkdir taken
touch taken/lineage.json
must_fail 2 lineage.json init taken/../taken
last="a name that is too long"
run init "made/$(printf '%0300d' 0)/store"
must_exit 3
must_equal made "$(ls -d made*)"
finish
