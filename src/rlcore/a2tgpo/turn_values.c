/*
 * turn_values.c: the checks that all functions on turn values share.
 */
#include "a2tgpo/a2tgpo_internal.h"

enum rl_status rl_turn_values_check(const struct rl_turns *turns, const double *values, const double *out, struct rl_error *err)
{
    if (!turns || (turns->n_rows && !turns->start))
        return rl_fail(err, RL_EINVAL, "turns are missing");
    size_t n = turns->n_rows ? turns->start[turns->n_rows] : 0;
    if (n && (!values || !out))
        return rl_fail(err, RL_EINVAL, "turn values are missing");
    for (size_t row = 0; row < turns->n_rows; row++)
        for (size_t i = turns->start[row]; i < turns->start[row + 1]; i++)
            if (!isfinite(values[i]))
                return rl_fail(err, RL_EVALUE, "value of turn %zu in row %zu is %g, not a finite number", i - turns->start[row],
                               row, values[i]);
    return RL_OK;
}

size_t rl_most_turns(const struct rl_turns *turns)
{
    size_t most = 0;
    for (size_t row = 0; row < turns->n_rows; row++)
        most = rl_row_turns(turns, row) > most ? rl_row_turns(turns, row) : most;
    return most;
}
