/* adamw.h: AdamW (arXiv 1711.05101) over a flat array of floats. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct adamw {
    size_t n;
    float *m, *v;   /* [n] first and second moments */
    uint64_t steps; /* updates so far */
    double beta1, beta2, epsilon, weight_decay;
};

/* Euclidean norm of an array. */
double adamw_norm(size_t n, const float *gradient);

/* Called once at the beginning of an update, before its adamw_step calls. */
void adamw_begin(struct adamw *adam);

/*
 * Updates params [n], which begin at parameter `first`: params -= rate (m' / (sqrt(v') + epsilon) + weight_decay
 * params). The gradient is first multiplied by scale.
 */
void adamw_step(struct adamw *adam, size_t first, size_t n, double rate, double scale, const float *gradient, float *params);
