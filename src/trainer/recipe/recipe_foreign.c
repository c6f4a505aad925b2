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
    {"dynamic_clip", "A2TGPO", "algorithm.beta"},
    {"clip_beta", "A2TGPO", "algorithm.beta"},
    {"adv_rescale_alpha", "A2TGPO", "algorithm.alpha"},
    {"norm_adv_by_std", "A2TGPO", "algorithm.norm_by_std"},
    {"info_gain_type", "A2TGPO", "algorithm.gain"},
    {"info_gain_norm_mode", "A2TGPO", "algorithm.name"},
    {"orm_distribution", "AgentEvolver", "algorithm.adca.outcome"},
    {"prm_scheme", "AgentEvolver", "algorithm.adca.scheme"},
    {"do_batch_norm", "AgentEvolver", "algorithm.adca.batch_norm"},
    {"enable_length_normalization", "AgentEvolver", "algorithm.adca.length_normalisation"},
    {"prm_epoch", "AgentEvolver", "algorithm.prm.epochs"},
    {"alpha_min", "AgentEvolver", "algorithm.schedule.alpha_end"},
    {"skip_type", "AgentEvolver", "judge.skip"},
    {"concurrent", "AgentEvolver", "judge.concurrency"},
    {"model_name", "AgentEvolver", "judge.model"},
    {"adv_estimator", "verl", "algorithm.name"},
    {"norm_adv_by_std_in_grpo", "verl", "algorithm.norm_by_std"},
    {"lam", "verl", "algorithm.gae.lam"},
    {"loss_agg_mode", "verl", "loss.aggregation"},
    {"loss_mode", "verl", "loss.name"},
    {"policy_loss", "verl", "loss.name"},
    {"clip_ratio", "verl", "loss.clip_low"},
    {"clip_ratio_low", "verl", "loss.clip_low"},
    {"clip_ratio_high", "verl", "loss.clip_high"},
    {"clip_ratio_c", "verl", "loss.clip_c"},
    {"use_kl_loss", "verl", "loss.kl_coef"},
    {"kl_loss_coef", "verl", "loss.kl_coef"},
    {"kl_loss_type", "verl", "kl.estimator"},
    {"kl_penalty", "verl", "kl.estimator"},
    {"use_kl_in_reward", "verl", "kl.place"},
    {"cliprange_value", "verl", "value.cliprange"},
    {"rollout_is", "verl", "correction.name"},
    {"rollout_correction", "verl", "correction.name"},
    {"bypass_mode", "verl", "correction.name"},
    {"rollout_is_level", "verl", "correction.level"},
    {"rollout_is_threshold", "verl", "correction.cap"},
    {"rollout_rs", "verl", "correction.reject"},
    {"rollout_rs_threshold", "verl", "correction.reject_threshold"},
    {"router_replay", "verl", "routing.replay"},
    {"train_batch_size", "verl", "env.questions"},
    {"ppo_mini_batch_size", "verl", "training.minibatch"},
    {"ppo_epochs", "verl", "training.epochs"},
    {"ppo_max_token_len_per_gpu", "verl", "micro_batch.tokens"},
    {"grad_clip", "verl", "training.clip_norm"},
    {"lr_warmup_steps", "verl", "training.warmup"},
    {"total_training_steps", "verl", "training.iterations"},
    {"test_freq", "verl", "evaluation.every"},
    {"sync_ref_model", "TRL", "reference.kind"},
    {"ref_model_sync_steps", "TRL", "reference.every"},
    {"ref_model_mixup_alpha", "TRL", "reference.decay"},
    {"num_generations", "TRL", "training.group_size"},
    {"epsilon_low", "TRL", "loss.clip_low"},
    {"epsilon_high", "TRL", "loss.clip_high"},
    {"delta", "TRL", "loss.clip_c"},
    {"loss_type", "TRL", "loss.name"},
    {"importance_sampling_level", "TRL", "loss.name"},
    {"scale_rewards", "TRL", "algorithm.norm_by_std"},
    {"num_iterations", "TRL", "training.epochs"},
    {"max_steps", "TRL", "training.iterations"},
    {"num_train_epochs", "TRL", "training.iterations"},
    {"per_device_train_batch_size", "TRL", "training.minibatch"},
    {"max_grad_norm", "TRL", "training.clip_norm"},
    {"warmup_steps", "TRL", "training.warmup"},
    {"eval_steps", "TRL", "evaluation.every"},
    {"vf_coef", "TRL", "value.coef"},
    {"cliprange", "TRL", "loss.clip_low"},
    {"vllm_importance_sampling_correction", "TRL", "correction.name"},
    {"vllm_importance_sampling_cap", "TRL", "correction.cap"},
    {"rollouts_per_example", "prime-rl", "training.group_size"},
    {"batch_size", "prime-rl", "training.minibatch"},
    {"max_async_level", "prime-rl", "sampler.staleness"},
    {"max_off_policy_steps", "prime-rl", "sampler.max_staleness"},
    {"num_output_tokens_weight", "prime-rl", "algorithm.linear.output"},
    {"num_input_tokens_weight", "prime-rl", "algorithm.linear.input"},
    {"num_turns_weight", "prime-rl", "algorithm.linear.turns"},
    {"mask_truncated_completions", "prime-rl", "algorithm.filter.truncated"},
    {"filter_overlong", "DAPO", "algorithm.filter.truncated"},
    {"adv_tau", "prime-rl", "algorithm.advantage_scale"},
    {"teacher_tau", "prime-rl", "algorithm.distill.coef"},
    {"kl_tau", "prime-rl", "loss.kl_coef"},
    {"seq_len", "prime-rl", "micro_batch.tokens"},
    {"max_norm", "prime-rl", "training.clip_norm"},
    {"n_samples_per_prompt", "OpenRLHF", "training.group_size"},
    {"rollout_batch_size", "OpenRLHF", "env.questions"},
    {"advantage_estimator", "OpenRLHF", "algorithm.name"},
    {"eps_clip", "OpenRLHF", "loss.clip_low"},
    {"eps_clip_low_high", "OpenRLHF", "loss.clip_low"},
    {"dual_clip", "OpenRLHF", "loss.clip_c"},
    {"value_clip", "OpenRLHF", "value.cliprange"},
    {"init_kl_coef", "OpenRLHF", "loss.kl_coef"},
    {"kl_estimator", "OpenRLHF", "kl.estimator"},
    {"lambd", "OpenRLHF", "algorithm.gae.lam"},
    {"advantage.estimator", "OpenRLHF", "algorithm.name"},
    {"advantage.no_std_norm", "OpenRLHF", "algorithm.norm_by_std"},
    {"is_correction_mode", "OpenRLHF", "correction.name"},
    {"is_correction_level", "OpenRLHF", "correction.level"},
    {"is_correction_threshold", "OpenRLHF", "correction.cap"},
    {"kl.init_coef", "OpenRLHF", "loss.kl_coef"},
    {"kl.use_loss", "OpenRLHF", "kl.place"},
    {"algo.kl.estimator", "OpenRLHF", "kl.estimator"},
    {"rollout.batch_size", "OpenRLHF", "env.questions"},
    {"train.max_epochs", "OpenRLHF", "training.epochs"},
    {"async_queue_size", "OpenRLHF", "sampler.staleness"},
    {"unbiased_gradient", "OpenRLHF", NULL},
    {"steps_per_generation", "TRL", "training.minibatch"},
    {"generation_batch_size", "TRL", "env.questions"},
    {"vllm_importance_sampling_mode", "TRL", "correction.level"},
    {"vllm_importance_sampling_clip_max", "TRL", "correction.cap"},
    {"vllm_importance_sampling_clip_min", "TRL", NULL},
    {"off_policy_mask_threshold", "TRL", "opsm.lower"},
    {"use_bias_correction_kl", "TRL", NULL},
    {"entropy_coef", "TRL", NULL},
    {"use_adaptive_entropy", "TRL", NULL},
    {"entropy_target", "TRL", NULL},
    {"top_entropy_quantile", "TRL", NULL},
    {"multi_objective_aggregation", "TRL", NULL},
    {"normalize_then_sum", "TRL", NULL},
    {"entropy_coeff", "verl", NULL},
    {"policy_loss_type", "SkyRL", "loss.name"},
    {"loss_reduction", "SkyRL", "loss.aggregation"},
    {"eps_clip_low", "SkyRL", "loss.clip_low"},
    {"eps_clip_high", "SkyRL", "loss.clip_high"},
    {"tis_ratio_type", "SkyRL", "correction.level"},
    {"token_tis_ratio_clip_high", "SkyRL", "correction.cap"},
    {"sequence_tis_ratio_clip_high", "SkyRL", "correction.cap"},
    {"update_epochs_per_batch", "SkyRL", "training.epochs"},
    {"max_staleness_steps", "SkyRL", "sampler.max_staleness"},
    {"cispo_anchor", "SkyRL", NULL},
    {"max_head_offpolicyness", "AReaL", "sampler.max_staleness"},
    {"eps_clip_higher", "AReaL", "loss.clip_high"},
    {"c_clip", "AReaL", "loss.clip_c"},
    {"kl_ctl", "AReaL", "loss.kl_coef"},
    {"gae_lambda", "AReaL", "algorithm.gae.lam"},
    {"use_sapo_loss", "AReaL", "loss.name"},
    {"use_decoupled_loss", "AReaL", "correction.name"},
    {"ppo_n_minibatches", "AReaL", "training.minibatch"},
    {"gradient_clipping", "AReaL", "training.clip_norm"},
    {"max_steps_off_policy", "tinker-cookbook", "sampler.max_staleness"},
    {"groups_per_batch", "tinker-cookbook", "env.questions"},
    {"kl_penalty_coef", "tinker-cookbook", "loss.kl_coef"},
    {"loss_fn", "tinker-cookbook", "loss.name"},
    {"num_substeps", "tinker-cookbook", "training.minibatch"},
    {"flash_reinforce", "OpenRLHF", NULL},
    {"m2po", "AReaL", NULL},
    {"prompt_mean", "SkyRL", NULL},
    {"iw_opd", "TRL", NULL},
    {"sdpo", "TRL", NULL},
    {"sdft", "tinker-cookbook", NULL},
    {"a2po", "TRL", NULL},
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
    if (foreign->path)
        snprintf(out, RECIPE_FOREIGN_SIZE, "what %s calls %s is %s here", foreign->of, foreign->name, foreign->path);
    else
        snprintf(out, RECIPE_FOREIGN_SIZE, "%s of %s has no equal here (schema/UPSTREAM.md lists what is absent)", foreign->name,
                 foreign->of);
    return out;
}
