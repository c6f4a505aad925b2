/*
 * run.h: a training run: its data, the functions that open and close it, and the steps of an iteration, each of which has a file:
 * collect_rollouts.c, credit_rollouts.c, off_policy_correction.c and minibatch_updates.c.
 */
#pragma once

#include "credit/credit.h"

#include <trainer/recipe.h>
#include <trainer/train.h>

#include "learn/learner.h"
#include "learn/minibatch.h"
#include "references/reference_policies.h"
#include "references/sampler_weights.h"
#include "rollout/data_set.h"
#include "rollout/question_allocation.h"
#include "rollout/sampler.h"
#include "run/environment_losses.h"
#include "run/route_replay.h"

/* ---- clocks of a run, and sums over its iterations, which the last event reports as means ---- */
/* Seconds; `began` is a time of clock_now(). train_s is 0 until training has ended. */
struct run_clock {
    double began, train_s, eval_s;
};

struct run_totals {
    double score_sum; /* sum over the evaluations during training */
    int32_t n_scores;
    double scale_mean_sum, scale_std_sum, entropy_sum, clip_fraction_sum; /* of all iterations */
    double alpha_sum; /* sum over the iterations with an adaptive alpha */
    int32_t n_alpha;  /* number of these iterations */
    struct trainer_judge_counts judged;
    /*
     * The `late` members cover the last tenth of the iterations, because the first iterations describe the warm start.
     * late[].mean is a sum of means and late[].std a sum of variances, both weighted by the count.
     */
    struct trainer_turn_gain late[TRAINER_TURNS_MAX];
    int32_t n_late; /* largest number of turns with a gain */
    struct trainer_values late_values;
    int32_t n_late_values; /* number of iterations in late_values */
};

/* Adds iteration `iteration` (0-based) of n_iterations. */
void run_totals_add(struct run_totals *totals, int32_t iteration, int32_t n_iterations, const struct trainer_iteration *metrics);

/* Fills the means of TRAINER_EVENT_DONE, but not the final score. */
void run_totals_report(const struct run_totals *totals, int32_t n_iterations, struct trainer_event *event);

struct gradient_trace;

struct run {
    const struct trainer_recipe *recipe;
    struct trainer_run_options options; /* the caller's callbacks and checkpoint path */
    struct trainer_process process;     /* the caller's state file */
    struct run_clock clock;
    int threads, threads_before; /* of this run; of the caller, restored by run_close */
    /* what computes */
    struct learner learner;
    struct sampler sampler;
    struct workspace workspace;
    /* policies other than the learner */
    struct sampler_weights sampled_by;
    struct reference_policies references;
    /* data that an iteration works on */
    struct trainer_rollouts *rollouts;   /* of one iteration */
    struct data_set data[TRAINER_ENVS_MAX]; /* of tasks whose rollouts come from a file */
    struct trainer_rollouts *side;       /* see side_rollouts.h; NULL if no algorithm needs any */
    struct trainer_rollouts *evaluation; /* of one evaluation */
    struct minibatch *minibatch;
    struct environment_losses environment_losses;
    size_t *order; /* [rows] rollouts in the shuffled order of an epoch */
    struct routing routing;
    void *value_arrays; /* see value_arrays.h; NULL without a value head */
    /* state that is kept from one iteration to the next */
    struct credit_memory memory;
    struct allocation allocation[TRAINER_ENVS_MAX];
    struct run_totals totals;
    struct trainer_part last[TRAINER_ENVS_MAX]; /* metrics of the environments in the latest iteration */
    struct gradient_trace *trace; /* see gradient_trace.h; NULL if there is nothing to trace */
};

/*
 * Allocates everything that a run of run->recipe needs; the other members are zero or as the caller set them. The
 * caller must call run_close, also after a failure. The weights are not initialised.
 */
enum trainer_status run_open(struct run *run, struct trainer_error *err);
void run_close(struct run *run);

/* ---- the steps of an iteration, in the order in which training.c calls them ---- */

/*
 * Fills run->rollouts with the rollouts of iteration `iteration` (0-based) of all tasks, played by the sampler's
 * weights, and with their information gains. Gains are measured in every trial, even if the algorithm does not read
 * them, because they are used to compare rows of different algorithms.
 */
enum trainer_status run_collect(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err);

/*
 * Computes log-probs of the reference policies, assigns credit to every task's rollouts with the task's algorithm, and fills the
 * metrics of rollouts and credit.
 */
enum trainer_status run_credit(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err);

/*
 * Corrects for rollouts that the learner did not sample. Comes before the first update, because importance weights compare the
 * sampler with the learner's weights before the updates. Sets the old log-probs of the ratio, the importance weights, and the tokens
 * that are not rejected. On-policy these are the sampler's log-probs, weights of 1, and all tokens.
 */
enum trainer_status run_correct(struct run *run, struct trainer_iteration *metrics, struct trainer_error *err);

/*
 * The part of run_correct for rollouts whose old log-probs are known. Sets their weight and kept: importance weights and rejections
 * of the recipe's correction, or 1 and mask without one.
 */
enum trainer_status correction_weigh(const struct trainer_recipe *recipe, struct trainer_rollouts *rollouts,
                                     struct workspace *workspace, struct trainer_error *err);

/* Runs the epochs of minibatches over run->rollouts. metrics receives means over the updates. */
enum trainer_status run_update(struct run *run, int32_t iteration, struct trainer_iteration *metrics, struct trainer_error *err);

/* ---- a digest that shows whether two recipes give the same results ---- */
/*
 * Returns the XXH64 of all fields that affect a recipe's results, or 0 when out of memory. Threads, budgets, the memory
 * for activations, and texts for people are left out.
 */
uint64_t recipe_digest(const struct trainer_recipe *recipe);
