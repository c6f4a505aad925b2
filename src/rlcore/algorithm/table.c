/* table.c: the algorithms by name, and what each asks of its environment. */
#include <stdio.h>
#include <string.h>

#include "algorithm/algorithm.h"

static const struct rl_algorithm *const table[] = {
    &rl_algorithm_grpo, &rl_algorithm_max_rl, &rl_algorithm_hierarchical_grpo,
    &rl_algorithm_rae,  &rl_algorithm_reward, &rl_algorithm_custom,
    &rl_algorithm_echo, &rl_algorithm_opd,    &rl_algorithm_opsd,
    &rl_algorithm_sft};
enum { N_ALGORITHMS = sizeof table / sizeof *table };

enum rl_status rl_algorithm_find(const char *name, const struct rl_algorithm **algorithm,
                                 struct rl_error *err)
{
    char known[128] = "";
    size_t used = 0;
    for (size_t i = 0; i < N_ALGORITHMS; i++) {
        *algorithm = table[i];
        if (strcmp(table[i]->name, name) == 0)
            return RL_OK;
        if (used < sizeof known)
            used += (size_t)snprintf(known + used, sizeof known - used, " %s", table[i]->name);
    }
    *algorithm = NULL;
    return rl_fail(err, RL_EINVAL, "no algorithm '%.30s'; known are:%s", name, known);
}

const struct rl_algorithm *rl_algorithm_at(size_t index)
{
    return index < N_ALGORITHMS ? table[index] : NULL;
}

const char *rl_algorithm_name(const struct rl_algorithm *algorithm)
{
    return algorithm->name;
}

const char *rl_algorithm_summary(const struct rl_algorithm *algorithm)
{
    return algorithm->summary;
}

static enum rl_status wrong_model(const struct rl_algorithm *algorithm, const char *wanted,
                                  enum rl_model model, struct rl_error *err)
{
    static const char *const names[] = {[RL_MODEL_POLICY] = "the live policy",
                                        [RL_MODEL_FROZEN] = "a frozen model",
                                        [RL_MODEL_NONE] = "none"};
    return rl_fail(err, RL_EINVAL, "%s needs %s, not %s", algorithm->name, wanted, names[model]);
}

enum rl_status rl_algorithm_check(const struct rl_algorithm *algorithm,
                                  const struct rl_algorithm_setting *setting, struct rl_error *err)
{
    size_t least = algorithm->group_relative ? 2 : 1;
    if (setting->group_size < least)
        return rl_fail(err, RL_EINVAL, "%s needs groups of at least %zu rollouts, not %zu",
                       algorithm->name, least, setting->group_size);
    if (algorithm->frozen_source && setting->source != RL_MODEL_FROZEN)
        return wrong_model(algorithm, "a frozen model as source of its rollouts", setting->source,
                           err);
    if (algorithm->frozen_reference && setting->reference != RL_MODEL_FROZEN)
        return wrong_model(algorithm, "a frozen model as reference", setting->reference, err);
    if (algorithm->policy_reference && setting->reference != RL_MODEL_POLICY)
        return wrong_model(algorithm, "the live policy as reference", setting->reference, err);
    return RL_OK;
}

static const struct rl_role_weight default_roles[] = {{"tool", 0.1}};

void rl_algorithm_options_init(struct rl_algorithm_options *options)
{
    *options = (struct rl_algorithm_options){.decay = 0.95, .roles = default_roles, .n_roles = 1};
}
