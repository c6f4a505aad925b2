/*
 * rlcore/samples.h: a finished group of rollouts, each a tree of messages, becomes training samples
 * with advantages and weight streams per token, by a named algorithm (rlcore/algorithm.h).
 * Environments with different algorithms can share a batch, because the trainer
 * (rlcore/stream_loss.h) sees only the streams.
 *
 * A rollout is a tree of messages (nodes). A path from the root to a leaf is a branch. A branch
 * with a trainable token becomes one sample, the concatenation of its nodes. A sampled node that
 * several branches share is trained in the first of them only: in later ones its mask is 0, but its
 * advantages are written there too. Rollouts with an error, or not trainable, give no samples.
 *
 * Calling sequence
 *     rl_algorithm_find("echo", &algorithm, &err);
 *     rl_algorithm_check(algorithm, &setting, &err);            once per environment
 *     rl_samples_measure(&rollouts, &size, &err);               then allocate the arrays of samples
 *     rl_samples_cut(&rollouts, &samples, &ws, &err);
 *     (opd, opsd: let the reference score the samples; echo: let a filter mark their tokens)
 *     rl_algorithm_run(algorithm, &rollouts, &options, &scores, &samples, &ws, &err);
 *     rl_samples_view(&samples, i, &packable);                  for rlcore/pack.h
 *
 * rl needs no stream of its own; ref_kl and ce set the rl stream to 0 and their own to 1.
 *
 * Source: prime-rl, src/prime_rl/orchestrator/algo; definitions in fixtures/golden/README.md,
 * "prime_streams" and "prime_advantage".
 */
#ifndef RLCORE_SAMPLES_H
#define RLCORE_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/algorithm.h>
#include <rlcore/group_advantage.h>
#include <rlcore/pack.h>
#include <rlcore/status.h>

/* One message. Arrays are [n_tokens]. */
struct rl_node {
    const char *role; /* "system", "user", "assistant", "tool" or any other */
    bool sampled;     /* written by a model, not by the environment */
    size_t n_tokens;
    const uint8_t *mask;       /* 1 = trainable, in sampled nodes only; NULL: all are 0 */
    const uint8_t *is_content; /* 1: body of the message, 0: chat template; NULL: every token is
                                  body */
    const int64_t *token_ids; /* NULL if the samples need none */
    const double *logprobs; /* the sampler's log-probs, read at mask 1; NULL if the samples need
                               none */
};

struct rl_branch {
    const size_t *nodes; /* [n_nodes] indices, root to leaf */
    size_t n_nodes;
};

struct rl_tree {
    const struct rl_node *nodes;
    size_t n_nodes;
    const struct rl_branch *branches;
    size_t n_branches;
};

/* A finished group: rollout i has the reward traces[i] and the messages trees[i]. n may be 0. */
struct rl_rollouts {
    size_t n;
    const struct rl_trace *traces;
    const struct rl_tree *trees;
};

/* The array sizes that the samples of a group need. */
struct rl_samples_size {
    size_t n_samples; /* at most */
    size_t n_tokens;  /* of all samples, at most */
    size_t n_sampled; /* tokens at mask 1 in all nodes: the length of a credit array */
};

enum rl_sample_stream {
    RL_SAMPLE_ADVANTAGES = 1,
    RL_SAMPLE_RL = 2,
    RL_SAMPLE_CE = 4,
    RL_SAMPLE_REF_KL = 8,
    RL_SAMPLE_REF_LOGPROBS = 16
};

/*
 * The samples of a group, one after another. The arrays are allocated by the caller, with the sizes
 * that rl_samples_measure returned.
 */
struct rl_samples {
    size_t n;         /* out */
    size_t *rollout;  /* [n] out: the rollout that a sample comes from */
    size_t *branch;   /* [n] out: the branch of that rollout */
    size_t *start;    /* [n+1] out: where the tokens of each sample begin */
    uint8_t *streams; /* [n] out: bitwise OR of the streams (enum rl_sample_stream) that the sample
                         has */
    /* [start[n]] out, valid for samples whose bit is set */
    double *advantages, *rl_weights, *ce_weights, *ref_kl_weights, *ref_logprobs;
    uint8_t *mask;      /* [start[n]] out: 1 = trainable */
    int64_t *token_ids; /* [start[n]] out, or NULL */
    double *logprobs;   /* [start[n]] out, 0 at mask 0 of the node; or NULL */
};

/*
 * Measure the samples of a group. RL_EINVAL for a branch with the index of a node that does not
 * exist, or with a node that occurs twice in it; RL_EVALUE for a mask or is_content that is not 0 or 1, and for a trainable token in a node
 * that was not sampled.
 */
RL_API RL_NODISCARD enum rl_status rl_samples_measure(const struct rl_rollouts *rollouts, struct rl_samples_size *size,
                                                      struct rl_error *err);

/*
 * Cut the branches of a group into samples, in their order; the samples have no stream yet.
 * Performs the checks of rl_samples_measure. Also RL_EINVAL for token ids or log-probs that the
 * samples need and a node lacks, and RL_EVALUE for a log-prob that is not finite.
 */
RL_API RL_NODISCARD enum rl_status rl_samples_cut(const struct rl_rollouts *rollouts, struct rl_samples *samples,
                                                  struct rl_workspace *ws, struct rl_error *err);

/*
 * Sample i in the form of rlcore/pack.h. Absent streams are NULL; the arrays point into samples.
 * The caller adds temperatures and env_name.
 */
RL_API void rl_samples_view(const struct rl_samples *samples, size_t i, struct rl_pack_sample *out);

/* Per-token inputs from outside the group; [samples.start[n]] each. */
struct rl_sample_scores {
    const double *ref_logprobs;   /* opd, opsd: log-probs of the reference, read at mask 1 of the nodes */
    const uint8_t *keep; /* echo: 1 if the token may be selected; NULL: all may */
};

/*
 * The advantages of a group in the order of rl_credit_fn (rlcore/algorithm.h): credit
 * [size.n_sampled], 0 for a rollout that does not count. *assigned tells whether the algorithm has
 * advantages. RL_EINVAL for a group of one with a group-relative algorithm and for missing options;
 * RL_EVALUE for values that are not finite; RL_ECALLBACK.
 */
RL_API RL_NODISCARD enum rl_status rl_algorithm_credit(const struct rl_algorithm *algorithm, const struct rl_rollouts *rollouts,
                                                       const struct rl_algorithm_options *options, double *credit, bool *assigned,
                                                       struct rl_workspace *ws, struct rl_error *err);

/*
 * Write the streams of the samples from given advantages (credit [size.n_sampled], NULL: none).
 *     ref_kl  rl weights 0, ref_kl weights 1 at mask 1, ref_logprobs at mask 1 of the nodes (those of
 *             the first sample that contains the node), else 0; never advantages
 *     ce      rl weights 0, ce weights 1 at mask 1
 *     echo    the weight of the node's role at body tokens that `keep` allows, in nodes that are not
 *             sampled and come after the first sampled node of the branch; the largest weight of all
 *             branches. It is written into the first sample that contains the node. A sample without
 *             such a token has no ce stream
 * scores may be NULL. RL_EINVAL if a token that rl trains has no advantage or a reference log-prob
 * is missing; RL_EVALUE for values that are not finite and for negative weights.
 */
RL_API RL_NODISCARD enum rl_status rl_algorithm_route(const struct rl_algorithm *algorithm, const struct rl_rollouts *rollouts,
                                                      const struct rl_algorithm_options *options, const double *credit,
                                                      const struct rl_sample_scores *scores, struct rl_samples *samples,
                                                      struct rl_workspace *ws, struct rl_error *err);

/* rl_algorithm_credit followed by rl_algorithm_route. */
RL_API RL_NODISCARD enum rl_status rl_algorithm_run(const struct rl_algorithm *algorithm, const struct rl_rollouts *rollouts,
                                                    const struct rl_algorithm_options *options,
                                                    const struct rl_sample_scores *scores, struct rl_samples *samples,
                                                    struct rl_workspace *ws, struct rl_error *err);

#endif
