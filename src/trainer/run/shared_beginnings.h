/*
 * shared_beginnings.h: rollouts that branch from a shared beginning (hierarchical_grpo). An episode is played for some
 * turns, after which all its rows continue separately.
 */
#pragma once

#include "run/run.h"

/*
 * Plays the beginnings of the plan's episodes, and starts the plan's rows in run->rollouts from row `first` on, each after the beginning of its episode. job: the sampler's job for the rows themselves. Adds to *metrics.
 */
enum trainer_status shared_beginnings_play(struct run *run, const struct rollouts_plan *plan, size_t first,
                                           const struct sampler_job *job, struct trainer_iteration *metrics,
                                           struct trainer_error *err);

/* Measures the spread of the outcomes of all rows that branch: between the episodes of a group, and within episodes. */
void shared_beginnings_measure(const struct trainer_rollouts *rollouts, struct trainer_iteration *metrics);
