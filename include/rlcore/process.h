/*
 * rlcore/process.h: process rewards: the worth of each part of a response, and advantages that keep
 * rewards at their tokens instead of summing them first.
 *
 *     rl_episode_starts        cuts a response into episodes
 *     (the caller measures)    the value of each prefix: the mean log-prob of the true answer after it
 *     rl_marginal_utility      what each episode added to that value
 *     rl_process_advantage     token advantages from outcomes and process rewards
 *
 * Errors: see rlcore/status.h; values that are read must be finite.
 */
#ifndef RLCORE_PROCESS_H
#define RLCORE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

/* utilities [n-1] = values[j+1] - values[j] for the values of n prefixes in their order; n >= 1. */
RL_API RL_NODISCARD enum rl_status rl_marginal_utility(size_t n, const double *values, double *utilities, struct rl_error *err);

/* The kind of reward at a token, in the event array. */
enum rl_event { RL_EVENT_NONE = 0, RL_EVENT_PROCESS = 1, RL_EVENT_OUTCOME = 2 };

/*
 * Outcomes and process rewards are two sets, each normalised within the prompt group: (r - mean) /
 * (biased std + 1e-8), or 0 in a set of one or of equal values. advantages [B*T] at a response
 * token is the sum of the normalised rewards at its position and after it; 0 at mask 0. event [B*T]
 * holds values of enum rl_event; a reward [B*T] where it is 0 is RL_EVALUE (NaN there is allowed). The
 * batch needs groups.
 */
RL_API RL_NODISCARD enum rl_status rl_process_advantage(const struct rl_batch *batch, const uint8_t *event, const double *rewards,
                                                        double *advantages, struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_process_advantagef(const struct rl_batch *batch, const uint8_t *event, const float *rewards,
                                                         float *advantages, struct rl_workspace *ws, struct rl_error *err);

struct rl_episode_options {
    const char *const *markers; /* [n_markers] texts that begin an episode, matched byte by byte */
    size_t n_markers;
    size_t max_tokens; /* longest episode; 0: no limit */
};

/*
 * Defaults: the markers "Wait,", "Alternatively,", "Actually,", "Hmm,", "Let me ", "I need to ",
 * "So ", "But "; 256 tokens.
 */
RL_API void rl_episode_options_init(struct rl_episode_options *options);

/*
 * Cut a response into episodes. token [n_tokens+1] holds the byte offsets into text at which tokens
 * begin, then the end, in ascending order. starts [n_tokens] receives the first token of each
 * episode, *n_episodes their number (0 for an empty response). An episode begins at the token that
 * contains the first byte of a marker. An episode longer than max_tokens is cut after the last
 * sentence end (. ! ? or a line end before the token) within max_tokens. If there is none, it is
 * cut after the first sentence end beyond max_tokens, or stays whole. Source: MRT (arXiv
 * 2503.07572).
 */
RL_API RL_NODISCARD enum rl_status rl_episode_starts(const char *text, size_t n_tokens, const size_t *token,
                                                     const struct rl_episode_options *options, size_t *starts, size_t *n_episodes,
                                                     struct rl_error *err);

#endif
