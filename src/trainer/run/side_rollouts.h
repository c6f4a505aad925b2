/*
 * side_rollouts.h: additional rollouts that are played but not trained on, in run->side: the greedy rollouts of
 * collect_rollouts.c, the shared beginnings below and the continuations of collect_rollouts.c.
 */
#pragma once

#include "run/run.h"

/*
 * Plays the rows of a plan into run->side, from row 0. They go through the sampler like every rollout, with the weights
 * of `job` and on the same threads, and they are included in the costs of the iteration (metrics).
 */
enum trainer_status side_play(struct run *run, const struct rollouts_plan *plan, struct sampler_job job,
                              struct trainer_iteration *metrics, struct trainer_error *err);

/* ---- rollouts that branch from a shared beginning (hierarchical_grpo). An episode is played for some
 * turns, after which all its rows continue separately.
 */
/*
 * Plays the beginnings of the plan's episodes, and starts the plan's rows in run->rollouts from row `first` on, each after the beginning of its episode. job: the sampler's job for the rows themselves. Adds to *metrics.
 */
enum trainer_status shared_beginnings_play(struct run *run, const struct rollouts_plan *plan, size_t first,
                                           const struct sampler_job *job, struct trainer_iteration *metrics,
                                           struct trainer_error *err);

/* Measures the spread of the outcomes of all rows that branch: between the episodes of a group, and within episodes. */
void shared_beginnings_measure(const struct trainer_rollouts *rollouts, struct trainer_iteration *metrics);
