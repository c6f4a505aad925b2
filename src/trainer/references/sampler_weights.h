/*
 * sampler_weights.h: the weights that sample. On-policy they are the learner's own. Off-policy they are a copy that
 * is stale (from an earlier iteration), quantised, or both, as in asynchronous training with a separate inference
 * engine.
 */
#pragma once

#include <trainer/policy.h>
#include <trainer/recipe.h>

struct sampler_weights {
    /* [staleness + 1][n_params] the learner's weights of the latest iterations, a ring buffer; NULL on-policy */
    float *history;
    float *quantised; /* [n_params] sampling weights at the recipe's precision; NULL on-policy */
    /* [n_params] the entry of history that `quantised` was made from; NULL if it equals the learner's weights */
    const float *behaviour;
};

/* Memory that sampler_weights_open allocates, as a number of sets of parameters. */
double sampler_weights_sets(const struct trainer_recipe *recipe);

/* Returns false when out of memory. sampler_weights_close frees the memory, also after a failure. */
bool sampler_weights_open(struct sampler_weights *weights, const struct trainer_recipe *recipe, size_t n_params);
void sampler_weights_close(struct sampler_weights *weights);

/*
 * Called at the beginning of an iteration (0-based). Stores the learner's params [n_params], and sets *chosen to the
 * weights that sample this iteration's rollouts. *staleness receives the number of iterations between these weights and
 * the learner's; it is unchanged on-policy.
 */
enum trainer_status sampler_weights_choose(struct sampler_weights *weights, const struct trainer_recipe *recipe,
                                           const float *params, int32_t iteration, const float **chosen, double *staleness,
                                           struct trainer_error *err);
