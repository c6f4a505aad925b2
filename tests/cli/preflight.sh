#!/bin/sh
# shellcheck disable=SC2034,SC2154 # shared with shell.sh and trainer.sh
# preflight.sh: what a recipe would do, and whether it would be refused, without running it; and mixed runs, whose rows name
# the settings of all environments.
. "$SOURCE/tests/support/shell.sh"
. "$SOURCE/tests/support/trainer.sh"

# ---- a recipe that would run ----
must_run preflight tiny.json
must_have out '  environment 0: grpo on reverse, 4 questions in an iteration'
must_have out '  6 iterations of 16 rollouts and 4 updates; loss ppo, correction none, sampler float'
must_have out 'Missing corrections: none'
must_have out 'loss.clip_high         0.28        same   DAPO, arXiv 2503.14476'
must_have out 'The recipe would run.'
for bound in dppo_tv=0.15 dppo_kl=0.05; do # not ranges of ratios
    must_run preflight tiny.json --set "loss.name=${bound%=*}"
    must_lack out 'PPO, arXiv 1707.06347'
    must_equal 2 "$(grep -c "loss.clip_[a-z]* .* ${bound#*=} *DPPO, verl" out)" "advice for $bound"
done
must_run preflight tiny.json --format json
must_equal 'grpo reverse 4 null' "$(json plan.environments.0.algorithm) $(json plan.environments.0.environment) \
$(json plan.environments.0.questions) $(json refused)"
must_equal 1 "$(awk "BEGIN { print ($(json memory.total) > 1e6 && $(json memory.bytes.weights) > 1e4) }")"
[ ! -e t ] || fail 'preflight has made a store'

# ---- refused: settings without effect, memory, an adaptive clip without a range ----
run preflight tiny.json --set opsm.lower=0.7
must_exit 1
must_have out 'Refused: tiny.json: opsm.lower is 0.7, but nothing reads it: it needs opsm.unit rollout or turn'
must_lack out 'Plan of' # without the change it would be another plan
run preflight tiny.json --set opsm.lower=0.7 --format json
must_equal 'null 1' "$(json plan) $(json refused | grep -c opsm.lower)"
sed 's/"training"/"value": {"coef": 2}, "training"/' tiny.json >unread.json
run preflight unread.json --format json
must_exit 1
must_equal 'value.coef algorithm.name ppo true' "$(json without_effect.2.setting) $(json without_effect.2.needs) \
$(json without_effect.2.refused)"
must_equal 'start.warm_start.k_min false' "$(json without_effect.0.setting) $(json without_effect.0.refused)" "reverse has no hops"
run train unread.json -C t -q
must_exit 2
must_have err 'value.coef is 2, but nothing reads it: it needs algorithm.name ppo'
[ ! -e t ] || fail 'a refused recipe has made a store'
run preflight tiny.json --capacity 0.001
must_exit 1
must_have out 'of 0.001: does not fit'
run preflight tiny.json --set algorithm.name=turn-group-v1d --set loss.name=sapo
must_exit 1
must_have out 'algorithm.beta scales the clip range, which loss.name sapo does not have'
run preflight tiny.json --set sampler.precision=int8
must_exit 0
must_have out '  importance_weights: '

# ---- the paper's budget ----
must_run preflight tiny.json --envelope paper
must_have out '  weights 8 + lora 12 + kv_cache 9 + gain_forward 0 + retriever 5 = 34 of 128: fits'
run preflight tiny.json --envelope paper --capacity 30
must_exit 1
must_have out '= 34 of 30: does not fit'
for bad in weights weights=-1 weights=1x weights= tigers=3 capacity=0; do
    run preflight tiny.json --envelope "$bad"
    must_exit 2
    must_have err "--envelope: '$bad' is not PART=GB"
done
must_fail 2 "'weights=2' is not PART=GB, each part once" preflight tiny.json --envelope weights=1,weights=2
must_run preflight tiny.json --envelope weights=8,lora=12,capacity=20
must_have out '= 20 of 20: fits'

# ---- the envelope of a recipe: a trial that does not fit is size_blocked, also where it is the preflight of another program ----
for bad in "weights=8|envelope.parts names no capacity" "tigers=1|envelope.parts: 'tigers=1' is not PART=GB"; do
    run preflight tiny.json --set "envelope.parts=${bad%|*}"
    must_exit 1
    must_have out "Refused: tiny.json: ${bad#*|}"
done
run preflight tiny.json --set envelope.parts=weights=8,lora=12,capacity=16
must_exit 1
must_have out 'Refused: does not fit: 20.0 of 16.0 GB; the largest part is lora with 12.0 GB'
run train tiny.json -C blocked -q --set envelope.parts=weights=8,lora=12,capacity=16
must_equal size_blocked "$(tail -n 1 blocked/results.tsv | cut -f 9)" 'a recipe that does not fit'
must_have blocked/results.tsv 'envelope.parts: does not fit: 20.0 of 16.0 GB'
run run -C blocked -m em --preflight "$LINEAGE preflight tiny.json --envelope lora=12,capacity=8" -- touch started
must_equal size_blocked "$(tail -n 1 blocked/results.tsv | cut -f 9)" 'a preflight that says what does not fit'
must_have blocked/results.tsv 'does not fit: 12.0 of 8.0 GB'
[ ! -e started ] || fail 'a trial that does not fit has started'
run preflight tiny.json --envelope ''
must_exit 2
run preflight tiny.json --capacity 0
must_exit 2
run preflight tiny.json --format tsv
must_exit 2
run preflight missing.json
must_exit 2
echo '{"loss": {"dynamic_clip": true}}' >foreign.json
run preflight foreign.json
must_exit 2
must_have err 'for dynamic_clip of A2TGPO there is algorithm.beta above 0'

# ---- a mixed run ----
sed 's/"algorithm": {"name": "grpo"}}/&, {"name": "reverse", "questions": 4, "k_min": 1, "k_max": 2, "algorithm": {"name": "turn-group-v1d", "alpha": 0.9}}/' \
    tiny.json >mixed.json
must_run train mixed.json -C m -q --set correction.name=tis --set correction.cap=1000000
must_run tried -C m --param env1.alpha=0.9
run tried -C m --param env1.alpha=0.5
must_exit 1
must_have m/results.tsv 'algorithm=grpo'
must_have m/results.tsv 'env1.algorithm=turn-group-v1d'
must_have m/results.tsv 'inert: correction.cap, env1.alpha'
for name in entropy clip_fraction env0_loss env1_reward env1_kl; do
    must_run query -C m --param "$name=-100:100" --format tsv
    must_equal 2 "$(wc -l <out | tr -d ' ')" "$name"
done
for name in reward loss kl; do
    must_run -C m sql "SELECT count(*) FROM step_metrics WHERE exp_id = '000' AND key = 'env1/$name'" --format tsv
    must_equal 6 "$(tail -n 1 out)" "env1/$name"
done
must_run train mixed.json -C m -q --set env1.alpha=0.5
must_run tried -C m --param env1.alpha=0.5

# A recorded trial whose settings would be refused today can still be evaluated.
sed 's/"training": {/"value": {"coef": 2}, &/' m/snapshots/000_tiny/recipe.json >old.json
must_run eval old.json --checkpoint m/snapshots/000_tiny/policy.ckpt --seeds 1 --questions 4
finish
