/*
 * muon.c: see muon.h. Muon (K. Jordan and others, 2024) orthogonalises the Nesterov momentum, so that a step moves all
 * directions of a matrix equally: rare directions move as fast as common ones.
 */
#include "learn/muon.h"

#include <math.h>

#include "policy/kernels.h"

static const float momentum_kept = 0.95f;

size_t muon_scratch(size_t rows, size_t columns)
{
    size_t small = rows < columns ? rows : columns;
    return 2 * rows * columns + 2 * small * small;
}

/*
 * x [small][large] receives the Nesterov momentum, transposed if the matrix is tall. Returns its Frobenius norm.
 * The momentum is stored where AdamW would keep its first moment. Only one of the two optimizers updates a matrix, so
 * no third array is needed.
 */
static float gather(const struct muon_matrix *m, float scale, float *x)
{
    double square = 0;
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->columns; j++) {
            size_t at = i * m->stride + j;
            float g = scale * m->gradient[at];
            m->momentum[at] = momentum_kept * m->momentum[at] + g;
            float u = g + momentum_kept * m->momentum[at];
            x[m->rows <= m->columns ? i * m->columns + j : j * m->rows + i] = u;
            square += (double)u * (double)u;
        }
    return (float)sqrt(square);
}

/*
 * Runs five steps of a quintic iteration that drives all singular values to about 1, with the published coefficients.
 * These coefficients give a steep slope at 0 instead of convergence to 1, so that five steps bring singular values from
 * 0.01 to about 0.7..1.2, which is close enough. The product is taken over the smaller side: half the work for a matrix
 * of 64 x 256.
 */
static void orthogonalise(size_t small, size_t large, float *x, float *next, float *a, float *aa)
{
    for (int step = 0; step < 5; step++) {
        net_gemmf(false, true, small, small, large, x, large, x, large, 0, a, small);
        net_gemmf(false, false, small, small, small, a, small, a, small, 0, aa, small);
        for (size_t i = 0; i < small * small; i++)
            a[i] = -4.7750f * a[i] + 2.0315f * aa[i];
        net_gemmf(false, false, small, large, small, a, small, x, large, 0, next, large);
        for (size_t i = 0; i < small * large; i++)
            x[i] = 3.4445f * x[i] + next[i];
    }
}

static void apply(const struct muon_matrix *m, float rate, const float *x)
{
    for (size_t i = 0; i < m->rows; i++)
        for (size_t j = 0; j < m->columns; j++)
            m->params[i * m->stride + j] -= rate * x[m->rows <= m->columns ? i * m->columns + j : j * m->rows + i];
}

/*
 * A tall matrix moves more per step, so that its output changes as much as that of a square one. The Frobenius norm
 * bounds the largest singular value, and the iteration only needs all singular values to be at most 1. The 1e-7 avoids
 * a division by 0 if the gradient is all zeros.
 */
void muon_step(const struct muon_matrix *m, double rate, double scale, float *scratch)
{
    size_t n = m->rows * m->columns, small = m->rows < m->columns ? m->rows : m->columns, large = n / small;
    float *x = scratch, *next = x + n, *a = next + n, *aa = a + small * small;
    float norm = gather(m, (float)scale, x);
    for (size_t i = 0; i < n; i++)
        x[i] /= norm + 1e-7f;
    orthogonalise(small, large, x, next, a, aa);
    apply(m, (float)(rate * sqrt(fmax(1, (double)m->rows / (double)m->columns))), x);
}
