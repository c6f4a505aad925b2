/*
 * state.h: a run between two iterations, in a file from which it goes on as if it had never stopped.
 *
 * Beside the weights: the optimizer's moments, weights of earlier iterations that a stale sampler still
 * plays, those of the start where a penalty holds on to them, baselines, anchors, pass rates of a pool, and the sums that
 * the last event tells. Questions, chances and shuffles are functions of seed and iteration and need no
 * place. Numbers lie in the file as in memory: it is for the program that wrote it, on machines of one
 * kind; a policy for others is a checkpoint.
 */
#ifndef TRAINER_STATE_H
#define TRAINER_STATE_H

#include "run/run.h"

/* XXH64 of what decides a recipe's numbers, 0 when out of memory: threads, prose and budgets are left out. */
uint64_t state_digest(const struct trainer_recipe *recipe);

/* Rank 0's: the run after so many iterations, in place of what the file held. */
enum trainer_status state_save(struct run *run, const char *path, int32_t iterations,
                               struct trainer_error *err);

/*
 * Every rank: *iterations that are done, and the run as it was after them; -1 if there is no file, and
 * then nothing is touched. TRAINER_ECORRUPT; TRAINER_EINVAL for the state of another recipe.
 */
enum trainer_status state_load(struct run *run, const char *path, int32_t *iterations,
                               struct trainer_error *err);

#endif
