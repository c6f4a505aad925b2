/* segment.c: one pass for the mean log-ratio of a segment, one for its losses and gradient. */
#include "segment.h"

#include "hot.h"

struct log_ratio {
    double sum;
    size_t count;
    bool poisoned;
};

/* x - x is 0 for a finite x only. */
RL_HOT static void add_log_ratio(const struct RL(rl_segment) * s, size_t from, size_t to,
                                 struct log_ratio *out)
{
    const real *log_prob = s->log_prob + from, *old_log_prob = s->old_log_prob + from;
    real sum = 0, poison = 0, count = 0, mask[RL_CHUNK];
    rl_fetch_ahead(log_prob);
    rl_fetch_ahead(old_log_prob);
    rl_fetch_ahead(s->advantages + from);
    rl_mask_reals(s->mask + from, to - from, mask);
#pragma omp simd reduction(+ : sum, poison, count)
    for (size_t t = 0; t < to - from; t++) {
        real on = mask[t], p = log_prob[t], q = old_log_prob[t];
        p = on > 0 ? p : 0;
        q = on > 0 ? q : 0;
        sum += p - q;
        count += on;
        poison += (p - p) + (q - q);
    }
    out->sum += (double)sum;
    out->count += (size_t)count;
    out->poisoned |= !(poison == 0);
}

/* The arrays of a chunk with nothing absent. */
struct chunk {
    size_t n;
    const uint8_t *mask;
    const real *advantages, *weights, *clip_scale;
    real *slope;
};

RL_HOT static void add_losses(const struct chunk *chunk, const struct RL(rl_segment) * s,
                              real ratio, bool limited, struct rl_row_sums *sums)
{
    const struct chunk at = *chunk; /* a copy cannot be what the gradient is written to */
    const real low = (real)s->low, high = (real)s->high;
    const real slope_weight = limited ? 0 : (real)s->row_weight;
    real loss = 0, clipped = 0, poison = 0, mask[RL_CHUNK];
    if (s->clip_scale)
        rl_fetch_ahead(at.clip_scale);
    if (s->weights)
        rl_fetch_ahead(at.weights);
    rl_fetch_ahead(at.slope);
    rl_mask_reals(at.mask, at.n, mask);
#pragma omp simd reduction(+ : loss, clipped, poison)
    for (size_t t = 0; t < at.n; t++) {
        real on = mask[t], a = at.advantages[t], w = at.weights[t], scale = at.clip_scale[t];
        a = on > 0 ? a : 0;
        w = on > 0 ? w : 0;
        scale = on > 0 ? scale : 1;
        real bounded = rl_limit(ratio, 1 - low * scale, 1 + high * scale);
        real first = -a * ratio, second = -a * bounded;
        loss += w * (second > first ? second : first);
        clipped += second > first ? 1 : 0;
        at.slope[t] = second > first ? 0 : w * first * slope_weight;
        poison += (a - a) + (w - w) + (scale - scale) + (w < 0 ? 1 : 0) + (scale < 0 ? 1 : 0);
    }
    sums->loss += (double)loss;
    sums->clipped += (double)clipped;
    sums->poisoned |= !(poison == 0);
}

static void add_all_losses(const struct RL(rl_segment) * s, double ratio, bool limited,
                           struct rl_row_sums *sums)
{
    real ones[RL_CHUNK], unwanted[RL_CHUNK];
    for (size_t t = 0; t < RL_CHUNK && (!s->weights || !s->clip_scale); t++)
        ones[t] = 1;
    for (size_t t = 0; t < s->n; t += RL_CHUNK) {
        struct chunk at = {.n = s->n - t < RL_CHUNK ? s->n - t : RL_CHUNK,
                           .mask = s->mask + t,
                           .advantages = s->advantages + t,
                           .weights = s->weights ? s->weights + t : ones,
                           .clip_scale = s->clip_scale ? s->clip_scale + t : ones,
                           .slope = s->d_log_prob ? s->d_log_prob + t : unwanted};
        add_losses(&at, s, (real)ratio, limited, sums);
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
