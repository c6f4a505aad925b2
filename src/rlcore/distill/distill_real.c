/*
 * distill_real.c: K1 as advantage and K2 as loss over the selected tokens.
 *
 * The teacher is used where the student fails: on prompts whose pass rate is at most the threshold,
 * and there on failed rollouts. These rows lose their own advantage, because both would act on the
 * same tokens. The horizon selects the first tokens, where a mistake decides the rest.
 */
#include <rlcore/distill.h>

#include "support/groups.h"
#include "support/scratch.h"
#include "support/real.h"

enum { LOG_PROB, TEACHER, RL_ADVANTAGE }; /* in the order of the arguments */

struct distilling {
    struct rl_grid batch;
    const struct rl_distill_options *options;
    const real *s, *t;
    uint8_t *eligible;
};

/*
 * The pass rate is that of the prompt's own group; with the pass rate of the whole batch, easy
 * prompts would decide about hard prompts.
 */
static void find_eligible(const struct rl_groups *groups, const double *rewards, const struct rl_distill_options *options,
                          double *pass_rate, uint8_t *eligible)
{
    const double *given = options->pass_rate;
    for (size_t g = 0; g < groups->n; g++) {
        double passed = 0;
        for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++)
            passed += rewards[groups->order[i]] > 0;
        for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++) {
            size_t row = groups->order[i];
            pass_rate[row] = given ? given[row] : passed / (double)rl_group_size(groups, g);
            eligible[row] = pass_rate[row] <= options->pass_rate_threshold && !(rewards[row] > 0);
        }
    }
}

/*
 * The end of the selected tokens of a row, which are its response tokens from the first position
 * on. It is computed in each pass instead of stored, so that no array of the batch's size is
 * needed.
 */
static size_t selected_end(const struct distilling *d, size_t row)
{
    size_t begin = rl_row_at(&d->batch, row), end = begin, left = d->options->horizon;
    if (!d->eligible[row])
        return begin;
    for (size_t i = begin; i < rl_row_end(&d->batch, row) && left > 0; i++)
        if (rl_on(&d->batch, i)) {
            left--;
            end = i + 1;
        }
    return end;
}

/* Sums of t - s over the selected tokens. */
struct gaps {
    double n, sum, square;
    double mean, scale; /* for the normalisation; 0 and 1 without it */
    double weight;      /* of a token in the loss */
};

static double gap_at(const struct distilling *d, size_t i)
{
    return (double)rl_real_at(&d->batch, TEACHER, d->t, i) - (double)rl_real_at(&d->batch, LOG_PROB, d->s, i);
}

static struct gaps measure(const struct distilling *d)
{
    struct gaps gaps = {.scale = 1};
    double deviation = 0;
    for (size_t row = 0; row < d->batch.n_rows; row++)
        for (size_t i = rl_row_at(&d->batch, row), end = selected_end(d, row); i < end; i++)
            if (rl_on(&d->batch, i)) {
                gaps.n++;
                gaps.sum += gap_at(d, i);
                gaps.square += gap_at(d, i) * gap_at(d, i);
            }
    if (!d->options->normalise || gaps.n < 2)
        return gaps;
    /*
     * The squared deviations are summed in a second pass, because teacher and student differ by
     * little around a common offset, where sums of squares would cancel.
     */
    gaps.mean = gaps.sum / gaps.n;
    for (size_t row = 0; row < d->batch.n_rows; row++)
        for (size_t i = rl_row_at(&d->batch, row), end = selected_end(d, row); i < end; i++)
            if (rl_on(&d->batch, i))
                deviation += (gap_at(d, i) - gaps.mean) * (gap_at(d, i) - gaps.mean);
    gaps.scale = sqrt(deviation / gaps.n) + 1e-8;
    return gaps;
}

/* Rows without a teacher keep their own advantages. */
static void write_row(const struct distilling *d, size_t row, const real *rl_advantages, const struct gaps *gaps,
                      real *advantages, real *d_log_prob)
{
    const struct rl_grid *batch = &d->batch;
    size_t end = selected_end(d, row);
    for (size_t i = rl_row_at(batch, row); i < rl_row_end(batch, row); i++) {
        bool on = rl_on(batch, i), selected = on && i < end;
        advantages[i] = selected                  ? (real)((gap_at(d, i) - gaps->mean) / gaps->scale)
                        : d->eligible[row] || !on ? 0
                                                  : rl_real_at(batch, RL_ADVANTAGE, rl_advantages, i);
        if (d_log_prob)
            d_log_prob[i] = selected ? (real)(gaps->weight * (0 - gap_at(d, i))) : 0;
    }
}

static enum rl_status check(const struct distilling *d, const real *rl_advantages, const double *rewards, const double *pass_rate,
                            const real *advantages, struct rl_error *err)
{
    const struct rl_grid *batch = &d->batch;
    if (batch->n_rows)
        RL_TRY(RL_NEED(err, {"rewards", rewards}, {"pass_rate", pass_rate}, {"eligible", d->eligible}));
    if (batch->n_rows && batch->n_tokens)
        RL_TRY(RL_NEED(err, {"advantages", advantages}));
    RL_TRY(rl_grid_check_reals("log_prob", batch, LOG_PROB, d->s, false, err));
    RL_TRY(rl_grid_check_reals("teacher_log_prob", batch, TEACHER, d->t, false, err));
    RL_TRY(rl_grid_check_reals("rl_advantages", batch, RL_ADVANTAGE, rl_advantages, false, err));
    for (size_t i = 0; i < batch->n_rows; i++)
        if (!isfinite(rewards[i]))
            return rl_fail(err, RL_EVALUE, "rewards[%zu] is %g, not a finite number", i, rewards[i]);
    if (!(d->options->pass_rate_threshold >= 0 && d->options->pass_rate_threshold <= 1))
        return rl_fail(err, RL_EINVAL, "pass_rate_threshold is %g, not in 0..1", d->options->pass_rate_threshold);
    if (!(d->options->kd_coef >= 0 && isfinite(d->options->kd_coef)))
        return rl_fail(err, RL_EINVAL, "kd_coef is %g, negative or not finite", d->options->kd_coef);
    return RL_OK;
}

/* Given pass rates must be those of groups that contain the rows of this batch. */
static enum rl_status check_pass_rates(const struct rl_groups *groups, const double *rates, const double *rewards,
                                       struct rl_error *err)
{
    for (size_t g = 0; rates && g < groups->n; g++)
        for (size_t i = groups->start[g]; i < groups->start[g + 1]; i++) {
            size_t row = groups->order[i], first = groups->order[groups->start[g]];
            double rate = rates[row];
            if (!(rate >= 0 && rate <= 1) || rate < rates[first] || rate > rates[first])
                return rl_fail(err, RL_EINVAL, "pass_rate[%zu] is %g, not in 0..1 or not that of its group", row, rate);
            if (rewards[row] > 0 ? !(rate > 0) : !(rate < 1))
                return rl_fail(err, RL_EINVAL, "pass_rate[%zu] is %g, but the reward of the row is %g", row, rate, rewards[row]);
        }
    return RL_OK;
}

/* The weight of a token in the loss of the whole batch. */
static enum rl_status weigh(const struct rl_distill_options *o, struct gaps *gaps, struct rl_error *err)
{
    double dp_size = o->dp_size > 0 ? o->dp_size : 1, n = o->n_selected ? (double)o->n_selected : gaps->n;
    if (!(o->dp_size >= 0) || dp_size > floor(dp_size) || dp_size < 1 || isinf(dp_size))
        return rl_fail(err, RL_EINVAL, "dp_size is %g, not a number of ranks", o->dp_size);
    if (dp_size > 1 && !o->n_selected && gaps->n > 0)
        return rl_fail(err, RL_EINVAL, "dp_size is %g, so eligible_tokens of the whole batch is needed", dp_size);
    if (n < gaps->n)
        return rl_fail(err, RL_EINVAL, "eligible_tokens is %zu, but this part alone has %g: it counts the whole batch",
                       o->n_selected, gaps->n);
    if (o->normalise && n > gaps->n)
        return rl_fail(err, RL_EINVAL, "normalise needs the whole batch: this part has %g of its %zu selected tokens", gaps->n,
                       o->n_selected);
    gaps->weight = n > 0 ? o->kd_coef * dp_size / n : 0;
    return RL_OK;
}

enum rl_status rl_distill(const struct rl_batch *batch, const struct rl_distill_options *options, const real *log_prob,
                          const real *teacher, const real *rl_advantages, const double *rewards, real *advantages,
                          real *d_log_prob, double *pass_rate, uint8_t *eligible, struct rl_distill_result *result,
                          struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"batch", batch}, {"options", options}, {"result", result}));
    struct distilling d = {.options = options, .s = log_prob, .t = teacher, .eligible = eligible};
    RL_TRY(rl_grid_of(&d.batch, batch, RL_NEEDS_GROUPS, err));
    RL_TRY(check(&d, rl_advantages, rewards, pass_rate, advantages, err));
    struct rl_scratch scratch = rl_scratch_begin(ws);
    struct rl_groups groups = rl_groups_take(&scratch, d.batch.n_rows);
    if (!rl_scratch_fits(&scratch))
        return rl_scratch_short(&scratch, err);
    rl_groups_build(&groups, d.batch.group);
    RL_TRY(check_pass_rates(&groups, options->pass_rate, rewards, err));
    find_eligible(&groups, rewards, options, pass_rate, eligible);
    struct gaps gaps = measure(&d);
    RL_TRY(weigh(options, &gaps, err));
    for (size_t row = 0; row < d.batch.n_rows; row++)
        write_row(&d, row, rl_advantages, &gaps, advantages, d_log_prob);
    result->n_selected = (size_t)gaps.n;
    result->kd_loss = gaps.weight * 0.5 * gaps.square;
    return RL_OK;
}

/* Position t of the teacher's array belongs to token t, so the cut is only a shift by the length of the prompt. */
enum rl_status rl_distill_cut(size_t n_rows, size_t n_tokens, size_t full_length, const size_t *prompt, const real *full,
                              real *out, struct rl_error *err)
{
    if (n_rows && (!prompt || !full || !out))
        return rl_fail(err, RL_EINVAL, "prompt, the teacher's log-probs or out is missing");
    for (size_t i = 0; i < n_rows; i++) {
        if (prompt[i] > full_length || full_length - prompt[i] < n_tokens)
            return rl_fail(err, RL_EINVAL, "teacher row %zu: %zu tokens, prompt %zu and response %zu do not fit", i, full_length,
                           prompt[i], n_tokens);
        memcpy(out + i * n_tokens, full + i * full_length + prompt[i], n_tokens * sizeof *out);
    }
    return RL_OK;
}
