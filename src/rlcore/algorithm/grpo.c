/* grpo.c: a rollout's reward against the mean of its group. */
#include "algorithm/algorithm.h"

const struct rl_algorithm rl_algorithm_grpo = {
    .name = "grpo",
    .summary = "reward minus group mean, with an optional length penalty",
    .action = RL_SAMPLE_RL,
    .group_relative = true,
    .credit = rl_credit_grpo,
};
