/*
 * token_chunk.h: the row loop of the losses with one ratio per token (PPO, CISPO, SAPO, REINFORCE,
 * GPG). A row is processed in chunks small enough for the first-level cache, each through several
 * short loops: first the log-ratios, then their exps, last the loss's own formula. In a single loop
 * the processor would wait for each exp before it could begin the formula of the same token.
 *
 * Chunks are always whole, so that every loop has a length that the compiler knows; the end of a
 * row is copied and filled up with tokens at mask 0. The loops have no branches. Whether all values
 * were finite is seen from the sums: a sum is not finite if one of its terms is not. Log-ratios
 * beyond 20 are rare, and a chunk that has one is corrected between the loops.
 */
#pragma once

#include "loss/loss_internal.h"
#include "support/vexp.h"

/* RL_CHUNK tokens of a row (at its end filled up), and the results of the first loops. */
struct rl_token_chunk {
    const real *log_prob, *old_log_prob, *advantages;
    real *slope;  /* d loss / d log_prob; points to unwanted if the caller wants no gradient */
    bool limited; /* at least one log-ratio is beyond the limit */
    /* Aligned to cache lines: wide accesses that cross a line take twice as long. */
    _Alignas(64) rl_int on[RL_CHUNK];      /* the mask, see rl_keep */
    _Alignas(64) real log_ratio[RL_CHUNK]; /* l20, 0 where the mask is 0 */
    _Alignas(64) real ratio[RL_CHUNK];     /* exp(l20) */
    _Alignas(64) real weight[RL_CHUNK];    /* only with weights; 0 where the mask is 0 */
    _Alignas(64) real scale[RL_CHUNK];     /* only with clip scales; 1 where the mask is 0 */
    _Alignas(64) real term[RL_CHUNK];      /* the token losses */
    _Alignas(64) rl_int cut[RL_CHUNK];     /* valid if limited: where l is beyond the limit */
    _Alignas(64) real unwanted[RL_CHUNK];
    _Alignas(64) real copies[5][RL_CHUNK]; /* converted bfloat16, and the end of a row */
};

/*
 * A loss's formula: it computes the terms and slopes of a chunk and its own metrics. weighted and
 * scaled are constants at every call, because a loop with a test of them would not be vectorised.
 */
typedef void rl_token_formula(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                              bool scaled, struct rl_row_sums *sums);

/* The limit of the log-ratios, beyond which the gradient is 0: verl's bound against overflow. */
static const real rl_l_limit = 20;

/* Limit the log-ratios of a chunk; mark and count the limited ones. */
void rl_token_chunk_limit(struct rl_token_chunk *at, struct rl_row_sums *sums);

/* Set the slopes of limited log-ratios to 0. */
void rl_token_chunk_zero(const struct rl_token_chunk *at);

/* Load the n tokens that begin at i. */
static RL_INLINE void rl_token_chunk_at(struct rl_token_chunk *at, const struct rl_loss_call *call, size_t i, size_t n)
{
    const struct rl_loss_input *in = call->in;
    const struct rl_grid *batch = &call->batch;
    at->log_prob = rl_chunk_at(batch, RL_LOG_PROB, in->log_prob, i, n, at->copies[0]);
    at->old_log_prob =
        in->old_log_prob ? rl_chunk_at(batch, RL_OLD_LOG_PROB, in->old_log_prob, i, n, at->copies[1]) : at->log_prob;
    at->advantages = rl_chunk_at(batch, RL_ADVANTAGES, in->advantages, i, n, at->copies[2]);
    at->slope = call->d_log_prob && n == RL_CHUNK ? call->d_log_prob + i : at->unwanted;
    rl_mask_bits(batch, i, n, at->on);
    for (size_t t = n; t < RL_CHUNK; t++)
        at->on[t] = 0;
    rl_fetch_ahead(at->log_prob);
    rl_fetch_ahead(at->old_log_prob);
    rl_fetch_ahead(at->advantages);
    rl_fetch_ahead(at->slope);
}

/*
 * ratio_min and ratio_max stay log-ratios until the end of the row, which needs one exp instead of
 * one per token.
 */
static RL_INLINE void rl_token_chunk_ratios(struct rl_token_chunk *at, bool limited_kl, struct rl_row_sums *sums)
{
    const real *log_prob = at->log_prob, *old_log_prob = at->old_log_prob;
    real lowest = INFINITY, highest = -INFINITY;
#pragma omp simd reduction(min : lowest) reduction(max : highest)
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real l = rl_keep(at->on[t], log_prob[t] - old_log_prob[t]);
        real counted = rl_real_of(rl_bits_in(l) | ~at->on[t]); /* NaN at mask 0, which is never an
                                                                  extreme */
        at->log_ratio[t] = l;
        lowest = counted < lowest ? counted : lowest;
        highest = counted > highest ? counted : highest;
    }
    real sum = rl_sum(at->log_ratio, RL_CHUNK);
    sums->poisoned |= !isfinite(sum);
    at->limited = lowest < -rl_l_limit || highest > rl_l_limit;
    if (at->limited) {
        rl_token_chunk_limit(at, sums);
        lowest = rl_limit(lowest, -rl_l_limit, rl_l_limit);
        highest = rl_limit(highest, -rl_l_limit, rl_l_limit);
        sum = limited_kl ? rl_sum(at->log_ratio, RL_CHUNK) : sum;
    }
    rl_exp_near_all(at->ratio, at->log_ratio, RL_CHUNK);
    sums->kl -= (double)sum;
    sums->ratio += (double)rl_sum_kept(at->on, at->ratio);
    sums->ratio_min = (double)lowest < sums->ratio_min ? (double)lowest : sums->ratio_min;
    sums->ratio_max = (double)highest > sums->ratio_max ? (double)highest : sums->ratio_max;
}

/* Load the weights of response tokens. Returns true if one is negative. */
static RL_INLINE bool rl_token_chunk_weights(struct rl_token_chunk *at, const real *weights)
{
    rl_int bad = 0;
    RL_INDEPENDENT
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real w = rl_keep(at->on[t], weights[t]);
        at->weight[t] = w;
        bad |= rl_below(w, 0);
    }
    return bad != 0;
}

/* Load the clip scales of response tokens. Returns true if one is negative or not finite. */
static RL_INLINE bool rl_token_chunk_scales(struct rl_token_chunk *at, const real *scales)
{
    rl_int bad = 0;
    RL_INDEPENDENT
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real s = rl_pick(at->on[t], scales[t], 1);
        at->scale[t] = s;
        bad |= rl_below(s, 0) | rl_not_finite(s);
    }
    return bad != 0;
}

/* The ends of a token's clip range around 1. */
struct rl_clip {
    real low, high; /* without clip scales */
    real below, above;
};

static RL_INLINE struct rl_clip rl_clip_of(const struct rl_loss_options *options)
{
    return (struct rl_clip){(real)(1 - options->clip_low), (real)(1 + options->clip_high), (real)options->clip_low,
                            (real)options->clip_high};
}

static RL_INLINE real rl_clip_low(const struct rl_token_chunk *at, struct rl_clip clip, size_t t, bool scaled)
{
    return scaled ? 1 - clip.below * at->scale[t] : clip.low;
}

static RL_INLINE real rl_clip_high(const struct rl_token_chunk *at, struct rl_clip clip, size_t t, bool scaled)
{
    return scaled ? 1 + clip.above * at->scale[t] : clip.high;
}

/* Apply the formula to the n tokens that begin at i; weighted and scaled as in rl_token_formula. */
static RL_INLINE void rl_token_chunk_run(struct rl_token_chunk *at, const struct rl_loss_call *call, size_t i, size_t n,
                                         real row_weight, bool weighted, bool scaled, rl_token_formula *formula,
                                         struct rl_row_sums *sums)
{
    if (weighted)
        sums->poisoned |=
            rl_token_chunk_weights(at, rl_chunk_at(&call->batch, RL_WEIGHTS, call->in->weights, i, n, at->copies[3]));
    if (scaled)
        sums->poisoned |=
            rl_token_chunk_scales(at, rl_chunk_at(&call->batch, RL_CLIP_SCALE, call->in->clip_scale, i, n, at->copies[4]));
    formula(at, call->options, row_weight, weighted, scaled, sums);
    real sum = rl_sum(at->term, RL_CHUNK);
    sums->loss += (double)sum;
    sums->poisoned |= !isfinite(sum);
    if (call->d_log_prob && n < RL_CHUNK)
        memcpy(call->d_log_prob + i, at->unwanted, n * sizeof *at->unwanted);
}

/*
 * One row of a loss. limited_kl: ppo_kl is computed from the limited log-ratios. clips: the loss has a clip range; for the others,
 * which refuse clip scales, no code for these is compiled. The extreme ratios are computed from the extreme log-ratios at the end.
 */
static RL_INLINE struct rl_row_sums rl_token_row(const struct rl_loss_call *call, size_t row, real row_weight, bool limited_kl,
                                                 bool clips, rl_token_formula *formula)
{
    struct rl_row_sums sums = rl_row_sums_empty();
    struct rl_token_chunk at;
    for (size_t i = rl_row_at(&call->batch, row), end = rl_row_end(&call->batch, row); i < end; i += RL_CHUNK) {
        size_t n = end - i < RL_CHUNK ? end - i : RL_CHUNK;
        rl_token_chunk_at(&at, call, i, n);
        rl_token_chunk_ratios(&at, limited_kl, &sums);
        if (call->in->weights && clips && call->in->clip_scale)
            rl_token_chunk_run(&at, call, i, n, row_weight, true, true, formula, &sums);
        else if (call->in->weights)
            rl_token_chunk_run(&at, call, i, n, row_weight, true, false, formula, &sums);
        else if (clips && call->in->clip_scale)
            rl_token_chunk_run(&at, call, i, n, row_weight, false, true, formula, &sums);
        else
            rl_token_chunk_run(&at, call, i, n, row_weight, false, false, formula, &sums);
    }
    if (sums.ratio_min <= sums.ratio_max) {
        sums.ratio_min = (double)rl_exp_near((real)sums.ratio_min);
        sums.ratio_max = (double)rl_exp_near((real)sums.ratio_max);
    }
    return sums;
}
