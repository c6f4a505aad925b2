/*
 * turn_statistics.c: mean and standard deviation of the gains at each turn index, and how two such sets are merged.
 */
#include "a2tgpo/a2tgpo_internal.h"

enum rl_status rl_turn_statistics(const struct rl_turns *turns, const double *values, struct rl_turn_stat *stats, size_t n_stats,
                                  size_t *n_indices, struct rl_error *err)
{
    if (RL_NEED(err, {"n_indices", n_indices}) != RL_OK)
        return RL_EINVAL;
    enum rl_status status = rl_turn_values_check(turns, values, values, err);
    if (status != RL_OK)
        return status;
    if (n_stats && !stats)
        return rl_fail(err, RL_EINVAL, "stats is missing");
    size_t most = rl_most_turns(turns);
    *n_indices = most ? most - 1 : 0;
    for (size_t k = 0; k < n_stats; k++)
        stats[k] = (struct rl_turn_stat){0};
    /* Welford's update: one pass without cancellation. std holds the sum of squares until the end. */
    for (size_t row = 0; row < turns->n_rows; row++)
        for (size_t k = 0; k + 1 < rl_row_turns(turns, row) && k < n_stats; k++) {
            double deviation = values[turns->start[row] + k] - stats[k].mean;
            stats[k].mean += deviation / (double)++stats[k].count;
            stats[k].std += deviation * (values[turns->start[row] + k] - stats[k].mean);
        }
    for (size_t k = 0; k < n_stats; k++)
        stats[k].std = stats[k].count > 1 ? sqrt(stats[k].std / (double)(stats[k].count - 1)) : 0;
    return RL_OK;
}

void rl_turn_stat_merge(struct rl_turn_stat *into, const struct rl_turn_stat *from)
{
    double a = (double)into->count, b = (double)from->count, n = a + b;
    double distance = from->mean - into->mean;
    double squares = into->std * into->std * fmax(0, a - 1) + from->std * from->std * fmax(0, b - 1);
    if (from->count == 0)
        return;
    if (into->count == 0) {
        *into = *from; /* exactly */
        return;
    }
    squares += distance * distance * a * b / n;
    into->count += from->count;
    into->mean += distance * b / n;
    into->std = n > 1 ? sqrt(squares / (n - 1)) : 0;
}
