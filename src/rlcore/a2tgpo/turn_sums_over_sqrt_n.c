/*
 * turn_sums_over_sqrt_n.c: discounted sums of the gains from each turn on, divided by the square
 * root of their number n (the D / sqrt(n) of A2TGPO).
 */
#include "a2tgpo/a2tgpo_internal.h"

/*
 * The standard deviation of a sum of n independent gains grows with sqrt(n). Without the division
 * early turns would have larger advantages only because more turns follow them. The outcome turn is
 * not part of the sums and keeps its value.
 */
enum rl_status rl_turn_accumulate(const struct rl_turns *turns, double gamma, const double *values, double *sums,
                                  struct rl_error *err)
{
    enum rl_status status = rl_turn_values_check(turns, values, sums, err);
    if (status != RL_OK)
        return status;
    if (!(gamma >= 0) || isinf(gamma))
        return rl_fail(err, RL_EINVAL, "gamma is %g, negative or not finite", gamma);
    for (size_t row = 0; row < turns->n_rows; row++) {
        size_t first = turns->start[row], end = turns->start[row + 1];
        double sum = 0;
        if (first == end)
            continue;
        sums[end - 1] = values[end - 1];
        for (size_t i = end - 1; i-- > first;) {
            sum = values[i] + gamma * sum;
            sums[i] = sum / sqrt((double)(end - 1 - i));
        }
    }
    return RL_OK;
}
