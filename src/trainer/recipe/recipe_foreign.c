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
 * Grouped by program. Of two rows that fit, the longer name counts. A name that ends with * is a beginning, also of objects. A
 * choice of a setting of ours is named behind that setting. A row has a path only where value, unit and direction are the same.
 */
static const struct recipe_foreign table[] = {
    {"dynamic_clip", "A2TGPO", NULL, "algorithm.beta above 0"},
    {"clip_beta", "A2TGPO", "algorithm.beta", NULL},
    {"adv_rescale_alpha", "A2TGPO", "algorithm.alpha", NULL},
    {"norm_adv_by_std", "A2TGPO", "algorithm.norm_by_std", NULL},
    {"info_gain_type", "A2TGPO", "algorithm.gain", NULL},
    {"info_gain_norm_mode", "A2TGPO", "algorithm.name", NULL},
    {"orm_distribution", "AgentEvolver", "algorithm.adca.outcome", NULL},
    {"prm_scheme", "AgentEvolver", "algorithm.adca.scheme", NULL},
    {"do_batch_norm", "AgentEvolver", "algorithm.adca.batch_norm", NULL},
    {"enable_length_normalization", "AgentEvolver", "algorithm.adca.length_normalisation", NULL},
    {"prm_epoch", "AgentEvolver", "algorithm.prm.epochs", NULL},
    {"alpha_min", "AgentEvolver", "algorithm.schedule.alpha_end", NULL},
    {"skip_type", "AgentEvolver", "judge.skip", NULL},
    {"concurrent", "AgentEvolver", "judge.concurrency", NULL},
    {"model_name", "AgentEvolver", "judge.model", NULL},
    {"overall_score_source", "AgentEvolver", NULL, "always the outcome: the prompt of the judge names success or failure"},
    {"evaluation_type", "AgentEvolver", NULL, "judge.endpoint (api), or no endpoint: the environment's rules judge"},
    {"api_max_retries", "AgentEvolver", NULL,
     "judge.deadline, judge.timeout and judge.backoff: attempts end with the time for a rollout"},
    {"llm_evaluation_log_dir", "AgentEvolver", NULL, "judge.cache: the file with each request's digest and answer"},
    {"enable_adca_metric", "AgentEvolver", NULL,
     "telemetry, which always has the shares: judge_good_success, judge_bad_failure and so on"},

    {"adv_estimator", "verl", "algorithm.name", NULL},
    {"norm_adv_by_std_in_grpo", "verl", "algorithm.norm_by_std", NULL},
    {"lam", "verl", "algorithm.gae.lam", NULL},
    {"algorithm.name.gae", "verl", NULL, "algorithm.name ppo"},
    {"filter_groups*", "verl", NULL, "algorithm.filter.zero_advantage, which leaves groups out and samples none in their place"},
    {"kl_ctrl*", "verl", NONE, CONTROLLER},
    {"kl_ctrl.kl_coef", "verl", NULL, "loss.kl_coef with kl.place reward"},
    {"target_kl", "verl", NONE, CONTROLLER},
    {"pf_ppo*", "verl", NONE, "no rollout is drawn again by its reward (PF-PPO)"},
    {"use_pf_ppo", "verl", NONE, "no rollout is drawn again by its reward (PF-PPO)"},
    {"loss_agg_mode", "verl", "loss.aggregation", NULL},
    {"loss_scale_factor", "verl", NONE, "seq-mean-token-sum-norm divides by the longest rollout that is possible"},
    {"loss.aggregation.token-sum", "verl", NONE, "a sum over tokens grows with the minibatch"},
    {"loss_mode", "verl", "loss.name", NULL},
    {"policy_loss*", "verl", "loss.name", NULL},
    {"loss.name.vanilla", "verl", NULL, "loss.name ppo"},
    {"loss.name.ppo_clip", "verl", NULL, "loss.name ppo"},
    {"rollout_correction.loss_type", "verl", NULL, "correction.name bypass with loss.name ppo or reinforce"},
    {"clip_ratio", "verl", NULL, "loss.clip_low and loss.clip_high"},
    {"clip_ratio_low", "verl", "loss.clip_low", NULL},
    {"clip_ratio_high", "verl", "loss.clip_high", NULL},
    {"clip_ratio_c", "verl", "loss.clip_c", NULL},
    {"clip_cov*", "verl", NONE, COVARIANCE},
    {"kl_cov*", "verl", NONE, COVARIANCE},
    {"ppo_kl_coef", "verl", NONE, COVARIANCE},
    {"tau_pos", "verl", NONE, SOFT},
    {"tau_neg", "verl", NONE, SOFT},
    {"dro_beta", "verl", "dro.beta", NULL},
    {"entropy_coeff", "verl", NONE, ENTROPY},
    {"calculate_entropy", "verl", NULL, "telemetry, which always has the entropy"},
    {"calculate_sum_pi_squared", "verl", NONE, "no algorithm of a recipe has an optimal token baseline"},
    {"use_kl_loss", "verl", NULL, "loss.kl_coef above 0, with kl.place loss"},
    {"kl_loss_coef", "verl", "loss.kl_coef", NULL},
    {"kl_loss_type", "verl", "kl.estimator", NULL},
    {"kl_penalty", "verl", "kl.estimator", NULL},
    {"kl.estimator.low_var_kl", "verl", NULL, "kl.estimator k3"},
    {"kl.estimator.k3+", "verl", NULL, "kl.estimator k3 with kl_gradient.straight_through"},
    {"kl.estimator.k1+", "verl", NULL, "kl.estimator k1 with kl_gradient.straight_through"},
    {"kl.estimator.low_var_kl+", "verl", NULL, "kl.estimator k3 with kl_gradient.straight_through"},
    {"kl.estimator.mse", "verl", NULL, "kl.estimator k2"},
    {"use_kl_in_reward", "verl", NULL, "loss.kl_coef above 0, with kl.place reward"},
    {"cliprange_value", "verl", "value.cliprange", NULL},
    {"critic_warmup", "verl", NONE, SLOW_CRITIC},
    {"critic*", "verl", NONE, CRITIC},
    {"critic.optim.lr", "verl", "value.lr", NULL},
    {"critic.cliprange_value", "verl", "value.cliprange", NULL},
    {"rollout_is", "verl", NULL, "correction.name, with correction.level token or sequence"},
    {"rollout_correction*", "verl", "correction.name", NULL},
    {"bypass_mode", "verl", NULL, "correction.name bypass"},
    {"rollout_is_level", "verl", "correction.level", NULL},
    {"rollout_is_threshold", "verl", "correction.cap", NULL},
    {"rollout_is_batch_normalize", "verl", NONE, "importance weights are not divided by their mean"},
    {"rollout_rs", "verl", "correction.reject", NULL},
    {"rollout_rs_threshold", "verl", "correction.reject_threshold", NULL},
    {"router_replay*", "verl", "routing.replay", NULL},
    {"enable_rollout_routing_replay", "verl", NULL, "routing.replay R3"},
    {"train_batch_size", "verl", "env.questions", NULL},
    {"rollout.n", "verl", "training.group_size", NULL},
    {"rollout_n", "verl", "training.group_size", NULL},
    {"max_assistant_turns", "verl", "env.max_turns", NULL},
    {"max_user_turns", "verl", "env.max_turns", NULL},
    {"prompt_length", "verl", NONE, LENGTHS},
    {"response_length", "verl", NONE, LENGTHS},
    {"max_prompt_length", "verl", NONE, LENGTHS},
    {"max_response_length", "verl", NONE, LENGTHS},
    {"ppo_mini_batch_size", "verl", NULL, "training.minibatch, as ppo_mini_batch_size * training.group_size"},
    {"ppo_epochs", "verl", "training.epochs", NULL},
    {"total_epochs", "verl", NULL, "training.iterations, as total_epochs * the questions of the data / env.questions"},
    {"ppo_max_token_len_per_gpu", "verl", "micro_batch.tokens", NULL},
    {"ppo_micro_batch_size*", "verl", NULL, "micro_batch.tokens, a number of tokens and not of sequences"},
    {"use_dynamic_bsz", "verl", NULL, "micro_batch.tokens above 0"},
    {"log_prob_micro_batch_size*", "verl", NULL, "micro_batch.tokens, a number of tokens and not of sequences"},
    {"log_prob_max_token_len_per_gpu", "verl", "micro_batch.tokens", NULL},
    {"log_prob_use_dynamic_bsz", "verl", NULL, "micro_batch.tokens above 0"},
    {"grad_clip", "verl", "training.clip_norm", NULL},
    {"clip_grad", "verl", "training.clip_norm", NULL},
    {"betas", "verl", NULL, "training.adam_beta1 and training.adam_beta2"},
    {"lr_warmup_steps", "verl", NULL, "training.warmup, a number of updates and not of iterations"},
    {"lr_warmup_steps_ratio", "verl", NULL, "training.warmup, as lr_warmup_steps_ratio * the number of updates"},
    {"min_lr_ratio", "verl", "training.final_rate", NULL},
    {"lr_min", "verl", NULL, "training.final_rate, as lr_min / training.lr"},
    {"total_training_steps", "verl", "training.iterations", NULL},
    {"test_freq", "verl", "evaluation.every", NULL},
    {"val_before_train", "verl", NONE, "the untrained policy is a trial of its own, with training.iterations 0"},
    {"val_kwargs.n", "verl", "evaluation.seeds", NULL},
    {"val_kwargs.temperature", "verl", "evaluation.temperature", NULL},
    {"distillation_loss_coef", "verl", "algorithm.distill.coef", NULL},
    {"distillation_loss.loss_mode", "verl", "algorithm.distill.how", NULL},
    {"distillation_loss.clip_ratio", "verl", NULL, "algorithm.distill_clip.low and algorithm.distill_clip.high"},
    {"distillation_loss.clip_ratio_low", "verl", "algorithm.distill_clip.low", NULL},
    {"distillation_loss.clip_ratio_high", "verl", "algorithm.distill_clip.high", NULL},
    {"distillation.enabled", "verl", NULL, "algorithm.distill.how"},
    {"loss_max_clamp", "verl", NULL, "algorithm.distill_clip.gap, a bound of the difference of log-probs"},
    {"log_prob_min_clamp", "verl", NONE,
     "a teacher's log-prob is limited by its distance to the policy's: algorithm.distill_clip.gap"},
    {"use_policy_gradient", "verl", NULL, "algorithm.distill.how advantage"},
    {"use_task_rewards", "verl", NULL,
     "algorithm.name opd (false), or algorithm.distill beside an algorithm with rewards (true)"},
    {"teacher_models*", "verl", "algorithm.teacher", NULL},
    {"multi_turn*", "verl", NONE, "the environment decides on turns and tools"},
    {"multi_turn.max_assistant_turns", "verl", "env.max_turns", NULL},
    {"multi_turn.max_user_turns", "verl", "env.max_turns", NULL},
    {"gpu_memory_utilization", "verl", NONE, ENGINE},
    {"fsdp*", "verl", NONE, HARDWARE},
    {"megatron*", "verl", NONE, HARDWARE},
    {"n_gpus_per_node", "verl", NONE, HARDWARE},
    {"nnodes", "verl", NONE, HARDWARE},
    {"tensor_model_parallel_size", "verl", NONE, HARDWARE},
    {"save_freq", "verl", NONE, WRITTEN},
    {"logger*", "verl", NONE, WRITTEN},
    {"project_name", "verl", NONE, WRITTEN},
    {"experiment_name", "verl", "name", NULL},
    {"model.path", "verl", NONE, MODEL},
    {"reward_model*", "verl", NONE, REWARDS},
    {"reward_manager*", "verl", NONE, REWARDS},
    {"custom_reward_function*", "verl", "algorithm.hooks.score", NULL},

    {"sync_ref_model", "TRL", NULL, "reference.kind ema"},
    {"ref_model_sync_steps", "TRL", NULL, "reference.every, as ref_model_sync_steps / the updates of an iteration"},
    {"ref_model_mixup_alpha", "TRL", NULL, "reference.decay, as 1 - ref_model_mixup_alpha, with reference.kind ema"},
    {"num_generations", "TRL", "training.group_size", NULL},
    {"num_generations_eval", "TRL", "evaluation.seeds", NULL},
    {"epsilon_low", "TRL", "loss.clip_low", NULL},
    {"epsilon_high", "TRL", "loss.clip_high", NULL},
    {"delta", "TRL", "loss.clip_c", NULL},
    {"loss_type", "TRL", "loss.name", NULL},
    {"loss.name.grpo", "TRL", NULL, "loss.name ppo with loss.aggregation seq-mean-token-mean"},
    {"loss.name.dapo", "TRL", NULL, "loss.name ppo with loss.aggregation token-mean"},
    {"loss.name.bnpo", "TRL", NULL, "loss.name ppo with loss.aggregation token-mean"},
    {"loss.name.dr_grpo", "TRL", NULL, "loss.name ppo with loss.aggregation seq-mean-token-sum-norm"},
    {"importance_sampling_level", "TRL", NULL, "loss.name gspo for sequence"},
    {"scale_rewards", "TRL", NULL, "algorithm.norm_by_std: true for group, false for none"},
    {"normalize_advantages", "TRL", NONE, "advantages are not normalised over the whole batch, but by reinforce_plus_plus"},
    {"reward_clip_range", "TRL", NONE, REWARDS},
    {"reward_weights", "TRL", NONE, REWARDS},
    {"num_iterations", "TRL", "training.epochs", NULL},
    {"max_steps", "TRL", NULL, "training.iterations, as max_steps / the updates of an iteration"},
    {"num_train_epochs", "TRL", NULL, "training.iterations, as num_train_epochs * the questions of the data / env.questions"},
    {"per_device_train_batch_size", "TRL", NULL,
     "training.minibatch, as per_device_train_batch_size * gradient_accumulation_steps * the number of devices"},
    {"gradient_accumulation_steps", "TRL", NULL, "training.minibatch for an update, and micro_batch.tokens for a part of it"},
    {"gradient_checkpointing*", "TRL", NULL, "micro_batch.activation_bytes, a number of bytes"},
    {"steps_per_generation", "TRL", NULL,
     "training.minibatch, as env.questions * training.group_size * gradient_accumulation_steps / steps_per_generation"},
    {"generation_batch_size", "TRL", NULL, "env.questions, as generation_batch_size / training.group_size"},
    {"max_grad_norm", "TRL", "training.clip_norm", NULL},
    {"warmup_steps", "TRL", "training.warmup", NULL},
    {"warmup_ratio", "TRL", NULL, "training.warmup, as warmup_ratio * the number of updates"},
    {"lr_scheduler*", "TRL", NULL, "training.warmup and training.final_rate: linear warm-up, then a cosine or a constant"},
    {"adam_epsilon", "TRL", NONE, MUON_ADAM},
    {"optim", "TRL", NONE, MUON_ADAM},
    {"optim.lr", "prime-rl", "training.lr", NULL},
    {"eval_steps", "TRL", NULL, "evaluation.every, as eval_steps / the updates of an iteration"},
    {"vf_coef", "TRL", "value.coef", NULL},
    {"cliprange", "TRL", NULL, "loss.clip_low and loss.clip_high"},
    {"max_tool_calling_iterations", "TRL", "env.max_turns", NULL},
    {"max_completion_length", "TRL", NONE, LENGTHS},
    {"teacher_model_name_or_path", "TRL", "algorithm.teacher", NULL},
    {"router_aux_loss_coef", "TRL", "model.experts.balance", NULL},
    {"vllm_importance_sampling_correction", "TRL", NULL, "correction.name tis"},
    {"vllm_importance_sampling_cap", "TRL", "correction.cap", NULL},
    {"vllm_importance_sampling_mode", "TRL", NULL,
     "correction.level token or sequence; for a mask also icepop.floor, outside of which the weight is 0"},
    {"vllm_importance_sampling_clip_max", "TRL", "correction.cap", NULL},
    {"vllm_importance_sampling_clip_min", "TRL", NULL, "icepop.floor, below which the weight is 0 as with a mask there"},
    {"vllm_*", "TRL", NONE, ENGINE},
    {"use_vllm", "TRL", NONE, ENGINE},
    {"use_transformers_*", "TRL", NONE, ENGINE},
    {"off_policy_mask_threshold", "TRL", NULL,
     "opsm.lower, as exp(-off_policy_mask_threshold), with opsm.unit rollout and a very large opsm.upper"},
    {"use_bias_correction_kl", "TRL", NULL, "kl.place unbiased, with kl.estimator k3"},
    {"vespo_k_pos", "TRL", "vespo.k_pos", NULL},
    {"vespo_lambda_pos", "TRL", "vespo.lambda_pos", NULL},
    {"vespo_k_neg", "TRL", "vespo.k_neg", NULL},
    {"vespo_lambda_neg", "TRL", "vespo.lambda_neg", NULL},
    {"sapo_temperature_*", "TRL", NONE, SOFT},
    {"entropy_coef*", "TRL", NONE, ENTROPY},
    {"use_adaptive_entropy", "TRL", NONE, ENTROPY},
    {"entropy_target", "TRL", NONE, ENTROPY},
    {"top_entropy_quantile", "TRL", NONE,
     "every token of the policy is trained on, or those that algorithm.hooks.weights chooses"},
    {"multi_objective_aggregation", "TRL", NONE, REWARDS},
    {"normalize_then_sum", "TRL", NONE, REWARDS},
    {"chat_template*", "TRL", NONE, TEXTS},
    {"top_p", "TRL", NONE, SAMPLING},
    {"top_k", "TRL", NONE, SAMPLING},
    {"min_p", "TRL", NONE, SAMPLING},
    {"repetition_penalty", "TRL", NONE, SAMPLING},
    {"generation_kwargs*", "TRL", NONE, SAMPLING},
    {"disable_dropout", "TRL", NULL, "nothing to set: the policy has no dropout"},
    {"bf16", "TRL", NONE, "the learner computes in single precision; sampler.precision is that of the sampler"},
    {"fp16", "TRL", NONE, "the learner computes in single precision; sampler.precision is that of the sampler"},
    {"report_to", "TRL", NONE, WRITTEN},
    {"logging_steps", "TRL", NONE, WRITTEN},
    {"log_completions", "TRL", NULL, "lineage train --rollouts FILE"},
    {"save_steps", "TRL", NONE, WRITTEN},
    {"output_dir", "TRL", NONE, WRITTEN},
    {"model_name_or_path", "TRL", NONE, MODEL},
    {"model_init_kwargs*", "TRL", NONE, MODEL},
    {"algorithm.name.iw_opd", "TRL", NONE, "opd and algorithm.distill do not weigh a teacher by the ratio to the sampler"},
    {"algorithm.name.sdpo", "TRL", NONE, "opsd is the only algorithm whose teacher is the policy"},
    {"algorithm.name.a2po", "TRL", NONE, "no algorithm fits optimal values before training"},

    {"model.name", "prime-rl", NONE, MODEL},
    {"kd_coef", "prime-rl", "algorithm.distill.coef", NULL},
    {"algo.type", "prime-rl", "algorithm.name", NULL},
    {"loss.type", "prime-rl", "loss.name", NULL},
    {"loss.name.default", "prime-rl", NULL, "loss.name dppo"},
    {"dppo_mask_low", "prime-rl", "dppo.mask_low", NULL},
    {"dppo_mask_high", "prime-rl", "dppo.mask_high", NULL},
    {"ipo_threshold", "prime-rl", "ipo.threshold", NULL},
    {"kl_tau", "prime-rl", "sampler_kl.tau", NULL},
    {"adv_tau", "prime-rl", "algorithm.advantage_scale", NULL},
    {"teacher_tau", "prime-rl", "algorithm.distill.coef", NULL},
    {"loss.import_path", "prime-rl", NONE, "a loss is code of the core; algorithm.hooks.weights weighs tokens"},
    {"tool_names", "prime-rl", NULL,
     "echo's roles: algorithm.echo.roles weighs each tool's tokens; there is one tool in an environment"},
    {"build_samples", "prime-rl", "algorithm.hooks.weights", NULL},
    {"observation_weights", "prime-rl", "algorithm.hooks.weights", NULL},
    {"finalize_group", "prime-rl", NULL,
     "algorithm.custom.command for advantages, and algorithm.hooks.weights for what is trained on"},
    {"score_rollout", "prime-rl", "algorithm.hooks.score", NULL},
    {"score_group", "prime-rl", NULL, "algorithm.custom.command, which gets the finished rollouts and gives advantages"},
    {"echo.filter.import_path", "prime-rl", "algorithm.hooks.weights", NULL},
    {"filter.import_path", "prime-rl", "algorithm.hooks.weights", NULL},
    {"demo_key", "prime-rl", NULL, "algorithm.distill.shown demonstration, which the environment makes"},
    {"episode_agents", "prime-rl", NULL,
     "algorithm.hierarchy.branches and .turns: the rows of an episode share their first turns"},
    {"sampling.source", "prime-rl", "algorithm.teacher", NULL},
    {"max_completion_tokens", "prime-rl", NONE, LENGTHS},
    {"replay_store", "prime-rl", NULL, "data.file: rollouts that `lineage train --rollouts FILE` has kept"},
    {"easy_threshold", "prime-rl", NULL, "env.allocation.drop_above, which keeps what is at its bound"},
    {"hard_threshold", "prime-rl", NULL, "env.allocation.drop_below, which keeps what is at its bound"},
    {"curriculum*", "prime-rl", NULL, "environments: pool, allocation and groups"},
    {"online_difficulty_filtering", "prime-rl", NULL,
     "algorithm.filter.zero_advantage, which leaves groups out and samples none in their place"},
    {"filter_zero_advantages", "prime-rl", "algorithm.filter.zero_advantage", NULL},
    {"rollouts_per_example", "prime-rl", "training.group_size", NULL},
    {"batch_size", "prime-rl", "training.minibatch", NULL},
    {"token_batch_size", "prime-rl", NONE, "an update has a number of rollouts: training.minibatch"},
    {"max_async_level", "prime-rl", "sampler.staleness", NULL},
    {"max_off_policy_steps", "prime-rl", "sampler.max_staleness", NULL},
    {"enable_router_replay", "prime-rl", NULL, "routing.replay R3"},
    {"num_output_tokens_weight", "prime-rl", "algorithm.linear.output", NULL},
    {"num_input_tokens_weight", "prime-rl", "algorithm.linear.input", NULL},
    {"num_turns_weight", "prime-rl", "algorithm.linear.turns", NULL},
    {"mask_truncated_completions", "prime-rl", "algorithm.filter.truncated", NULL},
    {"seq_len", "prime-rl", "micro_batch.tokens", NULL},
    {"max_norm", "prime-rl", "training.clip_norm", NULL},
    {"max_inflight", "prime-rl", NONE, ENGINE},
    {"wandb*", "prime-rl", NONE, WRITTEN},
    {"ckpt*", "prime-rl", NULL, "lineage train --resume FILE --save-every N"},
    {"eval.interval", "prime-rl", "evaluation.every", NULL},
    {"betas1", "prime-rl", "training.adam_beta1", NULL},
    {"betas2", "prime-rl", "training.adam_beta2", NULL},
    {"min_lr", "prime-rl", NULL, "training.final_rate, as min_lr / training.lr"},
    {"tokenizer*", "prime-rl", NONE, TEXTS},
    {"renderer*", "prime-rl", NONE, TEXTS},
    {"num_examples", "prime-rl", "evaluation.questions", NULL},
    {"filter_overlong", "DAPO", "algorithm.filter.truncated", NULL},

    {"n_samples_per_prompt", "OpenRLHF", "training.group_size", NULL},
    {"eval.n_samples_per_prompt", "OpenRLHF", "evaluation.seeds", NULL},
    {"eval.steps", "OpenRLHF", "evaluation.every", NULL},
    {"eval.temperature", "OpenRLHF", "evaluation.temperature", NULL},
    {"rollout_batch_size", "OpenRLHF", "env.questions", NULL},
    {"vllm_generate_batch_size", "OpenRLHF", NONE, ENGINE},
    {"advantage_estimator", "OpenRLHF", "algorithm.name", NULL},
    {"algorithm.name.group_norm", "OpenRLHF", NULL, "algorithm.name grpo"},
    {"algorithm.name.reinforce", "OpenRLHF", NULL, "algorithm.name reinforce_plus_plus"},
    {"algorithm.name.reinforce_baseline", "OpenRLHF", NULL, "algorithm.name reinforce_plus_plus_baseline"},
    {"eps_clip", "OpenRLHF", NULL, "loss.clip_low and loss.clip_high"},
    {"eps_clip_low_high", "OpenRLHF", NULL, "loss.clip_low and loss.clip_high"},
    {"dual_clip", "OpenRLHF", "loss.clip_c", NULL},
    {"value_clip", "OpenRLHF", "value.cliprange", NULL},
    {"freezing_steps", "OpenRLHF", NONE, SLOW_CRITIC},
    {"critic.freezing_steps", "OpenRLHF", NONE, SLOW_CRITIC},
    {"critic.adam.lr", "OpenRLHF", "value.lr", NULL},
    {"critic.value_clip", "OpenRLHF", "value.cliprange", NULL},
    {"init_kl_coef", "OpenRLHF", NULL, "loss.kl_coef with kl.place reward"},
    {"kl_estimator", "OpenRLHF", "kl.estimator", NULL},
    {"lambd", "OpenRLHF", "algorithm.gae.lam", NULL},
    {"advantage.estimator", "OpenRLHF", "algorithm.name", NULL},
    {"advantage.no_std_norm", "OpenRLHF", NULL, "algorithm.norm_by_std, where false is what true is there"},
    {"no_advantage_std_norm", "OpenRLHF", NULL, "algorithm.norm_by_std, where false is what true is there"},
    {"is_correction_mode", "OpenRLHF", "correction.name", NULL},
    {"is_correction_level", "OpenRLHF", "correction.level", NULL},
    {"is_correction_threshold", "OpenRLHF", NULL,
     "icepop.floor and correction.cap for tokens, correction.reject_threshold for sequences"},
    {"is_correction_gating", "OpenRLHF", NULL,
     "correction.reject, or loss.name dppo_tv or dppo_kl for a bound of the divergence"},
    {"kl.init_coef", "OpenRLHF", NULL, "loss.kl_coef with kl.place reward"},
    {"kl.target", "OpenRLHF", NONE, CONTROLLER},
    {"kl.horizon", "OpenRLHF", NONE, CONTROLLER},
    {"kl.use_loss", "OpenRLHF", NULL, "kl.place: loss for true, reward for false"},
    {"algo.kl.estimator", "OpenRLHF", "kl.estimator", NULL},
    {"rollout.batch_size", "OpenRLHF", "env.questions", NULL},
    {"micro_batch_size", "OpenRLHF", NULL, "micro_batch.tokens, a number of tokens and not of sequences"},
    {"max_tokens_per_gpu", "OpenRLHF", "micro_batch.tokens", NULL},
    {"train.max_epochs", "OpenRLHF", "training.epochs", NULL},
    {"num_episodes", "OpenRLHF", NULL, "training.iterations, as num_episodes * the questions of the data / env.questions"},
    {"lr_warmup_ratio", "OpenRLHF", NULL, "training.warmup, as lr_warmup_ratio * the number of updates"},
    {"async_enable", "OpenRLHF", NULL, "sampler.staleness above 0"},
    {"async_queue_size", "OpenRLHF", NULL, "sampler.staleness, the age of the weights in iterations"},
    {"partial_rollout_enable", "OpenRLHF", NONE, "a rollout is sampled by one version of the weights"},
    {"unbiased_gradient", "OpenRLHF", NULL, "kl.place unbiased"},
    {"aux_loss_coef", "OpenRLHF", "model.experts.balance", NULL},
    {"dynamic_filtering*", "OpenRLHF", NULL,
     "algorithm.filter.zero_advantage, which leaves groups out and samples none in their place"},
    {"overlong_buffer_len", "OpenRLHF", NULL,
     "algorithm.target.length, as the longest response - overlong_buffer_len, with algorithm.length_penalty anchor"},
    {"overlong_penalty_factor", "OpenRLHF", NULL, "algorithm.length_coef, whose unit is that of algorithm.length_penalty"},
    {"stop_properly_penalty_coef", "OpenRLHF", NULL, "algorithm.filter.truncated, which gives such rollouts the advantage 0"},
    {"reward.clip_range", "OpenRLHF", NONE, REWARDS},
    {"reward.normalize_enable", "OpenRLHF", NONE, REWARDS},
    {"apply_chat_template", "OpenRLHF", NONE, TEXTS},
    {"max_new_tokens", "OpenRLHF", NONE, LENGTHS},
    {"ema_beta", "OpenRLHF", NONE, "weights are not averaged; reference.kind ema averages those of the reference"},
    {"enable_ema", "OpenRLHF", NONE, "weights are not averaged; reference.kind ema averages those of the reference"},
    {"ds.*", "OpenRLHF", NONE, HARDWARE},
    {"lora*", "OpenRLHF", NONE, "all weights of the small policy are trained"},
    {"vllm.*", "OpenRLHF", NONE, ENGINE},
    {"agent_func_path", "OpenRLHF", NONE, "environments are code of the trainer"},
    {"remote_url", "OpenRLHF", "algorithm.hooks.score", NULL},

    {"policy_loss_type", "SkyRL", "loss.name", NULL},
    {"loss.name.regular", "SkyRL", NULL, "loss.name ppo"},
    {"loss.name.dual_clip", "SkyRL", NULL, "loss.name ppo with loss.clip_c"},
    {"loss.name.rollout_is", "SkyRL", NONE, "its ratio is to the sampler, with an interval; nearest is correction.name bypass"},
    {"loss.name.cross_entropy", "SkyRL", NULL, "algorithm.name sft"},
    {"loss.name.importance_sampling", "SkyRL", NULL, "loss.name reinforce with correction.name bypass"},
    {"loss_reduction", "SkyRL", "loss.aggregation", NULL},
    {"loss.aggregation.token_mean", "SkyRL", NULL, "loss.aggregation token-mean"},
    {"loss.aggregation.token_mean_legacy", "SkyRL", NONE, "a mean over a micro-batch depends on how rollouts are packed"},
    {"loss.aggregation.sequence_mean", "SkyRL", NULL, "loss.aggregation seq-mean-token-mean"},
    {"loss.aggregation.seq_mean_token_sum_norm", "SkyRL", NULL, "loss.aggregation seq-mean-token-sum-norm"},
    {"loss.aggregation.prompt_mean", "SkyRL", NONE, "no aggregation has a mean per question"},
    {"max_seq_len", "SkyRL", NONE, "seq-mean-token-sum-norm divides by the longest rollout that is possible"},
    {"kl_target", "SkyRL", NONE, CONTROLLER},
    {"kl_estimator_type", "SkyRL", "kl.estimator", NULL},
    {"use_entropy_loss", "SkyRL", NONE, ENTROPY},
    {"entropy_loss_coef", "SkyRL", NONE, ENTROPY},
    {"advantage_batch_normalize", "SkyRL", NONE,
     "advantages are not normalised over the whole batch, but by reinforce_plus_plus"},
    {"grpo_norm_by_std", "SkyRL", "algorithm.norm_by_std", NULL},
    {"zero_variance_filter", "SkyRL", "algorithm.filter.zero_advantage", NULL},
    {"zero_variance_filter_tol", "SkyRL", NONE, "algorithm.filter.zero_advantage takes equal rewards only"},
    {"eps_clip_low", "SkyRL", "loss.clip_low", NULL},
    {"eps_clip_high", "SkyRL", "loss.clip_high", NULL},
    {"cispo_eps_clip_low", "SkyRL", "loss.clip_low", NULL},
    {"cispo_eps_clip_high", "SkyRL", "loss.clip_high", NULL},
    {"cispo_anchor", "SkyRL", NONE, "cispo's ratio is to the old policy; correction.name none makes that the sampler"},
    {"dppo_type", "SkyRL", NULL, "loss.name dppo_tv or dppo_kl"},
    {"delta_low", "SkyRL", "loss.clip_low", NULL},
    {"delta_high", "SkyRL", "loss.clip_high", NULL},
    {"use_tis", "SkyRL", NULL, "correction.name tis"},
    {"tis_imp_ratio_cap", "SkyRL", "correction.cap", NULL},
    {"tis_ratio_type", "SkyRL", "correction.level", NULL},
    {"token_tis_ratio_clip_high", "SkyRL", "correction.cap", NULL},
    {"sequence_tis_ratio_clip_high", "SkyRL", "correction.cap", NULL},
    {"sequence_mask_metric", "SkyRL", NULL, "correction.reject with correction.reject_threshold"},
    {"geo_mask_*", "SkyRL", NULL, "correction.reject with correction.reject_threshold"},
    {"product_mask_*", "SkyRL", NULL, "correction.reject with correction.reject_threshold"},
    {"outlier_token_is_threshold_*", "SkyRL", NULL, "correction.reject with correction.reject_threshold"},
    {"token_mask_is_threshold_low", "SkyRL", "icepop.floor", NULL},
    {"token_mask_is_threshold_high", "SkyRL", "correction.cap", NULL},
    {"dynamic_sampling*", "SkyRL", NULL,
     "algorithm.filter.zero_advantage, which leaves groups out and samples none in their place"},
    {"update_epochs_per_batch", "SkyRL", "training.epochs", NULL},
    {"trainer.epochs", "SkyRL", NULL, "training.iterations, as epochs * the questions of the data / env.questions"},
    {"critic.optimizer_config.lr", "SkyRL", "value.lr", NULL},
    {"critic_mini_batch_size", "SkyRL", NULL, "training.minibatch, as critic_mini_batch_size * training.group_size"},
    {"max_tokens_per_microbatch", "SkyRL", "micro_batch.tokens", NULL},
    {"moe_aux_loss_coeff", "SkyRL", "model.experts.balance", NULL},
    {"policy_mini_batch_size", "SkyRL", NULL, "training.minibatch, as policy_mini_batch_size * training.group_size"},
    {"micro_train_batch_size_per_gpu", "SkyRL", NULL, "micro_batch.tokens, a number of tokens and not of sequences"},
    {"micro_forward_batch_size_per_gpu", "SkyRL", NULL, "micro_batch.tokens, a number of tokens and not of sequences"},
    {"num_warmup_steps", "SkyRL", NULL, "training.warmup, a number of updates"},
    {"adam_betas", "SkyRL", NULL, "training.adam_beta1 and training.adam_beta2"},
    {"eval_interval", "SkyRL", "evaluation.every", NULL},
    {"eval_n_samples_per_prompt", "SkyRL", "evaluation.seeds", NULL},
    {"max_staleness_steps", "SkyRL", "sampler.max_staleness", NULL},
    {"apply_overlong_filtering", "SkyRL", "algorithm.filter.truncated", NULL},
    {"zero_reward_on_non_stop", "SkyRL", NULL, "algorithm.filter.truncated, which gives such rollouts the advantage 0"},
    {"moe_enable_routing_replay", "SkyRL", NULL, "routing.replay R3"},
    {"max_generate_length", "SkyRL", NONE, LENGTHS},

    {"max_head_offpolicyness", "AReaL", "sampler.max_staleness", NULL},
    {"eps_clip_higher", "AReaL", "loss.clip_high", NULL},
    {"c_clip", "AReaL", "loss.clip_c", NULL},
    {"loss.name.m2po", "AReaL", NONE,
     "no mask limits the second moment of the ratios; opsm and correction.reject limit rollouts"},
    {"m2_threshold", "AReaL", NONE, "no mask limits the second moment of the ratios; opsm and correction.reject limit rollouts"},
    {"critic.eps_clip", "AReaL", "value.cliprange", NULL},
    {"critic.optimizer.lr", "AReaL", "value.lr", NULL},
    {"kl_ctl", "AReaL", NULL, "loss.kl_coef with kl.place reward"},
    {"discount", "AReaL", NULL, "algorithm.gamma, a discount per turn"},
    {"turn_discount", "AReaL", "algorithm.gamma", NULL},
    {"gae_lambda", "AReaL", "algorithm.gae.lam", NULL},
    {"adv_norm*", "AReaL", NULL, "algorithm.norm_by_std, and the mean by algorithm.name"},
    {"reward_norm*", "AReaL", NULL, "algorithm.norm_by_std, and the mean by algorithm.name"},
    {"reward_scaling", "AReaL", NONE, REWARDS},
    {"reward_bias", "AReaL", NONE, REWARDS},
    {"reward_clip", "AReaL", NONE, REWARDS},
    {"overlong_reward_penalty", "AReaL", NULL, "algorithm.length_penalty anchor"},
    {"overlong_tokens", "AReaL", NULL,
     "algorithm.target.length, as the longest response - overlong_tokens, with algorithm.length_penalty anchor"},
    {"mask_no_eos_with_zero", "AReaL", NULL, "algorithm.filter.truncated, which gives such rollouts the advantage 0"},
    {"use_sapo_loss", "AReaL", NULL, "loss.name sapo"},
    {"sapo_tau_*", "AReaL", NONE, SOFT},
    {"recompute_logprob", "AReaL", NULL, "correction.name recompute"},
    {"prox_logp_method", "AReaL", NULL, "correction.name recompute or decoupled: proximal log-probs are always computed"},
    {"use_decoupled_loss", "AReaL", NULL, "correction.name decoupled"},
    {"rejection_sampling*", "AReaL", NULL, "correction.reject"},
    {"behave_imp_weight_cap", "AReaL", NULL,
     "correction.cap with a small icepop.floor: tokens outside of this interval have the weight 0"},
    {"ppo_n_minibatches", "AReaL", NULL, "training.minibatch, as env.questions * training.group_size / ppo_n_minibatches"},
    {"gradient_clipping", "AReaL", "training.clip_norm", NULL},
    {"n_samples", "AReaL", "training.group_size", NULL},
    {"total_train_epochs", "AReaL", NULL,
     "training.iterations, as total_train_epochs * the questions of the data / env.questions"},
    {"total_train_steps", "AReaL", "training.iterations", NULL},
    {"warmup_steps_proportion", "AReaL", NULL, "training.warmup, as warmup_steps_proportion * the number of updates"},
    {"max_concurrent_rollouts", "AReaL", NONE, ENGINE},
    {"distill_loss_weight", "AReaL", "algorithm.distill.coef", NULL},
    {"sglang*", "AReaL", NONE, ENGINE},
    {"allocation_mode", "AReaL", NONE, HARDWARE},

    {"max_steps_off_policy", "tinker-cookbook", "sampler.max_staleness", NULL},
    {"groups_per_batch", "tinker-cookbook", "env.questions", NULL},
    {"kl_penalty_coef", "tinker-cookbook", NULL, "loss.kl_coef with kl.place reward"},
    {"kl_discount_factor", "tinker-cookbook", NONE, "the KL penalty of a token is not discounted"},
    {"kl_reference_config*", "tinker-cookbook", NULL, "reference.kind"},
    {"loss_fn", "tinker-cookbook", "loss.name", NULL},
    {"loss_fn_config*", "tinker-cookbook", NULL, "loss.clip_low and loss.clip_high, and dro.beta"},
    {"num_substeps", "tinker-cookbook", NULL, "training.minibatch, as env.questions * training.group_size / num_substeps"},
    {"num_minibatches", "tinker-cookbook", NULL, "training.minibatch, as env.questions * training.group_size / num_minibatches"},
    {"remove_constant_reward_groups", "tinker-cookbook", "algorithm.filter.zero_advantage", NULL},
    {"compute_post_kl", "tinker-cookbook", NULL, "telemetry, which always has the KL of an update"},
    {"eval_every", "tinker-cookbook", "evaluation.every", NULL},
    {"save_every", "tinker-cookbook", NULL, "lineage train --resume FILE --save-every N"},
    {"num_epochs", "tinker-cookbook", NULL, "training.iterations, as num_epochs * the questions of the data / env.questions"},
    {"teacher_sync_every", "tinker-cookbook", NONE, "the teacher of opsd is the live policy"},
    {"train_group_size", "tinker-cookbook", "training.group_size", NULL},
    {"test_group_size", "tinker-cookbook", "evaluation.seeds", NULL},
    {"load_checkpoint_path", "tinker-cookbook", "start.checkpoint", NULL},
    {"base_model", "tinker-cookbook", NONE, MODEL},
    {"renderer_name", "tinker-cookbook", NONE, TEXTS},
    {"lr_schedule", "tinker-cookbook", NULL,
     "training.warmup and training.final_rate: linear warm-up, then a cosine or a constant"},
    {"max_concurrent_generation", "tinker-cookbook", NONE, ENGINE},
    {"teacher_config*", "tinker-cookbook", "algorithm.teacher", NULL},
    {"algorithm.name.sdft", "tinker-cookbook", NONE,
     "its teacher is the start and its targets are the teacher's top tokens; opsd is prime-rl's form"},

    {"algorithm.name.flash_reinforce", "OpenRLHF", NONE, "no algorithm subtracts the mean of the batch alone"},
    {"loss.name.flash_reinforce", "OpenRLHF", NONE, "no algorithm subtracts the mean of the batch alone"},
    {"loss.name.icepop", "its paper", NULL, "correction.name tis with icepop.floor and correction.cap"},
    {"correction.name.icepop", "its paper", NULL, "correction.name tis with icepop.floor and correction.cap"},
};

/* Where a row's name fits into the one that was sought: its length, 0 for nowhere; *at receives where it begins. */
static size_t fits_at(const char *row, const char *name, size_t *at)
{
    size_t n = strlen(row), length = strlen(name);
    *at = length - n;
    if (row[n - 1] != '*')
        return n <= length && strcmp(name + length - n, row) == 0 && (n == length || name[length - n - 1] == '.') ? n : 0;
    for (const char *part = name; part; part = strchr(part, '.') ? strchr(part, '.') + 1 : NULL)
        if (strncmp(part, row, n - 1) == 0) {
            *at = (size_t)(part - name);
            return n - 1;
        }
    return 0;
}

static size_t fits(const char *row, const char *name)
{
    size_t at;
    return fits_at(row, name, &at);
}

/*
 * Where an object without an equal begins in the name: "critic" in "critic.ppo_epochs", whose members are not the policy's
 * settings of that name. SIZE_MAX: there is none.
 */
static size_t object_without_equal(const char *name)
{
    size_t first = SIZE_MAX, at;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n = strlen(table[i].name);
        if (table[i].path && !*table[i].path && table[i].name[n - 1] == '*' && fits_at(table[i].name, name, &at) &&
            strchr(name + at + n - 1, '.') && at < first)
            first = at;
    }
    return first;
}

const struct recipe_foreign *recipe_foreign_at(size_t i)
{
    return i < sizeof table / sizeof *table ? &table[i] : NULL;
}

/* The longest name that ends the one that was sought, since programs nest their settings: "kl.estimator", "estimator". */
const struct recipe_foreign *recipe_foreign_find(const char *name)
{
    const struct recipe_foreign *found = NULL;
    size_t longest = 0, at, first = object_without_equal(name);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n = fits_at(table[i].name, name, &at);
        if (n > longest && at <= first) {
            longest = n;
            found = &table[i];
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
    for (size_t i = 0; i < sizeof namesakes / sizeof *namesakes; i++)
        if (strcmp(setting, namesakes[i].path + strlen("algorithm.")) == 0 || fits(namesakes[i].path, setting))
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
const char *recipe_foreign_say(char out[RECIPE_FOREIGN_SIZE], const struct recipe_foreign *foreign)
{
    static const char *const choices[] = {"algorithm.name.", "loss.name.", "loss.aggregation.", "kl.estimator.",
                                          "correction.name."};
    const char *name = foreign->name;
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (strncmp(foreign->name, choices[i], strlen(choices[i])) == 0)
            name = foreign->name + strlen(choices[i]);
    int n = (int)strcspn(name, "*");
    if (foreign->path && !*foreign->path)
        snprintf(out, RECIPE_FOREIGN_SIZE, "%.*s of %s has no equal here: %s", n, name, foreign->of, foreign->words);
    else if (foreign->path)
        snprintf(out, RECIPE_FOREIGN_SIZE, "what %s calls %.*s is %s here", foreign->of, n, name, foreign->path);
    else
        snprintf(out, RECIPE_FOREIGN_SIZE, "for %.*s of %s there is %s", n, name, foreign->of, foreign->words);
    return out;
}
