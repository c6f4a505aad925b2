/* marked_episodes.h: rollouts cut by markers in their tokens, in the place of turns. */
#ifndef TRAINER_MARKED_EPISODES_H
#define TRAINER_MARKED_EPISODES_H

#include "rollout/rollouts.h"

/*
 * Cut rows first .. first+n-1, finished and of one task, before each of its algorithm's markers
 * (rl_episode_starts). What were turns are episodes then: turn ids of tokens, n_turns, and the
 * boundaries at which values are taken. An episode without a token of the policy is part of the one
 * before, as there is nobody in it to be credited; beyond ROLLOUT_VALUES of them the last goes on.
 */
void episodes_cut(struct trainer_rollouts *rollouts, const struct trainer_recipe *recipe,
                  size_t first, size_t n);

#endif
