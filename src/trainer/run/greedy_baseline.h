/*
 * greedy_baseline.h: remax's baseline: it subtracts the outcome of each question's greedy rollout (arXiv 2310.10505).
 */
#pragma once

#include "run/run.h"

/*
 * Plays one greedy rollout of each question of the plan, and sets the baseline of the plan's rows, which begin at
 * `first` in run->rollouts. job: the sampler's job for the rows themselves. Adds to *metrics.
 */
enum trainer_status greedy_baseline(struct run *run, const struct rollouts_plan *plan, size_t first,
                                    const struct sampler_job *job, struct trainer_iteration *metrics, struct trainer_error *err);
