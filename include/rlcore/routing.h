/*
 * rlcore/routing.h: the experts that each token of a mixture of experts (MoE) was routed to, stored
 * as data so that a training pass can replay them.
 *
 * The sampler's engine and the learner choose experts from slightly different numbers, and a token
 * that is routed to another expert gets another log-prob, however close the weights are. Replay
 * makes the learner use recorded routes:
 *     R2  the routes of the training engine when it computed the old log-probs
 *     R3  the routes of the inference engine when it sampled
 * This library carries and compares routes, checks that a pass replayed them, and chooses between
 * R2 and R3. The forward pass that follows the routes belongs to the caller.
 *
 * Errors: RL_EINVAL for shapes; RL_EVALUE for an expert id that is out of range or occurs twice in
 * one token and layer, at a token of the mask. The text names array, row, token and layer. Routes
 * at mask 0 are not read.
 */
#ifndef RLCORE_ROUTING_H
#define RLCORE_ROUTING_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

/* Expert id of a position that has none, such as padding. */
#define RL_NO_EXPERT UINT16_MAX

/* Routes of the tokens of a batch. */
struct rl_routes {
    size_t n_layers;         /* L MoE layers */
    size_t top_k;            /* K experts per token and layer, in any order */
    size_t n_experts;        /* ids are 0 .. n_experts - 1; at most 65535 */
    const uint16_t *experts; /* [B*T][L][K] */
};

/* Check routes against a batch; name is used in the message. */
RL_API RL_NODISCARD enum rl_status rl_routes_check(const char *name, const struct rl_routes *routes, const struct rl_batch *batch,
                                                   struct rl_error *err);

/* Agreement over the response tokens and all layers; both numbers are 1 without any token. */
struct rl_route_agreement {
    double share; /* mean share of the K experts of a place (token, layer) that agree, 0..1 */
    double exact; /* share of the places where all K agree */
    uint64_t n_places;
};

/*
 * Compare two sets of routes of the same shape. per_layer [L] and per_token [B*T], each unless
 * NULL, receive the mean share of experts in common (per_token: over the layers, 0 at mask 0).
 */
RL_API RL_NODISCARD enum rl_status rl_routes_compare(const struct rl_batch *batch, const struct rl_routes *a,
                                                     const struct rl_routes *b, double *per_layer, double *per_token,
                                                     struct rl_route_agreement *out, struct rl_workspace *ws,
                                                     struct rl_error *err);

/*
 * Check that a pass used the recorded routes at every token of the mask. RL_EVALUE, with row, token
 * and layer, if it did not.
 */
RL_API RL_NODISCARD enum rl_status rl_routes_replayed(const struct rl_batch *batch, const struct rl_routes *used,
                                                      const struct rl_routes *recorded, struct rl_error *err);

/*
 * Move routes along with their tokens (packing, cutting, reordering). The token at output position
 * i came from position source[i], or is new if source[i] is SIZE_MAX; out [n_out][L][K] then
 * receives RL_NO_EXPERT. RL_EINVAL if a source is n_tokens or larger. For a micro batch of
 * rlcore/pack.h, source[i] is the first token of sample[i] + position_ids[i], and SIZE_MAX in
 * padding.
 */
RL_API RL_NODISCARD enum rl_status rl_routes_carry(const struct rl_routes *routes, size_t n_tokens, const size_t *source,
                                                   size_t n_out, uint16_t *out, struct rl_error *err);

enum rl_replay { RL_REPLAY_NONE, RL_REPLAY_R2, RL_REPLAY_R3 };

/*
 * The replay that a MoE needs at off-policiness N = global batch / mini batch, which is the number
 * of updates per batch of samples: none for N = 1, where importance weights suffice; R2 for N up to
 * 3; R3 for larger N. R2 and R3 require clipping. *off_policiness, unless NULL, receives N.
 * RL_EINVAL unless 0 < mini_batch <= global_batch, both whole. Source: definitions in
 * fixtures/golden/README.md, "composing the corrections".
 */
RL_API RL_NODISCARD enum rl_status rl_replay_choose(double global_batch, double mini_batch, enum rl_replay *replay,
                                                    double *off_policiness, struct rl_error *err);

/* "none", "R2", "R3". */
RL_API const char *rl_replay_name(enum rl_replay replay);

#endif
