/*
 * outcome_estimators.h: credit of whole rows from their scores, group by group. Scores and credits
 * are double in both precisions, because the mean of equal float scores differs from the scores by
 * rounding, and dividing by their deviation would turn that error into an advantage.
 */
#pragma once

#include <rlcore/advantage.h>

#include "support/grid.h"
#include "support/groups.h"

struct rl_outcome {
    struct rl_groups groups;
    double *scores;  /* [B] */
    size_t *lengths; /* [B] response tokens */
    double *credits; /* [B], out */
};

/* Check the options. */
enum rl_status rl_group_check(const struct rl_outcome_options *options, struct rl_error *err);

/* Fill outcome->credits. */
enum rl_status rl_outcome_credits(const struct rl_outcome *outcome, const struct rl_outcome_options *options,
                                  struct rl_error *err);

/* RL_EVALUE for fewer than two tokens, whose variance is undefined. */
enum rl_status rl_whiten_check(size_t n, struct rl_error *err);

/* RL_EINVAL unless the value is finite and not negative. */
enum rl_status rl_discount_check(const char *name, double value, struct rl_error *err);
