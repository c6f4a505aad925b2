/*
 * rows.c: the frame of all aggregated losses. Every row has the weight common / length, 0 if it has
 * no response tokens, where `common` holds the denominator that the whole batch shares.
 */
#include "rows.h"

#include <math.h>

#include "hot.h"

struct weighting {
    double common;
    bool by_length;
    double epsilon; /* added to the length */
};

static double row_weight(const struct weighting *w, size_t n_response)
{
    if (n_response == 0)
        return 0;
    return w->by_length ? w->common / ((double)n_response + w->epsilon) : w->common;
}

struct totals {
    size_t tokens, rows; /* response tokens, rows that have any */
};

static enum rl_status check_agg(const struct rl_agg *agg, struct rl_error *err)
{
    const struct {
        const char *name;
        double value;
    } sizes[] = {{"dp_size", agg->dp_size},
                 {"batch_num_tokens", agg->batch_num_tokens},
                 {"global_batch_size", agg->global_batch_size},
                 {"loss_scale_factor", agg->loss_scale_factor}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (!(sizes[i].value >= 0) || isinf(sizes[i].value))
            return rl_fail(err, RL_EINVAL, "%s is %g, not a positive number", sizes[i].name,
                           sizes[i].value);
    if ((unsigned)agg->mode > RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM)
        return rl_fail(err, RL_EINVAL, "loss aggregation mode %d is unknown", (int)agg->mode);
    return RL_OK;
}

static enum rl_status weigh_agg(const struct rl_agg *agg, const struct rl_batch *batch,
                                struct totals totals, struct weighting *w, struct rl_error *err)
{
    static const char *const what[] = {"response tokens", "rows with response tokens",
                                       "rows with response tokens", "token positions"};
    const double given[] = {agg->batch_num_tokens, agg->global_batch_size, agg->global_batch_size,
                            agg->loss_scale_factor};
    const size_t counted[] = {totals.tokens, totals.rows, totals.rows, batch->n_tokens};
    double denominator = given[agg->mode] > 0 ? given[agg->mode] : (double)counted[agg->mode];
    if (!(denominator > 0))
        return rl_fail(err, RL_EINVAL, "the loss is a mean over %s, and the batch has none",
                       what[agg->mode]);
    double workers =
        agg->dp_size > 0 && agg->mode != RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM ? agg->dp_size : 1;
    *w = (struct weighting){workers / denominator, agg->mode == RL_AGG_SEQ_MEAN_TOKEN_MEAN, 1e-8};
    return RL_OK;
}

static enum rl_status weigh_older(enum rl_agg_mode mode, const struct rl_batch *batch,
                                  struct totals totals, struct weighting *w, struct rl_error *err)
{
    bool by_length = mode == RL_AGG_SEQ_MEAN_TOKEN_MEAN;
    if (by_length && totals.rows < batch->n_rows)
        return rl_fail(err, RL_EVALUE, "%zu rows have no response token: their mean is undefined",
                       batch->n_rows - totals.rows);
    double denominator = mode == RL_AGG_TOKEN_MEAN                ? (double)totals.tokens + 1e-8
                         : mode == RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM ? (double)batch->n_tokens
                                                                  : (double)batch->n_rows;
    if (!(denominator > 0))
        return rl_fail(err, RL_EINVAL, "the loss is a mean over rows, and the batch has none");
    *w = (struct weighting){1 / denominator, by_length, 0};
    return RL_OK;
}

static enum rl_status weigh(const struct rl_row_job *job, struct totals totals, struct weighting *w,
                            struct rl_error *err)
{
    if (job->weights == RL_WEIGHTS_PER_ROW) {
        if (job->batch->n_rows == 0)
            return rl_fail(err, RL_EINVAL, "the loss is a mean over rows, and the batch has none");
        *w = (struct weighting){.common = 1 / (double)job->batch->n_rows};
        return RL_OK;
    }
    enum rl_status status = check_agg(job->agg, err);
    if (status != RL_OK)
        return status;
    return job->weights == RL_WEIGHTS_AGG ? weigh_agg(job->agg, job->batch, totals, w, err)
                                          : weigh_older(job->agg->mode, job->batch, totals, w, err);
}

RL_HOT static size_t count_response(const uint8_t *mask, size_t n)
{
    size_t count = 0;
    for (size_t t = 0; t < n; t++)
        count += mask[t];
    return count;
}

static struct totals count_rows(const struct rl_batch *batch, size_t *n_response)
{
    size_t n = batch->n_tokens, tokens = 0, rows = 0;
#pragma omp parallel for schedule(static) reduction(+ : tokens, rows) \
    if (batch->n_rows * n >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++) {
        n_response[row] = count_response(batch->mask + row * n, n);
        tokens += n_response[row];
        rows += n_response[row] > 0;
    }
    return (struct totals){tokens, rows};
}

static void add_row(struct rl_row_sums *total, const struct rl_row_sums *row, double weight)
{
    total->loss += row->loss * weight;
    total->clipped += row->clipped;
    total->lower += row->lower;
    total->kl += row->kl;
    total->ratio += row->ratio;
    total->ratio_min = fmin(total->ratio_min, row->ratio_min);
    total->ratio_max = fmax(total->ratio_max, row->ratio_max);
    total->clamped += row->clamped;
    total->entropy += row->entropy;
    total->entropy_min = fmin(total->entropy_min, row->entropy_min);
    total->entropy_max = fmax(total->entropy_max, row->entropy_max);
    total->poisoned |= row->poisoned;
}

struct row_memory {
    size_t *n_response;
    struct rl_row_sums *rows;
};

static struct row_memory take_rows(struct rl_scratch *s, size_t n_rows)
{
    struct row_memory m;
    m.n_response = rl_scratch_take(s, n_rows, sizeof *m.n_response);
    m.rows = rl_scratch_take(s, n_rows, sizeof *m.rows);
    return m;
}

size_t rl_rows_bytes(size_t n_rows)
{
    struct rl_scratch s = rl_scratch_begin(NULL);
    take_rows(&s, n_rows);
    return s.used;
}

enum rl_status rl_rows_run(const struct rl_row_job *job, struct rl_row_sums *total,
                           size_t *n_tokens, struct rl_workspace *ws, struct rl_error *err)
{
    const struct rl_batch *batch = job->batch;
    struct weighting weighting = {0};
    enum rl_status status = rl_batch_check(batch, job->needs, err);
    if (status != RL_OK)
        return status;
    struct rl_scratch s = rl_scratch_begin(ws);
    struct row_memory m = take_rows(&s, batch->n_rows);
    size_t *n_response = m.n_response;
    struct rl_row_sums *rows = m.rows;
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    struct totals totals = count_rows(batch, n_response);
    if ((status = weigh(job, totals, &weighting, err)) != RL_OK)
        return status;

#pragma omp parallel for schedule(static) if (batch->n_rows * batch->n_tokens >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < batch->n_rows; row++)
        rows[row] =
            job->row(job->context, row, n_response[row], row_weight(&weighting, n_response[row]));

    *total = rl_row_sums_empty();
    for (size_t row = 0; row < batch->n_rows; row++)
        add_row(total, &rows[row], row_weight(&weighting, n_response[row]));
    *n_tokens = totals.tokens;
    if (total->poisoned && (status = job->explain(job->context, err)) != RL_OK)
        return status;
    return isfinite(total->loss)
               ? RL_OK
               : rl_fail(err, RL_EVALUE, "the loss overflows: it is %g", total->loss);
}
