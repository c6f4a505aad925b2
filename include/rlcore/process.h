/*
 * rlcore/process.h: process rewards: what each part of a response was worth, and advantages that
 * keep rewards at their tokens instead of summing them first.
 *
 *     rl_episode_starts        where a response falls into episodes
 *     (the caller measures)    value of each prefix: mean log-prob of the true answer after it
 *     rl_marginal_utility      what each episode added
 *     rl_process_advantage     token advantages from outcomes and process rewards
 *
 * Errors: as in rlcore/status.h; values that are read must be finite.
 */
#ifndef RLCORE_PROCESS_H
#define RLCORE_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* utilities [n-1]: values[j+1] - values[j] of the values of n prefixes in order; n >= 1. */
RL_API RL_NODISCARD enum rl_status rl_marginal_utility(size_t n, const double *values,
                                                       double *utilities, struct rl_error *err);

/* What stands at a token, in the event array. */
enum rl_event { RL_EVENT_NONE = 0, RL_EVENT_PROCESS = 1, RL_EVENT_OUTCOME = 2 };

/*
 * Outcomes and process rewards are normalised apart from each other, each over its own set in the
 * prompt group: (r - mean) / (biased std + 1e-8); 0 in a set of one or of equal values. advantages
 * [B*T] at a response token: the sum of the normalised rewards at its position and after; 0 at mask
 * 0. event [B*T] is one of enum rl_event; rewards [B*T] are read where it is not 0. Needs groups.
 */
RL_API RL_NODISCARD enum rl_status rl_process_advantage(const struct rl_batch *batch,
                                                        const uint8_t *event, const double *rewards,
                                                        double *advantages, struct rl_workspace *ws,
                                                        struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_process_advantagef(const struct rl_batch *batch,
                                                         const uint8_t *event, const float *rewards,
                                                         float *advantages, struct rl_workspace *ws,
                                                         struct rl_error *err);

struct rl_episode_options {
    const char *const *markers; /* [n_markers] beginnings of an episode, matched byte by byte */
    size_t n_markers;
    size_t max_tokens; /* longest stretch without a cut; 0 = no limit */
};

/*
 * "Wait,", "Alternatively,", "Actually,", "Hmm,", "Let me ", "I need to ", "So ", "But "; 256
 * tokens.
 */
RL_API void rl_episode_options_init(struct rl_episode_options *options);

/*
 * Cut a response into episodes. token [n_tokens+1]: byte offsets into text where tokens begin, then
 * the end; ascending. starts [n_tokens] receives the first token of each episode, *n_episodes their
 * number (0 for an empty response). An episode begins at the token that holds the first byte of a
 * marker. A stretch above max_tokens is cut after its last sentence end (. ! ? or a line end before
 * the token) within max_tokens, or after the first one beyond; without a sentence end it stays
 * whole.
 */
RL_API RL_NODISCARD enum rl_status rl_episode_starts(const char *text, size_t n_tokens,
                                                     const size_t *token,
                                                     const struct rl_episode_options *options,
                                                     size_t *starts, size_t *n_episodes,
                                                     struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
