/* trainer_attention.c: tests attention of one sequence against the formulas in double, at every vector level of this machine. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/level.h>

#include "support/rng.h"
#include "policy/kernels.h"

enum { HEADS = 2, MOST_KEYS = 75, SPARE = 3 };

/* One sequence whose queries are all tokens, or some of them. Rows of q, k and v are `stride` apart in qkv. */
struct example {
    struct net_attentionf a;
    float *qkv, *p, *out, *d_out, *d_qkv, *scratch;
    int32_t query[MOST_KEYS];
    size_t width, stride;
};

static float *numbers(size_t n, uint64_t seed, float scale)
{
    struct trainer_rng rng = {seed};
    float *x = calloc(n, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = scale * (float)(trainer_rng_uniform(&rng) - 0.5);
    return x;
}

/* Every `step`-th token is a query. */
static struct example example(size_t n_keys, size_t head_dim, size_t step)
{
    struct example e = {.width = HEADS * head_dim};
    e.stride = 3 * e.width + SPARE;
    e.qkv = numbers(n_keys * e.stride, n_keys + head_dim, 4);
    e.a = (struct net_attentionf){.heads = HEADS,
                                  .head_dim = head_dim,
                                  .query = e.query,
                                  .q = e.qkv,
                                  .k = e.qkv + e.width,
                                  .v = e.qkv + 2 * e.width,
                                  .q_stride = e.stride,
                                  .k_stride = e.stride,
                                  .v_stride = e.stride,
                                  .n_keys = n_keys,
                                  .pad = net_padded(n_keys)};
    for (size_t t = step - 1; t < n_keys; t += step)
        e.query[e.a.n_queries++] = (int32_t)t;
    e.p = numbers(n_keys * HEADS * e.a.pad, 1, 1);
    e.out = numbers(n_keys * e.width, 2, 1);
    e.d_out = numbers(n_keys * e.width, 3, 2);
    e.d_qkv = numbers(n_keys * e.stride, 4, 1);
    e.scratch = numbers((3 * head_dim + NET_QUERIES) * e.a.pad, 5, 1);
    return e;
}

static void attend(struct example *e)
{
    e->a.query = e->query; /* the example may have been copied */
    net_attendf(&e->a, e->p, e->out, e->scratch);
}

static void release(struct example *e)
{
    float *const all[] = {e->qkv, e->p, e->out, e->d_out, e->d_qkv, e->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* p[t] for t <= query i, in double. */
static void weights(const struct example *e, size_t i, size_t head, double *p)
{
    const size_t at = (size_t)e->query[i], dh = e->a.head_dim;
    double most = -INFINITY, sum = 0;
    for (size_t t = 0; t <= at; t++) {
        p[t] = 0;
        for (size_t d = 0; d < dh; d++)
            p[t] += (double)e->a.q[at * e->stride + head * dh + d] * (double)e->a.k[t * e->stride + head * dh + d];
        p[t] /= sqrt((double)dh);
        most = fmax(most, p[t]);
    }
    for (size_t t = 0; t <= at; t++)
        sum += p[t] = exp(p[t] - most);
    for (size_t t = 0; t <= at; t++)
        p[t] /= sum;
}

static void assert_near(double value, double right, double tolerance, const char *what, const struct example *e)
{
    if (!(fabs(value - right) <= tolerance))
        fail_msg("%s: %g, not %g (%zu keys, %zu queries, heads of %zu)", what, value, right, e->a.n_keys, e->a.n_queries,
                 e->a.head_dim);
}

static void assert_forward(const struct example *e)
{
    const size_t dh = e->a.head_dim;
    double p[MOST_KEYS];
    for (size_t i = 0; i < e->a.n_queries; i++)
        for (size_t head = 0; head < HEADS; head++) {
            weights(e, i, head, p);
            for (size_t t = 0; t <= (size_t)e->query[i]; t++)
                assert_near((double)e->p[(i * HEADS + head) * e->a.pad + t], p[t], 2e-5 * p[t] + 1e-30, "a weight", e);
            for (size_t d = 0; d < dh; d++) {
                double mixed = 0;
                for (size_t t = 0; t <= (size_t)e->query[i]; t++)
                    mixed += p[t] * (double)e->a.v[t * e->stride + head * dh + d];
                assert_near((double)e->out[i * e->width + head * dh + d], mixed, 2e-5, "an output", e);
            }
        }
}

/* Adds the gradients of one query and head to d [n_keys][stride], as q, k and v are stored. */
static void add_gradient(const struct example *e, size_t i, size_t head, double *d)
{
    const size_t at = (size_t)e->query[i], dh = e->a.head_dim, first = head * dh;
    double p[MOST_KEYS], dp[MOST_KEYS], sum = 0;
    const float *d_mix = e->d_out + i * e->width + first;
    weights(e, i, head, p);
    for (size_t t = 0; t <= at; t++) {
        dp[t] = 0;
        for (size_t x = 0; x < dh; x++)
            dp[t] += (double)d_mix[x] * (double)e->a.v[t * e->stride + first + x];
        sum += p[t] * dp[t];
    }
    for (size_t t = 0; t <= at; t++)
        for (size_t x = 0; x < dh; x++) {
            const double ds = p[t] * (dp[t] - sum) / sqrt((double)dh);
            d[at * e->stride + first + x] += ds * (double)e->a.k[t * e->stride + first + x];
            d[t * e->stride + e->width + first + x] += ds * (double)e->a.q[at * e->stride + first + x];
            d[t * e->stride + 2 * e->width + first + x] += p[t] * (double)d_mix[x];
        }
}

static void assert_backward(struct example *e)
{
    double *right = calloc(e->a.n_keys * e->stride, sizeof *right);
    assert_non_null(right);
    net_attend_backwardf(&e->a, e->p, e->d_out, e->d_qkv, e->d_qkv + e->width, e->d_qkv + 2 * e->width, e->stride, e->scratch);
    for (size_t i = 0; i < e->a.n_queries; i++)
        for (size_t head = 0; head < HEADS; head++)
            add_gradient(e, i, head, right);
    for (size_t t = 0; t < e->a.n_keys; t++)
        for (size_t x = 0; x < 3 * e->width; x++)
            assert_near((double)e->d_qkv[t * e->stride + x], right[t * e->stride + x], 1e-4, "a gradient", e);
    free(right);
}

static void at_every_level(void (*check)(void))
{
    const enum rl_level used = rl_level();
    for (int level = 0; level <= (int)rl_level_highest(); level++)
        if (rl_level_use((enum rl_level)level, NULL) == RL_OK)
            check();
    assert_int_equal(rl_level_use(used, NULL), RL_OK);
}

/* Head sizes of whole vectors, of more than one tile, and with a remainder; all tokens as queries, or a part. */
static void check_formulas(void)
{
    const size_t dims[] = {2, 6, 16, 20, 48, 64};
    for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
        for (size_t n = 1; n <= MOST_KEYS; n += n < 20 ? 1 : 11)
            for (size_t step = 1; step <= 3; step++) {
                struct example e = example(n, dims[d], step);
                attend(&e);
                assert_forward(&e);
                assert_backward(&e);
                release(&e);
            }
}

static void results_are_those_of_the_formulas(void **state)
{
    (void)state;
    at_every_level(check_formulas);
}

/* A query has the same bits alone, among others, and in decoding, where keys are stored transposed. */
static void check_grouping(void)
{
    enum { DIM = 16, N = 37 };
    struct example all = example(N, DIM, 1);
    float *kt = numbers(HEADS * DIM * all.a.pad, 1, 0), *v = numbers(N * HEADS * DIM, 1, 0), *out = numbers(HEADS * DIM, 1, 0);
    attend(&all);
    for (size_t t = 0; t < N; t++)
        for (size_t x = 0; x < all.width; x++) {
            kt[x * all.a.pad + t] = all.a.k[t * all.stride + x];
            v[t * all.width + x] = all.a.v[t * all.stride + x];
        }
    for (int32_t t = 0; t < N; t++) {
        struct example one = example(N, DIM, 1);
        one.query[0] = t;
        one.a.n_queries = 1;
        attend(&one);
        assert_memory_equal(one.out, all.out + (size_t)t * all.width, all.width * sizeof *out);
        net_attend_cachedf(HEADS, DIM, (size_t)t + 1, all.a.pad, all.a.q + (size_t)t * all.stride, kt, v, out, all.scratch);
        assert_memory_equal(out, all.out + (size_t)t * all.width, all.width * sizeof *out);
        release(&one);
    }
    free(kt);
    free(v);
    free(out);
    release(&all);
}

static void a_query_does_not_depend_on_others(void **state)
{
    (void)state;
    at_every_level(check_grouping);
}

/*
 * Two keys with scores 0 and -x have weights in the ratio exp(-x). Its relative error is at most 3e-7 for exp, 2e-7 for a division and two
 * products, and that of the score, which is rounded twice, times x. From a distance of 88 on, the weight of a key is 0.
 */
static void check_exponential(void)
{
    enum { DIM = 2 };
    struct example e = example(2, DIM, 2);
    e.a.query = e.query;
    memset(e.qkv, 0, 2 * e.stride * sizeof *e.qkv);
    for (int i = 0; i <= 9600; i++) {
        const float x = (float)i / 100;
        e.qkv[e.stride] = 1;                      /* the query */
        e.qkv[e.stride + e.width] = -x * sqrtf(2); /* its own key */
        net_attendf(&e.a, e.p, e.out, e.scratch);
        const double score = (double)e.qkv[e.stride + e.width] * (double)(1 / sqrtf(2)), ratio = (double)e.p[1] / (double)e.p[0];
        if (x < 86.5f)
            assert_near(ratio / exp(score), 1, 5e-7 + 1.2e-7 * fabs(score), "exp", &e);
        else if (x > 88)
            assert_true(ratio == 0);
    }
    release(&e);
}

static void weights_follow_exp(void **state)
{
    (void)state;
    at_every_level(check_exponential);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_those_of_the_formulas),
        cmocka_unit_test(a_query_does_not_depend_on_others),
        cmocka_unit_test(weights_follow_exp),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
