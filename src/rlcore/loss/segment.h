/*
 * segment.h: one ratio for a stretch of tokens, as GSPO (whole rows) and A2TGPO (turns) use it.
 *
 * ratio = exp(min(mean of l, 10)) over the response tokens of the segment. It is straight-through:
 * its gradient with respect to log_prob_t is the ratio for the token itself and 0 for the others,
 * and 0 beyond the limit. The mean makes long segments comparable with short ones; the sum, as in
 * the exact sequence ratio, leaves every clip range after a few hundred tokens.
 */
#pragma once

#include "loss/loss_internal.h"

struct rl_segment {
    const struct rl_loss_call *call;
    size_t from, n;  /* n positions, response tokens and others, beginning at `from` */
    real low, high;  /* clip to [1 - low * scale, 1 + high * scale] */
    real row_weight; /* factor of a token loss in the aggregate */
};

/* Sum and number of the log-ratios of response tokens. */
struct rl_segment_mean {
    double sum;
    size_t count;
};

static RL_INLINE struct rl_segment_mean rl_segment_mean(const struct rl_segment *s, struct rl_row_sums *sums)
{
    const struct rl_grid *batch = &s->call->batch;
    const struct rl_loss_input *in = s->call->in;
    struct rl_segment_mean mean = {0};
    _Alignas(64) real term[RL_CHUNK], floats[2][RL_CHUNK];
    _Alignas(64) rl_int on[RL_CHUNK];
    for (size_t i = s->from, end = s->from + s->n; i < end; i += RL_CHUNK) {
        size_t n = end - i < RL_CHUNK ? end - i : RL_CHUNK;
        const real *log_prob = rl_reals_at(batch, RL_LOG_PROB, in->log_prob, i, n, floats[0]);
        const real *old_log_prob = rl_reals_at(batch, RL_OLD_LOG_PROB, in->old_log_prob, i, n, floats[1]);
        rl_int count = 0;
        rl_fetch_ahead(log_prob);
        rl_fetch_ahead(old_log_prob);
        rl_fetch_ahead(in->advantages + i);
        rl_mask_bits(batch, i, n, on);
        RL_INDEPENDENT
        for (size_t t = 0; t < n; t++) {
            term[t] = rl_keep(on[t], log_prob[t] - old_log_prob[t]);
            count -= on[t];
        }
        real sum = rl_sum(term, n);
        mean.sum += (double)sum;
        mean.count += (size_t)count;
        sums->poisoned |= !isfinite(sum);
    }
    return mean;
}

/*
 * The clipped loss of every token at the segment's ratio. weighted and scaled tell whether the
 * segment has weights and clip scales; they are constants at every call, so that the loop has no
 * branch.
 */
static RL_INLINE void rl_segment_tokens(const struct rl_segment *s, real ratio, real slope_weight, bool weighted, bool scaled,
                                        struct rl_row_sums *sums)
{
    const struct rl_grid *batch = &s->call->batch;
    const struct rl_loss_input *in = s->call->in;
    const real low = s->low, high = s->high;
    _Alignas(64) real unwanted[RL_CHUNK], term[RL_CHUNK], floats[3][RL_CHUNK];
    _Alignas(64) rl_int on[RL_CHUNK];
    for (size_t i = s->from, end = s->from + s->n; i < end; i += RL_CHUNK) {
        size_t n = end - i < RL_CHUNK ? end - i : RL_CHUNK;
        const real *advantages = rl_reals_at(batch, RL_ADVANTAGES, in->advantages, i, n, floats[0]);
        const real *weights = weighted ? rl_reals_at(batch, RL_WEIGHTS, in->weights, i, n, floats[1]) : NULL;
        const real *clip_scale = scaled ? rl_reals_at(batch, RL_CLIP_SCALE, in->clip_scale, i, n, floats[2]) : NULL;
        real *slope = s->call->d_log_prob ? s->call->d_log_prob + i : unwanted;
        rl_int clipped = 0, bad = 0;
        rl_fetch_ahead(slope);
        if (scaled)
            rl_fetch_ahead(clip_scale);
        if (weighted)
            rl_fetch_ahead(weights);
        rl_mask_bits(batch, i, n, on);
        RL_INDEPENDENT
        for (size_t t = 0; t < n; t++) {
            real a = rl_keep(on[t], advantages[t]), w = weighted ? rl_keep(on[t], weights[t]) : 1;
            real scale = scaled ? rl_pick(on[t], clip_scale[t], 1) : 1;
            real bounded = rl_limit(ratio, 1 - low * scale, 1 + high * scale);
            real first = -a * ratio, second = -a * bounded;
            rl_int cut = rl_below(first, second);
            term[t] = w * rl_pick(cut, second, first);
            slope[t] = rl_keep(~cut, w * first * slope_weight);
            clipped -= cut;
            bad |= rl_not_finite(a);
            bad |= weighted ? rl_not_finite(w) | rl_below(w, 0) : 0;
            bad |= scaled ? rl_not_finite(scale) | rl_below(scale, 0) : 0;
        }
        sums->loss += (double)rl_sum(term, n);
        sums->clipped += (double)clipped;
        sums->poisoned |= bad != 0;
    }
}

/*
 * Add the segment's losses and metrics to sums and write its gradient. Returns the ratio, or 0 for
 * an empty segment. Inline, so that the loops are compiled for the vector levels of the HOT
 * function that calls it.
 */
static RL_INLINE double rl_segment_loss(const struct rl_segment *s, struct rl_row_sums *sums)
{
    const struct rl_segment_mean l = rl_segment_mean(s, sums);
    double mean = l.count ? l.sum / (double)l.count : 0;
    double ratio = exp(fmin(mean, 10));
    real slope_weight = mean > 10 ? 0 : s->row_weight;
    bool weighted = s->call->in->weights != NULL, scaled = s->call->in->clip_scale != NULL;
    if (weighted && scaled)
        rl_segment_tokens(s, (real)ratio, slope_weight, true, true, sums);
    else if (weighted)
        rl_segment_tokens(s, (real)ratio, slope_weight, true, false, sums);
    else if (scaled)
        rl_segment_tokens(s, (real)ratio, slope_weight, false, true, sums);
    else
        rl_segment_tokens(s, (real)ratio, slope_weight, false, false, sums);
    sums->kl -= l.sum;
    if (l.count == 0)
        return 0;
    sums->clamped += mean > 10 ? (double)l.count : 0;
    sums->ratio += ratio * (double)l.count;
    sums->ratio_min = fmin(sums->ratio_min, ratio);
    sums->ratio_max = fmax(sums->ratio_max, ratio);
    return ratio;
}
