/*
 * data_set.h: a file of finished rollouts that take the place of sampled ones: one JSON object per line, as
 * `lineage train --rollouts` writes them. Of its members these are read:
 *
 *     {"group": 3, "iteration": 0, "question": "0123456789abcdef", "noise": "fedcba9876543210",
 *      "tokens": [..], "log_prob": [..], "advantage": [..], "reward": 1}
 *
 * Rows of one group are adjacent and have the same group and iteration (0 if it is missing). log_prob and advantage (a
 * number, or one for each token) may be missing if the caller does not need them, and so may reward. If neither is needed (sft), groups are
 * not read at all: rows are taken in order, so that a file of successes needs no new numbers. The rollouts are played again in the environment, which must give the same prompt
 * and the same answers of tools; the reward, if there is one, must be the environment's.
 */
#pragma once

#include "rollout/rollouts.h"

/* What the lines of a file must have beside the tokens. */
enum data_needs { DATA_LOG_PROBS = 1, DATA_ADVANTAGES = 2 };

struct data_set {
    unsigned needs;
    struct trainer_rollouts *rows; /* all rows of the file; NULL: no data set */
    size_t *group;                 /* [n_groups+1] where the groups begin in rows */
    size_t n_groups;
};

/*
 * Memory of a task's data set while it is read and afterwards, which counts the lines of the file; 0 without one, and if the file
 * cannot be read.
 */
double data_set_bytes(const struct trainer_recipe *recipe, int32_t task);

/*
 * Reads the file of a task. With needs, every group must have group_size rows, and the file at least `questions` groups; without, as many
 * rows as an iteration. A message names the file and the line. data_set_close also works after a failure.
 */
enum trainer_status data_set_open(struct data_set *data, const struct trainer_recipe *recipe, int32_t task, unsigned needs,
                                  struct trainer_error *err);
void data_set_close(struct data_set *data);

/* Adds the rows of one iteration from row first_row on: the next `questions` groups, from the beginning again after the last.
 * Given advantages are in rewards, at the policy's tokens. */
void data_set_add(const struct data_set *data, struct trainer_rollouts *rollouts, const struct rollouts_plan *plan,
                  size_t first_row);
