/*
 * run.h: a training run: its data, and the functions that open and close it. The steps of an iteration are in
 * collect_rollouts.h, credit_rollouts.h, off_policy_correction.h and minibatch_updates.h; training.c calls them in that
 * order.
 */
#pragma once

#include "credit/credit.h"
#include "learn/learner.h"
#include "learn/minibatch.h"
#include "references/reference_policies.h"
#include "references/sampler_weights.h"
#include "rollout/data_set.h"
#include "rollout/question_allocation.h"
#include "rollout/sampler.h"
#include "run/environment_losses.h"
#include "run/route_replay.h"
#include "run/run_totals.h"

struct gradient_trace;

struct run {
    const struct trainer_recipe *recipe;
    struct trainer_run_options options; /* the caller's callbacks and checkpoint path */
    struct trainer_process process;     /* the caller's communicator and state file */
    struct ranks ranks;
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
