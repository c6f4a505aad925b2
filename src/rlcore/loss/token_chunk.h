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
    const uint8_t *mask;
    const real *log_prob, *old_log_prob, *advantages, *weights;
    real *slope;  /* d loss / d log_prob; of no interest where the caller wants no gradient */
    bool limited; /* some log-ratio is beyond the limit */
    /* On cache lines of their own: wide accesses that cross a line take twice as long. */
    _Alignas(64) real on[RL_CHUNK];    /* the mask */
    _Alignas(64) real ratio[RL_CHUNK]; /* exp(l20), 1 where the mask is 0 */
    _Alignas(64) real unwanted[RL_CHUNK];
};

/* Log-ratios where exp is cut off, with no gradient beyond: verl's bound against overflow. */
static const real rl_l_limit = 20;

static RL_INLINE void rl_token_chunk_at(struct rl_token_chunk *at, const struct rl_loss_call *call,
                                        size_t row, size_t t)
{
    const struct rl_loss_input *in = call->in;
    size_t n = call->batch->n_tokens, i = row * n + t;
    at->n = n - t < RL_CHUNK ? n - t : RL_CHUNK;
    at->mask = call->batch->mask + i;
    at->log_prob = in->log_prob + i;
    at->old_log_prob = (in->old_log_prob ? in->old_log_prob : in->log_prob) + i;
    at->advantages = in->advantages + i;
    at->weights = in->weights ? in->weights + i : NULL;
    at->slope = call->d_log_prob ? call->d_log_prob + i : at->unwanted;
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
    real sum = 0, ratio = 0, lowest = INFINITY, highest = -INFINITY;
    rl_mask_reals(at->mask, at->n, at->on);
#pragma omp simd reduction(+ : sum, ratio) reduction(min : lowest) reduction(max : highest)
    for (size_t t = 0; t < at->n; t++) {
        real on = at->on[t], l = at->log_prob[t] - at->old_log_prob[t];
        real low = on > 0 ? l : INFINITY, high = on > 0 ? l : -INFINITY;
        l = on > 0 ? l : 0;
        real r = rl_exp_near(l), counted = on > 0 ? r : 0;
        at->ratio[t] = r;
        sum += l;
        ratio += counted;
        lowest = low < lowest ? low : lowest;
        highest = high > highest ? high : highest;
    }
    x = (struct rl_log_ratios){sum, ratio, lowest, highest};
    at->limited = lowest < -rl_l_limit || highest > rl_l_limit;
    sums->poisoned |= !isfinite(sum);
    if (at->limited)
        x = rl_token_chunk_limit(at, limited_kl, sums);
    sums->kl -= (double)x.sum;
    sums->ratio += (double)x.ratio;
    sums->ratio_min = (double)x.lowest < sums->ratio_min ? (double)x.lowest : sums->ratio_min;
    sums->ratio_max = (double)x.highest > sums->ratio_max ? (double)x.highest : sums->ratio_max;
}

/* After the last chunk: the extreme ratios from the extreme log-ratios, and the entropies. */
static RL_INLINE void rl_token_row_end(const struct rl_loss_call *call, size_t row,
                                       struct rl_row_sums *sums)
{
    if (sums->ratio_min <= sums->ratio_max) {
        sums->ratio_min = (double)rl_exp_near((real)sums->ratio_min);
        sums->ratio_max = (double)rl_exp_near((real)sums->ratio_max);
    }
    rl_loss_entropy(call, row, sums);
}

#endif
