/*
 * product.h: products of the shapes that the policy has, many rows times a small matrix. BLAS is made
 * for large ones: before it multiplies it clears the result, copies both factors into panels and
 * reads them back, which costs a third of the time where 64 numbers are summed.
 */
#ifndef TRAINER_PRODUCT_H
#define TRAINER_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* c [m][n] = op(a) op(b), or += with add; rows are lda, ldb and ldc apart, op(a) is [m][k]. */
struct product {
    bool transpose_a, transpose_b, add;
    size_t m, n, k;
    const float *a, *b;
    size_t lda, ldb;
    float *c;
    size_t ldc;
};

/* Whether this machine and shape are for it; else nothing is done. */
bool product_run(const struct product *product);

#endif
