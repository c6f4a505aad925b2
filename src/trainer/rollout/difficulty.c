/*
 * difficulty.c: see difficulty.h. A question is hard if it asks for many hops, slots or entries, not if it was
 * answered wrong: with classes defined by outcomes, pass rates would follow from the definition.
 */
#include "rollout/difficulty.h"

/* Returns whether a question of k hops is easy or hard, or TRAINER_N_DIFFICULTIES if it is between. */
static enum trainer_difficulty end_of(const struct trainer_env *env, int32_t k)
{
    int32_t third = (env->k_max - env->k_min) / 3;
    if (env->k_min == env->k_max)
        return TRAINER_N_DIFFICULTIES;
    if (k <= env->k_min + third)
        return TRAINER_EASY;
    return k >= env->k_max - third ? TRAINER_HARD : TRAINER_N_DIFFICULTIES;
}

void difficulty_add(struct trainer_end_of_mix ends[TRAINER_N_DIFFICULTIES], const struct trainer_rollouts *r,
                    const struct trainer_recipe *recipe)
{
    for (size_t row = 0; row < r->n; row++) {
        enum trainer_difficulty end = end_of(&recipe->tasks[r->task[row]].env, r->episode[row].k);
        if (end == TRAINER_N_DIFFICULTIES)
            continue;
        struct trainer_end_of_mix *e = &ends[end];
        double n = (double)++e->rollouts;
        e->passed += ((r->reward[row] > 0) - e->passed) / n;
        e->tokens += (rollouts_written(r, row) - e->tokens) / n;
    }
}
