/*
 * hot.h: inner loops that are compiled once per vector level and chosen by rl_level() in each call.
 *
 *     HOT(double, sum, (const double *x, size_t n), (x, n))
 *     {
 *         ...
 *     }
 *
 * defines `static double sum(const double *x, size_t n)`. HOT_VOID is for functions that return nothing, because
 * ISO C has no `return` of a void expression. HOT_EXTERN_VOID(net_reluf, ...) defines such a function with external linkage: a header
 * with its prototype must be included. The arguments are repeated because a macro cannot read names out of a parameter list.
 *
 * GCC's target_clones would need neither HOT_VOID nor the repeated arguments. But it chooses by the
 * processor alone, before the environment can be read, so a row that was computed on a machine with
 * shorter vectors could not be reproduced.
 */
#pragma once

#include <rlcore/level.h>

#ifdef VECTOR_LEVELS

#define HOT_AT(arch) __attribute__((target("arch=" arch), noinline)) static

/* linkage: `static`, or nothing. return_: `return`, or nothing in a function that returns nothing. */
#define HOT_LEVELS(linkage, type, return_, name, parameters, arguments)                                                          \
    static inline __attribute__((always_inline)) type name##_loop parameters;                                                    \
    HOT_AT("x86-64-v4") type name##_avx512 parameters                                                                            \
    {                                                                                                                            \
        return_ name##_loop arguments;                                                                                           \
    }                                                                                                                            \
    HOT_AT("x86-64-v3") type name##_avx2 parameters                                                                              \
    {                                                                                                                            \
        return_ name##_loop arguments;                                                                                           \
    }                                                                                                                            \
    HOT_AT("x86-64") type name##_sse2 parameters                                                                                 \
    {                                                                                                                            \
        return_ name##_loop arguments;                                                                                           \
    }                                                                                                                            \
    linkage type name parameters                                                                                                 \
    {                                                                                                                            \
        switch (rl_level()) {                                                                                                    \
        case RL_LEVEL_AVX512: return_ name##_avx512 arguments; break;                                                            \
        case RL_LEVEL_AVX2: return_ name##_avx2 arguments; break;                                                                \
        default: return_ name##_sse2 arguments;                                                                                  \
        }                                                                                                                        \
    }                                                                                                                            \
    static inline __attribute__((always_inline)) type name##_loop parameters

#else
#define HOT_LEVELS(linkage, type, return_, name, parameters, arguments) linkage type name parameters
#endif

#define HOT(type, name, parameters, arguments) HOT_LEVELS(static, type, return, name, parameters, arguments)
#define HOT_VOID(name, parameters, arguments) HOT_LEVELS(static, void, , name, parameters, arguments)
#define HOT_EXTERN_VOID(name, parameters, arguments) HOT_LEVELS(, void, , name, parameters, arguments)
