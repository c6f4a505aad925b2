/* quantise.c: weights at the precision of an inference engine (trainer_policy_quantise). */
#include <math.h>
#include <string.h>

#include <trainer/policy.h>

#include "policy/layout.h"

/*
 * Rounds to the nearest, ties to even. Truncation would drift towards zero, which would show as a bias of the
 * sampler. NaN never occurs here, because weights are checked after every update.
 */
static float to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits += 0x7fffu + (bits >> 16 & 1);
    bits &= 0xffff0000u;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

/* n values, `stride` apart, share one scale. */
static void to_int8(size_t n, size_t stride, const float *x, float *out)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i * stride]));
    float step = most / 127;
    for (size_t i = 0; i < n; i++)
        out[i * stride] = step > 0 ? step * rintf(x[i * stride] / step) : 0;
}

/*
 * A matrix is stored as input x output and has one scale per output, as in inference engines: with one scale for
 * the whole matrix, a single large weight would coarsen all others.
 */
static void lower_matrix(size_t in, size_t out, const float *x, float *y)
{
    for (size_t j = 0; j < out; j++)
        to_int8(in, out, x + j, y + j);
}

static void lower_table(size_t rows, size_t width, const float *x, float *y)
{
    for (size_t i = 0; i < rows; i++)
        to_int8(width, 1, x + i * width, y + i * width);
}

static void lower_int8(const struct trainer_model *model, const float *x, float *y)
{
    struct net_layout layout = net_layout(model);
    size_t d = (size_t)model->width, m = (size_t)model->mlp;
    lower_table(layout.layers / d, d, x, y);
    for (int32_t l = 0; l < model->layers; l++) {
        struct net_layer at = net_layer(model, &layout, l);
        lower_matrix(d, 3 * d, x + at.qkv, y + at.qkv);
        lower_matrix(d, d, x + at.out, y + at.out);
        lower_matrix(d, (size_t)model->experts, x + at.router, y + at.router);
        for (size_t e = 0; e < net_mlps(model); e++) {
            size_t up = at.up + e * at.per_expert, down = at.down + e * at.per_expert;
            lower_matrix(d, m, x + up, y + up);
            lower_matrix(m, d, x + down, y + down);
        }
    }
}

void trainer_policy_quantise(const struct trainer_model *model, enum trainer_precision precision,
                          const float *params, float *lowered)
{
    size_t n = trainer_model_parameters(model);
    memcpy(lowered, params, n * sizeof *lowered);
    if (precision == TRAINER_INT8)
        lower_int8(model, params, lowered);
    for (size_t i = 0; precision == TRAINER_BF16 && i < n; i++)
        lowered[i] = to_bf16(params[i]);
}
