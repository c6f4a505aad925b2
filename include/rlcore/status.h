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
 *   An output array may overlap no input and no other output of the same call, unless its function
 *   says so: kernels write a stretch of tokens before they have read the next one for the last time.
 *   Inputs may overlap each other in any way; one array may serve as two of them.
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
