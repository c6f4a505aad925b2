/* segment.c: one pass for the mean log-ratio of a segment, one for its losses and gradient. */
#include "segment.h"

#include "hot.h"

struct log_ratio {
    double sum;
    size_t count;
    bool poisoned;
};

/* A sum is not finite if any term is not. */
RL_HOT static void add_log_ratio(const struct RL(rl_segment) * s, size_t from, size_t to,
                                 struct log_ratio *out)
{
    const real *log_prob = s->log_prob + from, *old_log_prob = s->old_log_prob + from;
    real sum = 0, count = 0, mask[RL_CHUNK];
    rl_fetch_ahead(log_prob);
    rl_fetch_ahead(old_log_prob);
    rl_fetch_ahead(s->advantages + from);
    rl_mask_reals(s->mask + from, to - from, mask);
#pragma omp simd reduction(+ : sum, count)
    for (size_t t = 0; t < to - from; t++) {
        real on = mask[t], l = log_prob[t] - old_log_prob[t];
        l = on > 0 ? l : 0;
        sum += l;
        count += on;
    }
    out->sum += (double)sum;
    out->count += (size_t)count;
    out->poisoned |= !isfinite(sum);
}

/* The arrays of a chunk. */
struct chunk {
    size_t n;
    const uint8_t *mask;
    const real *advantages;
    const real *weights, *clip_scale; /* or NULL for 1 */
    real *slope;
};

static RL_INLINE void loss_pass(const struct chunk *chunk, const struct RL(rl_segment) * s,
                                real ratio, real slope_weight, bool weighted, bool scaled,
                                struct rl_row_sums *sums)
{
    const struct chunk at = *chunk; /* a copy cannot be what the gradient is written to */
    const real low = (real)s->low, high = (real)s->high;
    real loss = 0, clipped = 0, sum = 0, least = 0, mask[RL_CHUNK];
    rl_mask_reals(at.mask, at.n, mask);
#pragma omp simd reduction(+ : loss, clipped, sum) reduction(min : least)
    for (size_t t = 0; t < at.n; t++) {
        real on = mask[t], a = at.advantages[t], w = weighted ? at.weights[t] : 1;
        real scale = scaled ? at.clip_scale[t] : 1;
        a = on > 0 ? a : 0;
        w = !weighted || on > 0 ? w : 0;
        scale = !scaled || on > 0 ? scale : 1;
        real bounded = rl_limit(ratio, 1 - low * scale, 1 + high * scale);
        real first = -a * ratio, second = -a * bounded, least_here = w < scale ? w : scale;
        loss += w * (second > first ? second : first);
        clipped += second > first ? 1 : 0;
        at.slope[t] = second > first ? 0 : w * first * slope_weight;
        sum += a + (weighted ? w : 0) + (scaled ? scale : 0);
        least = least_here < least ? least_here : least;
    }
    sums->loss += (double)loss;
    sums->clipped += (double)clipped;
    sums->poisoned |= !isfinite(sum) || least < 0;
}

RL_HOT static void add_losses(const struct chunk *at, const struct RL(rl_segment) * s, real ratio,
                              real slope_weight, struct rl_row_sums *sums)
{
    rl_fetch_ahead(at->slope);
    if (at->clip_scale)
        rl_fetch_ahead(at->clip_scale);
    if (at->weights)
        rl_fetch_ahead(at->weights);
    if (at->weights && at->clip_scale)
        loss_pass(at, s, ratio, slope_weight, true, true, sums);
    else if (at->weights)
        loss_pass(at, s, ratio, slope_weight, true, false, sums);
    else if (at->clip_scale)
        loss_pass(at, s, ratio, slope_weight, false, true, sums);
    else
        loss_pass(at, s, ratio, slope_weight, false, false, sums);
}

static void add_all_losses(const struct RL(rl_segment) * s, double ratio, bool limited,
                           struct rl_row_sums *sums)
{
    real unwanted[RL_CHUNK];
    for (size_t t = 0; t < s->n; t += RL_CHUNK) {
        const struct chunk at = {.n = s->n - t < RL_CHUNK ? s->n - t : RL_CHUNK,
                                 .mask = s->mask + t,
                                 .advantages = s->advantages + t,
                                 .weights = s->weights ? s->weights + t : NULL,
                                 .clip_scale = s->clip_scale ? s->clip_scale + t : NULL,
                                 .slope = s->d_log_prob ? s->d_log_prob + t : unwanted};
        add_losses(&at, s, (real)ratio, limited ? 0 : (real)s->row_weight, sums);
    }
}

double RL(rl_segment_loss)(const struct RL(rl_segment) * s, struct rl_row_sums *sums)
{
    struct log_ratio l = {0};
    for (size_t t = 0; t < s->n; t += RL_CHUNK)
        add_log_ratio(s, t, s->n - t < RL_CHUNK ? s->n : t + RL_CHUNK, &l);
    double mean = l.count ? l.sum / (double)l.count : 0;
    double ratio = exp(fmin(mean, 10));
    add_all_losses(s, ratio, mean > 10, sums);
    sums->kl -= l.sum;
    sums->poisoned |= l.poisoned;
    if (l.count == 0)
        return 0;
    sums->clamped += mean > 10 ? (double)l.count : 0;
    sums->ratio += ratio * (double)l.count;
    sums->ratio_min = fmin(sums->ratio_min, ratio);
    sums->ratio_max = fmax(sums->ratio_max, ratio);
    return ratio;
}
