/*
 * geo_mean_loss_real.c: GMPO. The row's loss is -A_i R_i W_i with all three from sums over the row,
 * so the gradient needs a second pass: each token whose log-ratio the clip left alone gets the
 * row's loss / (n_i + 1e-8).
 */
#include "loss/loss_internal.h"

/* Log-ratio of one response token as the clip leaves it, in the direction the advantage asks. */
struct cut {
    real t, slope;     /* slope: 1 where t follows l */
    real above, below; /* 1 if outside the range with A > 0, with A < 0 */
};

/*
 * Clipped where the clip makes the objective smaller, as PPO does, but on log-ratios, which the
 * geometric mean adds up: one outlier moves the row's ratio by 1/n of itself (arXiv 2507.20673).
 */
static RL_INLINE struct cut cut_log_ratio(real l, real a, real low, real high)
{
    real lc = rl_limit(l, -low, high);
    real least = l < lc ? l : lc, most = l < lc ? lc : l;
    real outside = l == lc ? 0 : 1, over = l > lc ? 1 : 0, under = l < lc ? 1 : 0;
    struct cut c = {.above = a > 0 ? outside : 0, .below = a < 0 ? outside : 0};
    c.t = a > 0 ? least : 0;
    c.t = a < 0 ? most : c.t;
    c.slope = a > 0 ? 1 - over : 0;
    c.slope = a < 0 ? 1 - under : c.slope;
    return c;
}

/* Pointers to RL_CHUNK tokens at most. */
struct chunk {
    size_t n;
    const uint8_t *mask;
    const real *log_prob, *old_log_prob, *advantages;
};

static struct chunk chunk_at(const struct rl_loss_call *call, size_t row, size_t t)
{
    size_t n = call->batch->n_tokens, i = row * n + t;
    return (struct chunk){.n = n - t < RL_CHUNK ? n - t : RL_CHUNK,
                          .mask = call->batch->mask + i,
                          .log_prob = call->in->log_prob + i,
                          .old_log_prob = call->in->old_log_prob + i,
                          .advantages = call->in->advantages + i};
}

struct row_means {
    double t, advantage; /* sums first, means over n_i + 1e-8 after */
};

RL_HOT static void add_up(const struct rl_loss_call *call, const struct chunk *chunk,
                          struct row_means *means, struct rl_row_sums *sums)
{
    const struct chunk at = *chunk;
    const real low = (real)call->options->clip_low, high = (real)call->options->clip_high;
    real sum_t = 0, sum_a = 0, above = 0, below = 0, kl = 0, poison = 0, mask[RL_CHUNK];
    rl_fetch_ahead(at.log_prob);
    rl_fetch_ahead(at.old_log_prob);
    rl_fetch_ahead(at.advantages);
    rl_mask_reals(at.mask, at.n, mask);
#pragma omp simd reduction(+ : sum_t, sum_a, above, below, kl, poison)
    for (size_t t = 0; t < at.n; t++) {
        real on = mask[t], p = at.log_prob[t], q = at.old_log_prob[t], a = at.advantages[t];
        p = on > 0 ? p : 0;
        q = on > 0 ? q : 0;
        a = on > 0 ? a : 0;
        struct cut c = cut_log_ratio(p - q, a, low, high);
        sum_t += c.t;
        sum_a += a;
        above += c.above;
        below += c.below;
        kl -= p - q;
        poison += (p - p) + (q - q) + (a - a);
    }
    /*
     * Chunks add in their own type, as wide loops need it; rows add in double, so that the rounding
     * of a row does not grow with its length.
     */
    means->t += (double)sum_t;
    means->advantage += (double)sum_a;
    sums->clipped += (double)above;
    sums->lower += (double)below;
    sums->kl += (double)kl;
    sums->poisoned |= !(poison == 0);
}

/*
 * The row's weight is the geometric mean of its tokens' weights, as its ratio is; 1e-10 keeps a
 * weight of 0 from erasing the row as minus infinity.
 */
static double sum_log_weights(const struct rl_loss_call *call, size_t row, struct rl_row_sums *sums)
{
    size_t n = call->batch->n_tokens, i = row * n;
    double sum = 0;
    for (size_t t = 0; call->in->weights && t < n; t++) {
        double w = call->batch->mask[i + t] ? (double)call->in->weights[i + t] : 1;
        sum += call->batch->mask[i + t] ? log(w + 1e-10) : 0;
        sums->poisoned |= !(w >= 0) || isinf(w);
    }
    return sum;
}

RL_HOT static void write_gradient(const struct rl_loss_call *call, const struct chunk *chunk,
                                  real slope, real *d_log_prob)
{
    const struct chunk at = *chunk;
    const real low = (real)call->options->clip_low, high = (real)call->options->clip_high;
    real mask[RL_CHUNK];
    rl_mask_reals(at.mask, at.n, mask);
#pragma omp simd
    for (size_t t = 0; t < at.n; t++) {
        real l = at.log_prob[t] - at.old_log_prob[t], a = at.advantages[t];
        real value = slope * cut_log_ratio(l, a, low, high).slope;
        d_log_prob[t] = mask[t] > 0 ? value : 0;
    }
}

static struct rl_row_sums geo_mean_row(const struct rl_loss_call *call, size_t row,
                                       size_t n_response, double weight)
{
    struct rl_row_sums sums = rl_row_sums_empty();
    struct row_means sum = {0};
    size_t n = call->batch->n_tokens;
    for (size_t t = 0; t < n; t += RL_CHUNK) {
        const struct chunk at = chunk_at(call, row, t);
        add_up(call, &at, &sum, &sums);
    }
    /* A row without response tokens divides by 1e-8 and has sums of 0: its loss is 0 and no NaN. */
    double length = (double)n_response + 1e-8;
    double ratio = exp(sum.t / length);
    double is_weight = exp(sum_log_weights(call, row, &sums) / length);
    sums.loss = -sum.advantage / length * ratio * is_weight;
    /*
     * One ratio for the row, counted once per token, so that the mean over tokens is comparable
     * with that of the other losses.
     */
    if (n_response) {
        sums.ratio = ratio * (double)n_response;
        sums.ratio_min = sums.ratio_max = ratio;
    }
    for (size_t t = 0; call->d_log_prob && t < n; t += RL_CHUNK) {
        const struct chunk at = chunk_at(call, row, t);
        write_gradient(call, &at, (real)(sums.loss * weight / length),
                       call->d_log_prob + row * n + t);
    }
    rl_loss_entropy(call, row, &sums);
    return sums;
}

enum rl_status rl_geo_mean_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                                const struct rl_loss_options *options, real *d_log_prob,
                                struct rl_loss_result *out, struct rl_workspace *ws,
                                struct rl_error *err)
{
    const struct rl_loss_call call = {.batch = batch,
                                      .in = in,
                                      .options = options,
                                      .d_log_prob = d_log_prob,
                                      .out = out,
                                      .weights = RL_WEIGHTS_PER_ROW};
    struct rl_rows rows;
    enum rl_status status = rl_loss_begin(&call, &rows, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < batch->n_rows; row++)
        rows.sums[row] = geo_mean_row(&call, row, rows.n_response[row], rl_row_weight(&rows, row));
    return rl_loss_end(&call, &rows, err);
}
