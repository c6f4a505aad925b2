/*
 * rlcore/status.h: conventions of the training core: errors, memory, overlap of arrays, layouts,
 * rounding, threads.
 *
 * Errors
 *   A function that can fail returns an enum rl_status: RL_OK (0) or a negative code. Its last
 *   parameter is a `struct rl_error *`, which may be NULL. On failure it receives the same code and one
 *   line of text that names the argument, or the array and the index, at fault. On RL_OK it is left
 *   unchanged. After a failure the contents of the outputs are undefined. Inputs are never modified.
 *
 * Memory
 *   The library allocates nothing, and its only state is the vector level of the process
 *   (rlcore/level.h). Outputs are arrays of the caller. Scratch memory
 *   comes from a `struct rl_workspace`, a block that the caller provides. If the block is too small, the
 *   function returns RL_EWORKSPACE and sets `needed` to the size that suffices. So call once with a
 *   zeroed workspace, allocate `needed` bytes, and call again. The size depends on shapes only, so the
 *   block can be reused for the next batch. A workspace is in use only during the call; each thread
 *   needs its own.
 *
 *       struct rl_workspace ws = {0};
 *       if (rl_something(..., &ws, &err) == RL_EWORKSPACE) {
 *           ws.data = malloc(ws.size = ws.needed);
 *           status = rl_something(..., &ws, &err);
 *       }
 *
 *   RL_EINVAL is returned for a block that is not aligned as malloc aligns, and for a required pointer
 *   that is NULL.
 *
 * Overlap
 *   An output array must not overlap an input or another output of the same call, with the exceptions
 *   below, because kernels write some tokens before they have read the last input. Inputs may overlap
 *   each other in any way; one array may serve as two inputs. Where an output may be an input, the
 *   caller passes the same pointer for both, and the input has the type of the output (not bfloat16).
 *   A failed call has then destroyed the input.
 *
 *     output                                                  may be
 *     d_log_prob of the policy losses, rl_a2tgpo_turn_loss (also its turn_ratio), rl_bypass_loss,
 *         rl_decoupled_loss, rl_compose_loss                  any input array of reals
 *     d_vpreds of rl_value_loss, d_loss_mat of rl_agg_loss    any input array of reals
 *     kl or d_log_prob of rl_kl_penalty, rl_token_kl          either input
 *     advantages of rl_outcome_advantage, rl_process_advantage, rl_adca_advantage; advantages and
 *         returns of rl_reinforce_plus_plus and rl_remax; both outputs of rl_a2tgpo_advantage
 *                                                             rewards
 *     advantages and returns of rl_gae                        rewards, values
 *     advantages and returns of rl_token_baseline             rewards, old_log_prob
 *     advantages of rl_distill                                rl_advantages
 *     d_log_prob of rl_distill                                either log-prob
 *     ratio of rl_opsm                                        either log-prob
 *     x of rl_whiten; the output of rl_turn_normalize, rl_turn_accumulate, rl_turn_clip_scale,
 *         rl_adca_suffix_sums                                 the values they read (in place)
 *
 * Layouts
 *   Every function that takes a struct rl_batch also accepts rows with gaps between them, ragged rows,
 *   and masks and turn ids of 32 or 64 bits, through struct rl_layout of rlcore/batch.h. Functions that
 *   take arrays without a struct rl_batch have a twin that takes a batch: rl_adca_batch_*,
 *   rl_batch_stream_*, rl_token_kl. All these functions read bfloat16 and write float if they have the
 *   suffix f. Nothing is copied. The only functions without layouts are rl_distill_cut and the functions
 *   over turns, groups, samples and plans, which have no tokens.
 *
 * Rounding
 *   Products and sums are never fused. A sum over the tokens of a row is taken in chunks of 128 tokens:
 *   token t of a chunk is added to lane t mod 8 (float: 16; sums held in double: 8), then the lanes are
 *   added by halves (0 + 4, 1 + 5, .. then 0 + 2, ..). Chunks and rows are added in double, in their
 *   order. Results therefore have the same bits on every machine, for every vector width, layout and
 *   number of threads, unless exp and log of libm differ.
 *
 * Threads
 *   Kernels over tokens share their rows among OpenMP threads. The number of threads is the caller's
 *   setting of OpenMP: OMP_NUM_THREADS, or omp_set_num_threads() before the call. A library built
 *   without OpenMP (LINEAGE_OPENMP=OFF) uses the calling thread alone, and so does every batch below
 *   16384 token positions, where starting threads costs more than it saves. Within a parallel region a
 *   kernel runs on its thread alone unless nested parallelism is on. Calls from several threads at a
 *   time are safe if each has its own workspace and outputs.
 */
#ifndef RLCORE_STATUS_H
#define RLCORE_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
#define RL_C extern "C"
#else
#define RL_C
#endif

#if defined(__GNUC__)
#define RL_API RL_C __attribute__((visibility("default")))
#define RL_NODISCARD __attribute__((warn_unused_result))
#else
#define RL_API RL_C
#define RL_NODISCARD
#endif

enum rl_status {
    RL_OK = 0,
    RL_EINVAL = -1, /* an argument, a shape or an option is not allowed */
    RL_EVALUE = -2, /* an array holds a value that is not allowed there (NaN, a mask of 2, ...) */
    RL_EWORKSPACE = -3, /* the workspace is too small; see rl_workspace.needed */
    RL_ENOMAX = -4,     /* a fit has no maximum, a search has no answer */
    RL_ECALLBACK = -5   /* a callback returned failure */
};

#define RL_ERROR_TEXT_MAX 192

struct rl_error {
    enum rl_status status;
    char text[RL_ERROR_TEXT_MAX]; /* NUL-terminated, starts in lower case, no newline */
};

/* Scratch memory of one call. data must be aligned as malloc aligns (16 bytes). */
struct rl_workspace {
    void *data;    /* block of the caller; NULL if size is 0 */
    size_t size;   /* size of the block in bytes */
    size_t needed; /* out: bytes that the last call needed */
};

/* Short constant text for a status ("invalid argument"); never NULL. */
RL_API const char *rl_status_text(enum rl_status status);

#endif
