/*
 * row_sums.c: the weights and sums of the rows of an aggregated loss. Every row has the weight
 * common / length, or 0 without response tokens; `common` contains the denominator of the whole
 * batch. Weights are known before the first token is visited, so that a loss writes its gradient in
 * the same pass as its sums.
 */
#include "support/row_sums.h"

struct totals {
    size_t tokens, rows; /* response tokens, and rows that have any */
};

/*
 * 0 stands for a size of this batch. A whole batch that is smaller than one of its parts is a number
 * of a micro-batch, of the ranks or of another step, and the loss would have another scale.
 */
static enum rl_status check_agg(const struct rl_agg *agg, struct totals part, struct rl_error *err)
{
    const struct {
        const char *name;
        double value;
        size_t least;
    } sizes[] = {{"dp_size", agg->dp_size, 1},
                 {"batch_num_tokens", agg->batch_num_tokens, part.tokens},
                 {"global_batch_size", agg->global_batch_size, part.rows},
                 {"loss_scale_factor", agg->loss_scale_factor, 0}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!(sizes[i].value >= 0) || isinf(sizes[i].value))
            return rl_fail(err, RL_EINVAL, "%s is %g, not a positive number", sizes[i].name, sizes[i].value);
        if (sizes[i].value > 0 && sizes[i].value < (double)sizes[i].least)
            return rl_fail(err, RL_EINVAL, "%s is %g, but this part alone has %zu: it counts the whole batch", sizes[i].name,
                           sizes[i].value, sizes[i].least);
    }
    if (agg->dp_size > floor(agg->dp_size))
        return rl_fail(err, RL_EINVAL, "dp_size is %g, not a number of ranks", agg->dp_size);
    if ((unsigned)agg->mode > RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM)
        return rl_fail(err, RL_EINVAL, "loss aggregation mode %d is unknown", (int)agg->mode);
    return RL_OK;
}

/*
 * The three tables are indexed by mode: what the mean counts, the count of the whole step if the
 * caller gave it, and the count of this batch. Gradients of several workers are averaged
 * afterwards, so a loss that divides by a global count is multiplied by their number.
 */
static enum rl_status weigh_agg(const struct rl_agg *agg, const struct rl_grid *batch, struct totals totals, struct rl_rows *r,
                                struct rl_error *err)
{
    static const char *const what[] = {"response tokens", "rows with response tokens", "rows with response tokens",
                                       "token positions"};
    const double given[] = {agg->batch_num_tokens, agg->global_batch_size, agg->global_batch_size, agg->loss_scale_factor};
    const size_t counted[] = {totals.tokens, totals.rows, totals.rows, batch->n_tokens};
    double denominator = given[agg->mode] > 0 ? given[agg->mode] : (double)counted[agg->mode];
    if (!(denominator > 0))
        return rl_fail(err, RL_EINVAL, "the loss is a mean over %s, and the batch has none", what[agg->mode]);
    double workers = agg->dp_size > 0 && agg->mode != RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM ? agg->dp_size : 1;
    r->common = workers / denominator;
    r->by_length = agg->mode == RL_AGG_SEQ_MEAN_TOKEN_MEAN;
    r->epsilon = 1e-8;
    return RL_OK;
}

/*
 * The aggregation of the A2TGPO code: rows without a token count in its means, so a mean over the
 * tokens of such a row is undefined.
 */
static enum rl_status weigh_older(enum rl_agg_mode mode, const struct rl_grid *batch, struct totals totals, struct rl_rows *r,
                                  struct rl_error *err)
{
    bool by_length = mode == RL_AGG_SEQ_MEAN_TOKEN_MEAN;
    if (by_length && totals.rows < batch->n_rows)
        return rl_fail(err, RL_EVALUE, "%zu rows have no response token: their mean is undefined", batch->n_rows - totals.rows);
    double denominator = mode == RL_AGG_TOKEN_MEAN                ? (double)totals.tokens + 1e-8
                         : mode == RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM ? (double)batch->n_tokens
                                                                  : (double)batch->n_rows;
    if (!(denominator > 0))
        return rl_fail(err, RL_EINVAL, "the loss is a mean over rows, and the batch has none");
    r->common = 1 / denominator;
    r->by_length = by_length;
    return RL_OK;
}

static enum rl_status weigh(enum rl_row_weights weights, const struct rl_agg *agg, const struct rl_grid *batch,
                            struct totals totals, struct rl_rows *r, struct rl_error *err)
{
    struct rl_agg used = *agg;
    if (weights == RL_WEIGHTS_SEQ_MEAN)
        used.mode = RL_AGG_SEQ_MEAN_TOKEN_MEAN;
    RL_TRY(check_agg(&used, totals, err));
    if (weights == RL_WEIGHTS_PER_ROW) {
        if (batch->n_rows == 0)
            return rl_fail(err, RL_EINVAL, "the loss is a mean over rows, and the batch has none");
        r->common = 1 / (double)batch->n_rows;
        return RL_OK;
    }
    return weights == RL_WEIGHTS_AGG_OLDER ? weigh_older(used.mode, batch, totals, r, err)
                                           : weigh_agg(&used, batch, totals, r, err);
}

static struct totals count_rows(const struct rl_grid *batch, size_t *n_response)
{
    size_t tokens = 0, rows = 0;
#pragma omp parallel for schedule(static) reduction(+ : tokens, rows) if (rl_grid_parallel(batch))
    for (size_t row = 0; row < batch->n_rows; row++) {
        n_response[row] = rl_count_on(batch, rl_row_at(batch, row), rl_row_length(batch, row));
        tokens += n_response[row];
        rows += n_response[row] > 0;
    }
    return (struct totals){tokens, rows};
}

/* Only the loss is weighted; the other sums run over tokens, and their means are taken at the end. */
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

static struct rl_rows take_rows(struct rl_scratch *s, size_t n_rows)
{
    struct rl_rows rows = {.n = n_rows};
    rows.n_response = rl_scratch_take(s, n_rows, sizeof *rows.n_response);
    rows.sums = rl_scratch_take(s, n_rows, sizeof *rows.sums);
    return rows;
}

/*
 * The size is computed by the function that takes the memory, called with an empty workspace. A
 * separate formula could differ from it.
 */
size_t rl_rows_bytes(size_t n_rows)
{
    struct rl_scratch s = rl_scratch_begin(NULL);
    take_rows(&s, n_rows);
    return s.used;
}

enum rl_status rl_rows_begin(struct rl_rows *rows, const struct rl_grid *batch, enum rl_row_weights weights,
                             const struct rl_agg *agg, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_scratch s = rl_scratch_begin(ws);
    *rows = take_rows(&s, batch->n_rows);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    rows->parallel = rl_grid_parallel(batch);
    struct totals totals = count_rows(batch, rows->n_response);
    rows->n_tokens = totals.tokens;
    return weigh(weights, agg, batch, totals, rows, err);
}

/*
 * One thread adds the rows in their order. That takes only B additions and gives the same bits for
 * any number of threads.
 */
struct rl_row_sums rl_rows_total(const struct rl_rows *rows)
{
    struct rl_row_sums total = rl_row_sums_empty();
    for (size_t row = 0; row < rows->n; row++)
        add_row(&total, &rows->sums[row], rl_row_weight(rows, row));
    return total;
}
