/*
 * prefix_values.h: the value of a rollout's prefixes, estimated by continuations: how often the policy succeeds when it
 * continues from the prefix (VinePPO, arXiv 2410.01679).
 */
#pragma once

#include "run/run.h"

/*
 * Called after the rows were played. Overwrites run->rollouts->value of the tasks that use continuations. job: the
 * sampler's job for the rows themselves. Adds to the time and tokens of gains in *metrics.
 */
enum trainer_status prefix_values(struct run *run, int32_t iteration, const struct sampler_job *job,
                                  struct trainer_iteration *metrics, struct trainer_error *err);
