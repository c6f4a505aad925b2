/*
 * side_rollouts.h: additional rollouts that are played but not trained on, in run->side: the greedy rollouts of
 * collect_rollouts.c, the beginnings of shared_beginnings.h and the continuations of collect_rollouts.c.
 */
#pragma once

#include "run/run.h"

/*
 * Plays the rows of a plan into run->side, from row 0. They go through the sampler like every rollout, with the weights
 * of `job` and on the same threads and ranks, and they are included in the costs of the iteration (metrics).
 */
enum trainer_status side_play(struct run *run, const struct rollouts_plan *plan, struct sampler_job job,
                              struct trainer_iteration *metrics, struct trainer_error *err);
