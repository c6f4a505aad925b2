/*
 * norm.c: RMSNorm (arXiv 1910.07467), which does not subtract the mean and so saves a pass over the row. The 1e-5 is
 * inside the root, so that a row of zeros is not divided by zero.
 */
#include "policy/kernels.h"

static TRAINER_INLINE real inverse_rms(size_t d, const real *x)
{
    real sum = 0;
    for (size_t j = 0; j < d; j++)
        sum += x[j] * x[j];
    return 1 / real_sqrt(sum / (real)d + (real)1e-5);
}

HOT_EXTERN_VOID(net_normf, (size_t n, size_t d, const real *restrict x, const real *restrict gain, real *restrict y),
                (n, d, x, gain, y))
{
    for (size_t i = 0; i < n; i++, x += d, y += d) {
        real r = inverse_rms(d, x);
        for (size_t j = 0; j < d; j++)
            y[j] = x[j] * r * gain[j];
    }
}

HOT_EXTERN_VOID(net_norm_backwardf,
                (size_t n, size_t d, const real *restrict x, const real *restrict gain, const real *restrict dy,
                 real *restrict dx, real *restrict d_gain),
                (n, d, x, gain, dy, dx, d_gain))
{
    for (size_t i = 0; i < n; i++, x += d, dy += d, dx += d) {
        real r = inverse_rms(d, x), mean = 0;
        for (size_t j = 0; j < d; j++)
            mean += dy[j] * gain[j] * x[j];
        mean *= r * r / (real)d;
        for (size_t j = 0; j < d; j++) {
            d_gain[j] += dy[j] * x[j] * r;
            dx[j] += r * (dy[j] * gain[j] - x[j] * mean);
        }
    }
}
