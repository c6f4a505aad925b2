/*
 * turn_clip_scale.c: the factor of the clip range of each turn (AdaptiveTurnClipper).
 */
#include "a2tgpo/a2tgpo_internal.h"

/*
 * 2 sigmoid(z) - 1 equals tanh(z / 2), which keeps its digits near 0. It widens the clip range of
 * turns that informed more than their peers by up to beta, and narrows that of the other turns by
 * up to beta. The outcome turn has no gain and keeps PPO's range.
 */
enum rl_status rl_turn_clip_scale(const struct rl_turns *turns, double beta, const double *z, double *scale, struct rl_error *err)
{
    enum rl_status status = rl_turn_values_check(turns, z, scale, err);
    if (status != RL_OK)
        return status;
    if (!(beta >= 0 && beta <= 1))
        return rl_fail(err, RL_EINVAL, "clip beta is %g, not in 0..1", beta);
    for (size_t row = 0; row < turns->n_rows; row++)
        for (size_t i = turns->start[row]; i < turns->start[row + 1]; i++)
            scale[i] = i + 1 == turns->start[row + 1] ? 1 : 1 + beta * tanh(z[i] / 2);
    return RL_OK;
}
