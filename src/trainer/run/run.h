/* run.h: a training run at work, and its steps. */
#ifndef TRAINER_RUN_H
#define TRAINER_RUN_H

#include "run/allocation.h"
#include "run/credit.h"
#include "run/replay.h"
#include "learn/learner.h"
#include "learn/objective.h"
#include "rollout/sampler.h"

struct run {
    const struct trainer_recipe *recipe;
    struct trainer_run_options options;
    struct ranks ranks;
    struct trainer_process process;
    int threads, threads_before;
    struct learner learner;
    struct sampler sampler;
    struct trainer_rollouts *rollouts, *evaluation;
    struct trainer_rollouts *aside; /* see aside.h; NULL where no algorithm needs them */
    struct minibatch *minibatch;
    struct routing routing;
    void *values; /* memory of values.h */
    struct workspace workspace;
    struct credit_memory memory;
    struct allocation allocation[TRAINER_ENVS_MAX];
    struct trainer_judge_counts judged; /* sums over iterations */
    size_t *order;  /* [rows] */
    float *history; /* [staleness + 1][n_params] learner's weights, iteration by iteration */
    const float *behaviour; /* in history: of which the sampler's are made; NULL: the learner's */
    float *lowered; /* weights of a sampler that is not the learner */
    float *start;   /* weights that training started from, with a KL penalty */
    float *teacher[TRAINER_ENVS_MAX];
    int32_t *shown_length; /* opsd: rows with the last hop's fact put in */
    int32_t *shown;
    uint8_t *shown_wanted;
    float *shown_log_prob;
    double began, train_s, eval_s;
    double score_sum; /* of all evaluations */
    int32_t n_scores;
    double scale_mean_sum, scale_std_sum, entropy_sum, clip_fraction_sum; /* of iterations */
    struct trainer_turn_gain
        late[TRAINER_TURNS_MAX]; /* sums over the last tenth of the iterations */
    int32_t n_late;
    double alpha_sum; /* of the iterations in which it was adaptive */
    int32_t n_alpha, n_late_values;
    struct trainer_values late_values; /* sums over the last tenth, as late */
};

/* What the algorithm of a task and its teacher cannot do without: a set of enum rl_need. */
static inline unsigned recipe_needs(const struct trainer_recipe *recipe, int32_t task)
{
    const struct trainer_algorithm *algorithm = &recipe->tasks[task].algorithm;
    static const unsigned teachers[] = {[TRAINER_TEACHER_CHECKPOINT] = RL_NEED_FROZEN_REFERENCE,
                                        [TRAINER_TEACHER_POLICY] = RL_NEED_POLICY_REFERENCE};
    bool distils = algorithm->distill.how != TRAINER_DISTILL_NONE;
    return rl_algorithm_at(algorithm->name)->needs |
           (distils ? teachers[algorithm->distill.teacher] : 0);
}

/* Rollouts of one iteration. */
size_t run_rows(const struct trainer_recipe *recipe);

enum trainer_status run_open(struct run *run, struct trainer_error *err);
void run_close(struct run *run);

/* Rollouts, values, references; then credit. */
enum trainer_status run_collect(struct run *run, int32_t iteration,
                                struct trainer_iteration *metrics, struct trainer_error *err);

/* Log-probs of the teacher of a task's rows; of the policy that training started from. */
enum trainer_status run_refer(struct run *run, int32_t task, size_t first, size_t n,
                              struct trainer_error *err);
enum trainer_status run_refer_to_start(struct run *run, struct trainer_error *err);

/* Log-probs in the ratio, importance weights and what rejection leaves. */
enum trainer_status run_correct(struct run *run, struct trainer_iteration *metrics,
                                struct trainer_error *err);

/* Epochs of minibatches. */
enum trainer_status run_update(struct run *run, int32_t iteration,
                               struct trainer_iteration *metrics, struct trainer_error *err);

/* Whether the sampler's weights differ from the learner's. */
bool run_is_off_policy(const struct trainer_recipe *recipe);

#endif
