/*
 * hinted_teacher.h: the teacher of opsd, which is the live policy itself, but with a hint that it did not have when it
 * sampled: the fact that the last hop would have found, or a worked solution of the question.
 */
#pragma once

#include "learn/learner.h"
#include "rollout/rollouts.h"

/*
 * The rollouts with a hint inserted, for all rows of an iteration; all members are NULL if no task is trained by opsd.
 */
struct hinted_rows {
    int32_t *length;  /* [rows] */
    int32_t *tokens;  /* [rows][width] */
    uint8_t *wanted;  /* [rows][width] 1 = the log-prob of this token is needed */
    float *log_prob;  /* [rows][width] */
};

double hinted_rows_bytes(const struct trainer_recipe *recipe);

/* Returns false when out of memory; hinted_rows_close also works after a failure. */
bool hinted_rows_open(struct hinted_rows *hinted, const struct trainer_recipe *recipe);
void hinted_rows_close(struct hinted_rows *hinted);

/* Writes log-probs of the hinted policy to rollouts->reference of rows [first, first+n), all of one task. */
enum trainer_status hinted_teacher_score(struct hinted_rows *hinted, struct learner *learner, const struct trainer_recipe *recipe,
                                         struct trainer_rollouts *rollouts, size_t first, size_t n, struct trainer_error *err);
