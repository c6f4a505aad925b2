/* quantise.c: weights at the precision of an inference engine (trainer_policy_quantise). */
#include <math.h>
#include <string.h>

#include <trainer/policy.h>

#include "policy/layout.h"

/*
 * Rounds to the nearest, ties to even. Truncation would round towards zero, which would bias the sampler. NaN never
 * occurs here, because weights are checked after every update.
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
 * A matrix is stored as input x output and has one scale per output, as in inference engines, because with one scale
 * for the whole matrix a single large weight would coarsen all other weights.
 */
static void quantise_matrix(size_t in, size_t out, const float *x, float *y)
{
    for (size_t j = 0; j < out; j++)
        to_int8(in, out, x + j, y + j);
}

static void quantise_int8(const struct trainer_model *model, const float *x, float *y)
{
    struct net_layout layout = net_layout(model);
    size_t d = (size_t)model->width, m = (size_t)model->mlp;
    for (size_t row = 0; row < layout.layers / d; row++) /* of the embeddings */
        to_int8(d, 1, x + row * d, y + row * d);
    for (int32_t l = 0; l < model->layers; l++) {
        struct net_layer at = net_layer(model, &layout, l);
        quantise_matrix(d, 3 * d, x + at.qkv, y + at.qkv);
        quantise_matrix(d, d, x + at.out, y + at.out);
        quantise_matrix(d, (size_t)model->experts, x + at.router, y + at.router);
        for (size_t e = 0; e < net_mlps(model); e++) {
            size_t up = at.up + e * at.per_expert, down = at.down + e * at.per_expert;
            quantise_matrix(d, m, x + up, y + up);
            quantise_matrix(m, d, x + down, y + down);
        }
    }
}

void trainer_policy_quantise(const struct trainer_model *model, enum trainer_precision precision, const float *params,
                             float *quantised)
{
    size_t n = trainer_model_parameters(model);
    memcpy(quantised, params, n * sizeof *quantised);
    if (precision == TRAINER_INT8)
        quantise_int8(model, params, quantised);
    for (size_t i = 0; precision == TRAINER_BF16 && i < n; i++)
        quantised[i] = to_bf16(params[i]);
}
