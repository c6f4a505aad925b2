/*
 * output.c: log-probs of given tokens, forward and backward. Probabilities overwrite the logits and are kept for
 * the backward pass, where d log p[target] = onehot - p. The largest logit is subtracted before exp, because float
 * overflows at 89. The log-prob is computed from logits and the logarithm of the sum, never from the rounded
 * probability, so that tokens of probability 1e-30 still have a finite log-prob.
 */
#include "policy/kernels.h"

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

HOT_VOID(softmax_rows, (size_t n, size_t v, real *logits, const int32_t *target, real *log_prob),
         (n, v, logits, target, log_prob))
{
    for (size_t i = 0; i < n; i++, logits += v) {
        real most = largest(v, logits), chosen = logits[target[i]];
        log_prob[i] = chosen - most - normalise(v, most, logits);
    }
}

/* 0 log 0 counts as 0: for p = 0 a select that vectorises takes the logarithm of 1 instead. */
HOT_VOID(entropies, (size_t n, size_t v, const real *p, real *entropy), (n, v, p, entropy))
{
    for (size_t i = 0; i < n; i++, p += v) {
        real sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t j = 0; j < v; j++)
            sum -= p[j] * real_log(p[j] > 0 ? p[j] : 1);
        entropy[i] = sum;
    }
}

void net_softmaxf(size_t n, size_t v, real *logits, const int32_t *target, real *log_prob, real *entropy)
{
    softmax_rows(n, v, logits, target, log_prob);
    if (entropy)
        entropies(n, v, logits, entropy);
}

HOT_EXTERN_VOID(net_softmax_backwardf, (size_t n, size_t v, real *p, const int32_t *target, const real *d_log_prob),
                (n, v, p, target, d_log_prob))
{
    for (size_t i = 0; i < n; i++, p += v) {
        for (size_t j = 0; j < v; j++)
            p[j] *= -d_log_prob[i];
        p[target[i]] += d_log_prob[i];
    }
}
