/*
 * missing_corrections.c: compares a recipe with the core's plan of corrections. A missing correction is reported and
 * never refused, because an experiment may want to measure its effect.
 */
#include <math.h>

#include <rlcore/correction_plan.h>

#include "recipe/recipe_needs.h"

static bool has_turns(const struct trainer_recipe *recipe)
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || (recipe->tasks[i].env.kind != TRAINER_REVERSE && recipe->tasks[i].env.max_turns > 0);
    return any;
}

static struct rl_setting setting_of(const struct trainer_recipe *recipe)
{
    const double rows = (double)recipe_rows(recipe);
    return (struct rl_setting){.other_engine = recipe->sampler.precision != TRAINER_FLOAT,
                               .asynchronous = recipe->sampler.staleness > 0,
                               .mixture = recipe->model.experts > 0,
                               .agentic = has_turns(recipe),
                               .sequence_ratios = recipe->loss.name == TRAINER_LOSS_GSPO ||
                                                  recipe->loss.name == TRAINER_LOSS_LUSPO ||
                                                  recipe->loss.name == TRAINER_LOSS_VESPO,
                               .global_batch = rows,
                               .mini_batch = fmin(rows, recipe->training.minibatch),
                               .epochs = recipe->training.epochs};
}

/* Whether a task has a policy loss whose ratio to the sampler could be corrected, and whose own policy samples. */
static bool has_ratio(const struct trainer_recipe *recipe)
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any = any || rl_algorithm_at(recipe->tasks[i].algorithm.name)->loss == RL_COMPONENT_RL;
    return any;
}

/* Cross-entropy and the distance to a teacher have no ratio, so they need none of the corrections of a ratio. */
static bool is_of_ratio(enum rl_correction correction)
{
    return correction == RL_CORRECT_WEIGHTS || correction == RL_CORRECT_CLIP || correction == RL_CORRECT_DECOUPLED ||
           correction == RL_CORRECT_TURN_RATIOS;
}

/* A frozen model that samples for all tasks is not the stale policy that admission is for. */
static bool samples_policy(const struct trainer_recipe *recipe)
{
    bool any = false;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        any =
            any || !(rl_algorithm_at(recipe->tasks[i].algorithm.name)->needs & RL_NEED_FROZEN_SOURCE || recipe->tasks[i].data[0]);
    return any;
}

static bool has(const struct trainer_recipe *recipe, enum rl_correction correction)
{
    enum trainer_loss_name loss = recipe->loss.name;
    enum trainer_correction_name name = recipe->correction.name;
    if ((!has_ratio(recipe) && is_of_ratio(correction)) || !samples_policy(recipe))
        return true;
    bool composes = loss == TRAINER_LOSS_COMPOSE;
    bool streams = loss == TRAINER_LOSS_DPPO || loss == TRAINER_LOSS_IPO;
    switch (correction) {
    case RL_CORRECT_WEIGHTS: return composes || streams || name != TRAINER_CORRECTION_NONE;
    case RL_CORRECT_CLIP: return loss != TRAINER_LOSS_GPG && loss != TRAINER_LOSS_REINFORCE;
    case RL_CORRECT_ADMISSION: return recipe->sampler.max_staleness >= 0;
    case RL_CORRECT_DECOUPLED:
        return composes || name == TRAINER_CORRECTION_TIS || name == TRAINER_CORRECTION_DECOUPLED ||
               name == TRAINER_CORRECTION_BYPASS;
    case RL_CORRECT_R2: return recipe->replay != TRAINER_REPLAY_NONE;
    case RL_CORRECT_R3: return recipe->replay == TRAINER_REPLAY_R3;
    case RL_CORRECT_TOOL_MASK: return true; /* the tool's tokens are never in the mask */
    case RL_CORRECT_TURN_RATIOS: return loss == TRAINER_LOSS_TURN || (composes && recipe->loss.compose.per_turn);
    case RL_CORRECTIONS: break;
    }
    return true;
}

_Static_assert(TRAINER_LACKS_MAX >= (int)RL_CORRECTIONS, "room for all");

size_t trainer_recipe_lacks(const struct trainer_recipe *recipe, struct trainer_lack lacks[TRAINER_LACKS_MAX])
{
    struct rl_setting setting = setting_of(recipe);
    struct rl_correction_plan plan;
    struct rl_error core;
    size_t n = 0;
    if (!setting.other_engine && !setting.asynchronous && !setting.mixture)
        return 0;
    if (rl_correction_plan(&setting, &plan, &core) != RL_OK)
        return 0;
    for (int c = 0; c < RL_CORRECTIONS; c++)
        if (plan.advice[c].needed && !has(recipe, (enum rl_correction)c))
            lacks[n++] = (struct trainer_lack){rl_correction_name((enum rl_correction)c), plan.advice[c].reason};
    return n;
}
