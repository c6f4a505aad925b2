/* token_chunk_real.c: chunks that hold a log-ratio beyond the limit, gone through once more. */
#include "loss/token_chunk.h"

/* Token by token and with branches, as one chunk in thousands comes here. */
struct rl_log_ratios rl_token_chunk_limit(struct rl_token_chunk *at, bool limited_kl,
                                          struct rl_row_sums *sums)
{
    struct rl_log_ratios x = {.lowest = rl_l_limit, .highest = -rl_l_limit};
    for (size_t t = 0; t < at->n; t++) {
        real l = at->on[t] ? at->log_prob[t] - at->old_log_prob[t] : 0;
        real l20 = rl_limit(l, -rl_l_limit, rl_l_limit);
        at->ratio[t] = rl_exp_near(l20);
        at->cut[t] = rl_below(l, l20) | rl_below(l20, l);
        if (!at->on[t])
            continue;
        x.sum += limited_kl ? l20 : l;
        x.ratio += at->ratio[t];
        x.lowest = l20 < x.lowest ? l20 : x.lowest;
        x.highest = l20 > x.highest ? l20 : x.highest;
        sums->clamped += l20 < l || l20 > l;
    }
    return x;
}

void rl_token_chunk_zero(const struct rl_token_chunk *at)
{
    for (size_t t = 0; t < at->n; t++)
        at->slope[t] = rl_keep(~at->cut[t], at->slope[t]);
}
