/*
 * compose_internal.h: the sums that the composed loss keeps per row, and its functions that do not
 * depend on the precision.
 */
#pragma once

#include <math.h>

#include <rlcore/compose.h>

#include "support/scratch.h"

enum { RL_BACKEND, RL_STALENESS, RL_FACTORS };

/* Sums over response tokens, before the cap. */
struct rl_factor_sums {
    double sum, min, max, capped, clamped;
};

static inline void rl_factor_add(struct rl_factor_sums *total, const struct rl_factor_sums *part)
{
    total->sum += part->sum;
    total->min = fmin(total->min, part->min);
    total->max = fmax(total->max, part->max);
    total->capped += part->capped;
    total->clamped += part->clamped;
}

struct rl_compose_row {
    struct rl_factor_sums factor[RL_FACTORS];
    double n, weight, square; /* number of tokens, sums of the weights and of their squares */
    bool poisoned;            /* at least one log-ratio is not finite */
};

enum rl_status rl_compose_check(const struct rl_compose_options *o, struct rl_error *err);

/* Check the replay and measure the agreement of routes, as far as routes exist. */
enum rl_status rl_compose_routes(const struct rl_batch *batch, const struct rl_compose_data *data, enum rl_replay replay,
                                 struct rl_route_agreement *out, struct rl_workspace *ws, struct rl_error *err);

/* Compute the factors of the result from the sums of all rows, added in their order. */
void rl_compose_result_set(struct rl_compose_result *out, const struct rl_compose_row *rows, size_t n_rows);
