#include "run/value_arrays.h"

#include <math.h>

#include "recipe/recipe_needs.h"
#include "support/carve.h"
#include "support/error.h"

/* With a NULL block, only computes the size. */
static void carve_values(const struct trainer_recipe *recipe, struct carve *block, struct trainer_rollouts *r,
                         struct minibatch *b)
{
    size_t width = (size_t)recipe->model.max_tokens, n = recipe_rows(recipe) * width;
    size_t part = (size_t)recipe->training.minibatch * width;
    r->expected = carve(block, n, sizeof(double));
    r->returns = carve(block, n, sizeof(double));
    b->value = carve(block, part, sizeof(float));
    b->expected = carve(block, part, sizeof(float));
    b->returns = carve(block, part, sizeof(float));
    b->d_value = carve(block, part, sizeof(float));
    b->valued = carve(block, part, 1);
}

double value_arrays_bytes(const struct trainer_recipe *recipe)
{
    struct trainer_rollouts r;
    struct minibatch b;
    struct carve block = {NULL, 0};
    if (!recipe->model.value_head)
        return 0;
    carve_values(recipe, &block, &r, &b);
    return (double)block.used;
}

enum trainer_status value_arrays_open(void **memory, const struct trainer_recipe *recipe, struct trainer_rollouts *rollouts,
                                      struct minibatch *minibatch, struct trainer_error *err)
{
    size_t bytes = (size_t)value_arrays_bytes(recipe);
    *memory = NULL;
    if (bytes == 0)
        return TRAINER_OK;
    struct carve block = {carve_block(bytes), 0};
    if (!block.base)
        return trainer_no_memory(err, bytes);
    *memory = block.base;
    carve_values(recipe, &block, rollouts, minibatch);
    return TRAINER_OK;
}

struct moments {
    double n, sum, square;
};

static void add(struct moments *m, double x)
{
    m->n++;
    m->sum += x;
    m->square += x * x;
}

static double mean(const struct moments *m)
{
    return m->n > 0 ? m->sum / m->n : 0;
}

static double variance(const struct moments *m)
{
    return m->n > 1 ? fmax(0, m->square - m->sum * mean(m)) / (m->n - 1) : 0;
}

/*
 * Explained variance: 1 - var(returns - values) / var(returns), with verl's 1e-5 in the denominator
 * (vf_explained_var). It is 1 if the values predicted every return exactly, and 0 if a single constant would predict as
 * well.
 */
void value_arrays_measure(const struct trainer_rollouts *r, struct trainer_iteration *metrics)
{
    struct moments returns = {0}, values = {0}, errors = {0};
    for (size_t i = 0; r->expected && i < r->n * r->width; i++) {
        if (!r->mask[i] || isnan(r->returns[i]))
            continue;
        add(&returns, r->returns[i]);
        add(&values, r->expected[i]);
        add(&errors, r->returns[i] - r->expected[i]);
    }
    if (returns.n <= 0)
        return;
    metrics->values.explained_variance = 1 - variance(&errors) / (variance(&returns) + 1e-5);
    metrics->values.mean = mean(&values);
    metrics->values.returned = mean(&returns);
}
