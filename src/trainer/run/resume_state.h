/*
 * resume_state.h: a run between two iterations, in a file from which it resumes as if it had never stopped.
 *
 * The file holds the weights, the moments of the optimizer, the weights of earlier iterations that a stale sampler
 * still uses, the weights of the start if a penalty needs them, baselines, anchors, pass rates of pools, and the
 * sums that the last event reports. Questions, noise and shuffles are functions of seed and iteration and need no
 * place. Numbers are in the file as in memory, so only the program that wrote it can read it, on machines
 * of one kind; to pass a policy on, write a checkpoint.
 */
#ifndef TRAINER_RESUME_STATE_H
#define TRAINER_RESUME_STATE_H

#include "run/run.h"

/* Called on rank 0: replaces the file at path by the state after `iterations` iterations. */
enum trainer_status resume_state_save(struct run *run, const char *path, int32_t iterations,
                                      struct trainer_error *err);

/*
 * Called on every rank: restores the run, and sets *iterations to the number of iterations that are done. Without
 * a file, *iterations is -1, and nothing is changed. TRAINER_ECORRUPT for a damaged file, TRAINER_EINVAL for
 * the state of another recipe.
 */
enum trainer_status resume_state_load(struct run *run, const char *path, int32_t *iterations,
                                      struct trainer_error *err);

#endif
