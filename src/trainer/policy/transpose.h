/* transpose.h: transposes blocks of 4 x 4 numbers in registers, which takes half the time of moving numbers one by one. */
#pragma once

#include "policy/precision.h"

typedef real net_four __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real)), may_alias));

/* to [4][to_stride] = from [4][stride] transposed */
static TRAINER_INLINE void transpose_four(const real *from, size_t stride, real *to, size_t to_stride)
{
    const net_four a = *(const net_four *)from, b = *(const net_four *)(from + stride),
                   c = *(const net_four *)(from + 2 * stride), d = *(const net_four *)(from + 3 * stride);
    const net_four ac0 = __builtin_shufflevector(a, c, 0, 4, 1, 5), ac1 = __builtin_shufflevector(a, c, 2, 6, 3, 7),
                   bd0 = __builtin_shufflevector(b, d, 0, 4, 1, 5), bd1 = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    *(net_four *)to = __builtin_shufflevector(ac0, bd0, 0, 4, 1, 5);
    *(net_four *)(to + to_stride) = __builtin_shufflevector(ac0, bd0, 2, 6, 3, 7);
    *(net_four *)(to + 2 * to_stride) = __builtin_shufflevector(ac1, bd1, 0, 4, 1, 5);
    *(net_four *)(to + 3 * to_stride) = __builtin_shufflevector(ac1, bd1, 2, 6, 3, 7);
}
