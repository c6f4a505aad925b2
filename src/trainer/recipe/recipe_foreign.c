/*
 * recipe_foreign.c: see recipe_foreign.h. The names are those of the programs' own options. They are not accepted in
 * recipes, because a value may have another unit there (a batch of prompts, a coefficient with another sign).
 */
#include "recipe/recipe_foreign.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The path of a name that has no equal here. The last column of its row has the reason. */
#define NONE ""
#define ENTROPY "no loss has an entropy bonus; telemetry has the entropy"
#define COVARIANCE "no loss chooses tokens by their covariance (clip_cov, kl_cov)"
#define ENGINE "the policy samples its own rollouts on the CPU, without an engine for inference"
#define HARDWARE "small policies are trained on the CPU; threads and micro_batch are the settings for it"
#define SOFT "sapo has the temperatures of its paper, 1 and 1.05"
#define REWARDS "an environment has one reward, which algorithm.hooks.score can replace"
#define SAMPLING "sampling has a temperature only: a cut distribution is not the one that the losses divide by"
#define CONTROLLER "the coefficient of the KL penalty is constant"
#define LENGTHS "the environment and env.max_turns limit the length of a rollout"
#define WRITTEN "rows, telemetry and checkpoints are always written"
#define MUON_ADAM "training uses AdamW without further settings"
#define TEXTS "prompts are tokens of the environment, without a tokenizer and a template"
#define MODEL "the policy is a small transformer: model gives its size, and start.checkpoint its weights"
#define CRITIC                                                                                                                   \
    "the value head shares layers, batches and updates with the policy; value.lr, value.coef and value.cliprange are its "       \
    "settings"
#define SLOW_CRITIC "the value head is trained from the first update on"

/*
 * A row has all names that get one answer, each program's behind its own. Of two names that fit, the longer one counts. A name that
 * ends with * is a beginning, also of objects; one after ^ is not the end of a longer one. A choice of a setting of ours is named
 * behind that setting. A row has a path only where value, unit and direction are the same.
 */
static const struct recipe_foreign table[] = {
    {"algorithm.adca.batch_norm", NULL, "AgentEvolver: do_batch_norm"},
    {"algorithm.adca.length_normalisation", NULL, "AgentEvolver: enable_length_normalization"},
    {"algorithm.adca.outcome", NULL, "AgentEvolver: orm_distribution"},
    {"algorithm.adca.scheme", NULL, "AgentEvolver: prm_scheme"},
    {"algorithm.advantage_scale", NULL, "prime-rl: adv_tau"},
    {"algorithm.alpha", NULL, "A2TGPO: adv_rescale_alpha"},
    {"algorithm.beta", NULL, "A2TGPO: clip_beta"},
    {"algorithm.distill.coef", NULL,
     "verl: distillation_loss_coef prime-rl: kd_coef teacher_tau AReaL: distill_loss_weight slime: opd_kl_coef"},
    {"algorithm.distill.how", NULL, "verl: distillation_loss.loss_mode"},
    {"algorithm.distill_clip.high", NULL, "verl: distillation_loss.clip_ratio_high"},
    {"algorithm.distill_clip.low", NULL, "verl: distillation_loss.clip_ratio_low"},
    {"algorithm.filter.truncated", NULL,
     "prime-rl: mask_truncated_completions DAPO: filter_overlong SkyRL: apply_overlong_filtering"},
    {"algorithm.filter.zero_advantage", NULL,
     "prime-rl: filter_zero_advantages SkyRL: zero_variance_filter tinker-cookbook: remove_constant_reward_groups"},
    {"algorithm.gae.lam", NULL, "verl: lam OpenRLHF: lambd AReaL: gae_lambda"},
    {"algorithm.gain", NULL, "A2TGPO: info_gain_type"},
    {"algorithm.gamma", NULL, "AReaL: turn_discount"},
    {"algorithm.hooks.score", NULL,
     "verl: custom_reward_function* prime-rl: score_rollout OpenRLHF: remote_url slime: custom_rm_path rm_url"},
    {"algorithm.hooks.weights", NULL, "prime-rl: build_samples observation_weights echo.filter.import_path filter.import_path"},
    {"algorithm.linear.input", NULL, "prime-rl: num_input_tokens_weight"},
    {"algorithm.linear.output", NULL, "prime-rl: num_output_tokens_weight"},
    {"algorithm.linear.turns", NULL, "prime-rl: num_turns_weight"},
    {"algorithm.name", NULL,
     "A2TGPO: info_gain_norm_mode verl: adv_estimator prime-rl: algo.type OpenRLHF: advantage_estimator "
     "advantage.estimator"},
    {"algorithm.norm_by_std", NULL,
     "A2TGPO: norm_adv_by_std verl: norm_adv_by_std_in_grpo SkyRL: grpo_norm_by_std slime: grpo_std_normalization"},
    {"algorithm.prm.epochs", NULL, "AgentEvolver: prm_epoch"},
    {"algorithm.schedule.alpha_end", NULL, "AgentEvolver: alpha_min"},
    {"algorithm.teacher", NULL,
     "verl: teacher_models* TRL: teacher_model_name_or_path prime-rl: sampling.source tinker-cookbook: teacher_config* "
     "slime: opd_teacher_load"},
    {"correction.cap", NULL,
     "verl: rollout_is_threshold TRL: vllm_importance_sampling_cap vllm_importance_sampling_clip_max SkyRL: "
     "tis_imp_ratio_cap token_tis_ratio_clip_high sequence_tis_ratio_clip_high token_mask_is_threshold_high slime: "
     "tis_clip ROLL: is_weight.upper_bound"},
    {"correction.level", NULL,
     "verl: rollout_is_level OpenRLHF: is_correction_level SkyRL: tis_ratio_type ROLL: is_weight.weight_type"},
    {"correction.name", NULL, "verl: rollout_correction* OpenRLHF: is_correction_mode"},
    {"correction.reject", NULL, "verl: rollout_rs"},
    {"correction.reject_threshold", NULL, "verl: rollout_rs_threshold"},
    {"dppo.mask_high", NULL, "prime-rl: dppo_mask_high"},
    {"dppo.mask_low", NULL, "prime-rl: dppo_mask_low"},
    {"dro.beta", NULL, "verl: dro_beta"},
    {"env.allocation.drop_above", NULL, "ROLL: difficulty_high_threshold"},
    {"env.allocation.drop_below", NULL, "ROLL: difficulty_low_threshold"},
    {"env.max_turns", NULL,
     "verl: max_assistant_turns max_user_turns multi_turn.max_assistant_turns multi_turn.max_user_turns TRL: "
     "max_tool_calling_iterations ROLL: max_actions_per_traj"},
    {"env.questions", NULL,
     "verl: train_batch_size OpenRLHF: rollout_batch_size rollout.batch_size AReaL: train_dataset.batch_size "
     "tinker-cookbook: groups_per_batch ROLL: num_env_groups"},
    {"evaluation.every", NULL,
     "verl: test_freq prime-rl: eval.interval OpenRLHF: eval.steps SkyRL: eval_interval tinker-cookbook: eval_every"},
    {"evaluation.questions", NULL, "prime-rl: num_examples"},
    {"evaluation.seeds", NULL,
     "verl: val_kwargs.n TRL: num_generations_eval prime-rl: eval.group_size eval.source.group_size OpenRLHF: "
     "eval.n_samples_per_prompt SkyRL: "
     "eval_n_samples_per_prompt AReaL: eval_gconfig.n_samples tinker-cookbook: test_group_size slime: "
     "n_samples_per_eval_prompt ROLL: val_n_sample val_env_manager.group_size"},
    {"evaluation.temperature", NULL,
     "verl: val_kwargs.temperature prime-rl: eval.sampling.temperature OpenRLHF: eval.temperature AReaL: "
     "eval_gconfig.temperature slime: eval_temperature"},
    {"icepop.floor", NULL, "SkyRL: token_mask_is_threshold_low"},
    {"ipo.threshold", NULL, "prime-rl: ipo_threshold"},
    {"judge.concurrency", NULL, "AgentEvolver: concurrent"},
    {"judge.model", NULL, "AgentEvolver: model_name"},
    {"judge.skip", NULL, "AgentEvolver: skip_type"},
    {"kl.estimator", NULL, "verl: kl_loss_type kl_penalty OpenRLHF: kl_estimator algo.kl.estimator SkyRL: kl_estimator_type"},
    {"loss.aggregation", NULL, "verl: loss_agg_mode SkyRL: loss_reduction"},
    {"loss.clip_c", NULL, "verl: clip_ratio_c TRL: delta OpenRLHF: dual_clip AReaL: c_clip slime: eps_clip_c"},
    {"loss.clip_high", NULL,
     "verl: clip_ratio_high TRL: epsilon_high SkyRL: eps_clip_high cispo_eps_clip_high delta_high AReaL: eps_clip_higher "
     "ROLL: pg_clip_high"},
    {"loss.clip_low", NULL,
     "verl: clip_ratio_low TRL: epsilon_low SkyRL: eps_clip_low cispo_eps_clip_low delta_low ROLL: pg_clip_low"},
    {"loss.kl_coef", NULL, "verl: kl_loss_coef"},
    {"loss.name", NULL,
     "verl: loss_mode policy_loss* TRL: loss_type prime-rl: loss.type SkyRL: policy_loss_type tinker-cookbook: loss_fn"},
    {"micro_batch.tokens", NULL,
     "verl: ppo_max_token_len_per_gpu log_prob_max_token_len_per_gpu prime-rl: seq_len OpenRLHF: max_tokens_per_gpu SkyRL: "
     "max_tokens_per_microbatch AReaL: max_tokens_per_mb slime: log_probs_max_tokens_per_gpu ROLL: "
     "max_tokens_per_microbatch_in_train max_tokens_per_microbatch_in_infer"},
    {"model.experts.balance", NULL, "TRL: router_aux_loss_coef OpenRLHF: aux_loss_coef SkyRL: moe_aux_loss_coeff"},
    {"name", NULL, "verl: experiment_name prime-rl: run.name AReaL: trial_name ROLL: exp_name"},
    {"routing.replay", NULL, "verl: router_replay*"},
    {"sampler.max_staleness", NULL,
     "prime-rl: max_off_policy_steps SkyRL: max_staleness_steps AReaL: max_head_offpolicyness tinker-cookbook: "
     "max_steps_off_policy"},
    {"sampler.staleness", NULL, "prime-rl: max_async_level"},
    {"sampler_kl.tau", NULL, "prime-rl: kl_tau"},
    {"seed", NULL, "slime: rollout_seed"},
    {"start.checkpoint", NULL, "tinker-cookbook: load_checkpoint_path"},
    {"training.adam_beta1", NULL, "prime-rl: betas1 AReaL: optimizer.beta1"},
    {"training.adam_beta2", NULL, "prime-rl: betas2 AReaL: optimizer.beta2"},
    {"training.clip_norm", NULL, "verl: grad_clip clip_grad TRL: max_grad_norm prime-rl: max_norm AReaL: gradient_clipping"},
    {"training.epochs", NULL, "verl: ppo_epochs TRL: num_iterations OpenRLHF: train.max_epochs SkyRL: update_epochs_per_batch"},
    {"training.final_rate", NULL, "verl: min_lr_ratio"},
    {"training.group_size", NULL,
     "verl: rollout.n rollout_n TRL: num_generations prime-rl: rollouts_per_example OpenRLHF: n_samples_per_prompt AReaL: "
     "n_samples tinker-cookbook: train_group_size ROLL: num_return_sequences_in_group num_return_sequences "
     "train_env_manager.group_size"},
    {"training.iterations", NULL, "verl: total_training_steps AReaL: total_train_steps slime: num_rollout"},
    {"training.lr", NULL,
     "prime-rl: optim.lr OpenRLHF: adam.lr SkyRL: optimizer_config.lr AReaL: optimizer.lr ROLL: training_args.learning_rate"},
    {"training.minibatch", NULL, "prime-rl: batch_size slime: global_batch_size"},
    {"training.temperature", NULL, "slime: rollout_temperature"},
    {"training.warmup", NULL, "TRL: warmup_steps"},
    {"training.weight_decay", NULL, "ROLL: l2"},
    {"value.cliprange", NULL,
     "verl: cliprange_value critic.cliprange_value OpenRLHF: value_clip critic.value_clip AReaL: critic.eps_clip"},
    {"value.coef", NULL, "TRL: vf_coef"},
    {"value.lr", NULL,
     "verl: critic.optim.lr OpenRLHF: critic.adam.lr SkyRL: critic.optimizer_config.lr AReaL: critic.optimizer.lr"},
    {"vespo.k_neg", NULL, "TRL: vespo_k_neg"},
    {"vespo.k_pos", NULL, "TRL: vespo_k_pos"},
    {"vespo.lambda_neg", NULL, "TRL: vespo_lambda_neg"},
    {"vespo.lambda_pos", NULL, "TRL: vespo_lambda_pos"},
    {NULL, "algorithm.beta above 0", "A2TGPO: dynamic_clip"},
    {NULL, "algorithm.custom.command for advantages, and algorithm.hooks.weights for what is trained on",
     "prime-rl: finalize_group"},
    {NULL, "algorithm.custom.command, which gets the finished rollouts and gives advantages",
     "prime-rl: score_group slime: custom_advantage_function_path"},
    {NULL, "algorithm.distill.how advantage", "verl: use_policy_gradient"},
    {NULL, "algorithm.distill.how advantage, beside an algorithm with rewards", "slime: use_opd"},
    {NULL, "algorithm.distill.how", "verl: distillation.enabled"},
    {NULL, "algorithm.distill.shown demonstration, which the environment makes", "prime-rl: demo_key"},
    {NULL, "algorithm.distill_clip.gap, a bound of the difference of log-probs", "verl: loss_max_clamp"},
    {NULL, "algorithm.distill_clip.low and algorithm.distill_clip.high", "verl: distillation_loss.clip_ratio"},
    {NULL, "algorithm.filter.truncated, which gives such rollouts the advantage 0",
     "OpenRLHF: stop_properly_penalty_coef SkyRL: zero_reward_on_non_stop AReaL: mask_no_eos_with_zero ROLL: max_len_mask"},
    {NULL, "algorithm.filter.zero_advantage, which leaves groups out and samples none in their place",
     "verl: filter_groups* prime-rl: online_difficulty_filtering OpenRLHF: dynamic_filtering* SkyRL: dynamic_sampling* "
     "slime: over_sampling_batch_size"},
    {NULL, "algorithm.gamma, a discount per turn", "AReaL: discount"},
    {NULL, "algorithm.hierarchy.branches and .turns: the rows of an episode share their first turns", "prime-rl: episode_agents"},
    {NULL, "algorithm.length_coef, whose unit is that of algorithm.length_penalty", "OpenRLHF: overlong_penalty_factor"},
    {NULL, "algorithm.length_penalty anchor", "AReaL: overlong_reward_penalty"},
    {NULL, "algorithm.length_penalty with algorithm.length_coef", "ROLL: add_len_reward response_length_penalty_coef"},
    {NULL, "algorithm.name grpo", "OpenRLHF: algorithm.name.group_norm"},
    {NULL, "algorithm.name opd (false), or algorithm.distill beside an algorithm with rewards (true)", "verl: use_task_rewards"},
    {NULL, "algorithm.name opd", "ROLL: is_pure_opd"},
    {NULL, "algorithm.name ppo", "verl: algorithm.name.gae"},
    {NULL, "algorithm.name reinforce_plus_plus", "OpenRLHF: algorithm.name.reinforce"},
    {NULL, "algorithm.name reinforce_plus_plus_baseline", "OpenRLHF: algorithm.name.reinforce_baseline"},
    {NULL, "algorithm.name sft", "SkyRL: loss.name.cross_entropy"},
    {NULL, "algorithm.name: grpo subtracts the mean of the group, reward takes the outcome itself",
     "slime: rewards_normalization disable_rewards_normalization"},
    {NULL, "algorithm.norm_by_std, and the mean by algorithm.name",
     "AReaL: adv_norm* reward_norm* ROLL: norm_mean_type norm_std_type"},
    {NULL, "algorithm.norm_by_std, where false is what true is there",
     "OpenRLHF: advantage.no_std_norm no_advantage_std_norm slime: disable_grpo_std_normalization"},
    {NULL, "algorithm.norm_by_std: true for group, false for none", "TRL: scale_rewards"},
    {NULL, "algorithm.target.length, as the longest response - overlong_buffer_len, with algorithm.length_penalty anchor",
     "OpenRLHF: overlong_buffer_len"},
    {NULL, "algorithm.target.length, as the longest response - overlong_tokens, with algorithm.length_penalty anchor",
     "AReaL: overlong_tokens"},
    {NULL, "always the outcome: the prompt of the judge names success or failure", "AgentEvolver: overall_score_source"},
    {NULL, "correction.cap with a small icepop.floor: tokens outside of this interval have the weight 0",
     "AReaL: behave_imp_weight_cap"},
    {NULL, "correction.level token or sequence; for a mask also icepop.floor, outside of which the weight is 0",
     "TRL: vllm_importance_sampling_mode"},
    {NULL, "correction.name bypass with loss.name ppo or reinforce", "verl: rollout_correction.loss_type"},
    {NULL, "correction.name bypass", "verl: bypass_mode"},
    {NULL, "correction.name decoupled", "AReaL: use_decoupled_loss"},
    {NULL, "correction.name none, where the ratio is to the log-probs of the sampler", "slime: use_rollout_logprobs"},
    {NULL, "correction.name recompute or decoupled: proximal log-probs are always computed", "AReaL: prox_logp_method"},
    {NULL, "correction.name recompute", "AReaL: recompute_logprob ROLL: enable_old_logprobs_recompute"},
    {NULL, "correction.name tis with icepop.floor and correction.cap", "Ring-1T: loss.name.icepop correction.name.icepop"},
    {NULL, "correction.name tis", "TRL: vllm_importance_sampling_correction SkyRL: use_tis"},
    {NULL, "correction.name, with correction.level token or sequence", "verl: rollout_is"},
    {NULL, "correction.name, with correction.level, correction.cap and correction.reject", "ROLL: train_infer_correction*"},
    {NULL, "correction.reject with correction.reject_threshold",
     "SkyRL: sequence_mask_metric geo_mask_* product_mask_* outlier_token_is_threshold_* ROLL: "
     "train_infer_correction.filters*"},
    {NULL, "correction.reject", "AReaL: rejection_sampling*"},
    {NULL, "correction.reject, or loss.name dppo_tv or dppo_kl for a bound of the divergence", "OpenRLHF: is_correction_gating"},
    {NULL, "data.file: rollouts that `lineage train --rollouts FILE` has kept",
     "prime-rl: replay_store slime: load_debug_rollout_data"},
    {NULL, "echo's roles: algorithm.echo.roles weighs each tool's tokens; there is one tool in an environment",
     "prime-rl: tool_names"},
    {NULL, "env.allocation.drop_above and env.allocation.drop_below, which leave questions out of later iterations",
     "ROLL: difficulty_mask"},
    {NULL, "env.allocation.drop_above, which keeps what is at its bound", "prime-rl: easy_threshold"},
    {NULL, "env.allocation.drop_below, which keeps what is at its bound", "prime-rl: hard_threshold"},
    {NULL, "env.questions of each environment", "prime-rl: source.ratio"},
    {NULL, "env.questions, as generation_batch_size / training.group_size", "TRL: generation_batch_size"},
    {NULL, "environments", "prime-rl: source.env source.name ROLL: custom_envs tags"},
    {NULL, "environments: pool, allocation and groups", "prime-rl: curriculum*"},
    {NULL, "evaluation.every, and lineage train --save-every N", "AReaL: freq_steps freq_epochs freq_secs"},
    {NULL, "evaluation.every: as eval_steps / the updates of an iteration from TRL, eval_steps itself from ROLL",
     "TRL: eval_steps"},
    {NULL, "evaluation.temperature 0", "AReaL: eval_gconfig.greedy ROLL: val_greedy"},
    {NULL, "icepop.floor and correction.cap for tokens, correction.reject_threshold for sequences",
     "OpenRLHF: is_correction_threshold"},
    {NULL, "icepop.floor, below which the weight is 0 as with a mask there", "TRL: vllm_importance_sampling_clip_min"},
    {NULL, "judge.cache: the file with each request's digest and answer", "AgentEvolver: llm_evaluation_log_dir"},
    {NULL, "judge.deadline, judge.timeout and judge.backoff: attempts end with the time for a rollout",
     "AgentEvolver: api_max_retries"},
    {NULL, "judge.endpoint (api), or no endpoint: the environment's rules judge", "AgentEvolver: evaluation_type"},
    {NULL, "kl.estimator k1 with kl_gradient.straight_through", "verl: kl.estimator.k1+"},
    {NULL, "kl.estimator k2", "verl: kl.estimator.mse"},
    {NULL, "kl.estimator k3 with kl_gradient.straight_through", "verl: kl.estimator.k3+ kl.estimator.low_var_kl+"},
    {NULL, "kl.estimator k3", "verl: kl.estimator.low_var_kl"},
    {NULL, "kl.place unbiased", "OpenRLHF: unbiased_gradient"},
    {NULL, "kl.place unbiased, with kl.estimator k3", "TRL: use_bias_correction_kl slime: use_unbiased_kl"},
    {NULL, "kl.place: loss for true, reward for false", "OpenRLHF: kl.use_loss"},
    {NULL, "lineage train --resume FILE --save-every N",
     "prime-rl: ckpt* resume.step resume.dir tinker-cookbook: save_every slime: save_interval"},
    {NULL, "lineage train --rollouts FILE", "TRL: log_completions slime: save_debug_rollout_data"},
    {NULL, "loss.aggregation seq-mean-token-mean", "SkyRL: loss.aggregation.sequence_mean"},
    {NULL, "loss.aggregation seq-mean-token-sum-norm", "SkyRL: loss.aggregation.seq_mean_token_sum_norm"},
    {NULL, "loss.aggregation token-mean", "SkyRL: loss.aggregation.token_mean"},
    {NULL, "loss.aggregation: token-mean for true, seq-mean-token-mean for false", "slime: calculate_per_token_loss"},
    {NULL, "loss.clip_c, as 1 + 2 * pg_clip", "ROLL: dual_clip_loss"},
    {NULL, "loss.clip_low and loss.clip_high",
     "verl: clip_ratio TRL: cliprange OpenRLHF: eps_clip eps_clip_low_high ROLL: pg_clip"},
    {NULL, "loss.clip_low and loss.clip_high, and dro.beta", "tinker-cookbook: loss_fn_config*"},
    {NULL, "loss.clip_low and loss.clip_high, which are always two", "ROLL: use_pg_clip_range"},
    {NULL, "loss.kl_coef above 0, with kl.place loss", "verl: use_kl_loss"},
    {NULL, "loss.kl_coef above 0, with kl.place reward", "verl: use_kl_in_reward ROLL: add_token_level_kl"},
    {NULL, "loss.kl_coef with kl.place reward",
     "verl: kl_ctrl.kl_coef OpenRLHF: init_kl_coef kl.init_coef AReaL: kl_ctl tinker-cookbook: kl_penalty_coef"},
    {NULL, "loss.name dppo", "prime-rl: loss.name.default"},
    {NULL, "loss.name dppo_tv or dppo_kl", "SkyRL: dppo_type"},
    {NULL, "loss.name gspo for seq", "ROLL: importance_sampling"},
    {NULL, "loss.name gspo for sequence", "TRL: importance_sampling_level"},
    {NULL, "loss.name ppo with loss.aggregation seq-mean-token-mean", "TRL: loss.name.grpo"},
    {NULL, "loss.name ppo with loss.aggregation seq-mean-token-sum-norm", "TRL: loss.name.dr_grpo"},
    {NULL, "loss.name ppo with loss.aggregation token-mean", "TRL: loss.name.dapo loss.name.bnpo"},
    {NULL, "loss.name ppo with loss.clip_c", "SkyRL: loss.name.dual_clip"},
    {NULL, "loss.name ppo", "verl: loss.name.vanilla loss.name.ppo_clip SkyRL: loss.name.regular"},
    {NULL, "loss.name reinforce with correction.name bypass", "SkyRL: loss.name.importance_sampling"},
    {NULL, "loss.name sapo", "AReaL: use_sapo_loss"},
    {NULL, "loss.name", "ROLL: use_policy_loss_type pg_variant"},
    {NULL, "micro_batch.activation_bytes, a number of bytes", "TRL: gradient_checkpointing*"},
    {NULL, "micro_batch.tokens above 0", "verl: use_dynamic_bsz log_prob_use_dynamic_bsz slime: use_dynamic_batch_size"},
    {NULL, "micro_batch.tokens, a number of tokens and not of micro-batches", "AReaL: mb_spec* n_mbs"},
    {NULL, "micro_batch.tokens, a number of tokens and not of sequences",
     "verl: ppo_micro_batch_size* log_prob_micro_batch_size* OpenRLHF: micro_batch_size SkyRL: "
     "micro_train_batch_size_per_gpu micro_forward_batch_size_per_gpu"},
    {NULL, "nothing to set: the policy has no dropout", "TRL: disable_dropout slime: attention_dropout hidden_dropout"},
    {NULL, "opsm.lower, as exp(-off_policy_mask_threshold), with opsm.unit rollout and a very large opsm.upper",
     "TRL: off_policy_mask_threshold"},
    {NULL, "opsm.lower, as exp(-opsm_delta), with opsm.unit rollout and a very large opsm.upper", "slime: opsm_delta"},
    {NULL, "opsm.unit rollout", "slime: use_opsm"},
    {NULL, "reference.decay, as 1 - ref_model_mixup_alpha, with reference.kind ema", "TRL: ref_model_mixup_alpha"},
    {NULL, "reference.every with reference.kind lagged", "slime: ref_update_interval"},
    {NULL, "reference.every, as ref_model_sync_steps / the updates of an iteration", "TRL: ref_model_sync_steps"},
    {NULL, "reference.kind ema", "TRL: sync_ref_model"},
    {NULL, "reference.kind", "tinker-cookbook: kl_reference_config*"},
    {NULL, "routing.replay R2", "slime: use_routing_replay"},
    {NULL, "routing.replay R3",
     "verl: enable_rollout_routing_replay prime-rl: enable_router_replay SkyRL: moe_enable_routing_replay slime: "
     "use_rollout_routing_replay"},
    {NULL, "sampler.staleness above 0", "OpenRLHF: async_enable"},
    {NULL, "sampler.staleness, the age of the weights in iterations",
     "OpenRLHF: async_queue_size slime: update_weights_interval ROLL: async_generation_ratio"},
    {NULL, "telemetry, which always compares the sampler with the learner", "slime: get_mismatch_metrics"},
    {NULL, "telemetry, which always has the KL of an update", "tinker-cookbook: compute_post_kl"},
    {NULL, "telemetry, which always has the entropy", "verl: calculate_entropy slime: use_rollout_entropy"},
    {NULL, "telemetry, which always has the shares: judge_good_success, judge_bad_failure and so on",
     "AgentEvolver: enable_adca_metric"},
    {NULL, "training.adam_beta1 and training.adam_beta2", "verl: betas SkyRL: adam_betas"},
    {NULL, "training.final_rate, as lr_min / training.lr", "verl: lr_min"},
    {NULL, "training.final_rate, as min_lr / training.lr", "prime-rl: min_lr"},
    {NULL, "training.iterations, as epochs * the questions of the data / env.questions", "SkyRL: trainer.epochs"},
    {NULL, "training.iterations, as num_episodes * the questions of the data / env.questions", "OpenRLHF: num_episodes"},
    {NULL, "training.iterations, as num_epoch * the questions of the data / env.questions", "slime: num_epoch"},
    {NULL, "training.iterations, as num_epochs * the questions of the data / env.questions", "tinker-cookbook: num_epochs"},
    {NULL, "training.iterations, as num_train_epochs * the questions of the data / env.questions", "TRL: num_train_epochs"},
    {NULL, "training.iterations, as total_epochs * the questions of the data / env.questions", "verl: total_epochs"},
    {NULL, "training.iterations, as total_train_epochs * the questions of the data / env.questions", "AReaL: total_train_epochs"},
    {NULL, "training.iterations: as max_steps / the updates of an iteration from TRL, max_steps itself from ROLL and prime-rl",
     "TRL: max_steps"},
    {NULL, "training.minibatch for an update, and micro_batch.tokens for a part of it", "TRL: gradient_accumulation_steps"},
    {NULL, "training.minibatch, as critic_mini_batch_size * training.group_size", "SkyRL: critic_mini_batch_size"},
    {NULL, "training.minibatch, as env.questions * training.group_size * gradient_accumulation_steps / steps_per_generation",
     "TRL: steps_per_generation"},
    {NULL, "training.minibatch, as env.questions * training.group_size / num_minibatches", "tinker-cookbook: num_minibatches"},
    {NULL, "training.minibatch, as env.questions * training.group_size / num_steps_per_rollout", "slime: num_steps_per_rollout"},
    {NULL, "training.minibatch, as env.questions * training.group_size / num_substeps", "tinker-cookbook: num_substeps"},
    {NULL, "training.minibatch, as env.questions * training.group_size / ppo_n_minibatches", "AReaL: ppo_n_minibatches"},
    {NULL, "training.minibatch, as per_device_train_batch_size * gradient_accumulation_steps * the number of devices",
     "TRL: per_device_train_batch_size"},
    {NULL, "training.minibatch, as policy_mini_batch_size * training.group_size", "SkyRL: policy_mini_batch_size"},
    {NULL, "training.minibatch, as ppo_mini_batch_size * training.group_size", "verl: ppo_mini_batch_size"},
    {NULL, "training.warmup and training.final_rate: linear warm-up, then a cosine or a constant",
     "TRL: lr_scheduler* prime-rl: scheduler.type decay_steps tinker-cookbook: lr_schedule slime: lr_decay_style"},
    {NULL, "training.warmup, a number of updates and not of iterations", "verl: lr_warmup_steps"},
    {NULL, "training.warmup, a number of updates", "SkyRL: num_warmup_steps slime: lr_warmup_iters"},
    {NULL, "training.warmup, as lr_warmup_ratio * the number of updates", "OpenRLHF: lr_warmup_ratio"},
    {NULL, "training.warmup, as lr_warmup_steps_ratio * the number of updates", "verl: lr_warmup_steps_ratio"},
    {NULL, "training.warmup, as warmup_ratio * the number of updates", "TRL: warmup_ratio"},
    {NULL, "training.warmup, as warmup_steps_proportion * the number of updates", "AReaL: warmup_steps_proportion"},
    {NONE, "a loss is code of the core; algorithm.hooks.weights weighs tokens",
     "prime-rl: loss.import_path slime: custom_loss_function_path custom_pg_loss_reducer_function_path "
     "custom_tis_function_path"},
    {NONE, "a mean over a micro-batch depends on how rollouts are packed", "SkyRL: loss.aggregation.token_mean_legacy"},
    {NONE, "a rollout is sampled by one version of the weights",
     "OpenRLHF: partial_rollout_enable slime: partial_rollout mask_offpolicy_in_partial_rollout"},
    {NONE, "a sum over tokens grows with the minibatch", "verl: loss.aggregation.token_sum"},
    {NONE, "a teacher's log-prob is limited by its distance to the policy's: algorithm.distill_clip.gap",
     "verl: log_prob_min_clamp"},
    {NONE, "advantages are not clipped", "ROLL: advantage_clip"},
    {NONE, "advantages are not normalised over the whole batch, but by reinforce_plus_plus",
     "TRL: normalize_advantages SkyRL: advantage_batch_normalize ROLL: whiten_advantages whiten_rewards"},
    {NONE, "algorithm.filter.zero_advantage takes equal rewards only", "SkyRL: zero_variance_filter_tol"},
    {NONE, "all weights of the small policy are trained", "OpenRLHF: lora* AReaL: use_lora peft_type target_modules"},
    {NONE, "an environment makes its questions from seed, or asks those of its pool", "slime: rollout_shuffle"},
    {NONE, "an update has a number of rollouts: training.minibatch", "prime-rl: token_batch_size"},
    {NONE, "cispo's ratio is to the old policy; correction.name none makes that the sampler", "SkyRL: cispo_anchor"},
    {NONE, "environments are code of the trainer",
     "OpenRLHF: agent_func_path slime: custom_generate_function_path rollout_function_path eval_function_path"},
    {NONE, "every token of the policy is trained on, or those that algorithm.hooks.weights chooses", "TRL: top_entropy_quantile"},
    {NONE, "importance weights are not divided by their mean", "verl: rollout_is_batch_normalize"},
    {NONE, "its ratio is to the sampler, with an interval; nearest is correction.name bypass", "SkyRL: loss.name.rollout_is"},
    {NONE, "its teacher is the start and its targets are the teacher's top tokens; opsd is prime-rl's form",
     "tinker-cookbook: algorithm.name.sdft"},
    {NONE, "no aggregation has a mean per question", "SkyRL: loss.aggregation.prompt_mean"},
    {NONE, "no algorithm fits optimal values before training", "TRL: algorithm.name.a2po"},
    {NONE, "no algorithm groups equal states of several rollouts (GiGPO)",
     "ROLL: episode_reward_weight step_reward_weight step_reward_gamma algorithm.name.gigpo"},
    {NONE, "no algorithm of a recipe has an optimal token baseline", "verl: calculate_sum_pi_squared"},
    {NONE, "no algorithm subtracts the mean of the batch alone",
     "OpenRLHF: algorithm.name.flash_reinforce loss.name.flash_reinforce"},
    {NONE, "no loss weighs positive and negative rollouts apart but vespo", "ROLL: use_topr* topr_* loss.name.topr"},
    {NONE, "no mask limits the second moment of the ratios; opsm and correction.reject limit rollouts",
     "AReaL: loss.name.m2po m2_threshold"},
    {NONE, "no rollout is drawn again by its reward (PF-PPO)", "verl: pf_ppo* use_pf_ppo"},
    {NONE, "no weight is raised to a lower bound; below icepop.floor it becomes 0", "slime: tis_clip_low"},
    {NONE, "opd and algorithm.distill do not weigh a teacher by the ratio to the sampler", "TRL: algorithm.name.iw_opd"},
    {NONE, "opsd is the only algorithm whose teacher is the policy", "TRL: algorithm.name.sdpo"},
    {NONE, "seq-mean-token-sum-norm divides by the longest rollout that is possible",
     "verl: loss_scale_factor SkyRL: max_seq_len"},
    {NONE, "the KL penalty of a token is not discounted", "tinker-cookbook: kl_discount_factor"},
    {NONE,
     "the coefficient of the KL penalty is constant; algorithm.distill.horizon is a number of tokens, env.max_turns one of turns",
     "TRL: ^horizon"},
    {NONE, "the environment decides on turns and tools", "verl: multi_turn*"},
    {NONE, "the learner computes in single precision; sampler.precision is that of the sampler", "TRL: bf16 fp16"},
    {NONE, "the optimizer keeps its moments from one update to the next", "slime: reset_optimizer_states use_stateless_adam"},
    {NONE, "the policy has one loss; algorithm.hooks.weights weighs its tokens",
     "AReaL: teacher.rl_loss_weight ROLL: postive_loss_coef rl_loss_coef difficulty_loss_weight length_loss_weight"},
    {NONE, "the teacher of opsd is the live policy", "tinker-cookbook: teacher_sync_every"},
    {NONE, "the untrained policy is a trial of its own, with training.iterations 0",
     "verl: val_before_train prime-rl: eval.skip_first_step AReaL: evaluator.eval_before_train slime: "
     "skip_eval_before_train"},
    {NONE, "weights are not averaged; reference.kind ema averages those of the reference", "OpenRLHF: ema_beta enable_ema"},
    {NONE, CONTROLLER, "verl: kl_ctrl* target_kl OpenRLHF: kl.target kl.horizon SkyRL: kl_target ROLL: kl_horizon"},
    {NONE, COVARIANCE, "verl: clip_cov* kl_cov* ppo_kl_coef"},
    {NONE, CRITIC, "verl: critic*"},
    {NONE, ENGINE,
     "verl: gpu_memory_utilization TRL: vllm_* use_vllm use_transformers_* prime-rl: max_inflight tasks_per_minute "
     "env_server_base_port reasoning_effort extra_body OpenRLHF: vllm_generate_batch_size vllm.* AReaL: "
     "max_concurrent_rollouts sglang* consumer_batch_size queue_size rollout.backend rollout.model "
     "request_timeout tinker-cookbook: max_concurrent_generation slime: update_weight_* sglang_* router_* "
     "use_fault_tolerance rollout_health_check* rollout_external* ROLL: max_running_requests router_args* "
     "generate_opt_level infer_batch_size max_concurrency"},
    {NONE, ENTROPY,
     "verl: entropy_coeff TRL: entropy_coef* use_adaptive_entropy entropy_target SkyRL: use_entropy_loss entropy_loss_coef"},
    {NONE, HARDWARE,
     "verl: fsdp* megatron* n_gpus_per_node nnodes tensor_model_parallel_size prime-rl: inference* deployment* slurm* "
     "weight_broadcast* rollout_transport* model.cp model.ep model.impl model.attn model.ac* model.compile* model.debug* "
     "model.dp_replicate model.reduce_dtype model.optimization_dtype model.reshard_after_forward model.fsdp_cpu_offload "
     "model.optim_cpu_offload matmul_precision dist_timeout_seconds num_train_workers pad_to_multiple_of OpenRLHF: ds.* "
     "AReaL: allocation_mode scheduling_spec* scheduling_strategy* archon* cluster* launcher* scheduler.endpoint "
     "scheduler.deploy_mode attn_impl dtype "
     "grad_reduce_dtype weight_update_mode slime: actor_num_* rollout_num_gpus* num_gpus* colocate offload* balance_data "
     "balance_by_flops train_backend qkv_format pipeline_model_parallel_size context_parallel_size "
     "expert_model_parallel_size expert_tensor_parallel_size sequence_parallel recompute_granularity recompute_method "
     "recompute_num_layers attention_backend ROLL: device_mapping strategy_args* num_gpus_per_worker system_envs "
     "offload_nccl use_sequence_packing sequence_packing_args* use_dynamic_batching_in_* num_nodes transfer_backend* "
     "model_update_*"},
    {NONE, LENGTHS,
     "verl: prompt_length response_length max_prompt_length max_response_length TRL: max_completion_length prime-rl: "
     "max_completion_tokens OpenRLHF: max_new_tokens SkyRL: max_generate_length AReaL: ^max_tokens gconfig.max_tokens "
     "eval_gconfig.max_tokens gconfig.min_new_tokens slime: rollout_max_* eval_max_* eval_min_new_tokens ROLL: "
     "sequence_length val_sequence_length val_prompt_length max_length max_tokens_per_step"},
    {NONE, MODEL,
     "verl: model.path TRL: model_name_or_path model_init_kwargs* prime-rl: model.name tinker-cookbook: base_model slime: "
     "hf_checkpoint ref_load only_train_params_name_list freeze_params_name_list ROLL: pretrain reward_pretrain "
     "model_args*"},
    {NONE, MUON_ADAM, "TRL: adam_epsilon optim"},
    {NONE, REWARDS,
     "verl: reward_model* reward_manager* TRL: reward_clip_range reward_weights multi_objective_aggregation "
     "normalize_then_sum OpenRLHF: reward.clip_range reward.normalize_enable AReaL: reward_scaling reward_bias reward_clip "
     "slime: rm_type group_rm reward_key eval_reward_key custom_reward_post_process_path ROLL: use_reward_scaling "
     "use_reward_norm use_token_reward rewards* judge_api_* judge_model_* code_url reward_type format_pattern format_penalty"},
    {NONE, SAMPLING,
     "TRL: top_p top_k min_p repetition_penalty generation_kwargs* AReaL: gconfig.greedy gconfig.stop* "
     "gconfig.frequency_penalty gconfig.use_beam_search gconfig.ignore_eos eval_gconfig.stop* "
     "eval_gconfig.frequency_penalty slime: eval_top_p eval_top_k rollout_top_p rollout_top_k rollout_stop* ROLL: "
     "generating_args.num_beams generating_args.length_penalty generating_args.do_sample"},
    {NONE, SLOW_CRITIC, "verl: critic_warmup OpenRLHF: freezing_steps critic.freezing_steps slime: num_critic_only_steps"},
    {NONE, SOFT, "verl: tau_pos tau_neg TRL: sapo_temperature_* AReaL: sapo_tau_*"},
    {NONE, TEXTS,
     "TRL: chat_template* prime-rl: tokenizer* renderer* OpenRLHF: apply_chat_template AReaL: train_dataset* "
     "valid_dataset* tinker-cookbook: renderer_name slime: prompt_data eval_prompt_data data_source_path input_key "
     "label_key metadata_key tool_key multimodal_keys loss_mask_type apply_chat_template_kwargs ROLL: tag_to_template "
     "global_template data_args*"},
    {NONE, WRITTEN,
     "verl: save_freq logger* project_name TRL: report_to logging_steps save_steps output_dir prime-rl: wandb* log.* "
     "monitors* metrics_server* heartbeat* memory_profiler_path trace_path AReaL: saver* recover* stats_logger* "
     "perf_tracer* memory_profiler* slime: use_tensorboard tb_* dump_details log_passrate log_multi_turn ROLL: track_with "
     "tracker_kwargs* logging_dir max_ckpt_to_keep checkpoint_config* rollout_dump_dir render_save_dir "
     "save_logging_board_dir profiler_*"},
};

/* A name that was sought, in the letters of the table: "--clip-grad" and Hydra's "+clip_grad" are clip_grad. */
struct sought {
    char text[256];
};

static struct sought plain(const char *name)
{
    struct sought plain = {.text = ""};
    name += strspn(name, "+-~");
    for (size_t i = 0; name[i] && i + 1 < sizeof plain.text; i++)
        plain.text[i] = name[i] == '-' ? '_' : name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 'a' - 'A') : name[i];
    return plain;
}

/* Where a word fits into the name that was sought: its length, 0 for nowhere; *at receives where it begins. */
static size_t fits_at(const char *word, size_t n, const char *name, size_t *at)
{
    size_t length = strlen(name);
    *at = length - n;
    if (word[0] == '^')
        return length == n - 1 && memcmp(name, word + 1, length) == 0 ? n : 0;
    if (word[n - 1] != '*')
        return n <= length && memcmp(name + length - n, word, n) == 0 && (n == length || name[length - n - 1] == '.') ? n : 0;
    for (const char *part = name; part; part = strchr(part, '.') ? strchr(part, '.') + 1 : NULL)
        if (strncmp(part, word, n - 1) == 0) {
            *at = (size_t)(part - name);
            return n - 1;
        }
    return 0;
}

bool recipe_foreign_next(struct recipe_foreign_name *name)
{
    const char *next = name->row ? name->text + name->n : "";
    next += strspn(next, " ");
    if (!*next) {
        name->row = name->row ? name->row + 1 : table;
        if (name->row == table + sizeof table / sizeof *table)
            return false;
        next = name->row->names;
    }
    name->text = next;
    name->n = strcspn(next, " ");
    if (next[name->n - 1] != ':')
        return true;
    name->of = next;
    name->of_n = name->n - 1;
    return recipe_foreign_next(name);
}

/*
 * Where an object without an equal begins in the name: "critic" in "critic.ppo_epochs", whose members are not the policy's
 * settings of that name. SIZE_MAX: there is none.
 */
static size_t object_without_equal(const char *sought)
{
    size_t first = SIZE_MAX, at;
    for (struct recipe_foreign_name w = {.row = NULL}; recipe_foreign_next(&w);)
        if (w.row->path && !*w.row->path && w.text[w.n - 1] == '*' && fits_at(w.text, w.n, sought, &at) &&
            strchr(sought + at + w.n - 1, '.') && at < first)
            first = at;
    return first;
}

/* The longest name that ends the one that was sought, since programs nest their settings: "kl.estimator", "estimator". */
static struct recipe_foreign_name find(const char *sought)
{
    struct recipe_foreign_name found = {.row = NULL};
    size_t longest = 0, at, first = object_without_equal(sought);
    for (struct recipe_foreign_name w = {.row = NULL}; recipe_foreign_next(&w);) {
        size_t n = fits_at(w.text, w.n, sought, &at);
        if (n > longest && at <= first) {
            longest = n;
            found = w;
        }
    }
    return found;
}

/* from, to: values that are usual for TRL's setting and not for ours. */
static const struct {
    const char *path, *words, *ours;
    double from, to;
} namesakes[] = {{"algorithm.beta", " (TRL's beta is loss.kl_coef)", "the strength of A2TGPO's adaptive clip scale", 1e-6, 0.1},
                 {"algorithm.epsilon", " (TRL's epsilon is loss.clip_low and loss.clip_high)",
                  "added to the deviation that advantages are divided by", 0.01, 1}};

/* Settings of one environment have a beginning; --set and grids take the last part alone. */
const char *recipe_foreign_namesake(const char *setting)
{
    size_t at;
    for (size_t i = 0; i < sizeof namesakes / sizeof *namesakes; i++)
        if (strcmp(setting, namesakes[i].path + strlen("algorithm.")) == 0 ||
            fits_at(namesakes[i].path, strlen(namesakes[i].path), setting, &at))
            return namesakes[i].words;
    return "";
}

const char *recipe_foreign_mistaken(const char *path, double value)
{
    for (size_t i = 0; i < sizeof namesakes / sizeof *namesakes; i++)
        if (strcmp(path, namesakes[i].path) == 0 && value >= namesakes[i].from && value <= namesakes[i].to)
            return namesakes[i].ours;
    return NULL;
}

/* A choice is named alone, because the value that was refused is in the message. */
const char *recipe_foreign_say(char out[RECIPE_FOREIGN_SIZE], const char *sought)
{
    static const char *const choices[] = {"algorithm.name.", "loss.name.", "loss.aggregation.", "kl.estimator.",
                                          "correction.name."};
    struct sought plainly = plain(sought);
    struct recipe_foreign_name name = find(plainly.text);
    if (!name.row)
        return NULL;
    const char *said = name.text + (*name.text == '^');
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (strncmp(name.text, choices[i], strlen(choices[i])) == 0)
            said = name.text + strlen(choices[i]);
    int n = (int)strcspn(said, "* "), of = (int)name.of_n;
    const char *path = name.row->path, *words = name.row->words;
    if (path && !*path)
        snprintf(out, RECIPE_FOREIGN_SIZE, "%.*s of %.*s has no equal here: %s", n, said, of, name.of, words);
    else if (path)
        snprintf(out, RECIPE_FOREIGN_SIZE, "what %.*s calls %.*s is %s here", of, name.of, n, said, path);
    else
        snprintf(out, RECIPE_FOREIGN_SIZE, "for %.*s of %.*s there is %s", n, said, of, name.of, words);
    return out;
}
