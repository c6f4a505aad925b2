/*
 * rlcore/status.h: what every function of the training core returns.
 *
 * Errors
 *   A fallible function returns an enum rl_status: RL_OK (0) or a negative code. Its last parameter
 *   is a `struct rl_error *`, which may be NULL; on failure it holds the same code and one line of
 *   text that names the argument or array and the index at fault. On RL_OK it is left alone. A
 *   function that fails has written nothing its caller may rely on; inputs are never modified.
 *
 * Memory
 *   The library allocates nothing and keeps no state. Outputs are the caller's arrays. Scratch
 *   memory comes from a `struct rl_workspace`: the caller points it at a block; a kernel that finds
 *   it too small returns RL_EWORKSPACE with `needed` set to the size that suffices. So: call once
 *   with a zeroed workspace, allocate `needed` bytes, call again; the size depends on shapes only,
 *   so the block can be kept for the next batch. A workspace is in use during the call only. One
 *   per thread.
 *
 *   A block that is not aligned as malloc aligns is refused (RL_EINVAL), and so is every pointer that
 *   is needed and NULL.
 *
 *       struct rl_workspace ws = {0};
 *       if (rl_something(..., &ws, &err) == RL_EWORKSPACE) {
 *           ws.data = malloc(ws.size = ws.needed);
 *           status = rl_something(..., &ws, &err);
 *       }
 *
 * Overlap
 *   An output array may overlap no input and no other output of the same call, unless the table
 *   below (or its function) says so: kernels write a stretch of tokens before they have read the
 *   next one for the last time. Inputs may overlap each other in any way; one array may serve as
 *   two of them. Where an output may be an input, it is the same pointer or does not overlap, and
 *   the input is of the output's type (no bfloat16). If such a call fails, the input is lost.
 *
 *     d_log_prob of the policy losses, rl_a2tgpo_turn_loss (turn_ratio too), rl_bypass_loss,
 *         rl_decoupled_loss, rl_compose_loss      any input array of reals
 *     d_vpreds of rl_value_loss, d_loss_mat       any input array of reals
 *     kl or d_log_prob of rl_kl_penalty, rl_token_kl          either input
 *     advantages of rl_outcome_advantage, rl_process_advantage, rl_adca_advantage; advantages and
 *         returns of rl_reinforce_plus_plus and rl_remax; both outputs of rl_a2tgpo_advantage
 *                                                 rewards
 *     advantages and returns of rl_gae            rewards, values
 *     advantages and returns of rl_token_baseline    rewards, old_log_prob
 *     advantages of rl_distill                    rl_advantages; its d_log_prob: either log-prob
 *     ratio of rl_opsm                            either log-prob
 *     x of rl_whiten; values and what is made of them in rl_turn_normalize, rl_turn_accumulate,
 *         rl_turn_clip_scale, rl_adca_suffix_sums    in place
 *
 * Layouts
 *   Rows further apart than wide, ragged rows, masks and turn ids of 32 or 64 bits: every function
 *   that takes a struct rl_batch, by struct rl_layout of rlcore/batch.h; so do, in place of
 *   functions with arguments of their own, rl_adca_batch_*, rl_batch_stream_* and rl_token_kl.
 *   bfloat16 in, float out: all of them with suffix f. Nothing is copied; only rl_distill_cut and
 *   the functions over turns, groups, samples and plans, which have no tokens, know no layouts.
 *
 * Rounding
 *   Products and sums are never fused. A sum over the tokens of a row is taken by chunks of 128: in
 *   a chunk token t goes to lane t mod 8 (float: 16; sums held in double: 8), lanes are added by
 *   halves (0 + 4, 1 + 5, .. then 0 + 2, ..), and chunks and rows in double, in their order. Results
 *   are therefore the same to the bit on every machine, whatever its vectors, for every layout, and
 *   for any number of threads, as far as libm's exp and log are.
 *
 * Threads
 *   Kernels over tokens share their rows among OpenMP threads, as many as the caller's OpenMP gives:
 *   OMP_NUM_THREADS, or omp_set_num_threads() before the call; a library built without OpenMP
 *   (LINEAGE_OPENMP=OFF) uses the calling thread alone. Batches below 16384 token positions always
 *   do, since starting threads costs more than it saves there. Called from within a parallel region
 *   a kernel runs on its thread alone, unless nested parallelism was switched on. Results are the
 *   same to the bit for any number of threads. The library keeps no state: calls from several
 *   threads at a time are fine, each with a workspace and outputs of its own.
 */
#ifndef RLCORE_STATUS_H
#define RLCORE_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RL_API __attribute__((visibility("default")))
#define RL_NODISCARD __attribute__((warn_unused_result))
#else
#define RL_API
#define RL_NODISCARD
#endif

enum rl_status {
    RL_OK = 0,
    RL_EINVAL = -1, /* an argument, a shape or an option is not allowed */
    RL_EVALUE = -2, /* an array holds a value that is not allowed there (NaN, a mask of 2, ...) */
    RL_EWORKSPACE = -3, /* the workspace is too small; see rl_workspace.needed */
    RL_ENOMAX = -4,     /* a fit has no maximum, a search has no answer */
    RL_ECALLBACK = -5   /* a function given by the caller reported failure */
};

#define RL_ERROR_TEXT_MAX 192

struct rl_error {
    enum rl_status status;
    char text[RL_ERROR_TEXT_MAX]; /* NUL-terminated, starts in lower case, no newline */
};

/* Scratch memory of one call. data must be aligned as malloc aligns (16 bytes). */
struct rl_workspace {
    void *data;    /* the caller's block, NULL when size is 0 */
    size_t size;   /* its length in bytes */
    size_t needed; /* out: bytes the last call asked for */
};

/* Short constant text for a status ("invalid argument"); never NULL. */
RL_API const char *rl_status_text(enum rl_status status);

#ifdef __cplusplus
}
#endif

#endif
