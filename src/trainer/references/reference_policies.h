/*
 * reference_policies.h: the policies with which rollouts are compared, and their log-probs: a frozen teacher of each
 * task that has one, and the reference of the KL penalty: the policy that training started from, or one that follows it. (A third one, the live policy with a hint, is in
 * reference_policies.h.)
 */
#pragma once

#include <trainer/policy.h>
#include <trainer/train.h>

#include "learn/learner.h"
#include "rollout/rollouts.h"

/* ---- the teacher of opsd, which is the live policy itself, but with a hint that it did not have when it
 * sampled: the fact that the last hop would have found, or a worked solution of the question.
 */

/*
 * The rollouts with a hint inserted, for all rows of an iteration; all members are NULL if no task is trained by opsd.
 */
struct hinted_rows {
    int32_t *length;  /* [rows] */
    int32_t *tokens;  /* [rows][width] */
    uint8_t *wanted;  /* [rows][width] 1 = the log-prob of this token is needed */
    float *log_prob;  /* [rows][width] */
};

/* Asks teachers behind endpoints. */
struct remote_teacher {
    trainer_teacher_fn *ask; /* NULL: no endpoint can be asked */
    void *context;
};

struct reference_policies {
    struct remote_teacher remote; /* filled by the caller */
    float *start; /* [n_params] weights that training started from, or of the moving reference; NULL without kl_coef */
    float *teacher[TRAINER_ENVS_MAX]; /* [n_params] teacher of each task; NULL if the task has none */
    struct hinted_rows hinted;
};

/* Memory that reference_policies_open allocates: number of sets of parameters, and further bytes. */
double reference_policies_sets(const struct trainer_recipe *recipe);
double reference_policies_bytes(const struct trainer_recipe *recipe);

/*
 * Allocates memory and reads the teachers' checkpoints. They are read now and not at their first use, so that a
 * checkpoint with another shape is found before the run has spent an hour. `start` is filled by the caller.
 * reference_policies_close also works after a failure.
 */
enum trainer_status reference_policies_open(struct reference_policies *policies, const struct trainer_recipe *recipe,
                                            struct trainer_error *err);
void reference_policies_close(struct reference_policies *policies);

/*
 * Writes log-probs of a task's teacher to rollouts->reference of the task's rows [first, first+n), if its algorithm
 * needs them. Returns TRAINER_ENUMERIC for a log-prob of an endpoint that is not finite or above 0.
 */
enum trainer_status reference_policies_score_task(struct reference_policies *policies, struct learner *learner,
                                                  const struct trainer_recipe *recipe, struct trainer_rollouts *rollouts,
                                                  int32_t task, int32_t iteration, size_t first, size_t n,
                                                  struct trainer_error *err);

/*
 * Moves the reference of the KL penalty towards the policy, if the recipe asks for it after this iteration (0-based).
 */
void reference_policies_follow(struct reference_policies *policies, const struct trainer_recipe *recipe, const float *params,
                               int32_t iteration);

/*
 * Writes log-probs of the reference of the KL penalty to rollouts->start of all rows, if there is a KL penalty.
 */
enum trainer_status reference_policies_score_start(const struct reference_policies *policies, struct learner *learner,
                                                   struct trainer_rollouts *rollouts, struct trainer_error *err);
