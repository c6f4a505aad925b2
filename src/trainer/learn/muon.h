/*
 * muon.h: Muon (Jordan et al. 2024, "Muon: an optimizer for hidden layers"): the momentum of a
 * matrix is replaced by the nearest orthogonal matrix, so that every direction moves alike. It
 * needs about half the steps of AdamW where there are few of them, as in a warm start.
 */
#ifndef TRAINER_MUON_H
#define TRAINER_MUON_H

#include <stddef.h>

/* rows x columns inside arrays whose rows are stride apart. */
struct muon_matrix {
    size_t rows, columns, stride;
    const float *gradient;
    float *momentum, *params;
};

/* Floats of scratch memory for a matrix. */
size_t muon_scratch(size_t rows, size_t columns);

/* params -= rate sqrt(max(1, rows / columns)) orthogonal(scale gradient + 0.95 momentum) */
void muon_step(const struct muon_matrix *matrix, double rate, double scale, float *scratch);

#endif
