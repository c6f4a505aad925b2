/*
 * recipe_foreign.c: see recipe_foreign.h. The names are those of the programs' own options. They are not accepted in
 * recipes, because a value may have another unit there (a batch of prompts, a coefficient with another sign).
 */
#include "recipe/recipe_foreign.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Sorted by program, then by our path. The first row of a name counts. */
static const struct recipe_foreign table[] = {
    {"dynamic_clip", "A2TGPO", "algorithm.beta", NULL},
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
    {"loss_agg_mode", "verl", "loss.aggregation", NULL},
    {"loss_mode", "verl", "loss.name", NULL},
    {"policy_loss", "verl", "loss.name", NULL},
    {"clip_ratio", "verl", "loss.clip_low", NULL},
    {"clip_ratio_low", "verl", "loss.clip_low", NULL},
    {"clip_ratio_high", "verl", "loss.clip_high", NULL},
    {"clip_ratio_c", "verl", "loss.clip_c", NULL},
    {"use_kl_loss", "verl", "loss.kl_coef", NULL},
    {"kl_loss_coef", "verl", "loss.kl_coef", NULL},
    {"kl_loss_type", "verl", "kl.estimator", NULL},
    {"kl_penalty", "verl", "kl.estimator", NULL},
    {"use_kl_in_reward", "verl", "kl.place", NULL},
    {"cliprange_value", "verl", "value.cliprange", NULL},
    {"rollout_is", "verl", "correction.name", NULL},
    {"rollout_correction", "verl", "correction.name", NULL},
    {"bypass_mode", "verl", "correction.name", NULL},
    {"rollout_is_level", "verl", "correction.level", NULL},
    {"rollout_is_threshold", "verl", "correction.cap", NULL},
    {"rollout_rs", "verl", "correction.reject", NULL},
    {"rollout_rs_threshold", "verl", "correction.reject_threshold", NULL},
    {"router_replay", "verl", "routing.replay", NULL},
    {"train_batch_size", "verl", "env.questions", NULL},
    {"ppo_mini_batch_size", "verl", "training.minibatch", NULL},
    {"ppo_epochs", "verl", "training.epochs", NULL},
    {"ppo_max_token_len_per_gpu", "verl", "micro_batch.tokens", NULL},
    {"grad_clip", "verl", "training.clip_norm", NULL},
    {"lr_warmup_steps", "verl", "training.warmup", NULL},
    {"total_training_steps", "verl", "training.iterations", NULL},
    {"test_freq", "verl", "evaluation.every", NULL},
    {"sync_ref_model", "TRL", "reference.kind", NULL},
    {"ref_model_sync_steps", "TRL", "reference.every", NULL},
    {"ref_model_mixup_alpha", "TRL", "reference.decay", NULL},
    {"num_generations", "TRL", "training.group_size", NULL},
    {"epsilon_low", "TRL", "loss.clip_low", NULL},
    {"epsilon_high", "TRL", "loss.clip_high", NULL},
    {"delta", "TRL", "loss.clip_c", NULL},
    {"loss_type", "TRL", "loss.name", NULL},
    {"importance_sampling_level", "TRL", "loss.name", NULL},
    {"scale_rewards", "TRL", "algorithm.norm_by_std", NULL},
    {"num_iterations", "TRL", "training.epochs", NULL},
    {"max_steps", "TRL", "training.iterations", NULL},
    {"num_train_epochs", "TRL", "training.iterations", NULL},
    {"per_device_train_batch_size", "TRL", "training.minibatch", NULL},
    {"max_grad_norm", "TRL", "training.clip_norm", NULL},
    {"warmup_steps", "TRL", "training.warmup", NULL},
    {"eval_steps", "TRL", "evaluation.every", NULL},
    {"vf_coef", "TRL", "value.coef", NULL},
    {"cliprange", "TRL", "loss.clip_low", NULL},
    {"vllm_importance_sampling_correction", "TRL", "correction.name", NULL},
    {"vllm_importance_sampling_cap", "TRL", "correction.cap", NULL},
    {"kd_coef", "prime-rl", "algorithm.distill.coef", NULL},
    {"tool_names", "prime-rl", NULL,
     "echo's roles: algorithm.echo.roles weighs each tool's tokens; there is one tool in an environment"},
    {"build_samples", "prime-rl", "algorithm.hooks.weights", NULL},
    {"observation_weights", "prime-rl", "algorithm.hooks.weights", NULL},
    {"finalize_group", "prime-rl", NULL,
     "algorithm.custom.command for advantages, and algorithm.hooks.weights for what is trained on"},
    {"score_rollout", "prime-rl", "algorithm.hooks.score", NULL},
    {"score_group", "prime-rl", NULL, "algorithm.custom.command, which gets the finished rollouts and gives advantages"},
    {"echo.filter.import_path", "prime-rl", "algorithm.hooks.weights", NULL},
    {"replay_store", "prime-rl", NULL, "data.file: rollouts that `lineage train --rollouts FILE` has kept"},
    {"easy_threshold", "prime-rl", "env.allocation.drop_above", NULL},
    {"hard_threshold", "prime-rl", "env.allocation.drop_below", NULL},
    {"online_difficulty_filtering", "prime-rl", "algorithm.filter.zero_advantage", NULL},
    {"rollouts_per_example", "prime-rl", "training.group_size", NULL},
    {"batch_size", "prime-rl", "training.minibatch", NULL},
    {"max_async_level", "prime-rl", "sampler.staleness", NULL},
    {"max_off_policy_steps", "prime-rl", "sampler.max_staleness", NULL},
    {"num_output_tokens_weight", "prime-rl", "algorithm.linear.output", NULL},
    {"num_input_tokens_weight", "prime-rl", "algorithm.linear.input", NULL},
    {"num_turns_weight", "prime-rl", "algorithm.linear.turns", NULL},
    {"mask_truncated_completions", "prime-rl", "algorithm.filter.truncated", NULL},
    {"filter_overlong", "DAPO", "algorithm.filter.truncated", NULL},
    {"adv_tau", "prime-rl", "algorithm.advantage_scale", NULL},
    {"teacher_tau", "prime-rl", "algorithm.distill.coef", NULL},
    {"kl_tau", "prime-rl", "loss.kl_coef", NULL},
    {"seq_len", "prime-rl", "micro_batch.tokens", NULL},
    {"max_norm", "prime-rl", "training.clip_norm", NULL},
    {"n_samples_per_prompt", "OpenRLHF", "training.group_size", NULL},
    {"rollout_batch_size", "OpenRLHF", "env.questions", NULL},
    {"advantage_estimator", "OpenRLHF", "algorithm.name", NULL},
    {"eps_clip", "OpenRLHF", "loss.clip_low", NULL},
    {"eps_clip_low_high", "OpenRLHF", "loss.clip_low", NULL},
    {"dual_clip", "OpenRLHF", "loss.clip_c", NULL},
    {"value_clip", "OpenRLHF", "value.cliprange", NULL},
    {"init_kl_coef", "OpenRLHF", "loss.kl_coef", NULL},
    {"kl_estimator", "OpenRLHF", "kl.estimator", NULL},
    {"lambd", "OpenRLHF", "algorithm.gae.lam", NULL},
    {"advantage.estimator", "OpenRLHF", "algorithm.name", NULL},
    {"advantage.no_std_norm", "OpenRLHF", "algorithm.norm_by_std", NULL},
    {"is_correction_mode", "OpenRLHF", "correction.name", NULL},
    {"is_correction_level", "OpenRLHF", "correction.level", NULL},
    {"is_correction_threshold", "OpenRLHF", "correction.cap", NULL},
    {"kl.init_coef", "OpenRLHF", "loss.kl_coef", NULL},
    {"kl.use_loss", "OpenRLHF", "kl.place", NULL},
    {"algo.kl.estimator", "OpenRLHF", "kl.estimator", NULL},
    {"rollout.batch_size", "OpenRLHF", "env.questions", NULL},
    {"train.max_epochs", "OpenRLHF", "training.epochs", NULL},
    {"async_queue_size", "OpenRLHF", "sampler.staleness", NULL},
    {"unbiased_gradient", "OpenRLHF", NULL, "kl.place unbiased"},
    {"steps_per_generation", "TRL", "training.minibatch", NULL},
    {"generation_batch_size", "TRL", "env.questions", NULL},
    {"vllm_importance_sampling_mode", "TRL", "correction.level", NULL},
    {"vllm_importance_sampling_clip_max", "TRL", "correction.cap", NULL},
    {"vllm_importance_sampling_clip_min", "TRL", "icepop.floor", NULL},
    {"off_policy_mask_threshold", "TRL", "opsm.lower", NULL},
    {"use_bias_correction_kl", "TRL", NULL, "kl.place unbiased, with kl.estimator k3"},
    {"vespo_k_pos", "TRL", "vespo.k_pos", NULL},
    {"vespo_lambda_pos", "TRL", "vespo.lambda_pos", NULL},
    {"vespo_k_neg", "TRL", "vespo.k_neg", NULL},
    {"vespo_lambda_neg", "TRL", "vespo.lambda_neg", NULL},
    {"dro_beta", "verl", "dro.beta", NULL},
    {"entropy_coef", "TRL", NULL, NULL},
    {"use_adaptive_entropy", "TRL", NULL, NULL},
    {"entropy_target", "TRL", NULL, NULL},
    {"top_entropy_quantile", "TRL", NULL, NULL},
    {"multi_objective_aggregation", "TRL", NULL, NULL},
    {"normalize_then_sum", "TRL", NULL, NULL},
    {"entropy_coeff", "verl", NULL, NULL},
    {"policy_loss_type", "SkyRL", "loss.name", NULL},
    {"loss_reduction", "SkyRL", "loss.aggregation", NULL},
    {"eps_clip_low", "SkyRL", "loss.clip_low", NULL},
    {"eps_clip_high", "SkyRL", "loss.clip_high", NULL},
    {"tis_ratio_type", "SkyRL", "correction.level", NULL},
    {"token_tis_ratio_clip_high", "SkyRL", "correction.cap", NULL},
    {"sequence_tis_ratio_clip_high", "SkyRL", "correction.cap", NULL},
    {"update_epochs_per_batch", "SkyRL", "training.epochs", NULL},
    {"max_staleness_steps", "SkyRL", "sampler.max_staleness", NULL},
    {"cispo_anchor", "SkyRL", NULL, NULL},
    {"max_head_offpolicyness", "AReaL", "sampler.max_staleness", NULL},
    {"eps_clip_higher", "AReaL", "loss.clip_high", NULL},
    {"c_clip", "AReaL", "loss.clip_c", NULL},
    {"kl_ctl", "AReaL", "loss.kl_coef", NULL},
    {"gae_lambda", "AReaL", "algorithm.gae.lam", NULL},
    {"use_sapo_loss", "AReaL", "loss.name", NULL},
    {"use_decoupled_loss", "AReaL", "correction.name", NULL},
    {"ppo_n_minibatches", "AReaL", "training.minibatch", NULL},
    {"gradient_clipping", "AReaL", "training.clip_norm", NULL},
    {"max_steps_off_policy", "tinker-cookbook", "sampler.max_staleness", NULL},
    {"groups_per_batch", "tinker-cookbook", "env.questions", NULL},
    {"kl_penalty_coef", "tinker-cookbook", "loss.kl_coef", NULL},
    {"loss_fn", "tinker-cookbook", "loss.name", NULL},
    {"num_substeps", "tinker-cookbook", "training.minibatch", NULL},
    {"flash_reinforce", "OpenRLHF", NULL, NULL},
    {"m2po", "AReaL", NULL, NULL},
    {"prompt_mean", "SkyRL", NULL, NULL},
    {"iw_opd", "TRL", NULL, NULL},
    {"sdpo", "TRL", NULL, NULL},
    {"sdft", "tinker-cookbook", NULL, NULL},
    {"a2po", "TRL", NULL, NULL},
};

const struct recipe_foreign *recipe_foreign_at(size_t i)
{
    return i < sizeof table / sizeof *table ? &table[i] : NULL;
}

/* The longest name that ends the one that was sought, since programs nest their settings: "kl.estimator", "estimator". */
const struct recipe_foreign *recipe_foreign_find(const char *name)
{
    const struct recipe_foreign *found = NULL;
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        size_t n = strlen(table[i].name);
        bool ends = n <= length && strcmp(name + length - n, table[i].name) == 0 && (n == length || name[length - n - 1] == '.');
        if (ends && (!found || n > strlen(found->name)))
            found = &table[i];
    }
    return found;
}

const char *recipe_foreign_say(char out[RECIPE_FOREIGN_SIZE], const struct recipe_foreign *foreign)
{
    if (foreign->instead)
        snprintf(out, RECIPE_FOREIGN_SIZE, "for %s of %s there is %s", foreign->name, foreign->of, foreign->instead);
    else if (foreign->path)
        snprintf(out, RECIPE_FOREIGN_SIZE, "what %s calls %s is %s here", foreign->of, foreign->name, foreign->path);
    else
        snprintf(out, RECIPE_FOREIGN_SIZE, "%s of %s has no equal here (schema/UPSTREAM.md lists what is absent)", foreign->name,
                 foreign->of);
    return out;
}
