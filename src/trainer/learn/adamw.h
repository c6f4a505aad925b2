/* adamw.h: AdamW (arXiv 1711.05101) over a flat array of floats. */
#ifndef TRAINER_ADAMW_H
#define TRAINER_ADAMW_H

#include <stddef.h>
#include <stdint.h>

struct adamw {
    size_t n;
    float *m, *v;   /* [n] first and second moments */
    uint64_t steps; /* updates so far */
    double beta1, beta2, epsilon, weight_decay;
};

/* sqrt of the sum of squares. */
double adamw_norm(size_t n, const float *gradient);

/* One more update begins. */
void adamw_begin(struct adamw *adam);

/*
 * Of params [n] from `first` on: params -= rate (m' / (sqrt(v') + epsilon) + weight_decay params),
 * with the gradient scaled first.
 */
void adamw_step(struct adamw *adam, size_t first, size_t n, double rate, double scale,
                const float *gradient, float *params);

#endif
