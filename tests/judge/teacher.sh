#!/bin/sh
# shellcheck disable=SC2154,SC2034 # shared with shell.sh and trainer.sh
# teacher.sh: a teacher behind an endpoint (algorithm.endpoint): the same trial as with the teacher's checkpoint, requests,
# retries, servers that answer wrongly, and no key in any file.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy
key=sk-test-0123456789abcdef
LINEAGE_JUDGE_KEY=$key && export LINEAGE_JUDGE_KEY

cat >student.json <<'END'
{
  "name": "student", "threads": 1,
  "world": {"regions": 2, "region_size": 2, "relations": 2},
  "model": {"width": 16, "heads": 2, "layers": 1, "mlp": 32},
  "start": {"warm_start": {"steps": 60, "batch": 16, "warmup": 5, "learning_rate": 0.02, "k_min": 1, "k_max": 2}},
  "environments": [{"name": "hopworld", "questions": 8, "k_min": 1, "k_max": 1, "max_turns": 2, "algorithm": {"name": "grpo"}}],
  "training": {"iterations": 3, "group_size": 4, "minibatch": 8},
  "evaluation": {"questions": 32, "every": 0}
}
END
must_run train student.json -C t -q --set start.warm_start.steps=150 --set iterations=0 --set name=teacher
teacher=$(echo t/snapshots/000_*/policy.ckpt)
[ -f "$teacher" ] || fail "no checkpoint of the teacher"
mkfifo stdin
python3 "$SOURCE/tests/judge/teacher.py" requests "$TOKEN_SCORES" "$teacher" "$key" <stdin >port 2>teacher.err &
exec 9>stdin
wait_for test -s port
url=http://127.0.0.1:$(cat port)/v1

# steps KEY: that number of every iteration of the newest trial, in order
steps()
{
    "$LINEAGE" -C t sql "SELECT value FROM step_metrics WHERE key = '$1' AND exp_id = (SELECT max(exp_id) FROM step_metrics)
        ORDER BY step" --format tsv | tail -n +2 | tr '\n' ' '
}

# near A B: two lists of numbers, each pair within a ten-thousandth
near()
{
    echo "$1 | $2" | awk '{ n = (NF - 1) / 2
        bad = n < 1
        for (i = 1; i <= n; i++) bad = bad || $i - $(i + n + 1) > 1e-4 || $(i + n + 1) - $i > 1e-4
        exit bad }' || fail "$3: $1 is not near $2"
}

# ---- the same trial as with a checkpoint ----
must_run train student.json -C t -q --set algorithm=opd --set teacher="$teacher"
by_file=$(steps ref_kl) masked=$(steps ref_kl/is_masked)
must_equal 3 "$(echo $by_file | wc -w)" "ref_kl of three iterations"
must_run train student.json -C t -q --set algorithm=opd --set algorithm.endpoint.base_url="$url" --set algorithm.endpoint.name=good
by_cache=$(steps ref_kl)
near "$by_file" "$by_cache" "the distance to the teacher"
near "$masked" "$(steps ref_kl/is_masked)" "the trust region"
must_have t/results.tsv "algorithm.endpoint.base_url=$url; algorithm.endpoint.name=good"
must_equal 3 "$(grep -c '^good 32 ' requests)" "32 rollouts of an iteration in one request"

# ---- answers are kept by the request: a trial that is repeated, or resumed after it was killed, asks nothing twice ----
must_equal 3 "$(grep -c '^{"request":"[0-9a-f]\{32\}","log_probs":\[-' t/teacher-cache.jsonl)" 'one line for each request'
: >requests
must_run train student.json -C t -q --set algorithm=opd --set algorithm.endpoint.base_url="$url" --set algorithm.endpoint.name=good
must_equal 0 "$(wc -l <requests)" 'requests of a trial that is repeated'
must_equal "$by_cache" "$(steps ref_kl)" 'the same numbers to the last digit'
must_run -C t verify
: >requests
set -- train student.json -C again -q --set algorithm=opd --set iterations=12 --set algorithm.endpoint.base_url="$url" \
    --set algorithm.endpoint.name=pauses
"$LINEAGE" "$@" --resume run.state --save-every 5 >out 2>err </dev/null &
training=$!
wait_for test -e paused || fail 'no eighth request'
must_equal 7 "$(wc -l <requests)" 'answered before the kill'
kill -KILL "$(child_of "$training")"
wait "$training"
: >go
must_run "$@" --resume run.state --save-every 5
must_have again/results.tsv 'resumed_after=5'
must_equal 12 "$(sort -u requests | wc -l)" 'different requests'
must_equal 12 "$(wc -l <requests)" 'none is made twice'
cp t/teacher-cache.jsonl bad.jsonl
sed 's/"log_probs":\[/"log_probs":[0,/' bad.jsonl >t/teacher-cache.jsonl
printf '{"request":"0000' >>t/teacher-cache.jsonl
must_run train student.json -C t -q --set algorithm=opd --set algorithm.endpoint.base_url="$url" --set algorithm.endpoint.name=good
must_equal "$by_cache" "$(steps ref_kl)" 'a damaged file spoils nothing'
rm -f t/teacher-cache.jsonl
for model in backwards busy; do
    : >requests
    must_run train student.json -C t -q --set algorithm=opd --set algorithm.endpoint.base_url="$url" \
        --set algorithm.endpoint.name=$model --set algorithm.endpoint.backoff=0.01
    near "$by_file" "$(steps ref_kl)" "$model"
done
must_equal 6 "$(grep -c '^busy' requests)" "each request is made again"

# ---- several requests at a time, as many as the recipe says; what is learnt is the same ----
many() { # CONCURRENCY NAME
    must_run train student.json -C t -q --set algorithm=opd --set questions=128 --set iterations=1 \
        --set algorithm.endpoint.base_url="$url" --set algorithm.endpoint.concurrency="$1" --set algorithm.endpoint.name="$2"
    steps ref_kl
}
one=$(many 1 good)
: >requests
must_equal "$one" "$(many 2 together)" 'the distance to the teacher'
[ "$(wc -l <requests)" -gt 2 ] || fail "too few requests for two at a time: $(cat requests)"
must_run train student.json -C t -q --set algorithm=opd --set questions=128 --set iterations=1 --set algorithm.endpoint.base_url="$url" \
    --set algorithm.endpoint.concurrency=3 --set algorithm.endpoint.name=good
must_equal "$one" "$(steps ref_kl)" 'answers are found again'

# A request that fails ends the others: the trial does not wait for their deadline of five minutes.
run train student.json -C t -q --set algorithm=opd --set questions=128 --set iterations=1 --set algorithm.endpoint.base_url="$url" \
    --set algorithm.endpoint.concurrency=3 --set algorithm.endpoint.name=half
must_exit 1
tail -n 1 t/results.tsv | cut -f 14 >seconds
[ "$(cut -d. -f1 seconds)" -lt 250 ] || fail "it took $(cat seconds) s"
tail -n 1 t/results.tsv >last
must_have last 'one fails'

# For failed rollouts beside an algorithm with advantages, by the object that prime-rl has.
sed 's#"name": "grpo"#"name": "grpo", "distill": {"how": "loss"}, "teacher": {"name": "good", "base_url": "'"$url"'"}#' student.json >k2.json
must_run train student.json -C t -q --set algorithm.distill.how=loss --set teacher="$teacher"
gap=$(steps opd/gap) loss=$(steps opd/kd_loss)
must_run train k2.json -C t -q
near "$gap" "$(steps opd/gap)" "the gap"
near "$loss" "$(steps opd/kd_loss)" "the loss"
must_run rollout k2.json --n 1 --checkpoint "$teacher"
must_run preflight k2.json

# ---- wrong answers end the trial, and its row says why ----
wrong()
{
    run train student.json -C t -q --set algorithm=opd --set algorithm.endpoint.base_url="$url" --set algorithm.endpoint.name="$1" \
        --set algorithm.endpoint.backoff=0.01 --set algorithm.endpoint.deadline="${3:-60}"
    must_exit 1
    tail -n 1 t/results.tsv >last
    grep -qF -- "$2" last || fail "$1: the row does not say '$2': $(cat last)"
}
wrong plain 'does not return log-probs of a prompt'
wrong generated 'does not return log-probs of a prompt'
wrong short 'fewer log-probs than its prompt has tokens'
wrong template 'the server adds tokens of its own'
wrong usage 'its model has another tokenizer, or a template'
wrong text 'the log-prob of a token is not a number'
wrong positive 'a log-prob of algorithm.endpoint is 0.5, not a number up to 0'
wrong infinite 'a log-prob of algorithm.endpoint is -inf'
wrong fewer 'not one choice for each prompt'
wrong twice 'not numbered 0, 1, ..'
wrong wrong 'echo is not supported'
wrong llama 'Only no echo is supported'
must_equal 1 "$(grep -c '^llama' requests)" 'it is not asked again'
wrong key 'key refused'
wrong prose 'not a JSON object' 1
exec 9>&-
run train student.json -C t -q --set algorithm=opd --set algorithm.endpoint.base_url=http://127.0.0.1:1/v1 \
    --set algorithm.endpoint.name=m --set algorithm.endpoint.backoff=0.01 --set algorithm.endpoint.deadline=0.3
must_exit 1
grep -rlF -- "$key" t >found && fail "the key is in $(cat found)"

# ---- refused ----
refused() { # MESSAGE SETTING..
    message=$1
    shift
    for setting in "$@"; do set -- "$@" --set "$setting"; shift; done
    must_fail 2 "$message" train student.json -C t "$@"
}
refused 'algorithm.endpoint.name is missing' algorithm=opd algorithm.endpoint.base_url="$url"
refused 'are two teachers' algorithm=opd algorithm.endpoint.base_url="$url" algorithm.endpoint.name=m teacher="$teacher"
refused 'nothing reads it' algorithm.endpoint.base_url="$url"
refused 'nothing reads it' algorithm=sft teacher="$teacher" algorithm.endpoint.base_url="$url" algorithm.endpoint.name=m
refused 'must begin with http' algorithm=opd algorithm.endpoint.base_url=127.0.0.1 algorithm.endpoint.name=m
refused 'must not hold a password' algorithm=opd algorithm.endpoint.base_url=http://a:b@c/v1 algorithm.endpoint.name=m
refused 'or algorithm.endpoint.base_url' algorithm=opd
refused 'its distance to itself is 0' algorithm=opd teacher=policy
unset LINEAGE_JUDGE_KEY
run train student.json -C t -q --set algorithm=opd --set algorithm.endpoint.base_url="$url" --set algorithm.endpoint.name=m \
    --set algorithm.endpoint.key_env=NO_SUCH_KEY
must_exit 1
tail -n 1 t/results.tsv >last
grep -q 'NO_SUCH_KEY' last || fail "no missing key in the row"

# The live policy with a hint, by the same word as in prime-rl.
must_run train student.json -C live -q --set algorithm=opsd --set teacher=policy
must_run train student.json -C live -q --set algorithm.distill.how=advantage --set teacher=policy
must_have live/results.tsv 'algorithm.distill.teacher=policy'
finish
