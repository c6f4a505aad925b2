/*
 * gemm.c: the only file that calls BLAS, for the products that product.h does not handle. Empty products are skipped
 * before the call, where a leading dimension of 0 would be an error.
 */
#include <cblas.h>

#include "policy/kernels.h"
#include "policy/product.h"

#ifdef TRAINER_DOUBLE
#define gemm cblas_dgemm
#define by_product(...) false
#else
#define gemm cblas_sgemm
/* beta is 0 or 1. */
static bool by_product(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const float *a, size_t lda,
                       const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    const struct product product = {.transpose_a = transpose_a,
                                    .transpose_b = transpose_b,
                                    .add = beta > 0,
                                    .m = m,
                                    .n = n,
                                    .k = k,
                                    .a = a,
                                    .b = b,
                                    .lda = lda,
                                    .ldb = ldb,
                                    .c = c,
                                    .ldc = ldc};
    return product_run(&product);
}
#endif

void net_gemmf(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b,
               size_t ldb, real beta, real *c, size_t ldc)
{
    if (m == 0 || n == 0 || by_product(transpose_a, transpose_b, m, n, k, a, lda, b, ldb, beta, c, ldc))
        return;
    gemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans, transpose_b ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k,
         1, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}
