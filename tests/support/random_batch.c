/* random_batch.c: see random_batch.h. */
#include "support/random_batch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double test_rng_uniform(struct test_rng *rng)
{
    return (double)(test_rng_next(rng) >> 11) * 0x1p-53;
}

double test_rng_normal(struct test_rng *rng)
{
    double radius = sqrt(-2 * log(1 - test_rng_uniform(rng)));
    return radius * cos(6.283185307179586 * test_rng_uniform(rng));
}

void *test_alloc(size_t count, size_t size)
{
    void *data = calloc(count ? count : 1, size);
    if (!data) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return data;
}

bool test_again(struct rl_workspace *ws, enum rl_status status)
{
    if (status != RL_EWORKSPACE || ws->needed <= ws->size)
        return false;
    free(ws->data);
    ws->size = ws->needed;
    ws->data = test_alloc(ws->size, 1);
    return true;
}

float *floats_of(const double *values, size_t n)
{
    float *out = test_alloc(n, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)values[i];
    return out;
}

static struct random_shape with_defaults(struct random_shape s)
{
    s.rows = s.rows ? s.rows : 8;
    s.tokens = s.tokens ? s.tokens : 24;
    s.group_size = s.group_size ? s.group_size : 4;
    s.max_turns = s.max_turns ? s.max_turns : 5;
    s.ratio_scale = s.ratio_scale > 0 ? s.ratio_scale : 0.3;
    return s;
}

/* Fills a row: a prompt, then turns that may be adjacent and contain holes, then padding. */
static void fill_row(struct random_batch *r, struct test_rng *rng, const struct random_shape *s, size_t row)
{
    uint8_t *mask = r->mask + row * s->tokens;
    int32_t *turn = r->turn + row * s->tokens;
    for (size_t t = 0; t < s->tokens; t++)
        turn[t] = -1;
    if (test_rng_uniform(rng) < s->empty_share)
        return;
    size_t begin = test_rng_below(rng, s->tokens / 4 + 1);
    size_t end = s->tokens - test_rng_below(rng, s->tokens / 4 + 1);
    size_t turns = 1 + test_rng_below(rng, s->max_turns);
    int32_t current = -1;
    for (size_t t = begin; t < end; t++) {
        if (current >= 0 && test_rng_uniform(rng) < s->hole_share)
            continue;
        size_t wanted = (t - begin) * turns / (end - begin);
        if (current < 0 || (size_t)current < wanted)
            current++;
        mask[t] = 1;
        turn[t] = current;
    }
}

static void fill_rewards(struct random_batch *r, struct test_rng *rng, const struct random_shape *s, size_t row)
{
    const int32_t *turn = r->turn + row * s->tokens;
    int32_t next = -1;
    for (size_t t = s->tokens; t-- > 0;) {
        if (turn[t] < 0 || turn[t] == next)
            continue;
        r->turn_rewards[row * s->tokens + t] = next < 0 ? (double)test_rng_below(rng, 2) : 0.3 * test_rng_normal(rng);
        next = turn[t];
    }
}

static void fill_reals(struct random_batch *r, struct test_rng *rng, const struct random_shape *s)
{
    for (size_t i = 0; i < s->rows * s->tokens; i++) {
        r->old_log_prob[i] = -6 - 1.5 * fabs(test_rng_normal(rng));
        r->log_prob[i] = r->old_log_prob[i] + s->ratio_scale * test_rng_normal(rng);
        r->ref_log_prob[i] = r->old_log_prob[i] + s->ratio_scale * test_rng_normal(rng);
        r->rollout_log_prob[i] = r->old_log_prob[i] + s->ratio_scale * test_rng_normal(rng);
        r->advantages[i] = test_rng_normal(rng);
        r->weights[i] = 0.2 + 1.6 * test_rng_uniform(rng);
        r->values[i] = test_rng_normal(rng);
    }
}

enum { REAL_ARRAYS = 8 };

static double **real_array(struct random_batch *r, size_t i)
{
    double **arrays[REAL_ARRAYS] = {&r->log_prob,   &r->old_log_prob, &r->ref_log_prob, &r->rollout_log_prob,
                                    &r->advantages, &r->weights,      &r->values,       &r->turn_rewards};
    return arrays[i];
}

static const double *real_array_of(const struct random_batch *r, size_t i)
{
    const double *arrays[REAL_ARRAYS] = {r->log_prob,   r->old_log_prob, r->ref_log_prob, r->rollout_log_prob,
                                         r->advantages, r->weights,      r->values,       r->turn_rewards};
    return arrays[i];
}

struct random_batch *random_batch_new(uint64_t seed, struct random_shape shape)
{
    struct random_shape s = with_defaults(shape);
    struct test_rng rng = {seed};
    struct random_batch *r = test_alloc(1, sizeof *r);
    size_t cells = s.rows * s.tokens;
    r->mask = test_alloc(cells, sizeof *r->mask);
    r->turn = test_alloc(cells, sizeof *r->turn);
    r->group = test_alloc(s.rows, sizeof *r->group);
    r->scores = test_alloc(s.rows, sizeof *r->scores);
    for (size_t i = 0; i < REAL_ARRAYS; i++)
        *real_array(r, i) = test_alloc(cells, sizeof(double));
    size_t groups = (s.rows + s.group_size - 1) / s.group_size;
    for (size_t row = 0; row < s.rows; row++) {
        r->group[row] = 1000 - 37 * (int64_t)(row % groups);
        r->scores[row] = test_rng_normal(&rng);
        fill_row(r, &rng, &s, row);
        fill_rewards(r, &rng, &s, row);
    }
    fill_reals(r, &rng, &s);
    r->batch = (struct rl_batch){s.rows, s.tokens, r->mask, r->turn, r->group};
    return r;
}

void random_batch_free(struct random_batch *r)
{
    for (size_t i = 0; i < REAL_ARRAYS; i++)
        free(*real_array(r, i));
    free(r->mask);
    free(r->turn);
    free(r->group);
    free(r->scores);
    free(r);
}

void random_batch_poison(struct random_batch *r)
{
    for (size_t i = 0; i < r->batch.n_rows * r->batch.n_tokens; i++)
        for (size_t a = 0; a < REAL_ARRAYS && !r->mask[i]; a++)
            (*real_array(r, a))[i] = NAN;
}

void random_batch_copy_row(const struct random_batch *a, size_t from, struct random_batch *b, size_t to)
{
    size_t n = a->batch.n_tokens, width = b->batch.n_tokens, i = from * n, j = to * width;
    for (size_t t = 0; t < width; t++) {
        b->mask[j + t] = t < n ? a->mask[i + t] : 0;
        b->turn[j + t] = t < n ? a->turn[i + t] : -1;
    }
    for (size_t k = 0; k < REAL_ARRAYS; k++)
        memcpy(*real_array(b, k) + j, real_array_of(a, k) + i, n * sizeof(double));
    b->group[to] = a->group[from];
    b->scores[to] = a->scores[from];
}

double gradient_error(double (*f)(void *context), void *context, double *x, size_t n, const double *gradient, double step,
                      size_t *kinks)
{
    double worst = 0, largest = 1e-3, middle = f(context);
    for (size_t i = 0; i < n; i++)
        largest = fmax(largest, fabs(gradient[i]));
    *kinks = 0;
    for (size_t i = 0; i < n; i++) {
        double here = x[i];
        x[i] = here + step;
        double above = f(context);
        x[i] = here - step;
        double below = f(context);
        x[i] = here;
        if (fabs(above - 2 * middle + below) / step > 0.05 * largest)
            ++*kinks;
        else
            worst = fmax(worst, fabs((above - below) / (2 * step) - gradient[i]) / largest);
    }
    return worst;
}
