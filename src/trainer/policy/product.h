/*
 * product.h: matrix products in the policy's shapes, many rows times a small matrix. BLAS is made for large matrices:
 * before it multiplies, it clears the result, and it copies both factors into panels and reads the panels, which takes
 * a third of the time if each sum has 64 terms.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* c [m][n] = op(a) op(b), or += with add; rows of a, b and c are lda, ldb and ldc apart; op(a) is [m][k]. */
struct product {
    bool transpose_a, transpose_b, add;
    size_t m, n, k;
    const float *a, *b;
    size_t lda, ldb;
    float *c;
    size_t ldc;
};

/*
 * Computes the product and returns true, or does nothing and returns false if this machine or this shape is not
 * supported.
 */
bool product_run(const struct product *product);
