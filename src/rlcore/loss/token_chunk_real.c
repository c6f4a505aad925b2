/* token_chunk_real.c: chunks that hold a log-ratio beyond the limit, gone through once more. */
#include "loss/token_chunk.h"

/* Token by token and with branches, as one chunk in thousands comes here. */
struct rl_log_ratios rl_token_chunk_limit(struct rl_token_chunk *at, bool limited_kl,
                                          struct rl_row_sums *sums)
{
    struct rl_log_ratios x = {.lowest = rl_l_limit, .highest = -rl_l_limit};
    for (size_t t = 0; t < at->n; t++) {
        real l = at->mask[t] ? at->log_prob[t] - at->old_log_prob[t] : 0;
        real l20 = rl_limit(l, -rl_l_limit, rl_l_limit);
        at->ratio[t] = rl_exp_near(l20);
        if (!at->mask[t])
            continue;
        x.sum += limited_kl ? l20 : l;
        x.ratio += at->ratio[t];
        x.lowest = l20 < x.lowest ? l20 : x.lowest;
        x.highest = l20 > x.highest ? l20 : x.highest;
        sums->clamped += l20 < l || l20 > l;
    }
    return x;
}

/*
 * At mask 0 the difference may be NaN, which compares as within the limit and leaves the 0 that
 * stands there.
 */
void rl_token_chunk_zero(const struct rl_token_chunk *at)
{
    for (size_t t = 0; t < at->n; t++) {
        real l = at->log_prob[t] - at->old_log_prob[t];
        at->slope[t] = l < -rl_l_limit || l > rl_l_limit ? 0 : at->slope[t];
    }
}
