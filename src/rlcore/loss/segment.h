/*
 * segment.h: a ratio shared by a stretch of tokens, as GSPO (whole rows) and A2TGPO (turns) use it.
 *
 * ratio = exp(min(mean of l, 10)) over the response tokens of the segment, straight-through: the
 * gradient of the ratio with respect to log_prob_t is the ratio for the token itself only, 0 beyond
 * the limit. The mean makes long segments comparable with short ones; the sum, which the exact
 * sequence ratio has, leaves every clip range after a few hundred tokens.
 */
#ifndef RLCORE_SEGMENT_H
#define RLCORE_SEGMENT_H

#include "loss/loss_internal.h"

struct rl_segment {
    size_t n; /* positions, response tokens and others */
    const uint8_t *mask;
    const real *log_prob, *old_log_prob, *advantages;
    const real *weights;    /* factor of the token loss, or NULL for 1 */
    const real *clip_scale; /* factor of both clip ranges, or NULL for 1 */
    real *d_log_prob;       /* or NULL */
    real low, high;         /* clip to [1 - low * scale, 1 + high * scale] */
    real row_weight;        /* of a token loss in the aggregate */
};

/* Sum and number of the log-ratios of response tokens. */
struct rl_segment_mean {
    double sum;
    size_t count;
};

static RL_INLINE struct rl_segment_mean rl_segment_mean(const struct rl_segment *s,
                                                        struct rl_row_sums *sums)
{
    struct rl_segment_mean mean = {0};
    for (size_t begin = 0; begin < s->n; begin += RL_CHUNK) {
        size_t n = s->n - begin < RL_CHUNK ? s->n - begin : RL_CHUNK;
        const real *log_prob = s->log_prob + begin, *old_log_prob = s->old_log_prob + begin;
        real sum = 0, count = 0, mask[RL_CHUNK];
        rl_fetch_ahead(log_prob);
        rl_fetch_ahead(old_log_prob);
        rl_fetch_ahead(s->advantages + begin);
        rl_mask_reals(s->mask + begin, n, mask);
#pragma omp simd reduction(+ : sum, count)
        for (size_t t = 0; t < n; t++) {
            real on = mask[t], l = log_prob[t] - old_log_prob[t];
            sum += on > 0 ? l : 0;
            count += on;
        }
        mean.sum += (double)sum;
        mean.count += (size_t)count;
        sums->poisoned |= !isfinite(sum);
    }
    return mean;
}

/*
 * The clipped loss of every token at the segment's ratio. weighted and scaled are constants of the
 * caller: whether the segment has weights and clip scales.
 */
static RL_INLINE void rl_segment_tokens(const struct rl_segment *s, real ratio, real slope_weight,
                                        bool weighted, bool scaled, struct rl_row_sums *sums)
{
    const real low = s->low, high = s->high;
    real unwanted[RL_CHUNK], mask[RL_CHUNK];
    for (size_t begin = 0; begin < s->n; begin += RL_CHUNK) {
        size_t n = s->n - begin < RL_CHUNK ? s->n - begin : RL_CHUNK;
        const real *advantages = s->advantages + begin;
        const real *weights = weighted ? s->weights + begin : NULL;
        const real *clip_scale = scaled ? s->clip_scale + begin : NULL;
        real *slope = s->d_log_prob ? s->d_log_prob + begin : unwanted;
        real loss = 0, clipped = 0, sum = 0, least = 0;
        rl_fetch_ahead(slope);
        if (scaled)
            rl_fetch_ahead(clip_scale);
        if (weighted)
            rl_fetch_ahead(weights);
        rl_mask_reals(s->mask + begin, n, mask);
#pragma omp simd reduction(+ : loss, clipped, sum) reduction(min : least)
        for (size_t t = 0; t < n; t++) {
            real on = mask[t], a = advantages[t];
            real w = weighted ? weights[t] : 1, scale = scaled ? clip_scale[t] : 1;
            a = on > 0 ? a : 0;
            w = !weighted || on > 0 ? w : 0;
            scale = !scaled || on > 0 ? scale : 1;
            real bounded = rl_limit(ratio, 1 - low * scale, 1 + high * scale);
            real first = -a * ratio, second = -a * bounded, least_here = w < scale ? w : scale;
            loss += w * (second > first ? second : first);
            clipped += second > first ? 1 : 0;
            slope[t] = second > first ? 0 : w * first * slope_weight;
            sum += a + (weighted ? w : 0) + (scaled ? scale : 0);
            least = least_here < least ? least_here : least;
        }
        sums->loss += (double)loss;
        sums->clipped += (double)clipped;
        sums->poisoned |= !isfinite(sum) || least < 0;
    }
}

/*
 * Add the segment's losses and metrics to sums and write its gradient. Returns the ratio, 0 if
 * empty. Inline, so that the loops are compiled for the widths of the RL_HOT function around it.
 */
static RL_INLINE double rl_segment_loss(const struct rl_segment *s, struct rl_row_sums *sums)
{
    const struct rl_segment_mean l = rl_segment_mean(s, sums);
    double mean = l.count ? l.sum / (double)l.count : 0;
    double ratio = exp(fmin(mean, 10));
    real slope_weight = mean > 10 ? 0 : s->row_weight;
    if (s->weights && s->clip_scale)
        rl_segment_tokens(s, (real)ratio, slope_weight, true, true, sums);
    else if (s->weights)
        rl_segment_tokens(s, (real)ratio, slope_weight, true, false, sums);
    else if (s->clip_scale)
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

#endif
