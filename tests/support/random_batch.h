/*
 * random_batch.h: random training batches and gradient checks for the tests of the training core.
 *
 *     struct random_batch *r = random_batch_new(seed, (struct random_shape){.rows = 12});
 *     ... r->batch, r->log_prob, ...;  random_batch_poison(r) writes NaN at mask 0
 *     random_batch_free(r);
 *
 * Memory exhaustion ends the test program.
 */
#ifndef TESTS_RANDOM_BATCH_H
#define TESTS_RANDOM_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>

/* splitmix64; any seed will do. */
struct test_rng {
    uint64_t state;
};
uint64_t test_rng_next(struct test_rng *rng);
size_t test_rng_below(struct test_rng *rng, size_t bound); /* 0..bound-1 */
double test_rng_uniform(struct test_rng *rng);             /* [0, 1) */
double test_rng_normal(struct test_rng *rng);

/* A member that is 0 has the default in brackets. */
struct random_shape {
    size_t rows;        /* [8] */
    size_t tokens;      /* [24] */
    size_t group_size;  /* [4] rows per group; labels are scattered and not contiguous */
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
    /* [B*T], finite everywhere. Log-probs are at most 0. */
    double *log_prob, *old_log_prob, *ref_log_prob, *rollout_log_prob, *advantages, *weights,
        *values;
    double *turn_rewards; /* [B*T] non-zero only at the last token of a turn: gains, then 0 or 1 */
    double *scores;       /* [B] */
};

struct random_batch *random_batch_new(uint64_t seed, struct random_shape shape);
void random_batch_free(struct random_batch *r);

/* Write NaN into every array of reals at mask 0: no result may change. */
void random_batch_poison(struct random_batch *r);

/*
 * Copy row `from` of one batch over row `to` of another that is at least as wide; the padding is
 * masked.
 */
void random_batch_copy_row(const struct random_batch *a, size_t from, struct random_batch *b,
                           size_t to);

/* A float copy of n values; the caller frees it. */
float *floats_of(const double *values, size_t n);

/* Zeroed memory of count * size bytes; the caller frees it. */
void *test_alloc(size_t count, size_t size);

/*
 * To be used after a call. If the call asked for a larger workspace, allocates it and returns true,
 * so that the test calls again:
 *     do status = rl_kernel(..., &ws, &err); while (test_again(&ws, status));
 * The caller frees ws->data.
 */
bool test_again(struct rl_workspace *ws, enum rl_status status);

/*
 * Compare an analytic gradient with central differences of f at x (changed and restored). Returns
 * the largest |difference| / max(1e-3, largest |gradient|). Positions whose one-sided slopes differ
 * by more than the size of the gradient (a kink within the step) are skipped and counted in *kinks.
 */
double gradient_error(double (*f)(void *context), void *context, double *x, size_t n,
                      const double *gradient, double step, size_t *kinks);

#endif
