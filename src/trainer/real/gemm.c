/* gemm.c: the one place that calls BLAS. */
#include <cblas.h>

#include "kernels.h"

#ifdef TRAINER_SINGLE
#define gemm cblas_sgemm
#else
#define gemm cblas_dgemm
#endif

void TR(net_gemm)(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const real *a,
                  size_t lda, const real *b, size_t ldb, real beta, real *c, size_t ldc)
{
    if (m == 0 || n == 0)
        return;
    gemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
         transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1, a, (int)lda, b,
         (int)ldb, beta, c, (int)ldc);
}
