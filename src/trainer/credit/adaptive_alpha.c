/* adaptive_alpha.c: see adaptive_alpha.h. */
#include "credit/adaptive_alpha.h"

#include <math.h>

/* Welford's sums, because sums of squares would lose the digits of such small differences. */
struct spread {
    double n, mean, square;
};

static void add(struct spread *s, double x)
{
    double from = x - s->mean;
    s->mean += from / ++s->n;
    s->square += from * (x - s->mean);
}

static double deviation(const struct spread *s)
{
    return s->n > 0 ? sqrt(s->square / s->n) : 0;
}

/* All tokens of a turn have the same advantage, so the first one is enough. */
static void add_row(const struct rl_batch *batch, size_t row, size_t last, const float *with, const float *without,
                    struct spread *process, struct spread *outcome)
{
    int32_t before = -1;
    for (size_t t = row * batch->n_tokens, end = t + batch->n_tokens; t < end; t++) {
        if (!batch->mask[t] || batch->turn[t] == before)
            continue;
        if (before < 0)
            add(outcome, (double)without[t]);
        before = batch->turn[t];
        if ((size_t)before < last)
            add(process, (double)with[t] - (double)without[t]);
    }
}

double adaptive_alpha_scale(const struct rl_batch *batch, const size_t *turn_start, const float *with, const float *without)
{
    const double most = 4, none = 1e-6; /* `none` is above the rounding of float */
    struct spread process = {0}, outcome = {0};
    for (size_t row = 0; row < batch->n_rows; row++)
        add_row(batch, row, turn_start[row + 1] - turn_start[row] - 1, with, without, &process, &outcome);
    double spread = deviation(&process);
    return spread > none ? fmin(most, fmax(1 / most, deviation(&outcome) / spread)) : 1;
}
