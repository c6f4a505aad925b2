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
 *
 * Rows further apart than they are wide, rows one behind the other without padding, masks and turns
 * of 64 bits, log-probs in bfloat16: struct rl_layout, below.
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
    size_t n_tokens;      /* T; RL_LAYOUT: this struct is the first member of a struct rl_layout */
    const uint8_t *mask;  /* [B*T] response mask: 1 = token produced by the policy, else 0 */
    const int32_t *turn;  /* [B*T] turn of each token, or NULL where a kernel needs no turns */
    const int64_t *group; /* [B] prompt group label, arbitrary integers, or NULL where not needed */
};

/* n_tokens of a batch that is the first member of a struct rl_layout, where T then stands. */
#define RL_LAYOUT SIZE_MAX

/* What the elements of a mask, or of turn ids, are. */
enum rl_integers {
    RL_INTEGERS,    /* as struct rl_batch has them: masks one byte (or bool), turns int32_t */
    RL_INTEGERS_32, /* int32_t */
    RL_INTEGERS_64  /* int64_t, what PyTorch makes of a comparison that is counted with */
};

/*
 * A batch as it lies in a caller's memory. Every function that takes a struct rl_batch takes the
 * address of this one's first member as well, and reads all arrays where they are. Members that are
 * 0 mean what struct rl_batch means. For packed rows as PyTorch holds them:
 *
 *     struct rl_layout layout = {.batch = {.n_rows = B, .n_tokens = RL_LAYOUT, .group = group,
 *                                          .mask = (const uint8_t *)mask},
 *                                .size = sizeof layout, .start = cu_seqlens,
 *                                .mask_type = RL_INTEGERS_64, .bf16 = RL_BF16(0)};
 *     status = rl_ppo_lossf(&layout.batch, &in, &options, d_log_prob, &out, &ws, &err);
 *
 * and for columns 3 to 39 of matrices that are 64 wide: .n_tokens = 37, .stride = 64, each array's
 * pointer at its own element 3. Whole programs: tests/examples/ragged_bf16.cpp, .py.
 *
 * An array "[B*T]" of such a call, input or output, mask, turns, reals or tool marks, has token t
 * of row i at i * stride + t or, ragged, at start[i] + t: one stride or one start[] for all of them,
 * d_log_prob included. What lies between rows is neither read nor written, and no array needs to
 * reach beyond the last token of its last row. Each is aligned as its own elements, no more. Masks
 * that come out are one byte and turns four a token, whatever went in. [B] arrays are as ever.
 * Ragged rows need a mask too; it may be all 1.
 *
 * Results are those of the same batch padded to T with mask 0 (turn -1, reals 0), to the bit. T
 * counts where a definition divides by it (RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM) or sizes of workspaces
 * do.
 *
 * bf16: bit k says that the k-th array of reals that the function reads, from 0 in the order of its
 * arguments and, of a struct, of its members, holds bfloat16 (uint16_t, the upper half of a float)
 * behind its float pointer. NULL arrays count, outputs and those of another type than the
 * function's reals (rewards [B] in double) do not: of rl_ppo_lossf 0 is log_prob, 1 old_log_prob,
 * 2 advantages, 3 weights, 4 entropy; of rl_a2tgpo_turn_lossf 5 is clip_scale. Outputs stay float.
 * Only the functions with suffix f; those without refuse it.
 *
 * RL_EINVAL: size is another, stride is below n_tokens or beside start, a start is after the next
 * one, a row is longer than n_tokens, a type is unknown. That arrays are as long as stride or start
 * say cannot be checked. Errors name row and token, [i][t], in every layout.
 */
struct rl_layout {
    struct rl_batch batch;
    size_t size;         /* sizeof(struct rl_layout); later versions may append members */
    size_t n_tokens;     /* T, not below the longest row; 0 with start: the longest row */
    size_t stride;       /* elements from one row to the next, T or more; 0: T, or ragged */
    const size_t *start; /* [B+1] ascending from anywhere, start[B] the end of the last row: ragged;
                            NULL: not. A cast int64_t array (cu_seqlens) will do, an int32_t not */
    enum rl_integers mask_type, turn_type; /* what batch.mask and batch.turn really point to */
    uint32_t bf16; /* RL_BF16(k) of each such array, or-ed; 0: none */
};

#define RL_BF16(k) ((uint32_t)1 << (k))
#define RL_BF16_ALL UINT32_MAX /* all arrays of reals */

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
