#!/bin/sh
# shellcheck disable=SC2016,SC2154 # commands for another shell; shared with shell.sh
# autoresearch.sh: the unchanged loop of karpathy/autoresearch under `lineage run`: the output of train.py, and the
# five-column log that the loop writes.
. "$SOURCE/tests/support/shell.sh"

train=$SOURCE/tests/examples/autoresearch_train.sh
field()
{
    tail -n 1 "$1/results.tsv" | cut -f "$2"
}

# ---- train.py is the command ----
must_run run -C s --direction lower -q -m val_bpb -m peak_vram_mb -m num_steps -- sh "$train" 0.997900
must_equal '0.9979 keep' "$(field s 10) $(field s 9)"
must_equal '45060.2 953.0' "$(json steps.0.peak_vram_mb s/telemetry/000.json) $(json steps.0.num_steps s/telemetry/000.json)"
must_run run -C s -q -m val_bpb -- sh "$train" 0.993200
must_equal '0.9932 keep' "$(field s 10) $(field s 9)"
must_run run -C s -q -m val_bpb -- sh "$train" 1.005000
must_equal '1.005 discard' "$(field s 10) $(field s 9)"
run run -C s -q -m val_bpb -- sh "$train"
must_exit 1
must_equal crash "$(field s 9)"
must_have s/results.tsv 'CUDA out of memory'
must_run -C s logs 001
must_have out 'val_bpb:          0.993200'

# ---- the loop's own lines are the command: its own log, two names from it, a row in five columns ----
mkdir loop
printf 'commit\tval_bpb\tmemory_gb\tstatus\tdescription\n' >loop/results.tsv
cat >loop/experiment <<'END2'
sh "$1" $2 >run.log 2>&1
grep '^val_bpb:\|^peak_vram_mb:' run.log || { tail -n 50 run.log; printf '%s\t0.000000\t0.0\tcrash\t%s\n' "$3" "$4" >>results.tsv; exit 1; }
printf '%s\t%s\t44.0\t%s\t%s\n' "$3" "$2" "$5" "$4" >>results.tsv
END2
cd loop || exit 3
must_run run -C ../t --direction lower -q -m val_bpb -- sh experiment "$train" 0.997900 a1b2c3d baseline keep
must_run run -C ../t -q -m val_bpb -- sh experiment "$train" 0.993200 b2c3d4e 'increase LR to 0.04' keep
must_run run -C ../t -q -m val_bpb -- sh experiment "$train" 1.005000 c3d4e5f 'switch to GeLU activation' discard
run run -C ../t -q -m val_bpb -- sh experiment "$train" '' d4e5f6g 'double model width (OOM)'
must_exit 1
cd .. || exit 3
must_equal '0.9979 0.9932 1.005 ' "$(sed 1d t/results.tsv | cut -f 10 | tr '\n' ' ' | sed 's/  *$/ /')"

# No trial can be added to a five-column log, even an empty one. That is reported before a command runs.
mkdir five
printf 'commit\tval_bpb\tmemory_gb\tstatus\tdescription\n' >five/results.tsv
cp five/results.tsv before
must_fail 2 'lineage init --from five/results.tsv' run -C five -q -m x -- sh -c 'touch ran; echo x: 1'
printf '{"command": ["sh", "-c", "touch ran; echo METRIC x=1"], "direction": "lower", "trials": [{"name": "a"}]}' >five.json
must_fail 2 'lineage init --from' night five.json -C five -q
must_fail 2 'lineage init --from' night five.json -C five -q --worker
run -C five init
must_exit 0
must_have err 'lineage init --from'
must_match_file before five/results.tsv
# A row that would be refused because of its options is reported before, too.
must_fail 2 'nothing was run' run -C s -q -m val_bpb --hypothesis "$(printf 'not UTF-8 \377')" -- sh -c 'touch ran; echo x: 1'
if [ "$(id -u)" -ne 0 ]; then
    chmod 444 s/results.tsv
    must_fail 3 'nothing was run' run -C s -q -m val_bpb -- sh -c 'touch ran; echo val_bpb: 1'
    chmod 644 s/results.tsv
fi
mkdir s/pipe && mkfifo s/pipe/results.tsv
must_fail 3 'not a regular file' run -C s/pipe -q -m x -- sh -c 'touch ran; echo x: 1'
[ ! -e ran ] || fail "a command ran whose row could not be written"

# If the log cannot be written after all, the row is kept in a file for `append --json`.
must_run init late --direction lower
must_run run -C late -q -m x -- echo x: 2
run run -C late -q -m x -p lr=0.5 --hypothesis 'disk full; lr 1' --parent 000 -- sh -c 'mv late/results.tsv late/old; mkdir late/results.tsv; echo x: 1'
must_exit 3
must_have err 'the row is kept in late/unwritten-'
rmdir late/results.tsv && mv late/old late/results.tsv
must_run append -C late --json "$(echo late/unwritten-*.json)"
must_equal '001 000 keep 1.0 0.5 disk full; lr 1' "$("$LINEAGE" show 001 -C late --format json >out && json exp_id) $(json parent_exp) $(json status) $(json score) $(json params.lr) $(json hypothesis)"
must_run verify -C late

# The five-column log is read unchanged, and can be imported into a store.
must_run -C loop best --format json
must_equal 'b2c3d4e 0.9932' "$(json exp_id) $(json score)"
must_run -C loop query --status crash --format tsv
must_have out 'double model width'
must_run init into --direction lower
run -C into import loop/results.tsv
must_exit 0
must_run -C into best --format json
must_equal b2c3d4e "$(json exp_id)"
must_run run -C into -q -m val_bpb --parent b2c3d4e -- sh "$train" 0.981
must_equal keep "$(field into 9)"
must_run -C into chain "$(cat out)"
must_have out b2c3d4e
must_run -C into verify
finish
