/*
 * real.h: lets one source serve double and float. Files *_real.c write `real` for the element type
 * and the double name of every function; RL_SINGLE selects float and, through single_names.h, the
 * names with suffix f.
 */
#ifndef RLCORE_REAL_H
#define RLCORE_REAL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "support/hot.h"
#include "support/single_names.h"

#ifdef RL_SINGLE
typedef float real;
#define RL_REAL_MAX FLT_MAX
#else
typedef double real;
#define RL_REAL_MAX DBL_MAX
#endif

/*
 * Ask for the values two chunks on: loops that compute much per value do not run far enough ahead
 * themselves to keep memory busy. Addresses beyond an array are only hints.
 */
static RL_INLINE void rl_fetch_ahead(const real *at)
{
    uintptr_t from = (uintptr_t)at + 2 * RL_CHUNK * sizeof *at;
    for (uintptr_t line = 0; line < RL_CHUNK * sizeof *at; line += 64)
        __builtin_prefetch((const void *)(from + line));
}

/*
 * The mask as reals, for a buffer of one chunk: loops over values of one width vectorise, loops
 * that mix bytes and reals often do not.
 */
static RL_INLINE void rl_mask_reals(const uint8_t *mask, size_t n, real *on)
{
    for (size_t t = 0; t < n; t++)
        on[t] = mask[t];
}

/* x limited to [low, high]; NaN stays. Written so that loops over it vectorise. */
static RL_INLINE real rl_limit(real x, real low, real high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

#endif
