/* told_numbers.c: see told_numbers.h. */
#include "support/told_numbers.h"

#include <assert.h>
#include <string.h>

size_t told_numbers(double out[TOLD_NUMBERS_MAX], const struct trainer_iteration *i)
{
    const double numbers[] = {i->reward,
                              i->turns,
                              i->malformed,
                              i->response_tokens,
                              i->loss,
                              i->grad_norm,
                              i->entropy,
                              i->clip_fraction,
                              i->kl,
                              i->learning_rate,
                              i->clip_scale_mean,
                              i->clip_scale_std,
                              i->mismatch_kl,
                              i->mismatch_ess,
                              i->weight_mean,
                              i->rejected,
                              i->staleness,
                              i->greedy_reward,
                              i->values.loss,
                              i->values.clip_fraction,
                              i->values.explained_variance,
                              i->values.mean,
                              i->values.returned,
                              i->alpha_used,
                              (double)i->n_valued,
                              i->between_std,
                              i->within_std,
                              (double)i->n_greedy,
                              (double)i->n_episodes,
                              (double)i->sampled_tokens,
                              (double)i->fed_tokens,
                              (double)i->gain_tokens,
                              (double)i->trained_tokens,
                              i->end_of_mix[0].passed,
                              i->end_of_mix[1].tokens,
                              (double)i->distillation.taught_tokens,
                              i->distillation.gap,
                              i->distillation.loss,
                              i->distillation.clipped,
                              i->allocation.chosen,
                              (double)i->allocation.least,
                              (double)i->allocation.most,
                              i->allocation.mixed};
    static_assert(sizeof numbers <= TOLD_NUMBERS_MAX * sizeof *out, "room for all of them");
    memcpy(out, numbers, sizeof numbers);
    return sizeof numbers / sizeof *numbers;
}
