#include "references/sampler_weights.h"

#include <rlcore/offpolicy.h>

#include "recipe/recipe_needs.h"
#include "support/error.h"

double sampler_weights_sets(const struct trainer_recipe *recipe)
{
    return recipe_is_off_policy(recipe) ? recipe->sampler.staleness + 2 : 0;
}

bool sampler_weights_open(struct sampler_weights *weights, const struct trainer_recipe *recipe, size_t n_params)
{
    size_t bytes = n_params * sizeof(float);
    if (!recipe_is_off_policy(recipe))
        return true;
    /* zeroed, because a state of the first iterations holds the places that are not in use yet */
    weights->history = calloc((size_t)recipe->sampler.staleness + 1, bytes);
    weights->quantised = malloc(bytes);
    return weights->history && weights->quantised;
}

void sampler_weights_close(struct sampler_weights *weights)
{
    free(weights->history);
    free(weights->quantised);
}

/*
 * How many iterations old the sampler's weights are. The sampler works ahead: it fills batch `iteration` with the
 * weights of `staleness` iterations ago, or in the first iterations with the oldest weights. If admission refuses
 * weights of this age, the sampler waits for newer ones. Age 0 is always admitted, because otherwise the run would wait
 * forever.
 */
static enum trainer_status admitted_age(const struct trainer_recipe *recipe, int32_t iteration, int32_t *age,
                                        struct trainer_error *err)
{
    const struct trainer_sampler *sampler = &recipe->sampler;
    int64_t rows = (int64_t)recipe_rows(recipe);
    struct rl_error core;
    *age = sampler->staleness < iteration ? sampler->staleness : iteration;
    while (sampler->max_staleness >= 0) {
        bool admit = false;
        enum rl_status status =
            rl_staleness_admit((iteration + (int64_t)1) * rows, rows, iteration - *age, sampler->max_staleness, &admit, &core);
        if (status != RL_OK)
            return trainer_core_failed(err, "staleness admission", status, &core);
        if (admit || *age == 0)
            return TRAINER_OK;
        --*age;
    }
    return TRAINER_OK;
}

/*
 * Slot (iteration mod kept) of the ring is overwritten exactly when no sampler can ask for its weights any more. The
 * quantised copy is made from the ring and not from the learner, so that staleness and precision can be combined.
 */
enum trainer_status sampler_weights_choose(struct sampler_weights *weights, const struct trainer_recipe *recipe,
                                           const float *params, int32_t iteration, const float **chosen, double *staleness,
                                           struct trainer_error *err)
{
    size_t n = trainer_model_parameters(&recipe->model);
    size_t kept = (size_t)recipe->sampler.staleness + 1;
    int32_t age = 0;
    *chosen = params;
    weights->behaviour = NULL;
    if (!recipe_is_off_policy(recipe))
        return TRAINER_OK;
    memcpy(weights->history + (size_t)iteration % kept * n, params, n * sizeof *params);
    TRY(admitted_age(recipe, iteration, &age, err));
    const float *source = weights->history + (size_t)(iteration - age) % kept * n;
    trainer_policy_quantise(&recipe->model, recipe->sampler.precision, source, weights->quantised);
    *chosen = weights->quantised;
    weights->behaviour = age > 0 ? source : NULL;
    *staleness = age;
    return TRAINER_OK;
}
