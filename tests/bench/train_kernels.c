/* train_kernels.c: see train_kernels.h. */
#define _DEFAULT_SOURCE
#include "train_kernels.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "policy/kernels.h"

/* Tokens of a pack, of a sequence, and of a step of decoding. */
enum { PACKED = 600, KEYS = 200, DECODED = 64 };

/* Each kernel runs for a twentieth of a second, at least 10 times. */
static const double least_s = 0.05;

struct arrays {
    size_t width, mlp, heads, tokens, pad;
    float *a, *b, *c, *d, *p, *scratch;
    int32_t *query;
};

typedef void kernel(const struct arrays *x);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- products: [n] tokens times a matrix, and the two gradients of that ---------------------- */

static void qkv(const struct arrays *x)
{
    net_gemmf(false, false, PACKED, 3 * x->width, x->width, x->a, x->width, x->b, 3 * x->width, 0, x->c, 3 * x->width);
}

static void out(const struct arrays *x)
{
    net_gemmf(false, false, PACKED, x->width, x->width, x->a, x->width, x->b, x->width, 1, x->c, x->width);
}

static void up(const struct arrays *x)
{
    net_gemmf(false, false, PACKED, x->mlp, x->width, x->a, x->width, x->b, x->mlp, 0, x->c, x->mlp);
}

static void down(const struct arrays *x)
{
    net_gemmf(false, false, PACKED, x->width, x->mlp, x->a, x->mlp, x->b, x->width, 1, x->c, x->width);
}

static void logits(const struct arrays *x)
{
    net_gemmf(false, true, PACKED, x->tokens, x->width, x->a, x->width, x->b, x->width, 0, x->c, x->tokens);
}

static void d_input(const struct arrays *x)
{
    net_gemmf(false, true, PACKED, x->width, x->mlp, x->a, x->mlp, x->b, x->mlp, 0, x->c, x->width);
}

static void d_weights(const struct arrays *x)
{
    net_gemmf(true, false, x->width, x->mlp, PACKED, x->a, x->width, x->b, x->mlp, 1, x->c, x->mlp);
}

static void step(const struct arrays *x)
{
    net_gemmf(false, false, DECODED, 3 * x->width, x->width, x->a, x->width, x->b, 3 * x->width, 0, x->c, 3 * x->width);
}

/* ---- attention: one sequence -------------------------------------------------------------- */

static struct net_attentionf attention_of(const struct arrays *x)
{
    return (struct net_attentionf){.heads = x->heads,
                                   .head_dim = x->width / x->heads,
                                   .n_queries = KEYS,
                                   .query = x->query,
                                   .q = x->a,
                                   .q_stride = 3 * x->width,
                                   .k = x->a + x->width,
                                   .v = x->a + 2 * x->width,
                                   .k_stride = 3 * x->width,
                                   .v_stride = 3 * x->width,
                                   .n_keys = KEYS,
                                   .pad = x->pad};
}

static void attend(const struct arrays *x)
{
    struct net_attentionf a = attention_of(x);
    net_attendf(&a, x->p, x->c, x->scratch);
}

static void attend_backward(const struct arrays *x)
{
    struct net_attentionf a = attention_of(x);
    net_attend_backwardf(&a, x->p, x->b, x->d, x->d + x->width, x->d + 2 * x->width, 3 * x->width, x->scratch);
}

static void attend_cached(const struct arrays *x)
{
    net_attend_cachedf(x->heads, x->width / x->heads, KEYS, x->pad, x->b, x->a, x->d, x->c, x->scratch);
}

/* ---- the measurement ---------------------------------------------------------------------- */

static double fastest(kernel *run, const struct arrays *x)
{
    double best = 1e9, begin = now();
    for (int i = 0; i < 10 || now() - begin < least_s; i++) {
        double start = now();
        run(x);
        double seconds = now() - start;
        best = seconds < best ? seconds : best;
    }
    return best;
}

static float *numbers(size_t n)
{
    float *x = calloc(n, sizeof *x);
    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)(i * 37 % 101) / 101 - 0.5f;
    return x;
}

static bool make(struct arrays *x)
{
    size_t widest = 3 * x->width > x->mlp ? 3 * x->width : x->mlp, size = PACKED * (widest + x->tokens);
    x->pad = net_padded(KEYS);
    x->a = numbers(size);
    x->b = numbers(size);
    x->c = numbers(size);
    x->d = numbers(size);
    x->p = numbers(KEYS * x->heads * x->pad);
    x->scratch = numbers((3 * x->width + NET_QUERIES) * x->pad);
    x->query = calloc(KEYS, sizeof *x->query);
    for (int32_t i = 0; x->query && i < KEYS; i++)
        x->query[i] = i;
    return x->a && x->b && x->c && x->d && x->p && x->scratch && x->query;
}

static void release(const struct arrays *x)
{
    float *const all[] = {x->a, x->b, x->c, x->d, x->p, x->scratch};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    free(x->query);
}

bool train_kernels(const struct trainer_model *model, struct kernel_rate rates[TRAIN_KERNELS])
{
    struct arrays x = {
        .width = (size_t)model->width, .mlp = (size_t)model->mlp, .heads = (size_t)model->heads, .tokens = (size_t)model->tokens};
    double d = model->width, m = model->mlp, pairs = 0.5 * KEYS * (KEYS + 1);
    const struct {
        const char *name;
        kernel *run;
        double flops;
    } kernels[TRAIN_KERNELS] = {
        {"product: queries, keys, values", qkv, 2 * PACKED * 3 * d * d},
        {"product: output of attention", out, 2 * PACKED * d * d},
        {"product: up", up, 2 * PACKED * d * m},
        {"product: down", down, 2 * PACKED * d * m},
        {"product: logits", logits, 2 * PACKED * d * model->tokens},
        {"product: gradient of inputs", d_input, 2 * PACKED * d * m},
        {"product: gradient of weights", d_weights, 2 * PACKED * d * m},
        {"product: a step of decoding", step, 2 * DECODED * 3 * d * d},
        {"attention", attend, 4 * d * pairs},
        {"attention, backward", attend_backward, 8 * d * pairs},
        {"attention of a step", attend_cached, 4 * d * KEYS},
    };
    bool made = make(&x);
    for (size_t i = 0; made && i < TRAIN_KERNELS; i++)
        rates[i] = (struct kernel_rate){kernels[i].name, kernels[i].flops / fastest(kernels[i].run, &x)};
    release(&x);
    return made;
}
