/*
 * init.c: random parameters. Matrices start at 1/sqrt(width). Matrices that write into the residual stream start
 * smaller (out by a factor of 2, down by 4), so that layers add little to the stream at first. The final norm starts
 * with a gain of 1/sqrt(width), which makes the first logits small and the first policy nearly uniform.
 */
#include "support/error.h"
#include "support/rng.h"
#include "policy/layout.h"
#include "policy/kernels.h"

/* Returns a normally distributed number (Box-Muller). */
static double normal(struct trainer_rng *rng)
{
    double radius = sqrt(-2 * log(1 - trainer_rng_uniform(rng)));
    return radius * cos(6.283185307179586 * trainer_rng_uniform(rng));
}

static void fill(real *x, size_t n, double std, struct trainer_rng *rng)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (real)(std * normal(rng));
}

static void ones(real *x, size_t n, double value)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (real)value;
}

static void init_layer(const struct trainer_model *model, struct net_layer at, struct trainer_rng *rng, real *params)
{
    size_t d = (size_t)model->width, m = (size_t)model->mlp;
    double unit = 1 / sqrt((double)d);
    ones(params + at.norm1, d, 1);
    ones(params + at.norm2, d, 1);
    fill(params + at.qkv, 3 * d * d, unit, rng);
    for (size_t e = 0; e < net_mlps(model); e++)
        fill(params + at.up + e * at.per_expert, d * m, unit, rng);
    fill(params + at.out, d * d, unit / 2, rng);
    for (size_t e = 0; e < net_mlps(model); e++)
        fill(params + at.down + e * at.per_expert, d * m, unit / 4, rng);
    fill(params + at.router, d * (size_t)model->experts, unit, rng);
}

void trainer_policy_initf(const struct trainer_model *model, uint64_t seed, real *params)
{
    struct net_layout layout = net_layout(model);
    struct trainer_rng rng = {trainer_seed(seed, 'w', 0)};
    size_t table = (size_t)model->tokens * (size_t)model->width;
    fill(params + layout.embedding, table, 0.5, &rng);
    if (model->previous_token)
        fill(params + layout.previous, table, 0.3, &rng);
    for (int32_t l = 0; l < model->layers; l++)
        init_layer(model, net_layer(model, &layout, l), &rng, params);
    ones(params + layout.norm, (size_t)model->width, 1 / sqrt((double)model->width));
    /* The value head starts at 0, because random values would only add noise to advantages. */
    ones(params + layout.value, layout.count - layout.value, 0);
}
