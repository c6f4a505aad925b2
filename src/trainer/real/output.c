/* output.c: log-probs of given tokens, and back. */
#include "kernels.h"

static TRAINER_INLINE real largest(size_t v, const real *x)
{
    real most = x[0];
    for (size_t j = 1; j < v; j++)
        most = x[j] > most ? x[j] : most;
    return most;
}

/* x becomes its softmax; returns the logarithm of the sum of exp(x - most). */
static TRAINER_INLINE real normalise(size_t v, real most, real *restrict x)
{
    real sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = 0; j < v; j++) {
        x[j] = real_exp(x[j] - most);
        sum += x[j];
    }
    real inverse = 1 / sum;
    for (size_t j = 0; j < v; j++)
        x[j] *= inverse;
    return real_log(sum);
}

TRAINER_HOT static void softmax_rows(size_t n, size_t v, real *logits, const int32_t *target,
                                     real *log_prob)
{
    for (size_t i = 0; i < n; i++, logits += v) {
        real most = largest(v, logits), chosen = logits[target[i]];
        log_prob[i] = chosen - most - normalise(v, most, logits);
    }
}

TRAINER_HOT static void entropies(size_t n, size_t v, const real *p, real *entropy)
{
    for (size_t i = 0; i < n; i++, p += v) {
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < v; j++)
            sum -= p[j] * real_log(p[j] > 0 ? p[j] : 1);
        entropy[i] = sum;
    }
}

void TR(net_softmax)(size_t n, size_t v, real *logits, const int32_t *target, real *log_prob,
                     real *entropy)
{
    softmax_rows(n, v, logits, target, log_prob);
    if (entropy)
        entropies(n, v, logits, entropy);
}

TRAINER_HOT static void backward(size_t n, size_t v, real *p, const int32_t *target,
                                 const real *d_log_prob)
{
    for (size_t i = 0; i < n; i++, p += v) {
        for (size_t j = 0; j < v; j++)
            p[j] *= -d_log_prob[i];
        p[target[i]] += d_log_prob[i];
    }
}

void TR(net_softmax_backward)(size_t n, size_t v, real *p, const int32_t *target,
                              const real *d_log_prob)
{
    backward(n, v, p, target, d_log_prob);
}
