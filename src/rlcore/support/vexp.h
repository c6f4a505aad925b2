/*
 * vexp.h: exp for loops that the compiler vectorises: no branch, no call, no table.
 *
 * x = n ln2 + r with |r| <= ln2/2 and exp(r) = 1 + r + r^2 P(r), times 2^n in two factors, so that
 * results near underflow are rounded once and overflow gives infinity. P interpolates at Chebyshev
 * nodes; its relative error is 1.6e-17 (double, degree 9) and 8.8e-9 (float, degree 4). The largest
 * error found against libm is below 1 ulp in both (tests/unit/rlcore_vexp.c). exp(0) is exactly 1;
 * NaN stays NaN.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "support/loops.h"
#include "support/real.h"

#ifdef RL_SINGLE
typedef uint32_t rl_bits;
#define RL_EXP_ROUND 0x1.8p23f /* adding it rounds to a whole number, which is then in the low bits */
#define RL_EXP_MANTISSA 23
#define RL_EXP_BIAS 127u
static const float rl_exp_lowest = -104.0f, rl_exp_highest = 89.0f;
static const float rl_log2e = 0x1.715476p+0f, rl_ln2_high = 0x1.62e0p-1f, rl_ln2_low = 0x1.0bfbe8p-15f;
#else
typedef uint64_t rl_bits;
#define RL_EXP_ROUND 0x1.8p52
#define RL_EXP_MANTISSA 52
#define RL_EXP_BIAS 1023u
static const double rl_exp_lowest = -746.0, rl_exp_highest = 710.0;
static const double rl_log2e = 0x1.71547652b82fep+0, rl_ln2_high = 0x1.62e42feep-1, rl_ln2_low = 0x1.a39ef35793c76p-33;
#endif

/*
 * (exp(r) - 1 - r) / r^2, evaluated in pairs instead of Horner's chain: these loops are limited by
 * how long one result waits for another.
 */
static RL_INLINE real rl_exp_tail(real r)
{
    real r2 = r * r;
#ifdef RL_SINGLE
    real low = (0x1.5554dcp-3f * r + 0.5f) + r2 * (0x1.120b6ep-7f * r + 0x1.55551ap-5f);
    return low + r2 * r2 * 0x1.6d1109p-10f;
#else
    real a = 0x1.5555555555556p-3 * r + 0x1.0000000000001p-1;
    real b = 0x1.11111111109b3p-7 * r + 0x1.5555555553d63p-5;
    real c = 0x1.a01a01a7c41d5p-13 * r + 0x1.6c16c1788bd90p-10;
    real d = 0x1.71de0dae63bb3p-19 * r + 0x1.a019b90d2ae7ap-16;
    real e = 0x1.af38a9b0ec855p-26 * r + 0x1.289185613a3d6p-22;
    real r4 = r2 * r2;
    return (a + r2 * b) + r4 * ((c + r2 * d) + r4 * e);
#endif
}

/*
 * exp(x - n ln2) for the whole n nearest to x / ln2. The remainder is high - low, where high is
 * exact; low is added where the terms are small.
 */
static RL_INLINE real rl_exp_rest(real x, real n)
{
    real high = x - n * rl_ln2_high, low = n * rl_ln2_low;
    real r = high - low;
    return 1 + (high + (r * r * rl_exp_tail(r) - low));
}

static RL_INLINE rl_bits rl_bits_of(real x)
{
    rl_bits bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2^n from n + RL_EXP_ROUND, for a whole n such that the result is a normal number. */
static RL_INLINE real rl_exp2_rounded(real shifted)
{
    rl_bits bits = (rl_bits_of(shifted) + RL_EXP_BIAS) << RL_EXP_MANTISSA;
    memcpy(&shifted, &bits, sizeof bits);
    return shifted;
}

static RL_INLINE real rl_exp(real x)
{
    x = x < rl_exp_lowest ? rl_exp_lowest : x;
    x = x > rl_exp_highest ? rl_exp_highest : x;
    real n = (x * rl_log2e + RL_EXP_ROUND) - RL_EXP_ROUND;
    real half_shifted = (real)0.5 * n + RL_EXP_ROUND;
    real half = half_shifted - RL_EXP_ROUND;
    return rl_exp_rest(x, n) * rl_exp2_rounded(half_shifted) * rl_exp2_rounded(n - half + RL_EXP_ROUND);
}

/* rest times 2^n from n + RL_EXP_ROUND, for |n| so small that nothing overflows or underflows. */
static RL_INLINE real rl_exp_scaled(real rest, real shifted)
{
    rl_bits bits = rl_bits_of(rest) + (rl_bits_of(shifted) << RL_EXP_MANTISSA);
    memcpy(&rest, &bits, sizeof bits);
    return rest;
}

/* exp for |x| <= 80, where nothing can overflow or underflow; most ratios are limited to +-20. */
static RL_INLINE real rl_exp_near(real x)
{
    real shifted = x * rl_log2e + RL_EXP_ROUND;
    return rl_exp_scaled(rl_exp_rest(x, shifted - RL_EXP_ROUND), shifted);
}

/*
 * rl_exp_near of n <= RL_CHUNK numbers, with the same bits. It uses three loops: an exp is one long
 * chain of dependent operations, and a processor looks ahead only so far. With a third of the chain
 * per loop it has more numbers in progress (a sixth faster than one loop).
 */
static RL_INLINE void rl_exp_near_all(real *restrict out, const real *restrict x, size_t n)
{
    _Alignas(64) real shifted[RL_CHUNK], high[RL_CHUNK], low[RL_CHUNK];
#pragma omp simd
    for (size_t t = 0; t < n; t++) {
        shifted[t] = x[t] * rl_log2e + RL_EXP_ROUND;
        real whole = shifted[t] - RL_EXP_ROUND;
        high[t] = x[t] - whole * rl_ln2_high;
        low[t] = whole * rl_ln2_low;
    }
#pragma omp simd
    for (size_t t = 0; t < n; t++) {
        real r = high[t] - low[t];
        out[t] = r * r * rl_exp_tail(r);
    }
#pragma omp simd
    for (size_t t = 0; t < n; t++)
        out[t] = rl_exp_scaled(1 + (high[t] + (out[t] - low[t])), shifted[t]);
}
