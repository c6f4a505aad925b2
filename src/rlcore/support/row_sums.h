/*
 * row_sums.h: the frame of every aggregated loss: row sums that are added in one order. A loss
 * contains
 *
 *     status = rl_rows_begin(&rows, &grid, RL_WEIGHTS_AGG, &agg, ws, err);
 *     #pragma omp parallel for schedule(static) if (rows.parallel)
 *     for (size_t row = 0; row < grid.n_rows; row++)
 *         rows.sums[row] = its own loop over the tokens, rl_row_weight(&rows, row)
 *     total = rl_rows_total(&rows);
 *
 * Each row adds up its own tokens, and the rows are added in their order, so that no result depends
 * on the number of threads. A row with a value that is not allowed does not stop: it sets
 * `poisoned` and continues, because a loop with an exit would not be vectorised. Only a poisoned
 * batch is searched for the element to name.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include <rlcore/loss.h>

#include "support/grid.h"
#include "support/scratch.h"

/* Sums over the response tokens of one row, or of the batch. */
struct rl_row_sums {
    double loss; /* sum of the token losses in a row; the aggregated loss in the total */
    double clipped, lower, kl; /* numerators of the metrics */
    double ratio, ratio_min, ratio_max;
    double clamped; /* tokens whose log-ratio reached a limit */
    double entropy, entropy_min, entropy_max;
    bool poisoned; /* at least one value at mask 1 is not allowed */
};

static inline struct rl_row_sums rl_row_sums_empty(void)
{
    return (struct rl_row_sums){.ratio_min = INFINITY, .ratio_max = -INFINITY, .entropy_min = INFINITY, .entropy_max = -INFINITY};
}

/* The rule for the weight of a row. */
enum rl_row_weights {
    RL_WEIGHTS_AGG,       /* rlcore/loss.h */
    RL_WEIGHTS_SEQ_MEAN,  /* as RL_WEIGHTS_AGG, but always seq-mean-token-mean */
    RL_WEIGHTS_AGG_OLDER, /* rlcore/a2tgpo.h: the aggregation of the A2TGPO code */
    RL_WEIGHTS_PER_ROW    /* 1/B for every row, empty ones included */
};

/* The rows of one loss between rl_rows_begin and rl_rows_total. */
struct rl_rows {
    size_t n, n_tokens;       /* rows; response tokens of the batch */
    size_t *n_response;       /* [n] number of response tokens */
    struct rl_row_sums *sums; /* [n] written by the loss */
    double common, epsilon;   /* weight of a row: common, or common / (length + epsilon) */
    bool by_length;
    bool parallel; /* the batch is large enough for threads */
};

/*
 * Check the aggregation, take scratch memory and compute the weights of the rows. agg is only checked with
 * RL_WEIGHTS_PER_ROW; its mode is not read with RL_WEIGHTS_SEQ_MEAN. Sizes of the whole batch that are
 * smaller than this batch's own are RL_EINVAL.
 */
enum rl_status rl_rows_begin(struct rl_rows *rows, const struct rl_grid *batch, enum rl_row_weights weights,
                             const struct rl_agg *agg, struct rl_workspace *ws, struct rl_error *err);

/* Weight of a row's token losses in the aggregate; 0 without response tokens. */
static inline double rl_row_weight(const struct rl_rows *rows, size_t row)
{
    size_t n = rows->n_response[row];
    if (n == 0)
        return 0;
    return rows->by_length ? rows->common / ((double)n + rows->epsilon) : rows->common;
}

/* The sums of the batch; its loss is the aggregated loss. */
struct rl_row_sums rl_rows_total(const struct rl_rows *rows);

/* Bytes of workspace that a loss over n_rows rows needs. */
size_t rl_rows_bytes(size_t n_rows);

/* The masked mean mm(x), from its numerator. */
static inline double rl_masked_mean(double sum, size_t n_tokens)
{
    return sum / ((double)n_tokens + 1e-8);
}
