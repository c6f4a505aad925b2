/*
 * optimizers.c: see optimizers.h. Decay is applied to the weight and not through the gradient, where Adam's division would
 * undo it. Both bias corrections are folded into scalars outside the loop. The loop is then one pass over four arrays,
 * limited only by memory bandwidth.
 */
#include "learn/optimizers.h"

#include <math.h>

#include "policy/kernels.h"

/* ---- Muon (K. Jordan and others, 2024) orthogonalises the Nesterov momentum, so that a step moves all
 * directions of a matrix equally: rare directions move as fast as common ones.
 */

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

/* Sums in blocks, which limits the rounding error. */
HOT(double, sum_of_squares, (size_t n, const float *x), (n, x))
{
    double total = 0;
    for (size_t i = 0; i < n; i += 4096) {
        size_t end = i + 4096 < n ? i + 4096 : n;
        float sum = 0;
        for (size_t j = i; j < end; j++)
            sum += x[j] * x[j];
        total += (double)sum;
    }
    return total;
}

double adamw_norm(size_t n, const float *gradient)
{
    return sqrt(sum_of_squares(n, gradient));
}

HOT_VOID(step,
         (size_t n, float beta1, float beta2, float scale, float rate, float v_scale, float epsilon, float decay,
          const float *restrict gradient, float *restrict m, float *restrict v, float *restrict params),
         (n, beta1, beta2, scale, rate, v_scale, epsilon, decay, gradient, m, v, params))
{
    for (size_t i = 0; i < n; i++) {
        float g = scale * gradient[i];
        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        params[i] -= rate * m[i] / (sqrtf(v_scale * v[i]) + epsilon) + decay * params[i];
    }
}

void adamw_begin(struct adamw *adam)
{
    adam->steps++;
}

void adamw_step(struct adamw *adam, size_t first, size_t n, double rate, double scale, const float *gradient, float *params)
{
    double t = (double)adam->steps;
    double m_scale = 1 / (1 - pow(adam->beta1, t)), v_scale = 1 / (1 - pow(adam->beta2, t));
    step(n, (float)adam->beta1, (float)adam->beta2, (float)scale, (float)(rate * m_scale), (float)v_scale, (float)adam->epsilon,
         (float)(rate * adam->weight_decay), gradient + first, adam->m + first, adam->v + first, params + first);
}
