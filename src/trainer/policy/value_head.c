/*
 * value_head.c: the value head, one linear output of the last hidden state. It needs few multiplications compared with
 * the logits, so plain loops are fast enough.
 */
#include "policy/kernels.h"

HOT_EXTERN_VOID(net_valuef, (size_t n, size_t d, const real *x, const real *head, real *value), (n, d, x, head, value))
{
    for (size_t i = 0; i < n; i++, x += d) {
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < d; j++)
            sum += x[j] * head[j];
        value[i] = sum + head[d];
    }
}

HOT_EXTERN_VOID(net_value_backwardf,
                (size_t n, size_t d, const real *restrict x, const real *restrict head, const real *restrict d_value,
                 real *restrict dx, real *restrict d_head),
                (n, d, x, head, d_value, dx, d_head))
{
    for (size_t i = 0; i < n; i++, x += d, dx += d) {
        for (size_t j = 0; j < d; j++) {
            dx[j] += d_value[i] * head[j];
            d_head[j] += d_value[i] * x[j];
        }
        d_head[d] += d_value[i];
    }
}
