/*
 * samples_internal.h: a run of a named algorithm over message trees: advantages (samples_run.c) and
 * streams (samples_route.c).
 */
#pragma once

#include <rlcore/samples.h>

#include "support/fail.h"
#include "support/scratch.h"

/* One run over a group. */
struct rl_algorithm_job {
    const struct rl_algorithm *algorithm;
    const struct rl_rollouts *rollouts;
    const struct rl_algorithm_options *options;
    const struct rl_sample_scores *scores; /* never NULL */
    struct rl_samples *samples;
    struct rl_error *err;
    double *credit;      /* [start[n]] written by the algorithm */
    const double *given; /* [start[n]] advantages for the streams; NULL: none */
    /* Scratch. */
    size_t *start;       /* [n+1] where the credit of each rollout begins */
    double *values;      /* [n] one advantage per rollout */
    uint8_t *counted;    /* [n] */
    size_t *node_credit; /* per node of a tree: where its part of `credit` begins */
    size_t *node_token;  /* per node of a tree: where its part of `token` begins */
    uint8_t *seen;       /* per node of a tree */
    double *token;       /* per token of a tree */
};

/* Write the streams of all samples. */
enum rl_status rl_route(struct rl_algorithm_job *job);

/*
 * echo: write the ce stream for the environment's tokens in samples first..last-1, which belong to
 * one rollout.
 */
enum rl_status rl_echo_observe(struct rl_algorithm_job *job, size_t first, size_t last);

/* The branch (list of nodes) of sample i, and the tree that contains it. */
const struct rl_branch *rl_sample_branch(const struct rl_algorithm_job *job, size_t i);
const struct rl_tree *rl_sample_tree(const struct rl_algorithm_job *job, size_t i);

/* The number of tokens at mask 1. */
size_t rl_node_sampled(const struct rl_node *node);
