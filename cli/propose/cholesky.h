/*
 * cholesky.h: systems of linear equations with a symmetric positive definite matrix, for matrices of a few hundred rows.
 *
 * The inner loops add a multiple of one vector to another, element by element. A compiler can use vector instructions for
 * them without changing the order of any sum, so the results have the same bits on every processor.
 *
 * A matrix [n][n] is stored by columns; only the part on and below the diagonal is read and written: element (i, j) with
 * i >= j is a[j * n + i].
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Replaces a by its factor L, where a = L L^T. Returns false, with a undefined, if a is not positive definite. */
bool cholesky_factor(double *a, size_t n);

/* Replaces x [n] by L^-1 x. */
void cholesky_forward(const double *l, size_t n, double *x);

/* Replaces x [n] by L^-T x. After cholesky_forward, x solves L L^T x = b. */
void cholesky_backward(const double *l, size_t n, double *x);

/* Writes (L L^T)^-1 to out [n][n], on and below the diagonal; `rows` [n][n] is overwritten. */
void cholesky_inverse(double *out, const double *l, size_t n, double *rows);

/* Returns the sum of the logarithms of the diagonal of L: half the logarithm of the determinant. */
double cholesky_half_log_determinant(const double *l, size_t n);
