/* difficulty.h: pass rate and length of the rollouts of easy and of hard questions. */
#pragma once

#include "rollout/rollouts.h"

/* Adds these rollouts to the means over earlier calls; zero `ends` before the first call. */
void difficulty_add(struct trainer_end_of_mix ends[TRAINER_N_DIFFICULTIES], const struct trainer_rollouts *rollouts,
                    const struct trainer_recipe *recipe);
