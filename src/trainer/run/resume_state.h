/*
 * resume_state.h: saves a run between two iterations to a file, from which it resumes with the same results as a run
 * that never stopped.
 *
 * The file holds the weights, the moments of the optimizer, the weights of earlier iterations that a stale sampler
 * still uses, the initial weights if a penalty needs them, baselines, anchors, pass rates of pools, and the sums that
 * the last event reports. Questions, noise and shuffles are functions of seed and iteration and are not stored. Numbers
 * have the same bytes as in memory, so only the same program on the same kind of machine can read the file; to give a
 * policy to others, write a checkpoint.
 */
#pragma once

#include "run/run.h"

/* Replaces the file at path with the state after `iterations` iterations. */
enum trainer_status resume_state_save(struct run *run, const char *path, int32_t iterations, struct trainer_error *err);

/*
 * Restores the run, and sets *iterations to the number of iterations that are done. If there is
 * no file, sets *iterations to -1 and changes nothing else. Returns TRAINER_ECORRUPT for a damaged file, and
 * TRAINER_EINVAL for the state of another recipe.
 */
enum trainer_status resume_state_load(struct run *run, const char *path, int32_t *iterations, struct trainer_error *err);
