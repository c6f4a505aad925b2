#!/bin/sh
# shellcheck disable=SC2016,SC2154 # commands for another shell; shared with shell.sh
# rescore.sh: a training that finished without a score is not lost: its score is read from its log and files; and what warns before.
. "$SOURCE/tests/support/shell.sh"

field() { tail -n 1 "$1/results.tsv" | cut -f "$2"; }

cat >train.py <<'END'
import json, os, sys
work = os.environ["LINEAGE_WORKDIR"]
open(work + "/model.bin", "w").write("weights")
json.dump({"log_history": [{"step": 2, "eval_loss": 0.686312345}]}, open(work + "/trainer_state.json", "w"))
print("final loss 0.7 acc", sys.argv[1])
END
run run -C s --direction lower -q -m val_loss --specialist me -p x=1 --hypothesis why -- python3 train.py 0.9
must_exit 1
must_have err 'its log and files are kept: `lineage rescore -C s 000 -m NAME` reads the score without running it again'
run rescore -C s 000 # the same name
must_exit 1
must_have err 'exit 0 without a score: looked for `val_loss`'
must_run rescore -C s 000 -m acc -m loss
must_equal '002' "$(cat out)"
must_equal '0.9 keep me why' "$(field s 10) $(field s 9) $(field s 3) $(field s 7)"
must_have s/results.tsv 'x=1; metrics loss=0.7, acc=0.9; rescored 000; score by a name that was asked for'
must_have s/snapshots/002_me/model.bin weights
must_run logs -C s 002
must_have out 'final loss 0.7 acc 0.9'
must_equal acc "$(json score s/lineage.json)"
must_fail 2 'the score of this store is `acc`' rescore -C s 000 -m loss
must_run verify -C s

# The work directory has the file; a file that a later trial has written is not that of this one.
run run -C f --direction lower -q -m val_loss -- python3 train.py 0.9
run rescore -C f 000 -m eval_loss
must_exit 0
must_have err 'eval_loss 0.686312345 is read from {workdir}/trainer_state.json'
must_run rescore -C f 000 --metric-file 'eval_loss={workdir}/trainer_state.json'
must_equal 0.686312345 "$(field f 10)"
# No other trial writes to its work directory, so that the time of a file there does not count.
find f -name trainer_state.json -exec touch -d '+1 hour' {} +
must_run rescore -C f 000 --metric-file 'eval_loss={workdir}/trainer_state.json'
echo '{"eval_loss": 0.1}' >late.json
ended=$(date -d "$(sed -n 2p f/results.tsv | cut -f 2)" +%s)
for later in 3600 2; do # the next trial of a loop may end two seconds later
    touch -d "@$((ended + later))" late.json
    run rescore -C f 000 --metric-file eval_loss=late.json
    must_exit 1
    must_have err 'the trial did not write'
done

# What cannot be read again.
run run -C s -q -m acc -- sh -c 'echo acc 1; exit 3'
must_fail 1 'did not finish' rescore -C s "$(cat out)" -m acc
run run -C s -q -m acc --eval true -- echo acc 1
must_fail 2 'has an evaluation; say by --metric-regex or --metric-file' rescore -C s "$(cat out)" -m acc
run run -C s -q -m acc --seeds 2 -- echo no score
must_fail 1 'ran with 2 seeds' rescore -C s "$(cat out)" -m acc
must_run append -C s --status discard --core-metric 1 --hypothesis typed
must_fail 2 'has no provenance' rescore -C s "$(cat out)" -m acc
must_fail 2 'give the ids of trials, or --night NAME' rescore -C s
must_fail 2 "is not NAME=REGEX" rescore -C s 000 --metric-regex x

# A whole night, which is then done.
printf '{"name": "lr", "direction": "lower", "metrics": ["foo"], "command": "python3 train.py {x}", "grid": {"x": [1, 2, 3]}}' >lr.json
run night lr.json -C n -q
must_have err "3 finished without a score (\`lineage rescore -C n --night 'lr' -m NAME\` reads it from their logs and files)"
must_run rescore -C n --night lr -m acc
must_equal '1.0 2.0 3.0' "$(tail -n 3 n/results.tsv | cut -f 10 | tr '\n' ' ' | sed 's/ $//')"
must_fail 1 "the night 'lr' has no trial that finished without a score" rescore -C n --night lr -m acc
sed 's/foo/acc/' lr.json >same.json
must_run night lr.json -C n -q
must_equal '' "$(cat out)"

# ---- before a long training ----
must_run run --dry-metrics --dry-lines 3 -q -m loss -- sh -c 'i=0; while :; do i=$((i + 1)); echo loss $i; sleep 0.02; done'
must_have out 'score: loss 3.0 from line output:3'
must_fail 2 '--dry-lines belongs to --dry-metrics' run -C s --dry-lines 3 -- true
run run -C w --direction lower -q --score-minutes 0.002 -m lss -- sh -c 'echo loss 3; sleep 0.5'
must_have err 'no value of the score after 0.002 minutes: looked for `lss`, nearest line: loss 3'
must_run run -C w -q --score-minutes 0.002 -m loss -- sh -c 'echo loss 3; sleep 0.5'
finish
