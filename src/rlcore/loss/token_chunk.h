/*
 * token_chunk.h: how the losses with one ratio per token (PPO, CISPO, SAPO, REINFORCE, GPG) walk a
 * row: by chunks small enough for the first-level cache, each through two loops. The first makes
 * the ratios, here; the second is the loss's own formula. In one loop the processor would wait for
 * each exp before it could begin the formula of the same token.
 *
 * Both loops are branch-free, and add up what tells whether the chunk was fit for them: a sum is
 * not finite if any term is not. Log-ratios beyond 20 are rare, so both leave them out, and a chunk
 * that holds one is mended afterwards.
 */
#ifndef RLCORE_TOKEN_CHUNK_H
#define RLCORE_TOKEN_CHUNK_H

#include "loss/loss_internal.h"
#include "support/vexp.h"

/* Pointers to at most RL_CHUNK tokens of a row, and what the first loop makes of them. */
struct rl_token_chunk {
    size_t n;
    const real *log_prob, *old_log_prob, *advantages, *weights;
    real *slope;  /* d loss / d log_prob; of no interest where the caller wants no gradient */
    bool limited; /* some log-ratio is beyond the limit */
    /* On cache lines of their own: wide accesses that cross a line take twice as long. */
    _Alignas(64) rl_int on[RL_CHUNK];  /* the mask, see rl_keep */
    _Alignas(64) real ratio[RL_CHUNK]; /* exp(l20), 1 where the mask is 0 */
    _Alignas(64) real term[RL_CHUNK];  /* what a loss adds up */
    _Alignas(64) real unwanted[RL_CHUNK];
    _Alignas(64) rl_int cut[RL_CHUNK]; /* limited only: where a log-ratio is beyond the limit */
    _Alignas(64) real floats[4][RL_CHUNK]; /* of bfloat16 */
};

/* Log-ratios where exp is cut off, with no gradient beyond: verl's bound against overflow. */
static const real rl_l_limit = 20;

/* Tokens from i on, up to the end of their row. */
static RL_INLINE void rl_token_chunk_at(struct rl_token_chunk *at, const struct rl_loss_call *call,
                                        size_t i, size_t end)
{
    const struct rl_loss_input *in = call->in;
    const struct rl_grid *batch = &call->batch;
    size_t n = end - i < RL_CHUNK ? end - i : RL_CHUNK;
    at->n = n;
    at->log_prob = rl_reals_at(batch, RL_LOG_PROB, in->log_prob, i, n, at->floats[0]);
    at->old_log_prob =
        in->old_log_prob
            ? rl_reals_at(batch, RL_OLD_LOG_PROB, in->old_log_prob, i, n, at->floats[1])
            : at->log_prob;
    at->advantages = rl_reals_at(batch, RL_ADVANTAGES, in->advantages, i, n, at->floats[2]);
    at->weights = rl_reals_at(batch, RL_WEIGHTS, in->weights, i, n, at->floats[3]);
    at->slope = call->d_log_prob ? call->d_log_prob + i : at->unwanted;
    rl_mask_bits(batch, i, n, at->on);
    rl_fetch_ahead(at->log_prob);
    rl_fetch_ahead(at->old_log_prob);
    rl_fetch_ahead(at->advantages);
    rl_fetch_ahead(at->slope);
}

/* Log-ratios l of response tokens, and the sum of their ratios. */
struct rl_log_ratios {
    real sum, ratio, lowest, highest;
};

/* The ratios of a chunk again, with l limited; limited_kl: in the sum as well. */
struct rl_log_ratios rl_token_chunk_limit(struct rl_token_chunk *at, bool limited_kl,
                                          struct rl_row_sums *sums);

/* No gradient flows through a log-ratio that was cut off. */
void rl_token_chunk_zero(const struct rl_token_chunk *at);

/* The first loop; adds what is known of the ratios. ratio_min and _max stay log-ratios until the
 * row is done: one exp instead of one per token. */
static RL_INLINE void rl_token_chunk_ratios(struct rl_token_chunk *at, bool limited_kl,
                                            struct rl_row_sums *sums)
{
    struct rl_log_ratios x;
    const real *log_prob = at->log_prob, *old_log_prob = at->old_log_prob;
    _Alignas(64) real log_ratio[RL_CHUNK];
    real lowest = INFINITY, highest = -INFINITY;
#pragma omp simd reduction(min : lowest) reduction(max : highest)
    for (size_t t = 0; t < at->n; t++) {
        rl_int on = at->on[t];
        real l = rl_keep(on, log_prob[t] - old_log_prob[t]);
        real low = rl_pick(on, l, INFINITY), high = rl_pick(on, l, -INFINITY);
        real r = rl_exp_near(l);
        at->ratio[t] = r;
        log_ratio[t] = l;
        at->term[t] = rl_keep(on, r);
        lowest = low < lowest ? low : lowest;
        highest = high > highest ? high : highest;
    }
    x = (struct rl_log_ratios){rl_sum(log_ratio, at->n), rl_sum(at->term, at->n), lowest, highest};
    at->limited = lowest < -rl_l_limit || highest > rl_l_limit;
    sums->poisoned |= !isfinite(x.sum);
    if (at->limited)
        x = rl_token_chunk_limit(at, limited_kl, sums);
    sums->kl -= (double)x.sum;
    sums->ratio += (double)x.ratio;
    sums->ratio_min = (double)x.lowest < sums->ratio_min ? (double)x.lowest : sums->ratio_min;
    sums->ratio_max = (double)x.highest > sums->ratio_max ? (double)x.highest : sums->ratio_max;
}

/* After the last chunk: the extreme ratios from the extreme log-ratios. */
static RL_INLINE void rl_token_row_end(struct rl_row_sums *sums)
{
    if (sums->ratio_min <= sums->ratio_max) {
        sums->ratio_min = (double)rl_exp_near((real)sums->ratio_min);
        sums->ratio_max = (double)rl_exp_near((real)sums->ratio_max);
    }
}

#endif
