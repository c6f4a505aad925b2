/* collect_rollouts.h: the first step of an iteration: play its rollouts. */
#pragma once

#include "run/run.h"

/*
 * Fills run->rollouts with the rollouts of iteration `iteration` (0-based) of all tasks, played by the sampler's
 * weights, and with their information gains. Gains are measured in every trial, even if the algorithm does not read
 * them, because they are used to compare rows of different algorithms.
 */
enum trainer_status run_collect(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err);
