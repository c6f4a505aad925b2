/* precision.h: float or double, and the compiler attributes of the inner loops. */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "hot/hot.h"

/* Declares both forms side by side, so it must be read before one of them is renamed. */
#include <trainer/policy.h>

/*
 * The sources of this folder that CMakeLists.txt compiles twice define `net_gemmf`. With TRAINER_DOUBLE the same text defines
 * `net_gemm`, by a table that the build makes from the definitions.
 */
#ifdef TRAINER_DOUBLE
#include "trainer_double_names.h"
#endif

/*
 * Training uses the sources compiled for float. The double compilation exists only for tests, because a gradient of
 * 1e-4 cannot be checked against central differences in float.
 */
#ifdef TRAINER_DOUBLE
typedef double real;
#define real_exp exp
#define real_log log
#define real_sqrt sqrt
#else
typedef float real;
#define real_exp expf
#define real_log logf
#define real_sqrt sqrtf
#endif

#define TRAINER_INLINE inline __attribute__((always_inline))

/* Number of keys in a block; rows of scores are padded to whole blocks. */
enum { NET_BLOCK = 16 };

/* Queries that attention takes at a time, because they read the same keys and values. */
enum { NET_QUERIES = 4 };

/* glibc has vector versions of these functions for x86-64, but its header declares them only with -ffast-math. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((__simd__("notinbranch"))) extern float expf(float);
__attribute__((__simd__("notinbranch"))) extern double exp(double);
#endif

static inline size_t net_padded(size_t n)
{
    return (n + NET_BLOCK - 1) / NET_BLOCK * NET_BLOCK;
}
