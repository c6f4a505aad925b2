/*
 * divergence_loss_real.c: DPPO, DRO and VESPO, which bound the distance to the old policy by other means
 * than a clip of the ratio: a bound on the difference of probabilities, a quadratic penalty, and a weight
 * of the whole row. All take their factor as a constant of -A log_prob.
 */
#include "loss/token_chunk.h"

/*
 * The difference of two probabilities is small for rare tokens, whose ratios are the noisy ones, so a
 * bound on it cuts off fewer of them than a clip does. Only movement in the direction of the advantage is
 * cut off.
 */
static RL_INLINE void dppo(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                           bool by_kl, struct rl_row_sums *sums)
{
    const real low = (real)options->clip_low, high = (real)options->clip_high, cap = (real)options->clip_c;
    real clipped = 0, capped = 0;
    for (size_t t = 0; t < RL_CHUNK; t++) {
        rl_int on = at->on[t];
        real p = rl_keep(on, at->log_prob[t]), q = rl_keep(on, at->old_log_prob[t]), a = rl_keep(on, at->advantages[t]);
        real w = weighted ? at->weight[t] : 1, new = rl_exp(p), old = rl_exp(q);
        double moved = (double)(new - old);
        bool up = a > 0, valid = up ? moved <= (double)high : moved >= -(double)low;
        if (by_kl) {
            double rest = log((1 - (double)old + 1e-8) / (1 - (double)new + 1e-8));
            double kl = (double)old * (double)(q - p) + (1 - (double)old) * rest;
            valid = up ? kl <= (double)high || new <= old : kl <= (double)low || new >= old;
        }
        real pull = valid ? -a * (at->ratio[t] < cap ? at->ratio[t] : cap) : a - a; /* 0, or NaN where A is not finite */
        at->term[t] = w * (pull * p);
        at->slope[t] = w * pull * row_weight;
        clipped += on && !valid;
        capped += on && valid && at->ratio[t] > cap;
    }
    sums->clipped += (double)clipped;
    sums->lower += (double)capped;
}

static RL_INLINE void dppo_tv(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                              bool scaled, struct rl_row_sums *sums)
{
    (void)scaled;
    dppo(at, options, row_weight, weighted, false, sums);
}

static RL_INLINE void dppo_kl(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                              bool scaled, struct rl_row_sums *sums)
{
    (void)scaled;
    dppo(at, options, row_weight, weighted, true, sums);
}

HOT(struct rl_row_sums, dppo_tv_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    return rl_token_row(call, row, row_weight, true, false, dppo_tv);
}

HOT(struct rl_row_sums, dppo_kl_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    return rl_token_row(call, row, row_weight, true, false, dppo_kl);
}

/* The penalty pulls the log-prob back towards the old one, so no ratio and no clip are needed. */
static RL_INLINE void dro(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                          bool scaled, struct rl_row_sums *sums)
{
    const real beta = (real)options->dro_beta;
    (void)scaled, (void)sums;
    for (size_t t = 0; t < RL_CHUNK; t++) {
        rl_int on = at->on[t];
        real p = rl_keep(on, at->log_prob[t]), a = rl_keep(on, at->advantages[t]);
        real l = rl_keep(on, at->log_prob[t] - at->old_log_prob[t]), w = weighted ? at->weight[t] : 1;
        at->term[t] = w * (beta / 2 * l * l - p * a);
        at->slope[t] = w * (beta * l - a) * row_weight;
    }
}

HOT(struct rl_row_sums, dro_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    struct rl_row_sums sums = rl_token_row(call, row, row_weight, false, false, dro);
    sums.clamped = 0; /* the limit of the ratio, which is only reported, cuts nothing */
    return sums;
}

/* The logarithm of the ratio of a row: a sum, not a mean, with the weights as ratios to the sampler. */
static double vespo_ratio(const struct rl_loss_call *call, size_t row, struct rl_row_sums *sums)
{
    const struct rl_grid *batch = &call->batch;
    const double lowest = log(1e-8);
    double sum = 0;
    for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i++) {
        if (!rl_on(batch, i))
            continue;
        double l = (double)rl_real_at(batch, RL_LOG_PROB, call->in->log_prob, i) -
                   (double)rl_real_at(batch, RL_OLD_LOG_PROB, call->in->old_log_prob, i);
        double w = call->in->weights ? (double)rl_real_at(batch, RL_WEIGHTS, call->in->weights, i) : 1;
        double limited = fmin(fmax(l, -(double)rl_l_limit), (double)rl_l_limit);
        sums->poisoned |= !isfinite(l) || !(w >= 0) || isinf(w);
        sums->clamped += l > (double)rl_l_limit || l < -(double)rl_l_limit;
        sums->kl -= limited;
        sum += limited + (call->in->weights ? fmin(fmax(log(w), lowest), (double)rl_l_limit) : 0);
    }
    return fmin(fmax(sum, lowest), (double)rl_l_limit);
}

/* exp(lambda + k log w - lambda w), 1 at w = 1: it fades for rows that the policy has left in either direction. */
static double vespo_weight(const struct rl_loss_options *o, double log_ratio, double ratio, bool negative)
{
    double k = negative ? o->vespo_k_neg : o->vespo_k_pos;
    double lambda = fmax(negative ? o->vespo_lambda_neg : o->vespo_lambda_pos, 1e-4);
    double weight = exp(lambda + k * log_ratio - lambda * ratio);
    return isfinite(weight) ? weight : 0;
}

static struct rl_row_sums vespo_row(const struct rl_loss_call *call, size_t row, real row_weight)
{
    const struct rl_grid *batch = &call->batch;
    struct rl_row_sums sums = rl_row_sums_empty();
    rl_loss_entropy(call, row, &sums);
    double log_ratio = vespo_ratio(call, row, &sums), ratio = exp(log_ratio), n = 0;
    const double weights[] = {vespo_weight(call->options, log_ratio, ratio, false),
                              vespo_weight(call->options, log_ratio, ratio, true)};
    for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i++) {
        bool on = rl_on(batch, i);
        double p = on ? (double)rl_real_at(batch, RL_LOG_PROB, call->in->log_prob, i) : 0;
        double a = on ? (double)rl_real_at(batch, RL_ADVANTAGES, call->in->advantages, i) : 0;
        double pull = -weights[a < 0] * a;
        sums.poisoned |= !isfinite(a);
        sums.loss += pull * p;
        n += on;
        if (call->d_log_prob)
            call->d_log_prob[i] = (real)(on ? pull * (double)row_weight : 0);
    }
    sums.ratio = ratio * n;
    if (n > 0)
        sums.ratio_min = sums.ratio_max = ratio;
    return sums;
}

RL_POLICY_LOSS(rl_dppo_tv_loss, .row = dppo_tv_row, .weights = RL_WEIGHTS_AGG, .unclipped = "dppo_tv")

RL_POLICY_LOSS(rl_dppo_kl_loss, .row = dppo_kl_row, .weights = RL_WEIGHTS_AGG, .unclipped = "dppo_kl")

enum rl_status rl_dro_loss(const struct rl_batch *batch, const struct rl_loss_input *in, const struct rl_loss_options *options,
                           real *d_log_prob, struct rl_loss_result *out, struct rl_workspace *ws, struct rl_error *err)
{
    const struct rl_loss_rule rule = {.row = dro_row, .weights = RL_WEIGHTS_AGG, .unclipped = "dro"};
    if (options && !(options->dro_beta > 0 && isfinite(options->dro_beta)))
        return rl_fail(err, RL_EINVAL, "dro_beta is %g, not a positive number", options->dro_beta);
    return rl_loss_run(&rule, batch, in, options, d_log_prob, out, ws, err);
}

enum rl_status rl_vespo_loss(const struct rl_batch *batch, const struct rl_loss_input *in, const struct rl_loss_options *options,
                             real *d_log_prob, struct rl_loss_result *out, struct rl_workspace *ws, struct rl_error *err)
{
    const struct rl_loss_rule rule = {.row = vespo_row, .weights = RL_WEIGHTS_AGG, .unclipped = "vespo"};
    const struct rl_loss_options *o = options;
    if (o &&
        !(isfinite(o->vespo_k_pos) && isfinite(o->vespo_k_neg) && isfinite(o->vespo_lambda_pos) && isfinite(o->vespo_lambda_neg)))
        return rl_fail(err, RL_EINVAL, "vespo's k or lambda is not a finite number");
    return rl_loss_run(&rule, batch, in, options, d_log_prob, out, ws, err);
}
