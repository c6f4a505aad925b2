/*
 * credit.h: from outcomes and gains to advantages and component weights, by the algorithm of the task. The core's
 * table (rlcore/algorithm.h) defines the formula, what it needs and which component it trains; here its inputs are
 * gathered from the rollouts.
 */
#ifndef TRAINER_CREDIT_H
#define TRAINER_CREDIT_H

#include <rlcore/algorithm.h>

#include "credit/credit_task.h"
#include "credit/judging.h"
#include "support/workspace.h"

/* What algorithms remember from iteration to iteration, and what an iteration reports. */
struct credit_memory {
    struct rl_baseline baseline[TRAINER_ENVS_MAX]; /* rae: one moving baseline per task */
    size_t n_baselines[TRAINER_ENVS_MAX];
    /* [pool] length by question, NaN until set; NULL without a pool of questions or without this penalty */
    double *anchor[TRAINER_ENVS_MAX];
    struct judging judging;
    double kl_reward; /* sum over the iteration's rollouts of what the KL penalty subtracted */
    struct trainer_distillation distillation; /* of this iteration */
    struct rl_adca_metrics adca; /* of the first task of this iteration that asked a judge .. */
    int32_t n_adca;              /* .. 1, or 0 if none did */
    double alpha;    /* sum over the tasks of this iteration whose alpha is adaptive .. */
    int32_t n_alpha; /* .. and their number */
};

/*
 * Fills advantage, clip_scale, rl, ce, ref_kl and kd of the task's rows. *scale: statistics of the clip scale over
 * their tokens. TRAINER_ENUMERIC for rewards or values that are not finite.
 */
enum trainer_status credit_assign(struct trainer_rollouts *rollouts, const struct credit_task *task,
                                  struct credit_memory *memory, struct workspace *workspace,
                                  struct rl_a2tgpo_stats *scale, struct trainer_error *err);

/* Statistics of the gains of all rows by turn index; *n_gain is the number of indices. */
enum trainer_status credit_measure_gains(const struct trainer_rollouts *rollouts,
                                         struct trainer_turn_gain gain[TRAINER_TURNS_MAX],
                                         int32_t *n_gain, struct trainer_error *err);

#endif
