/* correction.h: the double-precision middle of the off-policy corrections: log-ratios in, statistics out. */
#ifndef RLCORE_CORRECTION_H
#define RLCORE_CORRECTION_H

#include <rlcore/offpolicy.h>

#include "internal.h"

#define RL_LOG_RATIO_LIMIT 20.0

/* l = train - rollout at each token (0 at mask 0), response tokens per row and in all. */
struct rl_log_ratios {
    const struct rl_batch *batch;
    const double *l;  /* [B*T] */
    const size_t *n;  /* [B] */
    size_t n_tokens;  /* N */
    size_t n_filled;  /* rows with a response token */
};

/* Scratch memory of one correction. */
struct rl_correction_memory {
    double *l, *weights; /* [B*T] */
    double *row;         /* [B] */
    size_t *n;           /* [B] */
};
struct rl_correction_memory rl_correction_take(struct rl_scratch *s, const struct rl_batch *batch);

/* Weights [B*T] before truncation, their metrics, then truncated (and normalised) in place. row is scratch [B]. */
void rl_correction_weights(const struct rl_log_ratios *r, const struct rl_correction_options *options, double *weights,
                           double *row, struct rl_metrics *metrics);

/* keep [B*T] becomes 1 where all rejection options keep; row is scratch [B]. */
enum rl_status rl_correction_reject(const struct rl_log_ratios *r, const struct rl_correction_options *options,
                                    uint8_t *keep, double *row, struct rl_metrics *metrics, struct rl_error *err);

#endif
