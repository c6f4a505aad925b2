/*
 * segment.h: a ratio shared by a stretch of tokens, as GSPO (whole rows) and A2TGPO (turns) use it.
 *
 * ratio = exp(min(mean of l, 10)) over the response tokens of the segment, straight-through: the
 * gradient of the ratio with respect to log_prob_t is the ratio for the token itself only, 0 beyond
 * the limit.
 */
#ifndef RLCORE_SEGMENT_H
#define RLCORE_SEGMENT_H

#include "internal.h"
#include "real.h"
#include "rows.h"

struct RL(rl_segment) {
    size_t n; /* positions, response tokens and others */
    const uint8_t *mask;
    const real *log_prob, *old_log_prob, *advantages;
    const real *weights;    /* factor of the token loss, or NULL for 1 */
    const real *clip_scale; /* factor of both clip ranges, or NULL for 1 */
    real *d_log_prob;       /* or NULL */
    double low, high;       /* clip to [1 - low * scale, 1 + high * scale] */
    double row_weight;      /* of a token loss in the aggregate */
};

/*
 * Add the segment's losses and metrics to sums and write its gradient. Returns the ratio, 0 if
 * empty.
 */
double RL(rl_segment_loss)(const struct RL(rl_segment) * s, struct rl_row_sums *sums);

#endif
