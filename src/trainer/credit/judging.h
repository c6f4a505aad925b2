/*
 * judging.h: GOOD or BAD flags for the steps of a task's rows, by the rule-based judge or by the caller's judge
 * (trainer/judge.h).
 */
#pragma once

#include <trainer/judge.h>

#include "rollout/rollouts.h"

/* The caller's judge; all members are zero if there is none. */
struct judging {
    trainer_judge_fn *ask;
    void *context;
    struct trainer_judge_counts counts; /* of this iteration */
};

/* Rows [first, first+n) of the rollouts, all of one task. */
struct judging_rows {
    const struct trainer_recipe *recipe;
    int32_t task, iteration;
    size_t first, n;
    const double *outcome; /* [n] */
    const size_t *start;   /* [n+1] */
};

/*
 * Fills flags [start[n]] with 1 (GOOD), 0 (BAD), or RL_ADCA_UNJUDGED for all steps of a row. Returns TRAINER_EJUDGE if
 * too many rows got no flags.
 */
enum trainer_status judging_flags(struct judging *judging, const struct judging_rows *rows, const struct trainer_rollouts *r,
                                  uint8_t *flags, struct trainer_error *err);

/* Adds the counts of a task or an iteration to a sum. */
void judging_add(struct trainer_judge_counts *sum, const struct trainer_judge_counts *part);
