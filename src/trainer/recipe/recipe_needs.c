#include "recipe/recipe_needs.h"

unsigned recipe_needs(const struct trainer_recipe *recipe, int32_t task)
{
    static const unsigned teachers[] = {
        [TRAINER_TEACHER_CHECKPOINT] = RL_NEED_FROZEN_REFERENCE, [TRAINER_TEACHER_POLICY] = RL_NEED_POLICY_REFERENCE};
    const struct trainer_algorithm *algorithm = &recipe->tasks[task].algorithm;
    bool distils = algorithm->distill.how != TRAINER_DISTILL_NONE;
    return rl_algorithm_at(algorithm->name)->needs | (distils ? teachers[algorithm->distill.teacher] : 0);
}

bool recipe_has_teacher(const struct trainer_recipe *recipe, int32_t task)
{
    unsigned needs = recipe_needs(recipe, task);
    bool scores = needs & RL_NEED_FROZEN_REFERENCE && !recipe->tasks[task].algorithm.endpoint.base_url[0];
    return scores || (needs & RL_NEED_FROZEN_SOURCE && !recipe->tasks[task].data[0]);
}

bool recipe_has_remote_teacher(const struct trainer_recipe *recipe, int32_t task)
{
    return recipe_needs(recipe, task) & RL_NEED_FROZEN_REFERENCE && recipe->tasks[task].algorithm.endpoint.base_url[0];
}

bool recipe_has_hints(const struct trainer_recipe *recipe)
{
    bool any = false;
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        any = any || recipe_needs(recipe, task) & RL_NEED_POLICY_REFERENCE;
    return any;
}

/* A schedule may begin or end at 0, so both ends count. */
bool recipe_task_scales_clips(const struct trainer_task *task)
{
    const struct trainer_algorithm *a = &task->algorithm;
    bool moves = a->schedule.kind == TRAINER_LINEAR || a->schedule.kind == TRAINER_COSINE;
    return a->name == RL_ALGORITHM_TURN_GROUP_V1D && (a->beta > 0 || (moves && a->schedule.beta_end > 0));
}

bool recipe_scales_clips(const struct trainer_recipe *recipe)
{
    bool any = false;
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        any = any || recipe_task_scales_clips(&recipe->tasks[task]);
    return any;
}

/* sapo, dro and vespo have soft bounds, the forms of dppo and ipo have bounds of their own, gpg and reinforce have no ratio. */
bool recipe_loss_clips(enum trainer_loss_name loss)
{
    switch (loss) {
    case TRAINER_LOSS_PPO:
    case TRAINER_LOSS_TURN:
    case TRAINER_LOSS_GSPO:
    case TRAINER_LOSS_LUSPO:
    case TRAINER_LOSS_CISPO:
    case TRAINER_LOSS_GEO_MEAN:
    case TRAINER_LOSS_COMPOSE: return true;
    default: return false;
    }
}

size_t recipe_task_rows(const struct trainer_recipe *recipe, int32_t task)
{
    return (size_t)recipe->tasks[task].questions * (size_t)recipe->training.group_size;
}

size_t recipe_rows(const struct trainer_recipe *recipe)
{
    size_t rows = 0;
    for (int32_t task = 0; task < recipe->n_tasks; task++)
        rows += recipe_task_rows(recipe, task);
    return rows;
}

enum rl_component recipe_component(const struct trainer_recipe *recipe, int32_t task)
{
    return rl_algorithm_at(recipe->tasks[task].algorithm.name)->loss;
}

const struct trainer_correction *recipe_bypass(const struct trainer_recipe *recipe)
{
    return recipe->correction.name == TRAINER_CORRECTION_BYPASS ? &recipe->correction : NULL;
}

bool recipe_is_off_policy(const struct trainer_recipe *recipe)
{
    return recipe->sampler.precision != TRAINER_FLOAT || recipe->sampler.staleness > 0;
}
