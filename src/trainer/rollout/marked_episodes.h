/* marked_episodes.h: rollouts that are cut into episodes by markers in their tokens, instead of into turns. */
#pragma once

#include "rollout/rollouts.h"

/*
 * Cuts rows first .. first+n-1, which are finished and of one task, before each of the algorithm's markers
 * (rl_episode_starts). Episodes then replace turns: in the turn ids of tokens, in n_turns, and in the boundaries at
 * which values are measured. An episode without a token of the policy is joined to the previous episode, because none
 * of its tokens could get credit. There are at most ROLLOUT_VALUES episodes; the last one takes what remains.
 */
void episodes_cut(struct trainer_rollouts *rollouts, const struct trainer_recipe *recipe, size_t first, size_t n);
