#!/bin/sh
# snapshot.sh: work directories that append copies, differences between them, telemetry beside the row.
. "$SOURCE/tests/support/shell.sh"

mkdir -p work/sub
printf 'hidden = 64\nlr = 0.1\n' >work/train.py
printf '\000\001' >work/model.bin
printf 'x\n' >work/sub/x
chmod 755 work/train.py
chmod 666 work/sub/x
chmod 775 work/sub
ln -s train.py work/link

umask 077 # modes are the work directory's, whatever the writer's umask
must_run append --create --status keep --core-metric 2 --specialist opt --snapshot work --format json
umask 022
must_equal snapshots/000_opt "$(json snapshot_path)"
diff -r work snapshots/000_opt >/dev/null || fail "the snapshot differs from the work directory"
must_equal train.py "$(readlink snapshots/000_opt/link)"
[ -x snapshots/000_opt/train.py ] || fail "the mode of a file is lost"
must_equal '666 775' "$(cd snapshots/000_opt/sub && echo "$(stat -c %a x) $(stat -c %a .)")" "modes"

must_run append --status discard --core-metric 3 --specialist opt --snapshot work --format json
must_equal '' "$(json snapshot_path)"
must_run append --status auto --core-metric 3 --specialist opt --snapshot work --format json
must_equal '' "$(json snapshot_path)"
must_equal 000_opt "$(ls snapshots)"

printf 'hidden = 128\nlr = 0.1\n' >work/train.py
printf '\000\002' >work/model.bin
printf 'new\n' >work/fresh
must_run append --status auto --core-metric 1 --specialist 'o/p t' --parent 000 --snapshot work --format json
path=$(json snapshot_path)
[ -d "$path" ] || fail "no snapshot at '$path'"
must_equal 2 "$(find snapshots -mindepth 1 -maxdepth 1 | wc -l)" "snapshots"
must_run diff 003
must_have out '-hidden = 64'
must_have out '+hidden = 128'
must_have out '+new'
must_equal 1 "$(grep -c 'Binary files .*model.bin.* differ' out)" "binary files named"
must_lack out sub/x
must_run diff 003 000
must_have out '-hidden = 128'
must_run diff 000 exp_003
must_have out '+hidden = 128'
must_run diff 000 000
must_equal '' "$(cat out)"
cd / || exit 3
must_run_elsewhere=$("$LINEAGE" -C "$scratch" diff 003 | grep -c '^+hidden = 128')
cd "$scratch" || exit 3
must_equal 1 "$must_run_elsewhere" "diff from another directory"

must_fail 2 "--stat 000 001\` compares their settings" diff 000 001
must_fail 2 "no parent" diff 000
must_fail 2 "no trial 'x'" diff x
rm -rf snapshots/000_opt
must_fail 2 "is gone" diff 003
run verify
must_exit 1
must_have out 'snapshot: 000'
rm -rf "$path"

# Refused snapshots leave nothing behind.
cp results.tsv before
mkfifo work/pipe
must_fail 2 "pipe" append --status keep --core-metric 1 --snapshot work
rm work/pipe
must_fail 2 "nowhere" append --status keep --core-metric 1 --snapshot nowhere
must_fail 2 "train.py" append --status keep --core-metric 1 --snapshot work/train.py
must_fail 2 "already in" append --status keep --core-metric 1 --exp-id 000 --snapshot work
must_match_file before results.tsv
must_equal '' "$(ls -A snapshots)" "left in snapshots"

# An id cannot lead out of the store.
for id in ../../evil a/b .. .; do
    run append --status keep --core-metric 1 --exp-id "$id" --snapshot work --specialist ../../x
    [ ! -e ../evil ] || fail "a file outside of the store"
done
must_equal '' "$(find snapshots -mindepth 2 -maxdepth 2 -name '*_*')" "nested snapshots"
must_equal "" "$(find . -path ./snapshots -prune -o -path ./work -prune -o -name 'train.py' -print)" "stray copies"

# A snapshot of the directory that contains the store does not copy the store's snapshots into themselves.
rm -rf inner && mkdir inner && printf 'a\n' >inner/file
must_run -C inner append --create --status keep --specialist s --snapshot inner --core-metric 1
must_run -C inner append --status keep --specialist s --snapshot inner --core-metric 0.5 --parent 000
must_run -C inner verify

# Telemetry is written beside the row, and before it.
printf '{"steps": [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}]}' >steps.json
must_run append --status keep --core-metric 1 --telemetry steps.json
id=$(cat out)
must_equal 0.25 "$(json steps.1.loss "telemetry/$id.json")"
must_run sql "SELECT key, value FROM step_metrics WHERE exp_id = '$id' ORDER BY step" --format tsv
must_equal "key${tab}value loss${tab}0.5 loss${tab}0.25 " "$(tr '\n' ' ' <out)"
cp results.tsv before
printf '{"steps": ' >broken.json
must_fail 2 "telemetry" append --status keep --core-metric 1 --telemetry broken.json
must_fail 2 "cannot read nowhere" append --status keep --core-metric 1 --telemetry nowhere
must_fail 2 "telemetry" append --status keep --core-metric 1 --exp-id ../../evil --telemetry steps.json
must_match_file before results.tsv
must_equal "$id.json" "$(ls telemetry)"
# ---- a copy does not copy itself ----
mkdir -p again/work && echo 1 >again/work/f
must_run -C again append --create --status keep --specialist s --snapshot again/work --core-metric 1
must_run -C again append --status keep --specialist t --snapshot again/snapshots --core-metric 2
must_equal 'again/snapshots/001_t/000_s/f ' "$(find again/snapshots/001_t -type f | tr '\n' ' ')"
must_run -C again verify
finish
