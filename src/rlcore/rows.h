/*
 * rows.h: runs a loss row by row: checks the mask, weighs each row as the aggregation asks, calls
 * the row function in parallel, and adds the partial sums in the order of rows, whatever the number
 * of threads.
 */
#ifndef RLCORE_ROWS_H
#define RLCORE_ROWS_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include <rlcore/loss.h>

#include "internal.h"

/* Sums over the response tokens of one row, later of the batch. */
struct rl_row_sums {
    double loss;               /* token losses, unscaled in a row, the aggregate in the total */
    double clipped, lower, kl; /* numerators of the metrics */
    double ratio, ratio_min, ratio_max;
    double clamped; /* tokens whose log-ratio hit a limit */
    double entropy, entropy_min, entropy_max;
    bool poisoned; /* some value at mask 1 is not allowed */
};

static inline struct rl_row_sums rl_row_sums_empty(void)
{
    return (struct rl_row_sums){.ratio_min = INFINITY,
                                .ratio_max = -INFINITY,
                                .entropy_min = INFINITY,
                                .entropy_max = -INFINITY};
}

/* Which rule gives the weight of a row. */
enum rl_row_weights {
    RL_WEIGHTS_AGG,       /* rlcore/loss.h */
    RL_WEIGHTS_AGG_OLDER, /* rlcore/a2tgpo.h: the form of the A2TGPO reference */
    RL_WEIGHTS_PER_ROW    /* 1/B for every row, empty ones included */
};

typedef struct rl_row_sums rl_row_fn(const void *context, size_t row, size_t n_response,
                                     double weight);

/*
 * One loss over a batch. row adds up row number `row`, whose token losses have weight `weight` in
 * the aggregate, and writes its gradient; it sets poisoned when it meets a value that is not
 * allowed, and explain is then called to name it.
 */
struct rl_row_job {
    const struct rl_batch *batch;
    unsigned needs; /* of rl_batch_check */
    enum rl_row_weights weights;
    const struct rl_agg *agg; /* not read with RL_WEIGHTS_PER_ROW */
    const void *context;
    rl_row_fn *row;
    enum rl_status (*explain)(const void *context, struct rl_error *err);
};

/* Run the job; *total holds the sums and *n_tokens the response tokens of the batch. */
enum rl_status rl_rows_run(const struct rl_row_job *job, struct rl_row_sums *total,
                           size_t *n_tokens, struct rl_workspace *ws, struct rl_error *err);

/* Bytes of workspace that a run over n_rows rows takes. */
size_t rl_rows_bytes(size_t n_rows);

/* mm(x) from its numerator. */
static inline double rl_masked_mean(double sum, size_t n_tokens)
{
    return sum / ((double)n_tokens + 1e-8);
}

/* The result of a policy loss from the sums of its run. */
void rl_loss_result_set(struct rl_loss_result *out, const struct rl_row_sums *total,
                        size_t n_tokens);

#endif
