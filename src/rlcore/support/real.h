/*
 * real.h: lets one source serve double and float. Files *_real.c use `real` as element type and the
 * double name of every function. RL_SINGLE selects float and, through single_names.h, the names
 * with suffix f.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "support/grid.h"
#include "support/loops.h"
#include "support/single_names.h"

#ifdef RL_SINGLE
typedef float real;
#define RL_REAL_MAX FLT_MAX
#else
typedef double real;
#define RL_REAL_MAX DBL_MAX
#endif

/* Integers as wide as a real: loops over elements of equal width are vectorised. */
#ifdef RL_SINGLE
typedef int32_t rl_int;
#else
typedef int64_t rl_int;
#endif

/* rl_grid_open for a kernel of this precision. */
static inline enum rl_status rl_grid_of(struct rl_grid *grid, const struct rl_batch *batch, unsigned needs, struct rl_error *err)
{
    return rl_grid_open(grid, batch, needs, sizeof(real) == sizeof(float), err);
}

/*
 * Prefetch the values two chunks ahead: loops that compute much per value do not run far enough
 * ahead to keep the memory busy. Addresses beyond an array are only hints. The empty statement
 * hides the origin of the address, because GCC would otherwise keep one running address per line.
 */
static RL_INLINE void rl_fetch_ahead(const real *at)
{
    uintptr_t from = (uintptr_t)at + 2 * RL_CHUNK * sizeof *at;
    __asm__("" : "+r"(from));
    for (uintptr_t line = 0; line < RL_CHUNK * sizeof *at; line += 64)
        __builtin_prefetch((const void *)(from + line));
}

/* ---- conditions as bits: all ones for true, 0 for false ---- */

/*
 * A choice by bit masks has no branch, and all its operands have the same width. Whether `?:` is
 * vectorised depends on the version of the compiler.
 */
static RL_INLINE rl_int rl_below(real a, real b)
{
    return -(rl_int)(a < b);
}

static RL_INLINE rl_int rl_equal(real a, real b)
{
    return -(rl_int)(a == b);
}

static RL_INLINE rl_int rl_bits_in(real x)
{
    rl_int bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static RL_INLINE real rl_real_of(rl_int bits)
{
    real x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* |x|; fabs is not defined for both types. */
static RL_INLINE real rl_size(real x)
{
    return (real)fabs((double)x);
}

/* Returns x if `on` is set, else 0, even if x is NaN. */
static RL_INLINE real rl_keep(rl_int on, real x)
{
    return rl_real_of(rl_bits_in(x) & on);
}

static RL_INLINE real rl_pick(rl_int on, real x, real otherwise)
{
    return rl_real_of((rl_bits_in(x) & on) | (rl_bits_in(otherwise) & ~on));
}

/* Returns bits that are all set unless |x| <= limit; they are set for NaN. */
static RL_INLINE rl_int rl_beyond(real x, real limit)
{
    return -(rl_int) !(rl_size(x) <= limit);
}

/* Returns 0 if x is finite, else other bits. They may be joined by |, which tells whether several values are finite. */
static RL_INLINE rl_int rl_not_finite(real x)
{
    return rl_bits_in(x - x);
}

/* The mask of n <= RL_CHUNK tokens from i on, as bits for rl_keep. */
static RL_INLINE void rl_mask_bits(const struct rl_grid *grid, size_t i, size_t n, rl_int *on)
{
    const uint8_t *mask = grid->mask + i * grid->mask_step;
    size_t step = grid->mask_step;
    if (step == 1)
        for (size_t t = 0; t < n; t++)
            on[t] = -(rl_int)mask[t];
    else
        for (size_t t = 0; t < n; t++)
            on[t] = -(rl_int)mask[t * step];
}

/*
 * x limited to [low, high]; NaN stays NaN. The form lets the compiler vectorise loops that call it.
 */
static RL_INLINE real rl_limit(real x, real low, real high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* ---- sums of which every bit is defined ---- */

enum { RL_LANES = 64 / sizeof(real), RL_WIDE_LANES = 64 / sizeof(double) };

/* The elements of whole blocks of lanes that hold n of them; at least one block. */
static RL_INLINE size_t rl_whole(size_t n, size_t lanes)
{
    return n ? (n + lanes - 1) / lanes * lanes : lanes;
}

/* Add `half` lanes to the ones below them. half is a constant at every call, so that no loop is left. */
static RL_INLINE void rl_fold(real *lane, size_t half)
{
    for (size_t j = 0; j < half; j++)
        lane[j] += lane[j + half];
}

/* Add the upper half of the lanes to the lower half until one is left. */
static RL_INLINE real rl_sum_lanes(real *lane)
{
    if (RL_LANES == 16)
        rl_fold(lane, 8);
    rl_fold(lane, 4);
    rl_fold(lane, 2);
    return lane[0] + lane[1];
}

/*
 * The sum of at most one chunk, in the order that rlcore/status.h defines: first into as many lanes
 * as the widest registers hold, then the upper half of the lanes onto the lower half until one is
 * left. Elements from n on are set to 0.
 *
 * The loop over the lanes is outside and becomes vectors, so that a level with short vectors adds up
 * some lanes after others, each in a register. With the loops the other way round the lanes are an array
 * on the stack, which every step reads and writes.
 */
static RL_INLINE real rl_sum(real *term, size_t n)
{
    real lane[RL_LANES];
    const size_t end = rl_whole(n, RL_LANES);
    for (size_t t = n; t < end; t++)
        term[t] = 0;
#pragma omp simd
    for (size_t j = 0; j < RL_LANES; j++) {
        real sum = 0;
        size_t t = 0;
        do {
            sum += term[t + j];
            t += RL_LANES;
        } while (t < end);
        lane[j] = sum;
    }
    return rl_sum_lanes(lane);
}

/* rl_sum of a whole chunk, over the elements whose `on` is set. */
static RL_INLINE real rl_sum_kept(const rl_int *on, const real *x)
{
    real lane[RL_LANES];
#pragma omp simd
    for (size_t j = 0; j < RL_LANES; j++) {
        real sum = 0;
        for (size_t t = 0; t < RL_CHUNK; t += RL_LANES)
            sum += rl_keep(on[t + j], x[t + j]);
        lane[j] = sum;
    }
    return rl_sum_lanes(lane);
}

/*
 * Computes the smallest and the largest of n numbers, at most one chunk. NaN is skipped; if all are NaN, the results are infinity
 * and -infinity. Elements from n to the end of the last vector are set to NaN. The loop over the lanes is the outer one for the
 * same reason as in rl_sum.
 */
static RL_INLINE void rl_extremes(real *x, size_t n, real *least, real *most)
{
    real low[RL_LANES], high[RL_LANES];
    const size_t end = rl_whole(n, RL_LANES);
    for (size_t t = n; t < end; t++)
        x[t] = NAN;
#pragma omp simd
    for (size_t j = 0; j < RL_LANES; j++) {
        real down = INFINITY, up = -INFINITY;
        size_t t = 0;
        do {
            down = x[t + j] < down ? x[t + j] : down;
            up = x[t + j] > up ? x[t + j] : up;
            t += RL_LANES;
        } while (t < end);
        low[j] = down;
        high[j] = up;
    }
    *least = low[0];
    *most = high[0];
    for (size_t j = 1; j < RL_LANES; j++) {
        *least = low[j] < *least ? low[j] : *least;
        *most = high[j] > *most ? high[j] : *most;
    }
}

/* rl_sum of doubles, in either precision. */
static RL_INLINE double rl_sum_wide(double *term, size_t n)
{
    double lane[RL_WIDE_LANES];
    const size_t end = rl_whole(n, RL_WIDE_LANES);
    for (size_t t = n; t < end; t++)
        term[t] = 0;
#pragma omp simd
    for (size_t j = 0; j < RL_WIDE_LANES; j++) {
        double sum = 0;
        size_t t = 0;
        do {
            sum += term[t + j];
            t += RL_WIDE_LANES;
        } while (t < end);
        lane[j] = sum;
    }
    for (size_t j = 0; j < 4; j++)
        lane[j] += lane[j + 4];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

/* ---- arrays of reals, or of bfloat16 in their place ---- */

static RL_INLINE bool rl_is_bf16(const struct rl_grid *grid, unsigned k)
{
#ifdef RL_SINGLE
    return grid->bf16 >> k & 1;
#else
    (void)grid, (void)k;
    return false;
#endif
}

/* A bfloat16 is the upper half of a float. */
static RL_INLINE real rl_from_bf16(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return (real)x;
}

static RL_INLINE const uint16_t *rl_halves(const real *array)
{
    return (const uint16_t *)(const void *)array;
}

/* Element i of the k-th array of reals of a call. */
static RL_INLINE real rl_real_at(const struct rl_grid *grid, unsigned k, const real *array, size_t i)
{
    return rl_is_bf16(grid, k) ? rl_from_bf16(rl_halves(array)[i]) : array[i];
}

/*
 * n elements from i on: in place, or converted into the buffer if they are bfloat16. NULL stays
 * NULL.
 */
static RL_INLINE const real *rl_reals_at(const struct rl_grid *grid, unsigned k, const real *array, size_t i, size_t n,
                                         real *buffer)
{
    if (!array)
        return NULL;
    if (!rl_is_bf16(grid, k))
        return array + i;
    const uint16_t *half = rl_halves(array) + i;
    for (size_t t = 0; t < n; t++)
        buffer[t] = rl_from_bf16(half[t]);
    return buffer;
}

/*
 * rl_reals_at filled up to a whole chunk: at the end of a row the elements are copied to the
 * buffer, followed by 0.
 */
static RL_INLINE const real *rl_chunk_at(const struct rl_grid *grid, unsigned k, const real *array, size_t i, size_t n,
                                         real *buffer)
{
    const real *at = rl_reals_at(grid, k, array, i, n, buffer);
    if (!at || n == RL_CHUNK)
        return at;
    memmove(buffer, at, n * sizeof *at);
    memset(buffer + n, 0, (RL_CHUNK - n) * sizeof *at);
    return buffer;
}

/*
 * rl_batch_check_reals for the k-th array of a call: the elements at mask 1, or all elements, must
 * be finite.
 */
enum rl_status rl_grid_check_reals(const char *name, const struct rl_grid *grid, unsigned k, const real *values, bool everywhere,
                                   struct rl_error *err);

/* rl_batch_check_rewards; accepts a batch without a mask. The rewards are the first array of the call. */
enum rl_status rl_grid_check_rewards(const struct rl_grid *grid, const real *rewards, struct rl_error *err);
