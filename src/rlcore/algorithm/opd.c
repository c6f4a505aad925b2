/* opd.c: on-policy distillation towards a frozen reference. */
#include "algorithm/algorithm.h"

const struct rl_algorithm rl_algorithm_opd = {
    .name = "opd",
    .summary = "reverse KL to a frozen reference on the policy's own tokens",
    .action = RL_SAMPLE_REF_KL,
    .frozen_reference = true,
};
