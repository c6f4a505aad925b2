/*
 * vexp.h: exp for loops the compiler vectorises: no branch, no call, no table.
 *
 * x = n ln2 + r with |r| <= ln2/2, exp(r) = 1 + r + r^2 P(r), times 2^n in two factors, so that results near
 * underflow round once and overflow reaches infinity. P interpolates at Chebyshev nodes; its relative error is
 * 1.6e-17 (double, degree 9) and 8.8e-9 (float, degree 4). Largest error found against libm: below 1 ulp in
 * both (tests/unit/rlcore_vexp.c). exp(0) is exactly 1; NaN stays NaN.
 */
#ifndef RLCORE_VEXP_H
#define RLCORE_VEXP_H

#include <stdint.h>
#include <string.h>

#include "real.h"

#ifdef RL_SINGLE
typedef uint32_t rl_bits;
#define RL_EXP_ROUND 0x1.8p23f /* adding it rounds to a whole number, held in the low bits */
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
static const double rl_log2e = 0x1.71547652b82fep+0, rl_ln2_high = 0x1.62e42feep-1,
                    rl_ln2_low = 0x1.a39ef35793c76p-33;
#endif

/* (exp(r) - 1 - r) / r^2 */
static inline real rl_exp_tail(real r)
{
#ifdef RL_SINGLE
    real p = 0x1.6d1109p-10f;
    p = p * r + 0x1.120b6ep-7f;
    p = p * r + 0x1.55551ap-5f;
    p = p * r + 0x1.5554dcp-3f;
    return p * r + 0.5f;
#else
    real p = 0x1.af38a9b0ec855p-26;
    p = p * r + 0x1.289185613a3d6p-22;
    p = p * r + 0x1.71de0dae63bb3p-19;
    p = p * r + 0x1.a019b90d2ae7ap-16;
    p = p * r + 0x1.a01a01a7c41d5p-13;
    p = p * r + 0x1.6c16c1788bd90p-10;
    p = p * r + 0x1.11111111109b3p-7;
    p = p * r + 0x1.5555555553d63p-5;
    p = p * r + 0x1.5555555555556p-3;
    return p * r + 0x1.0000000000001p-1;
#endif
}

/* 2^n for a whole n that a normal number can hold. */
static inline real rl_exp2_whole(real n)
{
    real shifted = n + RL_EXP_ROUND;
    rl_bits bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + RL_EXP_BIAS) << RL_EXP_MANTISSA;
    memcpy(&shifted, &bits, sizeof bits);
    return shifted;
}

static inline real rl_exp(real x)
{
    x = x < rl_exp_lowest ? rl_exp_lowest : x;
    x = x > rl_exp_highest ? rl_exp_highest : x;
    real n = (x * rl_log2e + RL_EXP_ROUND) - RL_EXP_ROUND;
    real high = x - n * rl_ln2_high, low = n * rl_ln2_low;
    real r = high - low, lost = (high - r) - low; /* r + lost is the remainder to twice the digits */
    real value = 1 + (r + (r * r * rl_exp_tail(r) + lost));
    real half = ((real)0.5 * n + RL_EXP_ROUND) - RL_EXP_ROUND;
    return value * rl_exp2_whole(half) * rl_exp2_whole(n - half);
}

#endif
