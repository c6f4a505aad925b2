/*
 * loss_result.c: default options of the policy losses, and their result from the sums of all rows.
 * Compiled once, because sums are double in either precision.
 */
#include <rlcore/a2tgpo.h>

#include "loss/loss_internal.h"

/*
 * 0.2 and c = 3 are the values of the two PPO papers. The temperatures are SAPO's: the gradient of
 * a token that is pushed down fades a little sooner.
 */
void rl_loss_options_init(struct rl_loss_options *options)
{
    *options = (struct rl_loss_options){.clip_low = 0.2,
                                        .clip_high = 0.2,
                                        .clip_c = 3,
                                        .tau_pos = 1,
                                        .tau_neg = 1.05,
                                        .vespo_k_pos = 2,
                                        .vespo_lambda_pos = 3,
                                        .vespo_k_neg = 3,
                                        .vespo_lambda_neg = 2};
}

void rl_turn_loss_options_init(struct rl_turn_loss_options *options)
{
    *options = (struct rl_turn_loss_options){RL_AGG_TOKEN_MEAN, 0.2, 0.2};
}

enum rl_status rl_loss_result_set(struct rl_loss_result *out, const struct rl_row_sums *total, size_t n_tokens,
                                  struct rl_error *err)
{
    /* All inputs are finite here, so the sum itself overflowed. The result is left unchanged. */
    if (!isfinite(total->loss))
        return rl_fail(err, RL_EVALUE, "the loss overflows: it is %g", total->loss);
    *out = (struct rl_loss_result){
        .loss = total->loss,
        .pg_clipfrac = rl_masked_mean(total->clipped, n_tokens),
        .pg_clipfrac_lower = rl_masked_mean(total->lower, n_tokens),
        .ppo_kl = rl_masked_mean(total->kl, n_tokens),
        .n_tokens = n_tokens,
        .n_clamped = (uint64_t)total->clamped,
    };
    /* Without a ratio the minimum (infinity) is above the maximum; the members then stay 0. */
    if (total->ratio_min <= total->ratio_max) {
        out->ratio_mean = total->ratio / (double)n_tokens;
        out->ratio_min = total->ratio_min;
        out->ratio_max = total->ratio_max;
    }
    if (total->entropy_min <= total->entropy_max) {
        out->entropy_mean = total->entropy / (double)n_tokens;
        out->entropy_min = total->entropy_min;
        out->entropy_max = total->entropy_max;
    }
    return RL_OK;
}
