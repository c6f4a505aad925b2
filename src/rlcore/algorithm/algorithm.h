/*
 * algorithm.h: what a named algorithm is made of. An algorithm's file holds its entry in the table
 * and the functions that are its own; what they share is in credit.c (advantages) and route.c
 * (streams).
 */
#ifndef RLCORE_ALGORITHM_INTERNAL_H
#define RLCORE_ALGORITHM_INTERNAL_H

#include <rlcore/algorithm.h>

#include "internal.h"

/* One run over a group. */
struct rl_algorithm_job {
    const struct rl_algorithm *algorithm;
    const struct rl_rollouts *rollouts;
    const struct rl_algorithm_options *options;
    const struct rl_sample_scores *scores; /* never NULL */
    struct rl_samples *samples;
    struct rl_error *err;
    double *credit;      /* [start[n]] what an algorithm writes */
    const double *given; /* [start[n]] what the streams are made of; NULL: no advantages */
    /* Scratch. */
    size_t *start;       /* [n+1] where the credit of each rollout begins */
    double *values;      /* [n] one advantage per rollout */
    uint8_t *counted;    /* [n] */
    size_t *node_credit; /* per node of a tree: where its part of credit begins */
    size_t *node_token;  /* per node of a tree: where its part of token begins */
    uint8_t *seen;       /* per node of a tree */
    double *token;       /* per token of a tree */
};

struct rl_algorithm {
    const char *name, *summary;
    enum rl_sample_stream action; /* trains the algorithm's own tokens: RL, CE or REF_KL */
    bool group_relative;
    bool frozen_source, frozen_reference, policy_reference; /* must have */
    /* Fills job->credit; NULL where there are no advantages. */
    enum rl_status (*credit)(struct rl_algorithm_job *job);
    /* Streams on tokens of the environment, for the samples first..last-1 of one rollout; or NULL.
     */
    enum rl_status (*observe)(struct rl_algorithm_job *job, size_t first, size_t last);
};

extern const struct rl_algorithm rl_algorithm_grpo, rl_algorithm_max_rl,
    rl_algorithm_hierarchical_grpo, rl_algorithm_rae, rl_algorithm_reward, rl_algorithm_custom,
    rl_algorithm_echo, rl_algorithm_opd, rl_algorithm_opsd, rl_algorithm_sft;

/* Gives job->values[i] to every sampled token of rollout i, where counted. */
void rl_credit_spread(struct rl_algorithm_job *job);

/* RL_EVALUE if job->given holds a value that is not finite. */
enum rl_status rl_credit_check(const struct rl_algorithm_job *job);

/* Write the streams of all samples. */
enum rl_status rl_route(struct rl_algorithm_job *job);

/* grpo's advantages, which echo shares. */
enum rl_status rl_credit_grpo(struct rl_algorithm_job *job);

/* The nodes of sample i, and its tree. */
const struct rl_branch *rl_sample_branch(const struct rl_algorithm_job *job, size_t i);
const struct rl_tree *rl_sample_tree(const struct rl_algorithm_job *job, size_t i);

/* Tokens at mask 1. */
size_t rl_node_sampled(const struct rl_node *node);

#endif
