/*
 * reference_policies.h: the policies that rollouts are compared with, and their log-probs: a frozen teacher of each
 * task that has one, and the policy that training started from. (The third, the live policy shown a hint, is in
 * hinted_teacher.h.)
 */
#ifndef TRAINER_REFERENCE_POLICIES_H
#define TRAINER_REFERENCE_POLICIES_H

#include "learn/learner.h"
#include "references/hinted_teacher.h"
#include "rollout/rollouts.h"

struct reference_policies {
    float *start;                     /* [n_params] weights that training started from; NULL without kl_coef */
    float *teacher[TRAINER_ENVS_MAX]; /* [n_params] of each task; NULL if it has none */
    struct hinted_rows hinted;
};

/* Memory that reference_policies_open allocates: whole sets of parameters, and bytes beside them. */
double reference_policies_sets(const struct trainer_recipe *recipe);
double reference_policies_bytes(const struct trainer_recipe *recipe);

/*
 * Allocates, and reads the teachers' checkpoints: now and not at their first use, so that a checkpoint of another
 * shape is found before an hour is spent. `start` is filled by the caller. reference_policies_close also works
 * after a failure.
 */
enum trainer_status reference_policies_open(struct reference_policies *policies,
                                            const struct trainer_recipe *recipe,
                                            struct ranks *ranks, struct trainer_error *err);
void reference_policies_close(struct reference_policies *policies);

/*
 * Log-probs of the teacher of a task into rollouts->reference of its rows [first, first+n), if the task asks for
 * them.
 */
enum trainer_status reference_policies_score_task(struct reference_policies *policies,
                                                  struct learner *learner,
                                                  const struct trainer_recipe *recipe,
                                                  struct trainer_rollouts *rollouts, int32_t task,
                                                  size_t first, size_t n,
                                                  struct trainer_error *err);

/* Log-probs of the policy that training started from into rollouts->start of all rows, if there is a KL penalty. */
enum trainer_status reference_policies_score_start(const struct reference_policies *policies,
                                                   struct learner *learner,
                                                   struct trainer_rollouts *rollouts,
                                                   struct trainer_error *err);

#endif
