/*
 * random_batch.h: random training batches and gradient checks for the tests of the training core.
 *
 *     struct random_batch *r = random_batch_new(seed, (struct random_shape){.rows = 12});
 *     ... r->batch, r->log_prob, ...;  random_batch_poison(r) writes NaN where the mask is 0
 *     random_batch_free(r);
 *
 * If memory runs out, the test program ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>

#include "support/test_rng.h"

double test_rng_uniform(struct test_rng *rng);             /* [0, 1) */
double test_rng_normal(struct test_rng *rng);

/* Shape of a batch. A member that is 0 gets the default in brackets. */
struct random_shape {
    size_t rows;        /* [8] */
    size_t tokens;      /* [24] */
    size_t group_size;  /* [4] rows per group; the rows of a group are not adjacent, its label is arbitrary */
    size_t max_turns;   /* [5] */
    double hole_share;  /* [0] share of positions inside a response that are tool tokens */
    double empty_share; /* [0] share of rows without any response token */
    double ratio_scale; /* [0.3] standard deviation of log_prob - old_log_prob */
};

struct random_batch {
    struct rl_batch batch; /* points to the arrays below */
    uint8_t *mask;         /* [B*T] */
    int32_t *turn;         /* [B*T] */
    int64_t *group;        /* [B] */
    /* All of size [B*T] and finite at every token. Log-probs are at most 0. */
    double *log_prob, *old_log_prob, *ref_log_prob, *rollout_log_prob, *advantages, *weights, *values;
    double *turn_rewards; /* [B*T] 0 except at the last token of a turn: gains, and in the last turn 0 or 1 */
    double *scores;       /* [B] */
};

struct random_batch *random_batch_new(uint64_t seed, struct random_shape shape);
void random_batch_free(struct random_batch *r);

/* Writes NaN into every array of reals where the mask is 0. The results of a kernel must not change. */
void random_batch_poison(struct random_batch *r);

/*
 * Copies row `from` of one batch over row `to` of another batch that is at least as wide; the rest of that row is
 * masked.
 */
void random_batch_copy_row(const struct random_batch *a, size_t from, struct random_batch *b, size_t to);

/* Returns a float copy of n values; the caller frees it. */
float *floats_of(const double *values, size_t n);

/* Returns zeroed memory of count * size bytes; the caller frees it. */
void *test_alloc(size_t count, size_t size);

/*
 * Called after a kernel. If the kernel asked for a larger workspace, allocates it and returns true, so that the test
 * calls the kernel again:
 *
 *     do
 *         status = rl_kernel(..., &ws, &err);
 *     while (test_again(&ws, status));
 *
 * The caller frees ws->data.
 */
bool test_again(struct rl_workspace *ws, enum rl_status status);

/*
 * Compares an analytic gradient with central differences of f at x, which is changed and restored. Returns the
 * largest |difference| / max(1e-3, largest |gradient|). Positions whose one-sided slopes differ by more than the size
 * of the gradient (a kink within the step) are skipped and counted in *kinks.
 */
double gradient_error(double (*f)(void *context), void *context, double *x, size_t n, const double *gradient, double step,
                      size_t *kinks);
