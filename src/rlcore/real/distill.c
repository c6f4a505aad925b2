/* distill.c: K1 as advantage and K2 as loss over the selected tokens. */
#include <rlcore/distill.h>

#include <math.h>

#include "groups.h"
#include "internal.h"
#include "real.h"

struct RL(distilling) {
    const struct rl_batch *batch;
    const struct rl_distill_options *options;
    const real *s, *t;
    uint8_t *eligible;
};

static void find_eligible(const struct rl_groups *groups, const double *rewards, double threshold,
                          double *pass_rate, uint8_t *eligible)
{
    for (size_t g = 0; g < groups->n; g++) {
        double passed = 0;
        for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++)
            passed += rewards[groups->order[i]] > 0;
        for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++) {
            size_t row = groups->order[i];
            pass_rate[row] = passed / (double)rl_group_size(groups, g);
            eligible[row] = pass_rate[row] <= threshold && !(rewards[row] > 0);
        }
    }
}

/* Calls for each selected token; what it is given lives in the caller. */
typedef void RL(selected_fn)(const struct RL(distilling) * d, size_t cell, void *context);

static void each_selected(const struct RL(distilling) * d, RL(selected_fn) * visit, void *context)
{
    for (size_t row = 0; row < d->batch->n_rows; row++) {
        size_t before = 0;
        for (size_t i = row * d->batch->n_tokens;
             d->eligible[row] && i < (row + 1) * d->batch->n_tokens; i++)
            if (d->batch->mask[i] && before++ < d->options->horizon)
                visit(d, i, context);
    }
}

struct RL(sums) {
    double n, gap, square, deviation; /* of t - s */
    double mean, scale;
    real *out;
};

static void add_gap(const struct RL(distilling) * d, size_t i, void *context)
{
    struct RL(sums) *sums = context;
    double gap = (double)d->t[i] - (double)d->s[i];
    sums->n++;
    sums->gap += gap;
    sums->square += gap * gap;
}

static void add_deviation(const struct RL(distilling) * d, size_t i, void *context)
{
    struct RL(sums) *sums = context;
    double gap = (double)d->t[i] - (double)d->s[i] - sums->mean;
    sums->deviation += gap * gap;
}

static void put_advantage(const struct RL(distilling) * d, size_t i, void *context)
{
    struct RL(sums) *sums = context;
    sums->out[i] = (real)(((double)d->t[i] - (double)d->s[i] - sums->mean) / sums->scale);
}

static void put_gradient(const struct RL(distilling) * d, size_t i, void *context)
{
    struct RL(sums) *sums = context;
    sums->out[i] = (real)(d->options->kd_coef * ((double)d->s[i] - (double)d->t[i]) / sums->n);
}

static void write_advantages(const struct RL(distilling) * d, const real *rl_advantages,
                             struct RL(sums) * sums, real *advantages)
{
    size_t t_end = d->batch->n_tokens;
    for (size_t i = 0; i < d->batch->n_rows * t_end; i++)
        advantages[i] = d->eligible[i / t_end] || !d->batch->mask[i] ? 0 : rl_advantages[i];
    sums->mean = 0;
    sums->scale = 1;
    if (d->options->normalise && sums->n >= 2) {
        sums->mean = sums->gap / sums->n;
        each_selected(d, add_deviation, sums);
        sums->scale = sqrt(sums->deviation / sums->n) + 1e-8;
    }
    sums->out = advantages;
    each_selected(d, put_advantage, sums);
}

static enum rl_status check(const struct RL(distilling) * d, const real *rl_advantages,
                            const double *rewards, struct rl_error *err)
{
    enum rl_status status = rl_batch_check(d->batch, RL_NEEDS_GROUPS, err);
    if (status == RL_OK)
        status = RL(rl_batch_check_reals)("log_prob", d->s, d->batch, err);
    if (status == RL_OK)
        status = RL(rl_batch_check_reals)("teacher_log_prob", d->t, d->batch, err);
    if (status == RL_OK)
        status = RL(rl_batch_check_reals)("rl_advantages", rl_advantages, d->batch, err);
    for (size_t i = 0; status == RL_OK && i < d->batch->n_rows; i++)
        if (!isfinite(rewards[i]))
            status =
                rl_fail(err, RL_EVALUE, "rewards[%zu] is %g, not a finite number", i, rewards[i]);
    if (status == RL_OK &&
        !(d->options->pass_rate_threshold >= 0 && d->options->pass_rate_threshold <= 1))
        status = rl_fail(err, RL_EINVAL, "pass_rate_threshold is %g, not 0..1",
                         d->options->pass_rate_threshold);
    if (status == RL_OK && !(d->options->kd_coef >= 0 && isfinite(d->options->kd_coef)))
        status =
            rl_fail(err, RL_EINVAL, "kd_coef is %g, not a number from 0 on", d->options->kd_coef);
    return status;
}

enum rl_status RL(rl_distill)(const struct rl_batch *batch,
                              const struct rl_distill_options *options, const real *log_prob,
                              const real *teacher, const real *rl_advantages, const double *rewards,
                              real *advantages, real *d_log_prob, double *pass_rate,
                              uint8_t *eligible, struct rl_distill_result *result,
                              struct rl_workspace *ws, struct rl_error *err)
{
    struct RL(distilling) d = {batch, options, log_prob, teacher, eligible};
    struct RL(sums) sums = {0};
    enum rl_status status = check(&d, rl_advantages, rewards, err);
    if (status != RL_OK)
        return status;
    struct rl_scratch scratch = rl_scratch_begin(ws);
    struct rl_groups groups = rl_groups_take(&scratch, batch->n_rows);
    if (!rl_scratch_fits(&scratch))
        return rl_scratch_short(&scratch, err);
    rl_groups_build(&groups, batch->group);
    find_eligible(&groups, rewards, options->pass_rate_threshold, pass_rate, eligible);
    each_selected(&d, add_gap, &sums);
    write_advantages(&d, rl_advantages, &sums, advantages);
    for (size_t i = 0; d_log_prob && i < batch->n_rows * batch->n_tokens; i++)
        d_log_prob[i] = 0;
    sums.out = d_log_prob;
    if (d_log_prob)
        each_selected(&d, put_gradient, &sums);
    result->n_selected = (size_t)sums.n;
    result->kd_loss = sums.n > 0 ? options->kd_coef * 0.5 * sums.square / sums.n : 0;
    return RL_OK;
}
