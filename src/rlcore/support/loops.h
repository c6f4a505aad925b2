/*
 * loops.h: how the inner loops of rlcore are written.
 *
 * Each loop over tokens is a HOT function (hot/hot.h), compiled for several vector levels. Products and sums
 * are never fused, so that all levels round each element alike, and sums are taken by rl_sum, whose order
 * does not depend on the level.
 */
#pragma once

#include "hot/hot.h"

/*
 * Marks a body that several HOT functions share, with the function that the body calls given as a
 * constant.
 */
#define RL_INLINE inline __attribute__((always_inline))

/*
 * Promises that no iteration of the next loop reads memory that another one writes, as `omp simd` does. It is for loops
 * that also count: the compiler itself keeps the sum of integers in a register, whereas gcc makes an array on the stack of a
 * `reduction` of `omp simd`, which it writes in every iteration.
 */
#ifdef __clang__
#define RL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RL_INDEPENDENT _Pragma("GCC ivdep")
#endif

/*
 * Tokens per inner loop: few enough that partial sums in `real` stay short and buffers fit into the
 * first-level cache.
 */
enum { RL_CHUNK = 128 };

/* Below this many tokens, starting threads costs more than it saves. */
enum { RL_PARALLEL_TOKENS = 1 << 14 };
