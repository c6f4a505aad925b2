#!/bin/sh
# core.sh: `lineage core`: numbers from the training core, and refused input.
. "$SOURCE/tests/support/shell.sh"

must_run core --list
for family in agg_loss policy_loss a2tgpo_advantage; do
    must_equal 1 "$(grep -cx "$family" out)" "core --list"
done

# The mean over the three tokens that count, and its gradient.
cat >case.json <<'JSON'
{"loss_agg_mode": "token-mean", "loss_mat": [[1.0, 2.0], [4.5, 100.0]], "loss_mask": [[1, 1], [1, 0]]}
JSON
must_run core agg_loss case.json
must_equal 2.5 "$(json loss)"
must_run core agg_loss case.json --float
must_equal 2.5 "$(json loss)"
printf '{"inputs": %s}' "$(cat case.json)" >wrapped.json
must_run core agg_loss wrapped.json
must_equal 2.5 "$(json loss)"
last="lineage core agg_loss <case.json"
must_equal 2.5 "$("$LINEAGE" core agg_loss <case.json | "$JSON_GET" loss)"

# A threshold may be written as a number, and prompts may lack an anchor.
printf '{"response_mask": [[1, 1]], "train_log_prob": [[-1, -3]], "rollout_log_prob": [[-1, -1]],
    "rollout_rs": "token_k2", "rollout_rs_threshold": 1.5}' >case.json
must_run core rollout_correction case.json
must_equal '[[1,0]]' "$(json modified_response_mask)"
printf '{"kind": "anchor", "rewards": [1], "lengths": [9], "anchor": null}' >case.json
must_run core length_penalty case.json
must_equal '[1.0]' "$(json rewards)"

must_fail 2 "name a kernel" core
must_fail 2 "did you mean 'agg_loss'" core agg_los case.json
must_fail 2 "cannot read nowhere.json" core agg_loss nowhere.json
for text in '{' '[]' '{}' '{"inputs": 3}' '{"inputs": {}}' 'null' \
    '{"loss_agg_mode": "mean", "loss_mat": [[1.0]], "loss_mask": [[1]]}' \
    '{"loss_agg_mode": "token-mean", "loss_mat": [[1.0], [1.0, 2.0]], "loss_mask": [[1], [1]]}' \
    '{"loss_agg_mode": "token-mean", "loss_mat": [["x"]], "loss_mask": [[1]]}' \
    '{"loss_agg_mode": "token-mean", "loss_mat": 1.0, "loss_mask": [[1]]}' \
    '{"loss_agg_mode": "token-mean", "loss_mat": [[1.0]], "loss_mask": [[2]]}' \
    '{"loss_agg_mode": "token-mean", "loss_mat": [[1.0, 2.0]], "loss_mask": [[1]]}'; do
    printf '%s' "$text" >bad.json
    must_fail 2 "lineage: " core agg_loss bad.json
done

# No kernel reads what it refused; the unit test rlcase_arrays has more of such inputs.
"$LINEAGE" core --list >families
echo '{"inputs": {}}' >bad.json
while read -r family; do
    status=0
    "$LINEAGE" core "$family" bad.json >out 2>err || status=$?
    must_equal 2 $status "core $family without inputs"
done <families
for values in 3 '[3]'; do
    echo "{\"turn_values\": $values}" >bad.json
    must_fail 2 'inputs.turn_values' core turn_accumulate bad.json
done

# A row of another length, a value of a mask, and a token are named with their index.
named()
{
    echo "$2" >bad.json
    must_fail 2 "$3" core "$1" bad.json
}
named agg_loss '{"loss_agg_mode": "token-mean", "loss_mat": [[1, 2], [1]], "loss_mask": [[1, 1], [1, 1]]}' 'inputs.loss_mat[1] has 1 positions'
named agg_loss '{"loss_agg_mode": "token-mean", "loss_mat": [[1, 2]], "loss_mask": [[1, "x"]]}' 'inputs.loss_mask[0][1] is not 0 or 1'
must_equal '' "$(grep boolean err)"
for ids in 'token_ids": [1.0], "mask": [1]' 'mask": [2], "token_ids": [1]'; do
    named prime_pack "{\"seq_len\": 4, \"num_train_workers\": 1, \"pad_to_multiple_of\": 1, \"samples\": [{\"$ids, \"logprobs\": [-1],
        \"temperatures\": [1], \"advantages\": [1], \"env_name\": \"x\"}]}" "inputs.samples[0].${ids%%\"*}[0] is not "
done

# A misspelt input would give the result of the default. Beside `inputs` only names of inputs of the kernel are refused.
policy='"loss_agg_mode": "token-mean", "response_mask": [[1, 1]], "old_log_prob": [[-1, -1]], "log_prob": [[-0.5, -1]], "advantages": [[1, 1]]'
kernel()
{
    printf '%s' "$2" >case.json
    if [ -n "${3:-}" ]; then must_fail 2 "$3" core $1 case.json; else must_run core $1 case.json; fi
}
kernel policy_loss "{\"name\": \"n\", \"id\": 7, \"comment\": \"c\", \"inputs\": {\"loss\": \"vanilla\", $policy, \"clip_ratio_high\": 0.9}}"
kernel policy_loss "{\"loss\": \"vanilla\", $policy, \"clip_ratio_hi\": 0.9}" 'inputs.clip_ratio_hi: unknown; the nearest known one is clip_ratio_high'
kernel policy_loss "{\"loss\": \"vanilla\", $policy, \"rollout_is_weight\": null}" 'known one is rollout_is_weights'
kernel length_penalty '{"kind": "uniform", "rewards": [1], "lengths": [5], "coeff": 0.1}' 'inputs.coeff: unknown; the nearest known one is coef'
kernel policy_loss "{\"inputs\": {\"loss\": \"vanilla\", $policy}, \"clip_ratio_high\": 0.9}" 'clip_ratio_high is beside `inputs`, where nothing reads it'
kernel policy_loss "{\"family\": \"agg_loss\", \"inputs\": {\"loss\": \"vanilla\", $policy}}" 'the case is one of agg_loss'
kernel policy_loss "{\"loss\": \"vanilla\", $policy, \"clip_ratio_high\": 0.9, \"clip_ratio_high\": 0.2}" 'duplicate'
kernel advantage '{"estimator": "grppo", "response_mask": [[1]], "token_level_rewards": [[1]], "group_index": [0]}' 'the nearest known one is grpo'
kernel advantage '{"estimator": "grpo", "response_mask": [[1]], "token_level_rewards": [[1]], "group_index": [9007199254740992.0]}' \
    'group_index[0] is at or above 2^53'

# An input that another estimator or loss reads was perhaps meant for that one.
unread()
{
    printf '%s' "$2" >case.json
    "$LINEAGE" core $1 case.json >out 2>err || fail "$1 with an input that it does not read"
    must_have err "warning: inputs.$3 has no effect"
}
row='"response_mask": [[1]], "token_level_rewards": [[1]], "group_index": [0]'
unread advantage "{\"estimator\": \"grpo\", \"gamma\": 0.9, $row}" gamma
unread prm_schedule '{"enable": false, "global_step": 0, "prm_steps": 1, "alpha": 1, "step_flags": "none"}' step_flags
unread rollout_correction '{"response_mask": [[1]], "train_log_prob": [[-1]], "rollout_log_prob": [[-1]], "rollout_is_threshold": -3}' rollout_is_threshold
unread rollout_correction '{"response_mask": [[1]], "train_log_prob": [[-1]], "rollout_log_prob": [[-1]], "rollout_rs_threshold": 3}' rollout_rs_threshold
unread advantage "{\"estimator\": \"rloo\", \"epsilon\": 0.5, $row}" epsilon
unread policy_loss "{\"loss\": \"gspo\", $policy, \"clip_ratio_c\": 5}" clip_ratio_c
# A default, null, false and the settings of a switch that is off by name ask for nothing. Whatever is given is checked.
quiet()
{
    kernel "$@"
    must_equal '' "$(cat err)"
}
correct='"response_mask": [[1]], "train_log_prob": [[-1]], "rollout_log_prob": [[-1]]'
cosine='"enable": false, "global_step": 0, "prm_steps": 1, "alpha": 1'
compose='"loss_agg_mode": "token-mean", "response_mask": [[1]], "log_prob": [[-1]], "sampler_log_prob": [[-1]], "advantages": [[1]]'
quiet policy_loss "{\"loss\": \"gspo\", $policy, \"clip_ratio_c\": 3, \"tau_neg\": 1.05}"
quiet rollout_correction "{$correct, \"rollout_is_batch_normalize\": false, \"rollout_is_metrics\": \"raw\"}"
quiet prm_schedule "{$cosine, \"alpha_cosine_decay_enable\": false, \"alpha_min\": 0.2, \"total_steps\": 9}"
quiet compose_corrections "{$compose, \"opsm_unit\": null, \"opsm_per_token\": false, \"tau_pos\": 1, \"tau_neg\": 1.05}"
quiet compose_corrections "{$compose, \"opsm_lower\": null, \"opsm_unit\": \"turn\"}"
unread compose_corrections "{$compose, \"opsm_unit\": \"turn\"}" opsm_unit
unread compose_corrections "{$compose, \"tau_pos\": 2}" tau_pos
unread prm_schedule "{$cosine, \"alpha_min\": 0.2}" alpha_min
unread rollout_correction "{$correct, \"rollout_is_metrics\": \"applied\"}" rollout_is_metrics
for off in '' '"rollout_is": null, "rollout_rs": null,' '"rollout_is": "none",'; do
    for wrong in 'is_metrics": "x"' 'is_batch_normalize": "yes"' 'is_threshold": "foo"' 'rs_threshold": true'; do
        kernel rollout_correction "{$correct, $off \"rollout_$wrong}" "inputs.rollout_${wrong%%\"*} is"
    done
done
kernel prm_schedule "{$cosine, \"alpha_cosine_decay_enable\": false, \"alpha_min\": \"x\"}" 'alpha_min is not a number'
kernel prm_schedule "{$cosine, \"alpha_cosine_decay_enable\": false, \"total_steps\": 1.5}" 'total_steps is not a whole number'
kernel compose_corrections "{$compose, \"opsm_unit\": \"typo\"}" "opsm_unit is 'typo'"
kernel compose_corrections "{$compose, \"opsm_per_token\": \"yes\"}" 'opsm_per_token is not true or false'
# Sizes of the whole batch may always be given.
quiet policy_loss "{\"loss\": \"vanilla\", $policy, \"clip_ratio_c\": 3, \"global_batch_size\": 1, \"batch_num_tokens\": 2, \"loss_scale_factor\": 2}"
# verl's configurations keep the threshold where they switch the weights off.
quiet rollout_correction "{$correct, \"rollout_is\": null, \"rollout_is_threshold\": 2.0}"

# Sizes that only an empty dimension hides, a number of passes below 1.
routes='"sampler_routes": [[[[0]]]], "used_routes": [[[[0]]]], "n_experts": 2'
kernel routing_replay "{\"response_mask\": [[1]], $routes}"
kernel routing_replay "{\"response_mask\": [], $routes}" 'inputs.sampler_routes is not a list of 0 rows'
kernel routing_replay "{\"response_mask\": [[]], $routes}" 'inputs.sampler_routes[0] is not a list of 0 positions'
tree='"engine": "same", "synchrony": "synchronous", "model": "dense", "trajectory": "single"'
kernel correction_tree "{$tree, \"global_batch\": 8, \"mini_batch\": 8, \"epochs\": -1}" 'inputs.epochs is -1, not a whole number'
kernel correction_tree "{$tree, \"global_batch\": 8, \"mini_batch\": 8, \"epochs\": 1.5}" 'inputs.epochs is 1.5, not a whole number'
kernel correction_tree "{$tree, \"global_batch\": 8, \"mini_batch\": 2.5}" 'mini batch 2.5 and global batch 8 are invalid: use whole numbers'
kernel correction_tree "{$tree, \"global_batch\": 8.5, \"mini_batch\": 2}" 'mini batch 2 and global batch 8.5 are invalid'
kernel episode_starts '{"text": "Wait", "token_offsets": [0, 4], "max_tokens": -1}' 'inputs.max_tokens is negative; 0 means no limit'
kernel episode_starts '{"text": "Wait, no.", "token_offsets": [0, 5]}' 'token_offsets ends at 5, not at the 9 bytes of the text'

# Numbers of a whole batch that is smaller than this part of it.
kernel policy_loss "{\"loss\": \"vanilla\", $policy, \"batch_num_tokens\": 1}" 'batch_num_tokens is 1, but this part alone has 2'
kernel policy_loss "{\"loss\": \"gspo\", $policy, \"global_batch_size\": 0.5}" 'global_batch_size is 0.5, but this part alone has 1'
kernel policy_loss "{\"loss\": \"sapo\", $policy, \"dp_size\": 1.5}" 'dp_size is 1.5'
stream='"trainer_logprobs": [[-2.0, -1.0]], "inference_logprobs": [[-2.1, -1.0]], "advantages": [[1.0, 1.0]], "loss_mask": [[1, 1]]'
kernel prime_loss "{\"rl_loss\": \"default\", $stream, \"rl_scale\": 1.5}" 'rl_scale is 1.5, but this part alone has 2 members'
kernel prime_loss "{\"rl_loss\": \"default\", $stream, \"ce_weights\": [[1, 0]]}"
must_equal '{"ce":1,"ref_kl":0,"rl":2}' "$(json counts)"
kernel 'prime_loss --float' '{"rl_loss": "ipo", "trainer_logprobs": [[-2]], "inference_logprobs": [[-91]], "advantages": [[1]], "loss_mask": [[1]]}' \
    'importance ratio[0][0] is inf'

# gspo follows the aggregation; sapo, whose definition fixes it, says so.
rows='"response_mask": [[1, 1, 1, 1], [1, 0, 0, 0]], "log_prob": [[-1, -1, -1, -1], [-1, 0, 0, 0]], "old_log_prob": [[-1, -1, -1, -1], [-1, 0, 0, 0]],
    "advantages": [[1, 1, 1, 1], [-1, -1, -1, -1]]'
kernel policy_loss "{\"loss\": \"gspo\", \"loss_agg_mode\": \"token-mean\", $rows}"
must_equal -0.6 "$(printf %.12g "$(json loss)")"
kernel policy_loss "{\"loss\": \"gspo\", \"loss_agg_mode\": \"seq-mean-token-sum\", $rows}"
must_equal -1.5 "$(json loss)"
printf '{"loss": "sapo", "loss_agg_mode": "token-mean", %s}' "$rows" >case.json
"$LINEAGE" core policy_loss case.json >out 2>err || fail 'sapo with token-mean'
must_have err 'warning: inputs.loss_agg_mode has no effect: sapo is always seq-mean-token-mean'

# The outcome of a rollout that ends with a tool's answer: no estimator loses it in silence.
tool='"response_mask": [[1, 1, 0], [1, 1, 0]], "group_index": [0, 0], "token_level_rewards": [[0, 0, 1], [0, 0, 0]]'
lost='token_level_rewards[0][2] is 1, but its mask is 0'
energies='"old_log_prob": [[-1, -1, 0], [-1, -1, 0]], "sum_pi_squared": [[0.5, 0.5, 0], [0.5, 0.5, 0]]'
kernel advantage "{\"estimator\": \"gae\", \"values\": [[0, 0, 0], [0, 0, 0]], $tool}" "$lost"
kernel advantage "{\"estimator\": \"reinforce_plus_plus\", \"through_holes\": true, $tool}" "$lost"
kernel advantage "{\"estimator\": \"tir_optimal_token_baseline\", $energies, $tool}" "$lost"
kernel a2tgpo_advantage "{\"info_gain_norm_mode\": \"joint\", \"turn_id\": [[0, 0, -1], [0, 0, -1]], $tool}" "$lost"
kernel process_advantage "{\"event\": [[0, 0, 0], [0, 0, 0]], $tool}" 'is 1, but event[0][2] is 0'
kernel advantage "{\"estimator\": \"grpo\", $tool}"
for estimator in remax reinforce_plus_plus optimal_token_baseline; do
    more=
    [ $estimator = remax ] && more='"reward_baselines": [0, 0],'
    [ $estimator = optimal_token_baseline ] && more="$energies,"
    printf '{"estimator": "%s", %s %s}' $estimator "$more" "$tool" >case.json
    "$LINEAGE" core advantage case.json >out 2>err || fail "$estimator with a reward at mask 0"
    must_have err "warning: $estimator: token_level_rewards"
done

# Distillation: parts of a batch add up with its numbers, and numbers that contradict a part are refused.
teach='"rl_advantages": [[0]], "log_prob": [[-1]], "teacher_log_prob": [[-4]], "response_mask": [[1]], "group_index": [1], "horizon": 10, "kd_coef": 1'
kernel distillation "{$teach, \"rewards\": [0], \"normalise\": false, \"eligible_tokens\": 5, \"dp_size\": 2, \"pass_rate_threshold\": 1}"
must_equal 1.8 "$(json kd_loss)"
kernel distillation "{$teach, \"rewards\": [0], \"normalise\": false, \"pass_rate\": [0.5], \"pass_rate_threshold\": 0.4}"
must_equal 0 "$(json eligible_tokens)"
kernel distillation "{$teach, \"rewards\": [0], \"normalise\": true, \"eligible_tokens\": 5, \"pass_rate_threshold\": 1}" 'normalise needs the whole batch'
kernel distillation "{$teach, \"rewards\": [1], \"normalise\": false, \"pass_rate\": [0], \"pass_rate_threshold\": 1}" 'but the reward of the row is 1'
kernel distillation "{$teach, \"rewards\": [0], \"normalise\": false, \"dp_size\": 2, \"pass_rate_threshold\": 1}" 'eligible_tokens of the whole batch is needed'

# Sizes that would fill the memory, and streams that would train on the wrong tokens.
one='"env_name": "e", "token_ids": [7], "mask": [1], "logprobs": [-1], "temperatures": [1], "advantages": [1]'
pack()
{
    printf '{"seq_len": 8, "num_train_workers": %s, "pad_to_multiple_of": %s, "samples": [{%s}]}' "$1" "$2" "$one" \
        >pack.json
}
pack 3 4
must_run core prime_pack pack.json
must_equal 3 "$(json workers.#)"
pack 2000000000 4
must_fail 2 "num_train_workers is 2000000000" core prime_pack pack.json
pack 3 2000000000
must_fail 2 "3 micro batches hold 6000000000 tokens" core prime_pack pack.json

# Members of objects in a case: a misspelt one, or one of another type, would have been the default in silence.
kernel prime_pack "{\"seq_len\": 8, \"num_train_workers\": 1, \"pad_to_multiple_of\": 1, \"samples\": [{${one}, \"ref_logprob\": [1]}]}" \
    'inputs.samples[0].ref_logprob: unknown; the nearest known one is ref_logprobs'
kernel prime_pack '{"seq_len": 8, "num_train_workers": 1, "pad_to_multiple_of": 1, "samples": [{"env_name": "e", "token_ids": [7], "mask": [1], "logprobs": [-1], "temperatures": [1]}]}' \
    'advantages are missing for a token of the rl stream'
kernel prime_pack '{"seq_len": 8, "num_train_workers": 1, "pad_to_multiple_of": 1, "samples": [3]}' 'inputs.samples[0] is not an object'
trace='"reward": 1, "num_output_tokens": 3'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace}, {$trace}]]}"
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace, \"has_eror\": true}, {$trace}]]}" 'groups[0][0].has_eror: unknown; the nearest known one is has_error'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace}, {$trace, \"has_error\": 1}]]}" 'groups[0][1].has_error is not true or false'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace}, {$trace, \"trainable\": \"no\"}]]}" 'groups[0][1].trainable is not true or false'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace}, {$trace, \"agent\": 3}]]}" 'groups[0][1].agent is not a text'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [{$trace}]}" 'inputs.groups[0] is not a list'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace}, {$trace}]], \"length_penalty\": 0.1}" 'inputs.length_penalty is not an object'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace}, {$trace}]], \"length_penalty\": {\"num_turn_weight\": 1}}" 'the nearest known one is num_turns_weight'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace}, {$trace}]], \"length_penalty\": {\"num_turns_weight\": -1}}" 'one is negative or not finite'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace}, {$trace}]], \"episode_agents\": \"a\"}" 'episode_agents is not a list'
kernel prime_advantage "{\"algorithm\": \"grpo\", \"groups\": [[{$trace}, {$trace}]], \"episode_agents\": [3]}" 'episode_agents[0] is not a text'
kernel prime_streams '{"algorithm": "grpo", "advantage": 1, "branches": [[0]], "nodes": [{"role": "assistant", "sampled": true, "tokens": 1, "mask": [1], "is_contents": [1]}]}' \
    'inputs.nodes[0].is_contents: unknown; the nearest known one is is_content'

# prime-rl refuses weights below 0; true among the numbers of ragged rows was 1.
stream='"trainer_logprobs": [[-2, -1]], "inference_logprobs": [[-2.1, -1]], "loss_mask": [[true, 1]]'
kernel prime_loss "{\"rl_loss\": \"default\", $stream, \"advantages\": [[1, 1]]}"
kernel prime_loss "{\"rl_loss\": \"default\", $stream, \"advantages\": [[true, 1]]}" 'inputs.advantages[0][0] is not a number'
for setting in 'default dppo_mask_low' 'default dppo_mask_high' 'ipo ipo_threshold' 'ipo adv_tau' 'default kl_tau'; do
    kernel prime_loss "{\"rl_loss\": \"${setting% *}\", $stream, \"advantages\": [[1, 1]], \"${setting#* }\": -0.1}" "${setting#* } is -0.1, negative or not"
done
# Bounds of the other kind are not read, and weights may be masks.
unread prime_loss "{\"rl_loss\": \"ipo\", $stream, \"advantages\": [[1, 1]], \"dppo_mask_low\": -1}" dppo_mask_low
for weights in rl_weights ce_weights ref_kl_weights; do
    kernel prime_loss "{\"rl_loss\": \"default\", $stream, \"advantages\": [[1, 1]], \"ref_logprobs\": [[-1, -1]], \"$weights\": [[true, false]]}"
done
kernel turn_normalize '{"turn_values": [[true, 1]], "group_index": [0]}' 'inputs.turn_values[0][0] is not a number'

# KL with the unbiased gradient off policy: k3 times the ratio.
kl='"kl_penalty": "k3", "log_prob": [[-1]], "ref_log_prob": [[-1.5]], "old_log_prob": [[-1.25]]'
kernel kl_penalty "{$kl}"
must_equal '0.642013 0.136788' "$(printf '%.6f %.6f' "$(json d_log_prob | tr -d '[]')" "$(json kl | tr -d '[]')")"
kernel kl_penalty "$(printf '{%s}' "$kl" | sed 's/k3/k3+/')" 'leave out the +'

nodes='[{"role": "user", "sampled": false, "tokens": 1, "mask": [0]},
        {"role": "assistant", "sampled": true, "tokens": 2, "mask": [1, 1]}]'
streams()
{
    printf '{"algorithm": "%s", "nodes": %s, "branches": [[0, %s]], %s}' "$1" "$nodes" "$2" "$3" >streams.json
}
streams reward 1 '"advantage": [0.5, 2]'
must_run core prime_streams streams.json
must_equal 1 "$(json samples.#)"
streams grop 1 '"advantage": 1'
must_fail 2 "no algorithm 'grop'; the nearest known one is grpo" core prime_streams streams.json
streams grpo 1 '"advantage": null'
must_fail 2 "trains with rl, but has no advantage" core prime_streams streams.json
streams opd 1 '"ref_logprobs": null'
must_fail 2 "has no reference log-prob" core prime_streams streams.json
streams opd 1 '"ref_logprobs": [[-1, -1]]'
must_fail 2 "not a list of 3 entries" core prime_streams streams.json
streams grpo 2 '"advantage": 1'
must_fail 2 "node 2 does not exist, the tree has 2" core prime_streams streams.json
streams grpo '1, 1' '"advantage": 1'
must_fail 2 "node 1 occurs twice" core prime_streams streams.json
streams grpo 1 '"advantage": [1]'
must_fail 2 "not a number nor a list of 2" core prime_streams streams.json
streams echo 1 '"advantage": 1, "filter": []'
must_fail 2 "filter has 0 lists for 1 trainable branches" core prime_streams streams.json
streams echo 1 '"advantage": 1, "role_weights": {"tool": -1}'
must_fail 2 "weight of role 'tool' is -1" core prime_streams streams.json
streams echo 1 '"advantage": 1, "role_weights": {"tol": 1}'
must_fail 2 "role 'tol' has a weight, but no message has this role, and it is not system, user, assistant or tool" core prime_streams streams.json
streams echo 1 '"advantage": 1, "role_weights": {"environment": 1}'
sed -i 's/"role": "user"/"role": "environment"/' streams.json
must_run core prime_streams streams.json

# The example of the guide: figures of a dumped batch in a row.
if command -v jq >/dev/null; then
    sed -n '/^```sh elsewhere: tests\/cli\/core.sh$/,/^```$/p' "$SOURCE/cli/man/kernels.md" | grep -v '^```' >guide.sh
    mkdir guide && ln -s "$SOURCE/tests" guide/tests
    must_run init guide/runs/mine --direction higher
    (cd guide && PATH="$(dirname "$LINEAGE"):$PATH" sh -e ../guide.sh) >out 2>err || fail "the example of the guide: $(cat err)"
    must_run show -C guide/runs/mine 000 --format json
    must_equal '{"alpha":0.3,"beta":0.3,"gamma":1}' "$(json params)"
    must_equal '1.0154038 0.1286470' "$(printf '%.7f %.7f' "$(json ig_clip_scale_mean)" "$(json ig_clip_scale_std)")"
    must_equal '{"mean":0.25,"n":2,"std":0.21213203435596428,"turn":0}' "$(json turns.0)"
else
    echo 'left out: the example of the guide, which needs jq'
fi

finish
