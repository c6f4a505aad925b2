/*
 * adca_internal.h: the intermediate values of rl_adca_advantage, from which its metrics are
 * computed.
 */
#pragma once

#include <rlcore/adca.h>

#include "support/groups.h"

struct rl_adca_work {
    const struct rl_adca_input *in;
    const struct rl_adca_options *options;
    struct rl_groups groups;
    double *outcomes;       /* [B] */
    double *o;              /* [B] normalised outcomes */
    double *z;              /* [start[B]] normalised step rewards */
    double *raw_sums;       /* [B] sums of the raw step rewards */
    double *sorted;         /* [B] for percentiles */
    const double *combined; /* [start[B]] step rewards combined with outcomes */
};

static inline size_t rl_adca_steps_of(const struct rl_adca_work *w, size_t row)
{
    return w->in->start[row + 1] - w->in->start[row];
}

static inline bool rl_adca_success(const struct rl_adca_work *w, size_t row)
{
    return w->outcomes[row] > 0.5;
}

/* The flag of a step, or `fill` if the judge gave none. */
static inline bool rl_adca_flag(const struct rl_adca_work *w, size_t row, size_t step, bool fill)
{
    size_t i = w->in->flag_start[row] + step;
    return i < w->in->flag_start[row + 1] ? w->in->flags[i] != 0 : fill;
}

/* The number of steps with flags: 0 for a row that was not judged. */
static inline size_t rl_adca_judged_steps(const struct rl_adca_work *w, size_t row)
{
    size_t i = w->in->flag_start[row];
    bool unjudged = i < w->in->flag_start[row + 1] && w->in->flags[i] == RL_ADCA_UNJUDGED;
    return unjudged ? 0 : rl_adca_steps_of(w, row);
}

/* The value of a missing flag, which depends on the scheme. */
static inline bool rl_adca_fill(const struct rl_adca_work *w, size_t row)
{
    return w->options->scheme == RL_ADCA_DECOUPLE || rl_adca_success(w, row);
}

static inline size_t rl_adca_count_good(const struct rl_adca_work *w, size_t row, bool fill)
{
    size_t n = 0;
    for (size_t j = 0; j < rl_adca_steps_of(w, row); j++)
        n += rl_adca_flag(w, row, j, fill);
    return n;
}

/* How the allocation scheme divides the outcome of a row among its steps. */
struct rl_adca_shares {
    double good, bad; /* weight of a GOOD and of a BAD step */
    double total, unit, sign;
};
struct rl_adca_shares rl_adca_shares_of(const struct rl_adca_work *w, size_t row);

/*
 * Check all arguments except the tokens, take scratch memory and build the groups. in and options
 * are borrowed.
 */
enum rl_status rl_adca_begin(struct rl_adca_work *w, const struct rl_adca_input *in, const struct rl_adca_options *options,
                             const struct rl_adca_output *out, struct rl_workspace *ws, struct rl_error *err);

/* Compute step rewards, step advantages and metrics from the outcomes. */
enum rl_status rl_adca_run(const struct rl_adca_work *w, const struct rl_adca_output *out, struct rl_error *err);
