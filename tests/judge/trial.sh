#!/bin/sh
# shellcheck disable=SC2154,SC2034 # shared with shell.sh and trainer.sh
# trial.sh: trials whose steps a model judges: marks and tokens in the row and in telemetry, a repeated trial that costs
# nothing, a judge that fails, limits and interruptions while the trial waits for the judge, and no key in any file.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy SSL_CERT_FILE
key=sk-test-0123456789abcdef
LINEAGE_JUDGE_KEY=$key && export LINEAGE_JUDGE_KEY

serve()
{
    exec 9>&-
    rm -f port stdin
    mkfifo stdin
    "$JUDGE_SERVER" requests "$@" <stdin >port &
    exec 9>stdin
    wait_for test -s port
    port=$(cat port)
}

# judged SECONDS [MEMBERS]: prints a recipe for that server.
judged()
{
    cat >judged.json <<END
{
  "name": "judged", "threads": 1,
  "world": {"regions": 2, "region_size": 2, "relations": 2},
  "model": {"width": 16, "heads": 2, "layers": 1, "mlp": 32},
  "start": {"warm_start": {"steps": 60, "batch": 16, "warmup": 5, "learning_rate": 0.02, "k_min": 1, "k_max": 1}},
  "environments": [{"name": "hopworld", "questions": 4, "k_min": 1, "k_max": 1, "max_turns": 2, "algorithm": {"name": "adca"}}],
  "training": {"iterations": 3, "group_size": 4, "minibatch": 8},
  "evaluation": {"questions": 16, "every": 0},
  "judge": {"endpoint": "http://127.0.0.1:$port/v1", "model": "test", "skip": "none", "backoff": 0.01, "deadline": $1${2:-}}
}
END
}

serve --key "$key"
judged 60
must_run train judged.json -C store -q
must_have store/results.tsv 'judge: '
must_have store/results.tsv ' judged'
must_have store/results.tsv 'agrees with the rules in '
must_have store/results.tsv ' tokens'
must_have store/telemetry/000.json '"judge_judged"'
must_have store/telemetry/000.json '"judge_good_success"'
must_have store/telemetry/000.json '"judge_bad_failure"'
must_have store/telemetry/000.json '"judge_agreement"'
must_have store/telemetry/000.json '"judge_prompt_tokens"'
must_run -C store query --param judge.model=test --format tsv
must_have out judged
first=$(wc -l <requests)
[ "$first" -gt 0 ] || fail 'nobody was asked'

# What the judge wrote is kept with its flags.
must_have store/judge-cache.jsonl '"analysis":["'
must_have store/judge-cache.jsonl '"shown":{"task"'
# The line of the guide prints what is there.
if command -v jq >/dev/null; then
    sed -n 's/runs\/hop/store/; /^jq -r/p' "$SOURCE/cli/man/judging.md" >guide.sh
    sh guide.sh >out 2>err || fail "the line of the guide: $(cat err)"
    must_equal "$(grep -c '"shown"' store/judge-cache.jsonl)" "$(grep -c "^[a-z]*$(printf '\t')[GBNU-]*$(printf '\t')" out)" 'attempts'
fi

# Repeating the trial gives the same answers without a request.
must_run train judged.json -C store -q
must_equal "$first" "$(wc -l <requests)" 'requests of the second trial'
must_equal "$(sed -n 2p store/results.tsv | cut -f 10)" "$(sed -n 3p store/results.tsv | cut -f 10)" 'score of the second trial'
must_have store/telemetry/001.json '"judge_judged": 0.0'

# A rollout by hand shows the same trajectories that the trial sent.
must_run -C store rollout 000 --n 1 --group --format jsonl
cp out attempts.jsonl
must_equal 4 "$(wc -l <attempts.jsonl)"
run judge attempts.jsonl -C store --endpoint "http://127.0.0.1:$port/v1" --model test
must_exit 0
must_equal 4 "$(wc -l <out)"
must_have out '"analysis":["'

# ---- as the guide shows it ----
mkdir -p runs && cp -r store runs/hop && cp attempts.jsonl runs/attempts.jsonl && cp judged.json recipe.json
sed -n "/--check/d; s|http://127.0.0.1:8000|http://127.0.0.1:$port|g; s|some-model|test|g; s|^\(lineage [a-z]* .*--set judge.endpoint=.*\)|\1 -q|p; s|^\(lineage judge .*--endpoint.*\)|\1|p" \
    "$SOURCE/cli/man/judging.md" >commands
must_equal 2 "$(wc -l <commands)" 'commands in the guide'
while read -r _ arguments; do
    # shellcheck disable=SC2086 # as a shell would split it; a redirection is this test's own
    run ${arguments%% > *}
    must_exit 0
done <commands
must_equal '3 trials' "$(($(wc -l <runs/hop/results.tsv) - 1)) trials"

# ---- the key is in no file, and no password is asked for ----
must_equal '' "$(grep -rlF "$key" store out err)" 'files with the key'
LINEAGE_JUDGE_KEY=wrong
run train judged.json -C refused -q
must_exit 1
must_equal crash "$(field refused 9)"
must_have refused/results.tsv 'HTTP 401 (key refused)'
must_have refused/results.tsv 'max_failed_share is 0.2'
LINEAGE_JUDGE_KEY=$key

# ---- a judge that fails sometimes ----
exec 9>&-
serve
judged 1
run train judged.json -C gone -q --set "judge.endpoint=http://127.0.0.1:1/v1"
must_exit 1
must_equal crash "$(field gone 9)"
must_have gone/results.tsv 'the judge left'
must_run train judged.json -C gone -q --set "judge.endpoint=http://127.0.0.1:1/v1" --set judge.max_failed_share=1 \
    --set judge.deadline=0.2 --set judge.timeout=0.2
must_have gone/telemetry/001.json '"judge_failed": 1.0'
run train judged.json -C gone -q --set judge.key_env=NO_SUCH_KEY
must_exit 1
must_equal preflight_crash "$(field gone 9)"
must_have gone/results.tsv 'NO_SUCH_KEY'

# ---- limits and signals while the trial waits for the judge ----
exec 9>&-
serve --delay 600000
judged 600
run train judged.json -C wall -q --set budget.train_seconds=3
must_exit 1
must_equal train_budget_overrun "$(field wall 9)"
: >requests
"$LINEAGE" train judged.json -C wall -q >out 2>err &
training=$!
wait_for test -s requests
child=$(child_of "$training")
tr '\0' '\n' <"/proc/$child/cmdline" >cmdline 2>/dev/null || : >cmdline
must_lack cmdline "$key"
kill -TERM "$training"
wait "$training"
status=$? # of the interrupted one
last='an interruption'
must_exit 130
must_equal harness_abort "$(field wall 9)"
must_equal '' "$(grep -rlF "$key" wall refused gone store)" 'files with the key'
exec 9>&-
wait
finish
