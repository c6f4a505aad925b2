/* opsd.c: on-policy self-distillation; the reference is the policy shown a demonstration. */
#include "algorithm/algorithm.h"

const struct rl_algorithm rl_algorithm_opsd = {
    .name = "opsd",
    .summary = "reverse KL to the policy itself shown a demonstration",
    .action = RL_SAMPLE_REF_KL,
    .policy_reference = true,
};
