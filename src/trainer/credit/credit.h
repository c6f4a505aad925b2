/*
 * credit.h: from outcomes and gains to advantages and weight streams, by the task's algorithm.
 * Which formula that is, what it needs and which component it trains stands in the core's table
 * (rlcore/algorithm.h); here its inputs are gathered from the rollouts.
 */
#ifndef TRAINER_CREDIT_H
#define TRAINER_CREDIT_H

#include <rlcore/algorithm.h>

#include "credit/credit_task.h"
#include "credit/judging.h"
#include "support/workspace.h"

/* What some algorithms remember from iteration to iteration. */
struct credit_memory {
    struct rl_baseline baseline[TRAINER_ENVS_MAX]; /* rae: one moving baseline per task */
    size_t n_baselines[TRAINER_ENVS_MAX];
    double
        *anchor[TRAINER_ENVS_MAX]; /* [pool] lengths, NaN while unset; NULL: no pool of questions */
    struct judging judging;
    double kl_reward; /* sum over the rollouts of an iteration of what KL took off */
    struct trainer_distillation distillation; /* of this iteration */
    struct rl_adca_metrics adca; /* of the first task of this iteration that asked a judge .. */
    int32_t n_adca;              /* .. 0: none did */
    double alpha;    /* sum over the tasks of this iteration whose alpha is adaptive .. */
    int32_t n_alpha; /* .. which are so many */
};

/* Fill advantage, clip_scale, rl, ce and ref_kl of the task's rows; scale: over their tokens. */
enum trainer_status credit_assign(struct trainer_rollouts *rollouts, const struct credit_task *task,
                                  struct credit_memory *memory, struct workspace *workspace,
                                  struct rl_a2tgpo_stats *scale, struct trainer_error *err);

/* Statistics of the gains of all rows by turn index, of which there are *n_gain. */
enum trainer_status credit_measure_gains(const struct trainer_rollouts *rollouts,
                                         struct trainer_turn_gain gain[TRAINER_TURNS_MAX],
                                         int32_t *n_gain, struct trainer_error *err);

#endif
