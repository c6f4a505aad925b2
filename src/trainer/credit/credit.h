/*
 * credit.h: turns outcomes and gains into advantages and component weights, by the algorithm of the task. The core's
 * table (rlcore/algorithm.h) defines each algorithm's formula, its inputs and the component that it trains; credit.c
 * gathers these inputs from the rollouts.
 */
#pragma once

#include <rlcore/algorithm.h>
#include <trainer/train.h>

#include "credit/judging.h"
#include "support/workspace.h"
#include "rollout/rollouts.h"

/* ---- the rows that one task has in an iteration's rollouts ---- */

/* Rows [first, first+n) of the rollouts. */
struct credit_task {
    const struct trainer_recipe *recipe;
    int32_t task;
    size_t first, n;
    int32_t iteration; /* 0-based */
};

/* The callback that runs the commands of the recipe; ask is NULL if their answers are in the rollouts already. */
struct given_credit {
    trainer_credit_fn *ask;
    void *context;
};

/* State that algorithms keep from one iteration to the next, and metrics that an iteration reports. */
struct credit_memory {
    struct rl_baseline baseline[TRAINER_ENVS_MAX]; /* rae: one moving baseline per task */
    size_t n_baselines[TRAINER_ENVS_MAX];
    /* [pool] anchor length of each question, NaN until set; NULL without a pool of questions or without this penalty */
    double *anchor[TRAINER_ENVS_MAX];
    struct judging judging;
    struct given_credit given;
    double kl_reward; /* total that the KL penalty subtracted from the iteration's rollouts */
    struct trainer_distillation distillation; /* of this iteration */
    struct rl_adca_metrics adca; /* metrics of this iteration's first task that asked a judge .. */
    int32_t n_adca;              /* .. 1, or 0 if no task asked a judge */
    double alpha;    /* sum of alpha over this iteration's tasks with adaptive alpha .. */
    int32_t n_alpha; /* .. and their number */
};

/*
 * Fills advantage, clip_scale, rl, ce, ref_kl and kd of the task's rows. *scale receives statistics of the clip scale
 * over the tokens of these rows. Returns TRAINER_ENUMERIC for rewards or values that are not finite.
 */
enum trainer_status credit_assign(struct trainer_rollouts *rollouts, const struct credit_task *task, struct credit_memory *memory,
                                  struct workspace *workspace, struct rl_a2tgpo_stats *scale, struct trainer_error *err);

/* Computes statistics of the gains of all rows by turn index; *n_gain receives the number of turn indices. */
enum trainer_status credit_measure_gains(const struct trainer_rollouts *rollouts,
                                         struct trainer_turn_gain gain[TRAINER_TURNS_MAX], int32_t *n_gain,
                                         struct trainer_error *err);
