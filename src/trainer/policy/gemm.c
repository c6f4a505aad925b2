/*
 * gemm.c: the one place that calls BLAS. Empty products are left out before the call, where a
 * leading dimension of 0 would be an error.
 */
#include <cblas.h>

#include "policy/kernels.h"

#ifdef TRAINER_DOUBLE
#define gemm cblas_dgemm
#else
#define gemm cblas_sgemm
#endif

void net_gemmf(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const real *a,
               size_t lda, const real *b, size_t ldb, real beta, real *c, size_t ldc)
{
    if (m == 0 || n == 0)
        return;
    gemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
         transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b,
         (int)ldb, beta, c, (int)ldc);
}
