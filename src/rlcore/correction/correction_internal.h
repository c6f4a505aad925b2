/*
 * correction_internal.h: the double-precision core of the off-policy corrections, for inputs of
 * either precision. Log-ratios come in chunks, statistics are kept per row.
 *
 * Rows are processed in parallel and store their sums in an array. The sums of the batch are made
 * from it in the order of the rows, so they do not depend on the number of threads.
 */
#pragma once

#include <rlcore/offpolicy.h>

#include "support/grid.h"
#include "support/real.h"
#include "support/scratch.h"

#define RL_LOG_RATIO_LIMIT 20.0

/* Up to RL_CHUNK tokens of a row. */
struct rl_ratio_chunk {
    size_t n;
    double on[RL_CHUNK];               /* the mask */
    double l[RL_CHUNK];                /* train - rollout, 0 at mask 0 */
    double n_response, train, rollout; /* sums of the mask and of the log-probs */
};

/* Two policies on a batch, their log-probs [B*T] double or float, or bfloat16. */
struct rl_two_policies {
    struct rl_grid batch;
    const void *train, *rollout;
    void (*load)(const struct rl_two_policies *p, size_t from, size_t n, struct rl_ratio_chunk *out);
    /* Names the value that is not finite; RL_OK if all are finite. */
    enum rl_status (*explain)(const struct rl_two_policies *p, struct rl_error *err);
};

/*
 * Check the batch and read it into p. train and rollout are its first two arrays of reals. The
 * batch must have at least one row.
 */
enum rl_status rl_two_policies_of(struct rl_two_policies *p, const struct rl_batch *batch, const real *train, const real *rollout,
                                  struct rl_error *err);

/* The array that weights are written to, double or float; NULL if no weights are computed. */
struct rl_weight_sink {
    void *weights;
    /* store the ratios of a chunk, capped; 0 at mask 0 */
    void (*store)(const struct rl_weight_sink *to, size_t from, const struct rl_ratio_chunk *chunk, const double *ratio,
                  double cap);
    /* write one value at mask 1, 0 elsewhere */
    void (*fill)(const struct rl_weight_sink *to, size_t from, size_t n, const struct rl_grid *mask, double value);
    double (*sum)(const struct rl_weight_sink *to, size_t from, size_t n);
    void (*divide)(const struct rl_weight_sink *to, size_t from, size_t n, double by);
};

struct rl_weight_sink rl_weight_sink_of(real *weights);

/* Sums of one row over its response tokens. */
struct rl_ratio_row {
    double n, train, rollout, l;
    double k3;      /* sum of exp(l) - l - 1 */
    double square;  /* sum of exp(l20)^2 */
    double clamped; /* tokens with |l| > 20 */
};

/* The sums of a row. visit, if not NULL, is called with each chunk and its ratios. */
typedef void rl_ratio_visit(void *context, size_t from, const struct rl_ratio_chunk *chunk, const double *ratio);
struct rl_ratio_row rl_ratio_row(const struct rl_two_policies *p, size_t row, rl_ratio_visit *visit, void *context);

/* Sums of the batch that rl_offpolicy_metrics reports. */
struct rl_distance {
    double train_ppl, train_log_ppl, rollout_ppl, rollout_log_ppl, kl, k3, chi2_token, chi2_seq;
    double diff, abs_diff, diff_max, diff_min, ppl_ratio;
    double clamped, clamped_seq;       /* tokens with |l| > 20, rows with |sum of l| > 20 */
    double n_tokens, n_rows, n_filled; /* n_filled: rows with a response token */
};

struct rl_distance rl_distance_empty(void);
void rl_distance_add(struct rl_distance *d, const struct rl_ratio_row *rows, size_t n_rows);
void rl_distance_report(const struct rl_distance *d, struct rl_metrics *metrics);

/* RL_EVALUE that names array and index if a log-prob, or a sum without a limit, is not finite. */
enum rl_status rl_distance_check(const struct rl_two_policies *p, const struct rl_distance *d, struct rl_error *err);

/* Compute the distance of a batch and check its sums. */
enum rl_status rl_distance_measure(const struct rl_two_policies *p, struct rl_distance *d, struct rl_error *err);

/* Sums over the weights of one row, before truncation. */
struct rl_weight_row {
    double sum, min, max, high, low;
    double shifted, shifted_square; /* sums of v - 1 and its square, with v = w limited to [1/U, U] */
    double raw;         /* sum of the ratios, whatever is measured */
    double capped;      /* sum of the truncated weights; only needed for the normalisation */
};

/* Scratch memory of a correction. */
struct rl_correction_memory {
    struct rl_ratio_row *ratios;    /* [B] */
    struct rl_weight_row *weights;  /* [B] */
    struct rl_reject_row *rejected; /* [B] */
};

/* Sums of one row under one rejection option. */
struct rl_reject_row {
    double q;                        /* statistic of the sequence, or mean of its tokens */
    double sum, min, max, high, low; /* over response tokens */
    double clipped, clipped_square, masked;
};

enum rl_reject_over { RL_REJECT_TOKEN, RL_REJECT_SEQ_SUM, RL_REJECT_SEQ_MEAN, RL_REJECT_SEQ_MAX };

struct rl_rejection {
    const char *name; /* "seq_mean_k3" */
    enum rl_reject_over over;
    int k;               /* 1, 2, 3 */
    double lower, upper; /* bounds of the statistic; lower is used for k = 1 only, else 0 */
};

#define RL_REJECTIONS_MAX 11

/* One correction, its options checked and parsed. */
struct rl_correcting {
    const struct rl_two_policies *p;
    const struct rl_correction_options *options;
    struct rl_weight_sink sink;
    uint8_t *keep; /* [B*T] the remaining mask */
    struct rl_correction_memory m;
    struct rl_rejection rejections[RL_REJECTIONS_MAX];
    size_t n_rejections;
    struct rl_metrics *metrics;
};

/*
 * rl_correction_run runs a correction; rl_correction_bytes returns the bytes of scratch memory that
 * it needs.
 */
enum rl_status rl_correction_run(struct rl_correcting *c, struct rl_workspace *ws, struct rl_error *err);
size_t rl_correction_bytes(size_t n_rows);
