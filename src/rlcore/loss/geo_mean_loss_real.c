/*
 * geo_mean_loss_real.c: GMPO (arXiv 2507.20673).
 *
 * The loss of a row is -A_i R_i W_i, and all three factors are made of sums over the row, so the
 * gradient needs a second pass. There each token whose log-ratio the clip left unchanged gets the
 * row's loss / (n_i + 1e-8).
 */
#include "loss/loss_internal.h"

/* The log-ratio of one response token after the clip, which depends on the sign of the advantage. */
struct cut {
    real t;              /* the log-ratio, or its bound */
    rl_int moves;        /* the clip left l unchanged, so t moves with it */
    rl_int above, below; /* outside the range, with A > 0 and with A < 0 */
};

/*
 * The clip applies where it lowers the objective, as in PPO, but to log-ratios, which the geometric
 * mean adds up: one outlier moves the row's ratio by only 1/n of itself (arXiv 2507.20673).
 */
static RL_INLINE struct cut cut_log_ratio(real l, real a, real low, real high)
{
    rl_int up = rl_below(0, a), down = rl_below(a, 0);
    rl_int over = rl_below(high, l), under = rl_below(l, -low);
    real least = rl_pick(over, high, l), most = rl_pick(under, -low, l);
    return (struct cut){.t = rl_pick(up, least, rl_keep(down, most)),
                        .moves = (up & ~over) | (down & ~under),
                        .above = up & (over | under),
                        .below = down & (over | under)};
}

/* At most RL_CHUNK tokens. */
struct chunk {
    size_t n;
    const real *log_prob, *old_log_prob, *advantages, *clip_scale;
    _Alignas(64) rl_int on[RL_CHUNK];
    _Alignas(64) real floats[4][RL_CHUNK]; /* the bfloat16 inputs converted to float */
    _Alignas(64) real ones[RL_CHUNK];      /* the clip scales if the caller has none */
};

static RL_INLINE void chunk_at(struct chunk *at, const struct rl_loss_call *call, size_t i, size_t end)
{
    const struct rl_loss_input *in = call->in;
    size_t n = end - i < RL_CHUNK ? end - i : RL_CHUNK;
    at->n = n;
    at->log_prob = rl_reals_at(&call->batch, RL_LOG_PROB, in->log_prob, i, n, at->floats[0]);
    at->old_log_prob = rl_reals_at(&call->batch, RL_OLD_LOG_PROB, in->old_log_prob, i, n, at->floats[1]);
    at->advantages = rl_reals_at(&call->batch, RL_ADVANTAGES, in->advantages, i, n, at->floats[2]);
    at->clip_scale = rl_reals_at(&call->batch, RL_CLIP_SCALE, in->clip_scale, i, n, at->floats[3]);
    if (!at->clip_scale) {
        for (size_t t = 0; t < n; t++)
            at->ones[t] = 1;
        at->clip_scale = at->ones;
    }
    rl_mask_bits(&call->batch, i, n, at->on);
}

struct row_means {
    double t, advantage; /* sums at first, then means over n_i + 1e-8 */
};

HOT_VOID(add_up, (const struct rl_loss_call *call, size_t i, size_t end, struct row_means *means, struct rl_row_sums *sums),
         (call, i, end, means, sums))
{
    struct chunk at;
    const real low = (real)call->options->clip_low, high = (real)call->options->clip_high;
    _Alignas(64) real cuts[RL_CHUNK], advantages[RL_CHUNK], kls[RL_CHUNK];
    rl_int above = 0, below = 0, bad = 0;
    chunk_at(&at, call, i, end);
    const real *log_prob = at.log_prob, *old_log_prob = at.old_log_prob;
    const real *advantage = at.advantages, *scale = at.clip_scale;
    rl_fetch_ahead(log_prob);
    rl_fetch_ahead(old_log_prob);
    rl_fetch_ahead(advantage);
    RL_INDEPENDENT
    for (size_t t = 0; t < at.n; t++) {
        rl_int on = at.on[t];
        real p = rl_keep(on, log_prob[t]), q = rl_keep(on, old_log_prob[t]);
        real a = rl_keep(on, advantage[t]), s = rl_pick(on, scale[t], 1);
        struct cut c = cut_log_ratio(p - q, a, low * s, high * s);
        cuts[t] = c.t;
        advantages[t] = a;
        kls[t] = p - q;
        above -= c.above;
        below -= c.below;
        bad |= rl_not_finite(p) | rl_not_finite(q) | rl_not_finite(a) | rl_not_finite(s) | rl_below(s, 0);
    }
    /*
     * The sum of a chunk has the element type, because wide loops need it. The sum of a row is
     * double, so that its rounding error does not grow with the length of the row.
     */
    means->t += (double)rl_sum(cuts, at.n);
    means->advantage += (double)rl_sum(advantages, at.n);
    sums->kl -= (double)rl_sum(kls, at.n);
    sums->clipped += (double)above;
    sums->lower += (double)below;
    sums->poisoned |= bad != 0;
}

/*
 * The row's weight is the geometric mean of its tokens' weights, as its ratio is. 1e-10 keeps a
 * weight of 0 from turning the row's weight into exp(-infinity).
 */
static double sum_log_weights(const struct rl_loss_call *call, size_t row, struct rl_row_sums *sums)
{
    const struct rl_grid *batch = &call->batch;
    double sum = 0;
    if (!call->in->weights)
        return 0;
    for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i++) {
        if (!rl_on(batch, i))
            continue;
        double w = (double)rl_real_at(batch, RL_WEIGHTS, call->in->weights, i);
        sum += log(w + 1e-10);
        sums->poisoned |= !(w >= 0) || isinf(w);
    }
    return sum;
}

HOT_VOID(write_gradient, (const struct rl_loss_call *call, size_t i, size_t end, real slope), (call, i, end, slope))
{
    struct chunk at;
    const real low = (real)call->options->clip_low, high = (real)call->options->clip_high;
    chunk_at(&at, call, i, end);
    const real *log_prob = at.log_prob, *old_log_prob = at.old_log_prob;
    const real *advantages = at.advantages, *scale = at.clip_scale;
    real *d_log_prob = call->d_log_prob + i;
#pragma omp simd
    for (size_t t = 0; t < at.n; t++) {
        real l = log_prob[t] - old_log_prob[t];
        rl_int moves = cut_log_ratio(l, advantages[t], low * scale[t], high * scale[t]).moves;
        d_log_prob[t] = rl_keep(at.on[t], slope * rl_keep(moves, 1));
    }
}

static struct rl_row_sums geo_mean_row(const struct rl_loss_call *call, size_t row, size_t n_response, double weight)
{
    struct rl_row_sums sums = rl_row_sums_empty();
    struct row_means sum = {0};
    rl_loss_entropy(call, row, &sums);
    size_t begin = rl_row_at(&call->batch, row), end = rl_row_end(&call->batch, row);
    for (size_t i = begin; i < end; i += RL_CHUNK)
        add_up(call, i, end, &sum, &sums);
    /*
     * A row without response tokens has sums of 0 and divides by 1e-8, so its loss is 0 and not
     * NaN.
     */
    double length = (double)n_response + 1e-8;
    double ratio = exp(sum.t / length);
    double is_weight = exp(sum_log_weights(call, row, &sums) / length);
    sums.loss = -sum.advantage / length * ratio * is_weight;
    /*
     * The row's ratio is counted once per token, so that the mean over tokens can be compared with
     * that of the other losses.
     */
    if (n_response) {
        sums.ratio = ratio * (double)n_response;
        sums.ratio_min = sums.ratio_max = ratio;
    }
    for (size_t i = begin; call->d_log_prob && i < end; i += RL_CHUNK)
        write_gradient(call, i, end, (real)(sums.loss * weight / length));
    return sums;
}

enum rl_status rl_geo_mean_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                                const struct rl_loss_options *options, real *d_log_prob, struct rl_loss_result *out,
                                struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_loss_call call = {
        .in = in, .options = options, .d_log_prob = d_log_prob, .out = out, .weights = RL_WEIGHTS_PER_ROW};
    struct rl_rows rows;
    enum rl_status status = rl_loss_begin(&call, batch, &rows, ws, err);
    if (status != RL_OK)
        return status;
#pragma omp parallel for schedule(static) if (rows.parallel)
    for (size_t row = 0; row < rows.n; row++)
        rows.sums[row] = geo_mean_row(&call, row, rows.n_response[row], rl_row_weight(&rows, row));
    return rl_loss_end(&call, &rows, err);
}
