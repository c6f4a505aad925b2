/* token_chunk_real.c: the extra pass over chunks that contain a log-ratio beyond the limit. */
#include "loss/token_chunk.h"

void rl_token_chunk_limit(struct rl_token_chunk *at, struct rl_row_sums *sums)
{
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real l = at->log_ratio[t], l20 = rl_limit(l, -rl_l_limit, rl_l_limit);
        at->log_ratio[t] = l20;
        at->cut[t] = rl_below(l, l20) | rl_below(l20, l);
        sums->clamped -= (double)at->cut[t];
    }
}

void rl_token_chunk_zero(const struct rl_token_chunk *at)
{
    for (size_t t = 0; t < RL_CHUNK; t++)
        at->slope[t] = rl_keep(~at->cut[t], at->slope[t]);
}
