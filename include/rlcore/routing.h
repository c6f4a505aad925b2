/*
 * rlcore/routing.h: which experts of a mixture of experts (MoE) each token went to, kept as data so
 * that a training pass can replay them.
 *
 * The sampler's engine and the learner choose experts from slightly different numbers, and a token
 * that goes to another expert gets another log-prob, however close the weights are. Replay makes
 * the learner use recorded routes: R2  those of the training engine when it computed the old
 * log-probs R3  those of the inference engine when it sampled This library carries routes, compares
 * them, checks that a replay was one, and says which to use; the forward pass that obeys them is
 * the caller's.
 *
 * Errors: RL_EINVAL for shapes, RL_EVALUE for an expert id out of range or twice in one place, at a
 * token of the mask; the text names array, row, token and layer. Routes at mask 0 are not read.
 */
#ifndef RLCORE_ROUTING_H
#define RLCORE_ROUTING_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Expert id of a position that has none, such as padding. */
#define RL_NO_EXPERT UINT16_MAX

/* Routes of the tokens of a batch. */
struct rl_routes {
    size_t n_layers;         /* L MoE layers */
    size_t top_k;            /* K experts per token and layer; their order means nothing */
    size_t n_experts;        /* ids are 0 .. n_experts - 1; at most 65535 */
    const uint16_t *experts; /* [B*T][L][K] */
};

/* Check routes against a batch; name is used in the message. */
RL_API RL_NODISCARD enum rl_status rl_routes_check(const char *name, const struct rl_routes *routes,
                                                   const struct rl_batch *batch,
                                                   struct rl_error *err);

/* Over the response tokens and all layers; both 1 without any token. */
struct rl_route_agreement {
    double share; /* mean share of a place's K experts that are the same, 0..1 */
    double exact; /* share of places (token, layer) where all K are */
    uint64_t n_places;
};

/*
 * Compare two sets of routes of the same shape. per_layer [L] and per_token [B*T], each unless
 * NULL: mean share of experts in common (per_token: over layers, 0 at mask 0).
 */
RL_API RL_NODISCARD enum rl_status
rl_routes_compare(const struct rl_batch *batch, const struct rl_routes *a,
                  const struct rl_routes *b, double *per_layer, double *per_token,
                  struct rl_route_agreement *out, struct rl_workspace *ws, struct rl_error *err);

/*
 * RL_EVALUE with row, token and layer where the routes a pass used are not those it had to replay,
 * at a token of the mask.
 */
RL_API RL_NODISCARD enum rl_status rl_routes_replayed(const struct rl_batch *batch,
                                                      const struct rl_routes *used,
                                                      const struct rl_routes *recorded,
                                                      struct rl_error *err);

/*
 * Carry routes along when tokens move (packing, cutting, reordering): the token at out position i
 * is the one at position source[i] of routes, or none if source[i] is SIZE_MAX. out [n_out][L][K]
 * receives RL_NO_EXPERT there. RL_EINVAL for a source at or beyond n_tokens. For a micro batch of
 * rlcore/pack.h, source[i] is the first token of sample[i] + position_ids[i], SIZE_MAX in padding.
 */
RL_API RL_NODISCARD enum rl_status rl_routes_carry(const struct rl_routes *routes, size_t n_tokens,
                                                   const size_t *source, size_t n_out,
                                                   uint16_t *out, struct rl_error *err);

enum rl_replay { RL_REPLAY_NONE, RL_REPLAY_R2, RL_REPLAY_R3 };

/*
 * Which replay a MoE needs at off-policiness N = global batch / mini batch, the updates per batch
 * of samples: none at 1, where importance weights do; R2 at 2 and 3; R3 from 4 on. A fraction
 * counts as one update more. R2 and R3 go with clipping. *off_policiness, unless NULL, receives N.
 * RL_EINVAL unless 0 < mini <= global. Source: definitions in fixtures/golden/README.md, "composing
 * the corrections".
 */
RL_API RL_NODISCARD enum rl_status rl_replay_choose(double global_batch, double mini_batch,
                                                    enum rl_replay *replay, double *off_policiness,
                                                    struct rl_error *err);

/* "none", "R2", "R3". */
RL_API const char *rl_replay_name(enum rl_replay replay);

#ifdef __cplusplus
}
#endif

#endif
