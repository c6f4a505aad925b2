/*
 * two_policies_real.c: conversion of log-probs into log-ratios in double precision, and of weights
 * back.
 *
 * Only this file depends on the element type of the two policies. Differences of log-probs are
 * taken in double, because the rounding error of two float log-probs near -20 is larger than the
 * distance of on-policy ratios from 1.
 */
#include "correction/correction_internal.h"
#include "support/real.h"

/*
 * The mask is converted to doubles in a separate loop: a loop that mixes bytes and doubles would
 * not be vectorised. Values at mask 0 are replaced and not multiplied by 0, because they may be
 * NaN.
 */
HOT_VOID(load, (const struct rl_two_policies *p, size_t from, size_t n, struct rl_ratio_chunk *out), (p, from, n, out))
{
    real floats[2][RL_CHUNK];
    double a[RL_CHUNK], b[RL_CHUNK], count = 0, *restrict l = out->l;
    rl_int on[RL_CHUNK];
    const real *train = rl_reals_at(&p->batch, 0, p->train, from, n, floats[0]);
    const real *rollout = rl_reals_at(&p->batch, 1, p->rollout, from, n, floats[1]);
    rl_mask_bits(&p->batch, from, n, on);
    for (size_t t = 0; t < n; t++)
        out->on[t] = on[t] ? 1 : 0;
#pragma omp simd reduction(+ : count)
    for (size_t t = 0; t < n; t++) {
        a[t] = (double)rl_keep(on[t], train[t]);
        b[t] = (double)rl_keep(on[t], rollout[t]);
        l[t] = a[t] - b[t];
        count += out->on[t];
    }
    out->n = n;
    out->n_response = count;
    out->train = rl_sum_wide(a, n);
    out->rollout = rl_sum_wide(b, n);
}

static enum rl_status explain(const struct rl_two_policies *p, struct rl_error *err)
{
    RL_TRY(rl_grid_check_reals("train_log_prob", &p->batch, 0, p->train, false, err));
    return rl_grid_check_reals("rollout_log_prob", &p->batch, 1, p->rollout, false, err);
}

enum rl_status rl_two_policies_of(struct rl_two_policies *p, const struct rl_batch *batch, const real *train, const real *rollout,
                                  struct rl_error *err)
{
    *p = (struct rl_two_policies){.train = train, .rollout = rollout, .load = load, .explain = explain};
    RL_TRY(rl_grid_of(&p->batch, batch, RL_NEEDS_MASK, err));
    if (!p->batch.n_rows)
        return rl_fail(err, RL_EINVAL, "the batch has no rows");
    if (p->batch.n_tokens)
        RL_TRY(RL_NEED(err, {"train_log_prob", train}, {"rollout_log_prob", rollout}));
    return RL_OK;
}

/* Ratios are limited to exp(20) and therefore finite, so 0 times a ratio is 0. */
HOT_VOID(store,
         (const struct rl_weight_sink *to, size_t from, const struct rl_ratio_chunk *chunk, const double *ratio, double cap),
         (to, from, chunk, ratio, cap))
{
    real *restrict weights = (real *)to->weights + from;
    for (size_t t = 0; t < chunk->n; t++)
        weights[t] = (real)(chunk->on[t] * (ratio[t] > cap ? cap : ratio[t]));
}

HOT_VOID(fill, (const struct rl_weight_sink *to, size_t from, size_t n, const struct rl_grid *mask, double value),
         (to, from, n, mask, value))
{
    real *weights = (real *)to->weights + from, single = (real)value;
    for (size_t t = 0; t < n; t++)
        weights[t] = rl_on(mask, from + t) ? single : 0;
}

HOT(double, sum, (const struct rl_weight_sink *to, size_t from, size_t n), (to, from, n))
{
    const real *weights = (const real *)to->weights + from;
    double total = 0, term[RL_CHUNK];
    for (size_t begin = 0; begin < n; begin += RL_CHUNK) {
        size_t part = n - begin < RL_CHUNK ? n - begin : RL_CHUNK;
        for (size_t t = 0; t < part; t++)
            term[t] = (double)weights[begin + t];
        total += rl_sum_wide(term, part);
    }
    return total;
}

HOT_VOID(divide, (const struct rl_weight_sink *to, size_t from, size_t n, double by), (to, from, n, by))
{
    real *weights = (real *)to->weights + from;
    for (size_t t = 0; t < n; t++)
        weights[t] = (real)((double)weights[t] / by);
}

/*
 * Function pointers avoid a second set of corrections in float; one indirect call per 128 tokens
 * has no measurable cost.
 */
struct rl_weight_sink rl_weight_sink_of(real *weights)
{
    return (struct rl_weight_sink){weights, store, fill, sum, divide};
}
