/*
 * compose_real.c: the factors of a row one after the other in one buffer of log-ratios, then PPO on
 * the last of them, with the product of the others as weights. Per turn, log-ratios become their
 * mean over the turn, and so, by the chain rule, does the gradient.
 *
 * Four policies can be behind one batch: the engine that sampled, the weights it had, those of the
 * proximal step, and those that are trained. Each neighbouring pair gives one factor. Only the last
 * ratio is clipped and carries a gradient; the others are constants that say how much a sample
 * counts, and capping them one by one keeps a stale sampler from being excused by a precise engine.
 */
#include <rlcore/compose.h>

#include <string.h>

#include "compose/compose_internal.h"
#include "correction/correction_internal.h"
#include "support/real.h"
#include "routing/routing_internal.h"
#include "support/rows.h"
#include "support/turns.h"
#include "support/vexp.h"

struct composing {
    struct rl_batch left; /* the batch with the mask that is left */
    const struct rl_compose_options *options;
    struct rl_compose_input in; /* with what is absent filled in */
    const struct rl_compose_output *out;
    real *weights;   /* [B*T] */
    real *l, *zeros; /* [B*T] per turn only */
    int32_t *turn;   /* [B*T] where tools leave */
    struct rl_compose_row *rows;
    struct rl_workspace rest;
};

/*
 * Absent policies are their neighbours. A policy that was not recorded is taken to be its
 * neighbour, which makes the factor between them exactly 1: the caller states less and gets fewer
 * corrections, not wrong ones.
 */
static enum rl_status fill_in(struct composing *c, struct rl_error *err)
{
    struct rl_compose_input *in = &c->in;
    if (!in->log_prob || !in->advantages || !(in->behaviour || in->sampler) || !c->out->mask)
        return rl_fail(err, RL_EINVAL,
                       "log_prob, advantages, one of behaviour and sampler, or the "
                       "mask to write is missing");
    in->sampler = in->sampler ? in->sampler : in->behaviour;
    in->behaviour = in->behaviour ? in->behaviour : in->sampler;
    in->proximal = in->proximal ? in->proximal : in->behaviour;
    return RL_OK;
}

static enum rl_status take(struct composing *c, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_scratch s = rl_scratch_begin(ws);
    size_t rows = c->left.n_rows, cells = rows * c->left.n_tokens, inner = rl_rows_bytes(rows);
    const struct rl_routes *routes = c->in.data.used_routes;
    size_t counts = routes ? rl_routes_bytes(rows, routes->n_layers) : 0;
    c->weights = rl_scratch_take(&s, cells, sizeof *c->weights);
    c->l = rl_scratch_take(&s, c->options->per_turn ? cells : 0, sizeof *c->l);
    c->zeros = rl_scratch_take(&s, c->options->per_turn ? cells : 0, sizeof *c->zeros);
    c->rows = rl_scratch_take(&s, rows, sizeof *c->rows);
    c->turn = rl_scratch_take(&s, c->in.data.tool ? cells : 0, sizeof *c->turn);
    size_t front = s.used;
    rl_scratch_take(&s, counts > inner ? counts : inner, 1);
    if (!rl_scratch_fits(&s))
        return rl_scratch_short(&s, err);
    c->rest = (struct rl_workspace){(unsigned char *)ws->data + front, ws->size - front, 0};
    return RL_OK;
}

/*
 * The mask without tools, in the caller's array from here on. The caller's array serves as the
 * working mask from here on: OPSM only ever clears it, and what is left is part of the result.
 */
static enum rl_status take_mask(struct composing *c, struct rl_error *err)
{
    const struct rl_compose_options *o = c->options;
    bool turns = o->per_turn || (o->use_opsm && o->opsm.unit == RL_OPSM_TURN);
    const uint8_t *tool = c->in.data.tool, *mask = c->left.mask;
    enum rl_status status = RL_OK;
    if (tool)
        status = rl_mask_tools(&c->left, tool, c->out->mask, turns ? c->turn : NULL, err);
    else if (c->left.n_rows && c->left.n_tokens)
        memmove(c->out->mask, mask, c->left.n_rows * c->left.n_tokens);
    c->left.mask = c->out->mask;
    c->left.turn = tool && turns ? c->turn : c->left.turn;
    return status == RL_OK ? rl_batch_check(&c->left, turns ? RL_NEEDS_TURNS : RL_NEEDS_MASK, err)
                           : status;
}

/*
 * Arrays that stand in for their neighbour would be checked twice, and named by a name that the
 * caller did not give.
 */
static enum rl_status check_reals(const struct composing *c, struct rl_error *err)
{
    const struct {
        const char *name;
        const real *values;
    } arrays[] = {{"log_prob", c->in.log_prob},
                  {"proximal_log_prob", c->in.proximal},
                  {"behaviour_log_prob", c->in.behaviour},
                  {"sampler_log_prob", c->in.sampler},
                  {"advantages", c->in.advantages}};
    enum rl_status status = RL_OK;
    for (size_t i = 0; status == RL_OK && i < sizeof arrays / sizeof *arrays; i++)
        if (i == 0 || arrays[i].values != arrays[i - 1].values)
            status = rl_batch_check_reals(arrays[i].name, arrays[i].values, &c->left, err);
    return status;
}

static enum rl_status drop(struct composing *c, struct rl_opsm_result *result, struct rl_error *err)
{
    *result = (struct rl_opsm_result){0};
    if (!c->options->use_opsm)
        return RL_OK;
    return rl_opsm(&c->left, &c->options->opsm, c->in.log_prob, c->in.sampler, c->in.advantages,
                   c->out->mask, NULL, result, err);
}

static size_t chunk_at(size_t n, size_t t)
{
    return n - t < RL_CHUNK ? n - t : RL_CHUNK;
}

/* Up to RL_CHUNK log-ratios. Returns 0, or NaN if one is not finite: x - x is 0 for a finite x
 * only. */
RL_HOT static real subtract(const uint8_t *mask, const real *a, const real *b, size_t n,
                            real *restrict l)
{
    real poison = 0, on[RL_CHUNK];
    rl_mask_reals(mask, n, on);
#pragma omp simd reduction(+ : poison)
    for (size_t t = 0; t < n; t++) {
        real x = a[t], y = b[t];
        x = on[t] > 0 ? x : 0;
        y = on[t] > 0 ? y : 0;
        l[t] = x - y;
        poison += l[t] - l[t];
    }
    return poison;
}

struct mean {
    real sum, count;
};

RL_HOT static struct mean add_up(const uint8_t *mask, const real *x, size_t n)
{
    real sum = 0, count = 0, on[RL_CHUNK];
    rl_mask_reals(mask, n, on);
#pragma omp simd reduction(+ : sum, count)
    for (size_t t = 0; t < n; t++) {
        sum += on[t] > 0 ? x[t] : 0;
        count += on[t];
    }
    return (struct mean){sum, count};
}

RL_HOT static void spread(const uint8_t *mask, size_t n, real value, real *x)
{
    for (size_t t = 0; t < n; t++)
        x[t] = mask[t] ? value : 0;
}

/* In double: a turn can be a whole row of a long response. */
static void average(const uint8_t *mask, size_t n, real *x)
{
    double sum = 0, count = 0;
    for (size_t t = 0; t < n; t += RL_CHUNK) {
        struct mean part = add_up(mask + t, x + t, chunk_at(n, t));
        sum += (double)part.sum;
        count += (double)part.count;
    }
    spread(mask, n, (real)(count > 0 ? sum / count : 0), x);
}

static void average_turns(const struct rl_batch *batch, size_t row, real *x)
{
    size_t n = batch->n_tokens, begin = row * n;
    const int32_t *turn = batch->turn + begin;
    size_t from = rl_turn_next(turn, 0, n, -1);
    for (int32_t k = 0; from < n; k++) {
        size_t to = rl_turn_next(turn, from, n, k);
        average(batch->mask + begin + from, to - from, x + begin + from);
        from = to;
    }
}

/*
 * Log-ratios of a row, averaged over its turns, in c->l. PPO is run afterwards with these means as
 * log-probs against zeros, instead of a PPO of its own for turns: one formula, one set of tests.
 */
static real average_ratios(const struct composing *c, size_t row, const real *a, const real *b)
{
    size_t n = c->left.n_tokens, begin = row * n;
    real poison = 0;
    for (size_t i = begin; i < begin + n; i += RL_CHUNK)
        poison += subtract(c->left.mask + i, a + i, b + i, chunk_at(begin + n, i), c->l + i);
    average_turns(&c->left, row, c->l);
    return poison;
}

/* Up to RL_CHUNK factors, 0 at mask 0, capped. */
RL_HOT static struct rl_factor_sums take_factors(const uint8_t *mask, const real *l, size_t n,
                                                 real cap, real *restrict factors)
{
    real on[RL_CHUNK], sum = 0, min = INFINITY, max = -INFINITY, capped = 0, clamped = 0;
    const real limit = (real)RL_LOG_RATIO_LIMIT;
    rl_mask_reals(mask, n, on);
#pragma omp simd reduction(+ : sum, capped, clamped) reduction(min : min) reduction(max : max)
    for (size_t t = 0; t < n; t++) {
        real o = on[t], w = rl_exp_near(rl_limit(l[t], -limit, limit));
        real least = o > 0 ? w : INFINITY, most = o > 0 ? w : -INFINITY;
        factors[t] = o * (w < cap ? w : cap);
        sum += o * w;
        min = least < min ? least : min;
        max = most > max ? most : max;
        capped += w > cap ? o : 0;
        clamped += l[t] < -limit || l[t] > limit ? 1 : 0;
    }
    return (struct rl_factor_sums){(double)sum, (double)min, (double)max, (double)capped,
                                   (double)clamped};
}

RL_HOT static void multiply(real *restrict weights, const real *factors, size_t n)
{
    for (size_t t = 0; t < n; t++)
        weights[t] *= factors[t];
}

static void copy(real *to, const real *from, size_t n)
{
    for (size_t t = 0; to && t < n; t++)
        to[t] = from[t];
}

/* One factor: a / b. */
struct factor {
    const real *a, *b;
    double cap;
    real *to;      /* [B*T] or NULL */
    real *weights; /* [B*T] to multiply, or NULL */
};

/* The factors of a row. */
static struct rl_factor_sums weigh_row(const struct composing *c, size_t row,
                                       const struct factor *f)
{
    struct rl_factor_sums sums = {.min = INFINITY, .max = -INFINITY};
    size_t n = c->left.n_tokens, begin = row * n;
    real l[RL_CHUNK], factors[RL_CHUNK];
    real poison = c->options->per_turn ? average_ratios(c, row, f->a, f->b) : 0;
    for (size_t i = begin; i < begin + n; i += RL_CHUNK) {
        size_t count = chunk_at(begin + n, i);
        const uint8_t *mask = c->left.mask + i;
        if (!c->options->per_turn)
            poison += subtract(mask, f->a + i, f->b + i, count, l);
        struct rl_factor_sums part =
            take_factors(mask, c->options->per_turn ? c->l + i : l, count, (real)f->cap, factors);
        rl_factor_add(&sums, &part);
        copy(f->to ? f->to + i : NULL, factors, count);
        if (f->weights)
            multiply(f->weights + i, factors, count);
    }
    c->rows[row].poisoned |= !(poison == 0);
    return sums;
}

RL_HOT static void begin_weights(const uint8_t *mask, size_t n, real *weights)
{
    for (size_t t = 0; t < n; t++)
        weights[t] = mask[t];
}

RL_HOT static void sum_weights(const uint8_t *mask, const real *weights, size_t n,
                               struct rl_compose_row *row)
{
    double count = 0, sum = 0, square = 0;
#pragma omp simd reduction(+ : count, sum, square)
    for (size_t t = 0; t < n; t++) {
        double w = (double)weights[t];
        count += mask[t];
        sum += w;
        square += w * w;
    }
    row->n = count;
    row->weight = sum;
    row->square = square;
}

static void clear(real *x, size_t n)
{
    for (size_t t = 0; t < n; t++)
        x[t] = 0;
}

/*
 * The ratio, and per turn the log-ratios that PPO takes: left in c->l as the last ones there. Last
 * of all, because the buffer is shared: what weigh_row leaves in it per turn is what PPO reads.
 */
static void take_ratios(const struct composing *c, size_t row)
{
    const struct factor ratio = {c->in.log_prob, c->in.proximal, INFINITY, c->out->ratio, NULL};
    if (c->options->per_turn)
        clear(c->zeros + row * c->left.n_tokens, c->left.n_tokens);
    if (c->options->per_turn || c->out->ratio)
        weigh_row(c, row, &ratio);
}

static void compose_row(const struct composing *c, size_t row)
{
    const struct factor backend = {c->in.behaviour, c->in.sampler, c->options->backend_cap,
                                   c->out->backend, c->weights},
                        staleness = {c->in.proximal, c->in.behaviour, c->options->staleness_cap,
                                     c->out->staleness, c->weights};
    struct rl_compose_row *sums = &c->rows[row];
    size_t n = c->left.n_tokens, i = row * n;
    sums->poisoned = false;
    begin_weights(c->left.mask + i, n, c->weights + i);
    sums->factor[RL_BACKEND] = weigh_row(c, row, &backend);
    sums->factor[RL_STALENESS] = weigh_row(c, row, &staleness);
    sum_weights(c->left.mask + i, c->weights + i, n, sums);
    take_ratios(c, row);
}

static enum rl_status weigh(const struct composing *c, struct rl_compose_result *result,
                            struct rl_error *err)
{
    size_t rows = c->left.n_rows;
    bool poisoned = false;
#pragma omp parallel for schedule(static) if (rows * c->left.n_tokens >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < rows; row++)
        compose_row(c, row);
    for (size_t row = 0; row < rows; row++)
        poisoned |= c->rows[row].poisoned;
    rl_compose_result_set(result, c->rows, rows);
    return poisoned ? check_reals(c, err) : RL_OK;
}

static enum rl_status run(struct composing *c, struct rl_compose_result *result,
                          struct rl_error *err)
{
    bool turns = c->options->per_turn;
    size_t rows = c->left.n_rows;
    const struct rl_loss_input in = {.log_prob = turns ? c->l : c->in.log_prob,
                                     .old_log_prob = turns ? c->zeros : c->in.proximal,
                                     .advantages = c->in.advantages,
                                     .weights = c->weights};
    real *d = c->out->d_log_prob;
    enum rl_status status = weigh(c, result, err);
    if (status == RL_OK)
        status = rl_ppo_loss(&c->left, &in, &c->options->loss, d, &result->loss, &c->rest, err);
    if (status != RL_OK || !d || !turns)
        return status;
#pragma omp parallel for schedule(static) if (rows * c->left.n_tokens >= RL_PARALLEL_TOKENS)
    for (size_t row = 0; row < rows; row++)
        /*
         * Every log-prob of the turn moves the mean by 1/n of its own movement: each token gets the
         * mean of the turn's gradients.
         */
        average_turns(&c->left, row, d);
    return RL_OK;
}

enum rl_status rl_compose_loss(const struct rl_batch *batch, const struct rl_compose_input *in,
                               const struct rl_compose_options *options,
                               const struct rl_compose_output *out,
                               struct rl_compose_result *result, struct rl_workspace *ws,
                               struct rl_error *err)
{
    if (RL_NEED(err, {"batch", batch}, {"input", in}, {"options", options}, {"output", out},
                {"result", result}) != RL_OK)
        return RL_EINVAL;
    struct composing c = {.options = options, .in = *in, .out = out};
    enum rl_status status = rl_batch_check(batch, RL_NEEDS_MASK, err);
    if (status == RL_OK)
        status = rl_compose_check(options, err);
    if (status != RL_OK)
        return status;
    c.left = *batch;
    status = fill_in(&c, err);
    if (status == RL_OK)
        status = take(&c, ws, err);
    if (status == RL_OK)
        status = take_mask(&c, err);
    /*
     * Only OPSM reads log-probs before the factors do, and it has no way of its own to name a bad
     * one.
     */
    if (status == RL_OK && options->use_opsm)
        status = check_reals(&c, err);
    if (status == RL_OK)
        status =
            rl_compose_routes(&c.left, &c.in.data, options->replay, &result->routes, &c.rest, err);
    if (status == RL_OK)
        status = drop(&c, &result->opsm, err);
    return status == RL_OK ? run(&c, result, err) : status;
}
