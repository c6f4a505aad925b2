/* difficulty.h: pass rate and length of the rollouts of easy and of hard questions. */
#ifndef TRAINER_DIFFICULTY_H
#define TRAINER_DIFFICULTY_H

#include "rollout/rollouts.h"

/* Add the rollouts of a call to the means over those of earlier ones; zeroed before the first. */
void difficulty_add(struct trainer_end_of_mix ends[TRAINER_N_DIFFICULTIES],
                    const struct trainer_rollouts *rollouts, const struct trainer_recipe *recipe);

#endif
