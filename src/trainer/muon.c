/* muon.c: see muon.h. */
#include "muon.h"

#include <math.h>

#define TRAINER_SINGLE
#include "real/kernels.h"

static const float momentum_kept = 0.95f;

size_t muon_scratch(size_t rows, size_t columns)
{
    size_t small = rows < columns ? rows : columns;
    return 2 * rows * columns + 2 * small * small;
}

/* x [small][large] = nesterov momentum, transposed if it is tall; returns its Frobenius norm. */
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

/* Five steps of a quintic iteration that drives all singular values to about 1. */
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
            m->params[i * m->stride + j] -=
                rate * x[m->rows <= m->columns ? i * m->columns + j : j * m->rows + i];
}

void muon_step(const struct muon_matrix *m, double rate, double scale, float *scratch)
{
    size_t n = m->rows * m->columns, small = m->rows < m->columns ? m->rows : m->columns,
           large = n / small;
    float *x = scratch, *next = x + n, *a = next + n, *aa = a + small * small;
    float norm = gather(m, (float)scale, x);
    for (size_t i = 0; i < n; i++)
        x[i] /= norm + 1e-7f;
    orthogonalise(small, large, x, next, a, aa);
    apply(m, (float)(rate * sqrt(fmax(1, (double)m->rows / (double)m->columns))), x);
}
