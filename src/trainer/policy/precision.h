/* precision.h: the precision and the attributes of the inner loops. */
#ifndef TRAINER_PRECISION_H
#define TRAINER_PRECISION_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "hot/hot.h"
#include "policy/double_names.h"

/*
 * The sources are float, which is what trains. The double compilation exists for one purpose: a
 * gradient of 1e-4 cannot be checked against central differences in float.
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

/* Keys are handled in blocks of this many; rows of scores are padded to it. */
enum { NET_BLOCK = 16 };

/* NET_BLOCK numbers at once; held in as many registers as the machine needs for them. */
typedef real net_vec
    __attribute__((vector_size(NET_BLOCK * sizeof(real)), aligned(sizeof(real)), may_alias));
#define NET_AT(x) (*(net_vec *)(x))
#define NET_READ(x) (*(const net_vec *)(x))

/* glibc has vector forms of these for x86-64, which its header offers to -ffast-math alone. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((__simd__("notinbranch"))) extern float expf(float);
__attribute__((__simd__("notinbranch"))) extern double exp(double);
#endif

static inline size_t net_padded(size_t n)
{
    return (n + NET_BLOCK - 1) / NET_BLOCK * NET_BLOCK;
}

#endif
