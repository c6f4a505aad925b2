#!/bin/sh
# shellcheck disable=SC2154 # shared with shell.sh and trainer.sh
# resume.sh: a trial that was cut off continues from its state, and ends with the same checkpoint and score; states of
# other recipes are refused before a row is appended.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"

# Long enough to be cut off, with every kind of state that a run saves.
long='--set training.iterations=1000 --set sampler.staleness=1 --set sampler.precision=bf16 --set kl_coef=0.01
--set evaluation.every=100'

# shellcheck disable=SC2086
must_run train tiny.json -C whole -q $long
must_lack whole/results.tsv resumed_after

# shellcheck disable=SC2086
"$LINEAGE" train tiny.json -C cut -q $long --resume run.state --save-every 20 >out 2>err </dev/null &
trial=$!
last="train --resume"
wait_for sh -c "cat cut/.*/events.jsonl | grep -qE 'train\",\"step\":(2[1-9]|[3-9][0-9]|[1-9][0-9][0-9])'" || show_output
kill -KILL "$(child_of "$trial")"
wait "$trial"
must_equal crash "$(field cut 9)"
[ -s run.state ] || fail "the state of a crashed trial is gone"
checks=$((checks + 1))

# A refused state leaves the file and the rows unchanged.
cp run.state kept
cp cut/results.tsv before
# shellcheck disable=SC2086
must_fail 2 'state of a run of another recipe, after iteration' train tiny.json -C cut -q $long --set lr=0.1 --resume run.state
# shellcheck disable=SC2086
must_fail 2 'not the state of a run' train tiny.json -C cut -q $long --resume whole/snapshots/000_tiny/policy.ckpt
# shellcheck disable=SC2086
must_fail 2 'needs --resume' train tiny.json -C cut -q $long --save-every 5
# shellcheck disable=SC2086
must_fail 2 'save-every' train tiny.json -C cut -q $long --resume run.state --save-every 99999999999
must_match_file kept run.state
must_match_file before cut/results.tsv

# The same command continues.
# shellcheck disable=SC2086
must_run train tiny.json -C cut -q $long --hypothesis 'it will hold' --resume run.state --save-every 20
must_match_file whole/snapshots/000_tiny/policy.ckpt cut/snapshots/001_tiny/policy.ckpt
must_equal "$(field whole 10)" "$(field cut 10)" "EM"
must_have cut/results.tsv 'resumed_after='
must_equal "$(field whole 17 | sed 's/.*; grpo on/grpo on/')" "$(field cut 17 | sed 's/.*; grpo on/grpo on/')" "greedy score and area"
must_run -C cut query --param resumed_after=20:1000 --format tsv
must_equal 001 "$(sed -n 2p out | cut -f 1)"
[ ! -e run.state ] || fail "the state of a measured trial is left"
checks=$((checks + 1))
must_run -C cut verify

# Without an interruption, saving the state changes nothing.
must_run train tiny.json -C plain -q
must_run train tiny.json -C keeping -q --resume other.state --save-every 1
must_match_file plain/snapshots/000_tiny/policy.ckpt keeping/snapshots/000_tiny/policy.ckpt
without_times plain/results.tsv >wanted
without_times keeping/results.tsv >got
must_match_file wanted got
[ ! -e other.state ] || fail "a state is left"
finish
