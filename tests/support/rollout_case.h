/*
 * rollout_case.h: groups of rollouts for the tests of the named algorithms, and their samples.
 *
 * Every rollout has the following tree. Nodes in capitals are sampled by the policy; a star is a token at mask 1.
 *
 *     0 user (3) - 1 ASSISTANT (2: **) - 2 tool (3, body 0 1 1) - 3 ASSISTANT (2: *.)
 *                                      \ 4 tool (2) - 5 ASSISTANT (2: **)
 *     branches {0 1 2 3}, {0 1 4 5}, {0}: the last has nothing to train
 */
#pragma once

#include <rlcore/samples.h>

enum { CASE_MAX = 8, CASE_NODES = 6, CASE_TOKENS = 14, CASE_SAMPLED = 5 };

/*
 * Positions of the nodes in the two samples of a rollout: nodes 0 1 2 3 with 10 tokens, and nodes 0 1 4 5 with 9
 * tokens.
 */
enum { FIRST_LENGTH = 10, SECOND_LENGTH = 9 };

struct rollout_case {
    struct rl_node nodes[CASE_MAX][CASE_NODES];
    struct rl_branch branches[CASE_MAX][3];
    uint8_t masks[CASE_MAX][CASE_TOKENS], content[CASE_MAX][3];
    int64_t ids[CASE_MAX][CASE_TOKENS];
    double logprobs[CASE_MAX][CASE_TOKENS];
    struct rl_tree trees[CASE_MAX];
    struct rl_trace traces[CASE_MAX];
    struct rl_rollouts rollouts;
    struct rl_algorithm_options options;
    struct rl_sample_scores scores;
    struct rl_samples samples; /* its arrays have the sizes that rl_samples_measure returns */
    struct rl_error err;
};

/* Makes n rollouts with rewards 0, 1, 2, ...; rollout_case_free frees them. */
struct rollout_case *rollout_case_new(size_t n);
void rollout_case_free(struct rollout_case *c);

/*
 * Measures the samples and cuts them; rollout_case_run also runs the algorithm. Returns the first status that is not
 * RL_OK.
 */
enum rl_status rollout_case_cut(struct rollout_case *c);
enum rl_status rollout_case_run(struct rollout_case *c, const char *algorithm);

/* Measures the samples, cuts them, and routes the given advantages to them. */
enum rl_status rollout_case_route(struct rollout_case *c, const char *algorithm, const double *credit);
