/* greedy_baseline.h: the outcome of the greedy rollout of each question, which remax subtracts (arXiv 2310.10505). */
#ifndef TRAINER_GREEDY_BASELINE_H
#define TRAINER_GREEDY_BASELINE_H

#include "run/run.h"

/*
 * Plays one greedy rollout of each question of the plan, whose rows begin at `first` in run->rollouts, and sets their
 * baseline. job: the sampler's job for the rows themselves. Adds to *metrics.
 */
enum trainer_status greedy_baseline(struct run *run, const struct rollouts_plan *plan,
                                    size_t first, const struct sampler_job *job,
                                    struct trainer_iteration *metrics, struct trainer_error *err);

#endif
