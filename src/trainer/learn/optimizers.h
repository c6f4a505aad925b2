/* optimizers.h: AdamW (arXiv 1711.05101) over a flat array of floats, and Muon over a matrix. */
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

/* ---- Muon (Jordan et al. 2024, "Muon: an optimizer for hidden layers"): replaces the momentum of a matrix by
 * the nearest orthogonal matrix, so that every direction moves equally. In short trainings such as a warm start it
 * needs about half as many steps as AdamW.
 */

/* A matrix of rows x columns inside arrays in which rows are `stride` apart. */
struct muon_matrix {
    size_t rows, columns, stride;
    const float *gradient;
    float *momentum, *params;
};

/* Returns the number of floats of scratch memory that muon_step needs for a matrix of this size. */
size_t muon_scratch(size_t rows, size_t columns);

/* params -= rate sqrt(max(1, rows / columns)) orthogonal(scale gradient + 0.95 momentum) */
void muon_step(const struct muon_matrix *matrix, double rate, double scale, float *scratch);
