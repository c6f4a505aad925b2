/*
 * environment_losses.h: the loss of each environment of a mixed run. A run with one environment allocates nothing, because
 * its loss is that of the run.
 */
#pragma once

#include <trainer/train.h>

#include "learn/minibatch.h"
#include "support/workspace.h"

struct environment_losses {
    struct minibatch *part; /* the rows of one environment */
    size_t *rows;           /* [minibatch] their numbers in the rollouts */
    size_t *place;          /* [rollouts] place of each row in the minibatch */
    int32_t updates[TRAINER_ENVS_MAX]; /* of this iteration in which the environment had rows */
};

double environment_losses_bytes(const struct trainer_recipe *recipe);

/* The caller must close it, also after a failure. */
enum trainer_status environment_losses_open(struct environment_losses *losses, const struct trainer_recipe *recipe,
                                            struct trainer_error *err);
void environment_losses_close(struct environment_losses *losses);

/*
 * Adds the loss and the distance of each environment's rows in the minibatch to env, from the log-probs of the
 * minibatch. Computes no gradient that anything reads.
 */
enum trainer_status environment_losses_add(struct environment_losses *losses, const struct trainer_recipe *recipe,
                                           const struct trainer_rollouts *rollouts, const struct minibatch *minibatch,
                                           struct workspace *workspace, struct trainer_part env[TRAINER_ENVS_MAX],
                                           struct trainer_error *err);

/* Divides the sums of an iteration by the numbers of updates, and prepares for the next iteration. */
void environment_losses_end(struct environment_losses *losses, const struct trainer_recipe *recipe,
                            struct trainer_part env[TRAINER_ENVS_MAX]);
