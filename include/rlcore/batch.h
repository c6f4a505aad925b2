/*
 * rlcore/batch.h: the shape of a training batch, shared by all token-level kernels.
 *
 * A batch is B rows (rollouts, samples) of T token positions. Real-valued arrays (log-probs,
 * rewards, advantages) are flat, row-major, B*T long, and passed beside this struct, once as double
 * and once as float: every function below the name `rl_x` has a twin `rl_xf` that takes float
 * arrays. Scalars and statistics are double in both.
 *
 * Rows may be ragged (mask ends early) and may have holes (tool tokens inside a response). Whatever
 * stands at mask 0 in an array of reals never influences a result unless a function says otherwise.
 *
 * Turns are explicit. turn_id gives the turn of each response token: 0-based, ascending within a
 * row without skipping, -1 exactly where mask is 0. They are never inferred from rewards or
 * advantages.
 */
#ifndef RLCORE_BATCH_H
#define RLCORE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rl_batch {
    size_t n_rows;        /* B */
    size_t n_tokens;      /* T */
    const uint8_t *mask;  /* [B*T] response mask: 1 = token produced by the policy, else 0 */
    const int32_t *turn;  /* [B*T] turn of each token, or NULL where a kernel needs no turns */
    const int64_t *group; /* [B] prompt group label, arbitrary integers, or NULL where not needed */
};

/* What rl_batch_check demands besides a valid mask. */
enum rl_batch_needs { RL_NEEDS_MASK = 0, RL_NEEDS_TURNS = 1, RL_NEEDS_GROUPS = 2 };

/*
 * Check a batch: mask present and 0 or 1; with RL_NEEDS_TURNS, turn ids present, -1 exactly at mask
 * 0, starting at 0 and ascending by at most 1; with RL_NEEDS_GROUPS, group present. Kernels call
 * this themselves. RL_EINVAL for a missing array, RL_EVALUE for a bad element (the text names
 * array, row and token).
 */
RL_API RL_NODISCARD enum rl_status rl_batch_check(const struct rl_batch *batch, unsigned needs,
                                                  struct rl_error *err);

/*
 * Check an array of reals against the mask: every element at mask 1 must be finite. name is used in
 * the message. Arrays that a kernel reads at every position are checked there with mask NULL.
 */
RL_API RL_NODISCARD enum rl_status rl_batch_check_reals(const char *name, const double *values,
                                                        const struct rl_batch *batch,
                                                        struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_batch_check_realsf(const char *name, const float *values,
                                                         const struct rl_batch *batch,
                                                         struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
