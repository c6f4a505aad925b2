/*
 * adamw.c: see adamw.h. Decay is applied to the weight and not through the gradient, where Adam's division would
 * undo it. Both bias corrections are folded into scalars outside the loop. The loop is then one pass over four arrays,
 * limited only by memory bandwidth.
 */
#include "learn/adamw.h"

#include <math.h>

#include "policy/precision.h"

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
