/* cholesky.c: see cholesky.h. Golub and Van Loan, "Matrix Computations", 4th edition (2013), section 4.2. */
#include "propose/cholesky.h"

#include <math.h>
#include <string.h>

#include "propose/propose_math.h"

/* to += factor * from. The two do not overlap. */
static void add_multiple(double *restrict to, const double *restrict from, double factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] += factor * from[i];
}

bool cholesky_factor(double *a, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        double *column = a + k * n;
        if (!(column[k] > 0) || !isfinite(column[k]))
            return false;
        double diagonal = sqrt(column[k]);
        for (size_t i = k; i < n; i++)
            column[i] /= diagonal;
        for (size_t j = k + 1; j < n; j++)
            add_multiple(a + j * n + j, column + j, -column[j], n - j);
    }
    return true;
}

void cholesky_forward(const double *l, size_t n, double *x)
{
    for (size_t j = 0; j < n; j++) {
        x[j] /= l[j * n + j];
        add_multiple(x + j + 1, l + j * n + j + 1, -x[j], n - j - 1);
    }
}

void cholesky_backward(const double *l, size_t n, double *x)
{
    for (size_t j = n; j-- > 0;) {
        double sum = x[j];
        for (size_t i = j + 1; i < n; i++)
            sum -= l[j * n + i] * x[i];
        x[j] = sum / l[j * n + j];
    }
}

/* Row k of L^-1 is found from the rows before it, and its products with itself are added to the inverse. */
void cholesky_inverse(double *out, const double *l, size_t n, double *rows)
{
    memset(out, 0, n * n * sizeof *out);
    memset(rows, 0, n * n * sizeof *rows);
    for (size_t k = 0; k < n; k++) {
        double *row = rows + k * n;
        for (size_t j = 0; j < k; j++)
            add_multiple(row, rows + j * n, -l[j * n + k], j + 1);
        row[k] = 1;
        for (size_t j = 0; j <= k; j++)
            row[j] /= l[k * n + k];
    }
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j <= k; j++)
            add_multiple(out + j * n + j, rows + k * n + j, rows[k * n + j], k - j + 1);
}

double cholesky_half_log_determinant(const double *l, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += propose_log(l[i * n + i]);
    return sum;
}
