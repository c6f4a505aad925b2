/*
 * rlcore/batch.h: the shape of a training batch, shared by all token-level kernels.
 *
 * A batch is B rows (rollouts, samples) of T token positions. Arrays of reals (log-probs, rewards,
 * advantages) are flat and row-major, B*T long, and are passed as separate arguments. Every
 * function rl_x takes double arrays and has a twin rl_xf that takes float arrays. Scalars and
 * statistics are double in both.
 *
 * Rows may be ragged (the mask ends early) and may have holes (tool tokens inside a response). A
 * real at mask 0 never influences a result unless a function says otherwise.
 *
 * Turns are explicit. turn gives the turn of each response token: the ids of a row begin at 0,
 * ascend and skip none, and are -1 exactly where the mask is 0. Turns are never inferred from
 * rewards or advantages.
 *
 * struct rl_layout below describes batches in other layouts: rows with gaps between them, rows
 * without padding, masks and turns of 64 bits, log-probs in bfloat16.
 */
#ifndef RLCORE_BATCH_H
#define RLCORE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>

struct rl_batch {
    size_t n_rows;        /* B */
    size_t n_tokens;      /* T; or RL_LAYOUT if this is the first member of a struct rl_layout */
    const uint8_t *mask;  /* [B*T] response mask: 1 for a token that the policy produced, else 0 */
    const int32_t *turn;  /* [B*T] turn of each token, or NULL if the kernel needs no turns */
    const int64_t *group; /* [B] prompt group labels, arbitrary integers, or NULL if not needed */
};

/*
 * The value of n_tokens in a batch that is the first member of a struct rl_layout, which has its
 * own n_tokens.
 */
#define RL_LAYOUT SIZE_MAX

/* The type of the elements of a mask or of turn ids. */
enum rl_integers {
    RL_INTEGERS,    /* the types in struct rl_batch: uint8_t (or bool) masks, int32_t turns */
    RL_INTEGERS_32, /* int32_t */
    RL_INTEGERS_64  /* int64_t, the type of integers in PyTorch */
};

/*
 * A batch in a layout of the caller's choice. Every function that takes a struct rl_batch also
 * accepts the address of the first member of this struct, and then reads all arrays in that layout,
 * without copying. Members that are 0 have the meaning of struct rl_batch. For packed rows as
 * PyTorch stores them:
 *
 *     struct rl_layout layout = {.batch = {.n_rows = B, .n_tokens = RL_LAYOUT, .group = group,
 *                                          .mask = (const uint8_t *)mask},
 *                                .size = sizeof layout, .start = cu_seqlens,
 *                                .mask_type = RL_INTEGERS_64, .bf16 = RL_BF16(0)};
 *     status = rl_ppo_lossf(&layout.batch, &in, &options, d_log_prob, &out, &ws, &err);
 *
 * For columns 3 to 39 of matrices that are 64 wide: .n_tokens = 37, .stride = 64, and each array's
 * pointer at its own element 3. Complete programs: tests/examples/ragged_bf16.cpp, .py.
 *
 * In such a call every array [B*T], input or output (mask, turns, reals, tool marks, d_log_prob),
 * has token t of row i at i * stride + t, or at start[i] + t if it is ragged. Elements between rows
 * are neither read nor written, and no array needs to extend beyond the last token of its last row.
 * Each array is aligned as its elements are. Masks that a function writes have one byte per token
 * and turns four, whatever the inputs have. Arrays [B] are unaffected. Ragged rows need a mask too;
 * it may be all 1.
 *
 * The results are bit-identical to those of the same batch padded to T with mask 0 (turn -1, reals
 * 0). T matters where a definition divides by it (RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM) and for the sizes
 * of workspaces.
 *
 * bf16: bit k says that the float pointer of the k-th array of reals that the function reads points
 * to bfloat16 values (uint16_t, the upper half of a float). Arrays are counted from 0 in the order
 * of the arguments and, within a struct, of its members. NULL arrays count; outputs and arrays of
 * another type than the function's reals (rewards [B] in double) do not. For rl_ppo_lossf, 0 is
 * log_prob, 1 old_log_prob, 2 advantages, 3 weights, 4 entropy; for rl_a2tgpo_turn_lossf, 5 is
 * clip_scale. Outputs are float. Functions without the suffix f return RL_EINVAL.
 *
 * RL_EINVAL is also returned if size is not sizeof(struct rl_layout), stride is below n_tokens or
 * given together with start, a start is after the next one, a row is longer than n_tokens, or a
 * type is unknown. The library cannot check that arrays are as long as stride or start require.
 * Errors name row and token, [i][t], in every layout.
 */
struct rl_layout {
    struct rl_batch batch;
    size_t size;         /* sizeof(struct rl_layout); later versions may append members */
    size_t n_tokens;     /* T, at least the longest row; 0 with start: the longest row */
    size_t stride;       /* elements from one row to the next, at least T; 0: T, or ragged */
    const size_t *start; /* ragged: [B+1] where rows begin, ascending from any value; start[B] is
                            the end of the last row. NULL: not ragged. An int64_t array (cu_seqlens)
                            may be cast, an int32_t array not */
    enum rl_integers mask_type, turn_type; /* the element types of batch.mask and batch.turn */
    uint32_t bf16; /* bitwise OR of RL_BF16(k) for each bfloat16 array k; 0: none */
};

#define RL_BF16(k) ((uint32_t)1 << (k))
#define RL_BF16_ALL UINT32_MAX /* every array of reals */

/* What rl_batch_check demands in addition to a valid mask. */
enum rl_batch_needs { RL_NEEDS_MASK = 0, RL_NEEDS_TURNS = 1, RL_NEEDS_GROUPS = 2 };

/*
 * Check a batch. The mask must exist and be 0 or 1. With RL_NEEDS_TURNS, turn ids must exist, be -1
 * exactly at mask 0, begin at 0 and ascend by at most 1. With RL_NEEDS_GROUPS, group must exist.
 * Kernels call this themselves. RL_EINVAL for a missing array, RL_EVALUE for a bad element; the
 * text names array, row and token.
 */
RL_API RL_NODISCARD enum rl_status rl_batch_check(const struct rl_batch *batch, unsigned needs, struct rl_error *err);

/*
 * Check that an array of reals is finite at mask 1, or at every position if the mask is NULL.
 * `name` appears in the message.
 */
RL_API RL_NODISCARD enum rl_status rl_batch_check_reals(const char *name, const double *values, const struct rl_batch *batch,
                                                        struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_batch_check_realsf(const char *name, const float *values, const struct rl_batch *batch,
                                                         struct rl_error *err);

/*
 * Check that no reward [B*T] is at mask 0, as the outcome of a rollout that ends with a tool's answer
 * is. RL_EVALUE names the first. Estimators that do not read rewards there call this check, except
 * those whose published numbers ignore them: rl_remax, rl_reinforce_plus_plus without through_holes
 * and rl_token_baseline without compact. Their callers call it.
 */
RL_API RL_NODISCARD enum rl_status rl_batch_check_rewards(const double *rewards, const struct rl_batch *batch,
                                                          struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_batch_check_rewardsf(const float *rewards, const struct rl_batch *batch,
                                                           struct rl_error *err);

#endif
