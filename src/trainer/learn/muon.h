/*
 * muon.h: Muon (Jordan et al. 2024, "Muon: an optimizer for hidden layers"): replaces the momentum of a matrix by
 * the nearest orthogonal matrix, so that every direction moves equally. In short trainings such as a warm start it
 * needs about half as many steps as AdamW.
 */
#pragma once

#include <stddef.h>

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
