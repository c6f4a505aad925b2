#!/bin/sh
# core_offpolicy.sh: `lineage core` on off-policy data: the decision tree, the composed loss, routes, diagnostics, OPSM,
# the envelope and dynamic n; and the input that they refuse.
. "$SOURCE/tests/support/shell.sh"

must_run core --list
for family in correction_tree compose_corrections envelope routing_replay diagnostics opsm passk_more; do
    must_equal 1 "$(grep -cx "$family" out)" "core --list has $family"
done

tree()
{
    printf '{"engine": "%s", "synchrony": "%s", "model": "%s", "trajectory": "%s",
             "global_batch": %s, "mini_batch": %s}' "$@" >tree.json
    must_run core correction_tree tree.json
}
tree same synchronous dense single 64 64
must_equal '[]' "$(json needed)" "on-policy"
tree different asynchronous moe agentic 256 64
must_equal R3 "$(json replay)"
must_equal 7 "$(json needed.#)"
tree same synchronous moe single 64 32
must_equal '["importance_weights","clip","routing_replay_r2"]' "$(json needed)"
# N is global batch over mini batch, whatever the epochs: 2 epochs of 2 updates are R2. One ratio for a sequence needs no replay.
for extra in '"epochs": 2 R2 3' '"epochs": 4 R2 3' '"ratio_level": "sequence" none 2'; do
    set -- $extra
    printf '{"engine": "same", "synchrony": "synchronous", "model": "moe", "trajectory": "single", "global_batch": 32,
             "mini_batch": 16, %s %s}' "$1" "$2" >tree.json
    must_run core correction_tree tree.json
    must_equal "$3 $4" "$(json replay) $(json needed.#)" "$extra"
done
tree same synchronous dense single 64 64
sed 's/}$/, "epochs": 2}/' tree.json >epochs.json
must_run core correction_tree epochs.json
must_equal '["clip"]' "$(json needed)" 'two epochs of one update'
printf '{"engine": "same", "synchrony": "synchronous", "model": "dense", "trajectory": "single",
         "global_batch": 32, "mini_batch": 64}' >bad.json
must_fail 2 "mini batch" core correction_tree bad.json

# exp(0.5) = 1.6487212707001282 is capped at 1.5; the tool's token is not counted.
cat >compose.json <<'JSON'
{"loss_agg_mode": "token-mean", "response_mask": [[1, 1, 1]], "tool_mask": [[0, 1, 0]], "backend_cap": 1.5,
 "log_prob": [[-1, 5, -1]], "proximal_log_prob": [[-1, -1, -1]], "behaviour_log_prob": [[-1, -1, -1]],
 "sampler_log_prob": [[-1.5, -1, -1]], "advantages": [[1, 1, 1]]}
JSON
must_run core compose_corrections compose.json
must_equal '[[1.5,0.0,1.0]]' "$(json backend)"
must_equal '[[1.0,0.0,1.0]]' "$(json staleness)"
must_equal '[[1,0,1]]' "$(json modified_response_mask)"
must_equal -1.25 "$(json loss)"
must_equal '[[-0.75,0.0,-0.5]]' "$(json d_log_prob)"
must_equal 0.5 "$(json metrics.backend_capped)"
must_run core compose_corrections compose.json --float
must_equal -1.25 "$(json loss)"

routes='{"response_mask": [[1, 1]], "n_experts": 4, "sampler_routes": [[[[0, 1]], [[2, 3]]]], "used_routes":'
printf '%s [[[[1, 0]], [[2, 1]]]]}' "$routes" >routes.json
must_run core routing_replay routes.json
must_equal 0.75 "$(json agreement)"
must_equal 0.5 "$(json exact)"
printf '%s [[[[1, 0]], [[2, 4]]]]}' "$routes" >routes.json
must_fail 2 "not an expert" core routing_replay routes.json
printf '%s [[[[1, 0]], [[2, 1]]]], "check_replayed": true}' "$routes" >routes.json
must_fail 2 "used[0][1][0]" core routing_replay routes.json

same='{"response_mask": [[1, 1, 0]], "train_log_prob": [[-1, -2, 0]], "rollout_log_prob": [[-1, -2, 9]]}'
echo "$same" >same.json
must_run core diagnostics same.json
must_equal 1.0 "$(json ess)"
must_equal 99 "$(json ratio_percentiles.#)"
must_run core opsm same.json
must_equal 0 "$(json n_dropped)"
echo '{"response_mask": [[1, 1]], "train_log_prob": [[-1, 900]], "rollout_log_prob": [[-1, -2]]}' >far.json
for family in diagnostics offpolicy_metrics rollout_correction; do
    must_fail 2 "train_log_prob[0][1]" core $family far.json
done

echo '{"parameters": 4e9, "n_layers": 36, "kv_width": 1024, "context": 8192, "sequences": 8,
       "kv_cache_bytes": 9.0e9, "retriever_bytes": 5e9, "capacity_bytes": 128e9}' >envelope.json
must_run core envelope envelope.json
must_equal 34000000000.0 "$(json total_bytes)"
must_equal true "$(json fits)"
echo '{"parameters": 7e10, "capacity_bytes": 128e9}' >envelope.json
must_run core envelope envelope.json
must_equal lora "$(json largest)"
must_equal false "$(json fits)"
echo '{"parameters": -1, "capacity_bytes": 128e9}' >envelope.json
must_fail 2 "parameters" core envelope envelope.json

echo '{"n": [8, 16, 8], "c": [0, 0, 2], "enough": 2, "budget": 20, "round": 8}' >more.json
must_run core passk_more more.json
must_equal '[8,4,0]' "$(json more)"
# IcePop: weights outside of the interval are 0. The metrics measure the ratios (verl up to 0.7.1) or the weights (since 0.8.0).
pair='"response_mask": [[1, 1], [1, 1]], "train_log_prob": [[-1, -1], [-2, -1]], "rollout_log_prob": [[-3, -1], [-1, -1.5]]'
printf '{%s, "rollout_is": "token", "rollout_is_threshold": "0.5_2"}' "$pair" >case.json
must_run core rollout_correction case.json
must_equal '[0.0,1.0]' "$(json rollout_is_weights.0)"
must_equal 0.5 "$(printf %.6g "$(json metrics.rollout_is_oob_ratio)")"
printf '{%s, "rollout_is": "token", "rollout_is_threshold": 2, "rollout_is_metrics": "applied"}' "$pair" >case.json
must_run core rollout_correction case.json
must_equal '1.25415 2 0.624909 0.801105 1.5' "$(for metric in mean max std eff_sample_size seq_max; do printf '%.6g ' "$(json metrics.rollout_is_$metric)"; done | sed 's/ $//')"
for wrong in '"2_"' '"_2"' '"3_2"' '"0_2"' '"two"'; do
    printf '{%s, "rollout_is": "token", "rollout_is_threshold": %s}' "$pair" "$wrong" >case.json
    must_fail 2 'rollout_is_threshold' core rollout_correction case.json
done

finish
