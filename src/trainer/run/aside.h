/*
 * aside.h: rollouts that are not trained on as they are: the greedy ones that remax compares with, the
 * beginnings that the rows of an episode share (hierarchical_grpo), and continuations of prefixes.
 */
#ifndef TRAINER_ASIDE_H
#define TRAINER_ASIDE_H

#include "run/run.h"

/* How many at once, of the task with the most; 0 where none needs any. */
size_t aside_rows(const struct trainer_recipe *recipe);
double aside_bytes(const struct trainer_recipe *recipe);

/*
 * The rows of a plan stand at `first`: one greedy rollout of each question, whose outcome they have in
 * common. job: of the rows themselves; metrics: what was sampled is added.
 */
enum trainer_status aside_greedy(struct run *run, const struct rollouts_plan *plan, size_t first,
                                 const struct sampler_job *job, struct trainer_iteration *metrics,
                                 struct trainer_error *err);

/* Start the rows of a plan at `first`, each behind what it shares with the others of its episode. */
enum trainer_status aside_branch(struct run *run, const struct rollouts_plan *plan, size_t first,
                                 const struct sampler_job *job, struct trainer_iteration *metrics,
                                 struct trainer_error *err);

/*
 * After the rows were played: values of prefixes by continuations (VinePPO, arXiv 2410.01679), in
 * place of the policy's, for the tasks that ask for them. They count as work for gains.
 */
enum trainer_status aside_values(struct run *run, int32_t iteration, const struct sampler_job *job,
                                 struct trainer_iteration *metrics, struct trainer_error *err);

/* Of the outcomes of all rows that branch: spread between the episodes of a group, and within them. */
void aside_measure(const struct trainer_rollouts *rollouts, struct trainer_iteration *metrics);

#endif
