/* sft.c: cross-entropy on the tokens that a frozen model sampled. */
#include "algorithm/algorithm.h"

const struct rl_algorithm rl_algorithm_sft = {
    .name = "sft",
    .summary = "cross-entropy on tokens sampled by a frozen model",
    .action = RL_SAMPLE_CE,
    .frozen_source = true,
};
