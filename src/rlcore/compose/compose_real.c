/*
 * compose_real.c: the factors of a row are computed one after the other in a buffer of log-ratios;
 * then PPO runs on the last factor, with the product of the others as weights. With one ratio per
 * turn, log-ratios are replaced by their mean over the turn. By the chain rule the gradient is
 * replaced by its mean, too.
 *
 * Up to four policies are involved in a batch: the engine that sampled, the same weights in the
 * training engine, the weights of the proximal step, and those that are trained. Each neighbouring
 * pair gives one factor. Only the last ratio is clipped and has a gradient. The others are
 * constants that say how much a sample counts; each has its own cap, so that a stale sampler is not
 * excused by a precise engine.
 */
#include <rlcore/compose.h>

#include "compose/compose_internal.h"
#include "correction/correction_internal.h"
#include "support/real.h"
#include "routing/routing_internal.h"
#include "support/row_sums.h"
#include "support/turns.h"
#include "support/vexp.h"

/* The arrays in the order of struct rl_compose_input; only PPO reads the clip scales. */
enum { LOG_PROB, PROXIMAL, BEHAVIOUR, SAMPLER, ADVANTAGES, N_ARRAYS, CLIP_SCALE = N_ARRAYS };

struct composing {
    struct rl_layout layout; /* the batch; later with the remaining mask and turns */
    struct rl_grid left;     /* the same batch, checked */
    const struct rl_compose_options *options;
    struct rl_compose_input in; /* the input, with absent arrays replaced */
    const struct rl_compose_output *out;
    real *weights;   /* [B*T] */
    real *l, *zeros; /* [B*T] per turn only */
    int32_t *turn;   /* [B*T] only with tools */
    struct rl_compose_row *rows;
    struct rl_workspace rest;
};

/* Replace an absent array by its neighbour, with the neighbour's element type. */
static void stand_in(const real **array, unsigned k, const real *neighbour, unsigned of, uint32_t *bits)
{
    if (*array)
        return;
    *array = neighbour;
    *bits = (*bits & ~RL_BF16(k)) | (*bits >> of & 1) << k;
}

/*
 * A policy that was not recorded is assumed to equal its neighbour, which makes the factor between
 * them exactly 1. A caller that provides less gets fewer corrections, not wrong ones.
 */
static enum rl_status fill_in(struct composing *c, struct rl_error *err)
{
    struct rl_compose_input *in = &c->in;
    uint32_t bits = c->left.bf16 & (RL_BF16(CLIP_SCALE + 1) - 1);
    if (!in->log_prob || !in->advantages || !(in->behaviour || in->sampler) || !c->out->mask)
        return rl_fail(err, RL_EINVAL,
                       "log_prob, advantages, one of behaviour and sampler, or the "
                       "mask to write is missing");
    stand_in(&in->sampler, SAMPLER, in->behaviour, BEHAVIOUR, &bits);
    stand_in(&in->behaviour, BEHAVIOUR, in->sampler, SAMPLER, &bits);
    stand_in(&in->proximal, PROXIMAL, in->behaviour, BEHAVIOUR, &bits);
    c->layout.bf16 = c->left.bf16 = bits;
    return RL_OK;
}

static enum rl_status take(struct composing *c, struct rl_workspace *ws, struct rl_error *err)
{
    struct rl_scratch s = rl_scratch_begin(ws);
    size_t rows = c->left.n_rows, cells = rl_grid_end(&c->left), inner = rl_rows_bytes(rows);
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

static void copy_mask(const struct rl_grid *batch, uint8_t *mask)
{
    for (size_t row = 0; row < batch->n_rows; row++)
        for (size_t i = rl_row_at(batch, row), end = rl_row_end(batch, row); i < end; i++)
            mask[i] = rl_on(batch, i);
}

/*
 * Write the mask without tools into the caller's array, which is the working mask from here on:
 * OPSM only clears elements of it, and the remaining mask is part of the result.
 */
static enum rl_status take_mask(struct composing *c, struct rl_error *err)
{
    const struct rl_compose_options *o = c->options;
    bool turns = o->per_turn || (o->use_opsm && o->opsm.unit == RL_OPSM_TURN);
    const uint8_t *tool = c->in.data.tool;
    if (tool)
        RL_TRY(rl_mask_tools(&c->layout.batch, tool, c->out->mask, turns ? c->turn : NULL, err));
    else
        copy_mask(&c->left, c->out->mask);
    c->layout = rl_grid_layout(&c->left, c->out->mask, tool && turns ? c->turn : NULL, c->left.bf16);
    return rl_grid_of(&c->left, &c->layout.batch, turns ? RL_NEEDS_TURNS : RL_NEEDS_MASK, err);
}

/* An array that replaces its neighbour is checked once, under the name that the caller used. */
static enum rl_status check_reals(const struct composing *c, struct rl_error *err)
{
    const struct {
        const char *name;
        const real *values;
    } arrays[N_ARRAYS] = {[LOG_PROB] = {"log_prob", c->in.log_prob},
                          [PROXIMAL] = {"proximal_log_prob", c->in.proximal},
                          [BEHAVIOUR] = {"behaviour_log_prob", c->in.behaviour},
                          [SAMPLER] = {"sampler_log_prob", c->in.sampler},
                          [ADVANTAGES] = {"advantages", c->in.advantages}};
    for (unsigned k = 0; k < N_ARRAYS; k++)
        if (k == 0 || arrays[k].values != arrays[k - 1].values)
            RL_TRY(rl_grid_check_reals(arrays[k].name, &c->left, k, arrays[k].values, false, err));
    return RL_OK;
}

static enum rl_status drop(struct composing *c, struct rl_opsm_result *result, struct rl_error *err)
{
    *result = (struct rl_opsm_result){0};
    if (!c->options->use_opsm)
        return RL_OK;
    /* The arrays of rl_opsm are the first, fourth and fifth of this call. */
    uint32_t bits = (c->left.bf16 & 1) | (c->left.bf16 >> SAMPLER & 3) << 1;
    const struct rl_layout layout = rl_grid_layout(&c->left, NULL, NULL, bits);
    return rl_opsm(&layout.batch, &c->options->opsm, c->in.log_prob, c->in.sampler, c->in.advantages, c->out->mask, NULL, result,
                   err);
}

static size_t chunk_at(size_t i, size_t end)
{
    return end - i < RL_CHUNK ? end - i : RL_CHUNK;
}

/* One factor: a / b, with the indices of both arrays in the input. */
struct factor {
    const real *a, *b;
    unsigned a_k, b_k;
    double cap;
    real *to;      /* [B*T] or NULL */
    real *weights; /* [B*T] multiplied by the factor, or NULL */
};

/* Compute up to RL_CHUNK log-ratios. Returns 0, or other bits if one is not finite. */
HOT(rl_int, subtract, (const struct rl_grid *batch, const struct factor *f, size_t i, size_t n, real *restrict l),
    (batch, f, i, n, l))
{
    real floats[2][RL_CHUNK];
    rl_int bad = 0, on[RL_CHUNK];
    const real *a = rl_reals_at(batch, f->a_k, f->a, i, n, floats[0]);
    const real *b = rl_reals_at(batch, f->b_k, f->b, i, n, floats[1]);
    rl_mask_bits(batch, i, n, on);
    RL_INDEPENDENT
    for (size_t t = 0; t < n; t++) {
        real x = rl_keep(on[t], a[t]) - rl_keep(on[t], b[t]);
        l[t] = x;
        bad |= rl_not_finite(x);
    }
    return bad;
}

struct mean {
    double sum, count;
};

HOT(struct mean, add_up, (const struct rl_grid *batch, const real *x, size_t i, size_t n), (batch, x, i, n))
{
    real term[RL_CHUNK];
    rl_int on[RL_CHUNK], count = 0;
    rl_mask_bits(batch, i, n, on);
    RL_INDEPENDENT
    for (size_t t = 0; t < n; t++) {
        term[t] = rl_keep(on[t], x[i + t]);
        count -= on[t];
    }
    return (struct mean){(double)rl_sum(term, n), (double)count};
}

HOT_VOID(spread, (const struct rl_grid *batch, size_t i, size_t n, real value, real *x), (batch, i, n, value, x))
{
    rl_int on[RL_CHUNK];
    rl_mask_bits(batch, i, n, on);
    for (size_t t = 0; t < n; t++)
        x[i + t] = rl_keep(on[t], value);
}

/* The sum is double, because a turn can be a whole row of a long response. */
static void average(const struct rl_grid *batch, size_t begin, size_t end, real *x)
{
    double sum = 0, count = 0;
    for (size_t i = begin; i < end; i += RL_CHUNK) {
        struct mean part = add_up(batch, x, i, chunk_at(i, end));
        sum += part.sum;
        count += part.count;
    }
    for (size_t i = begin; i < end; i += RL_CHUNK)
        spread(batch, i, chunk_at(i, end), (real)(count > 0 ? sum / count : 0), x);
}

static void average_turns(const struct rl_grid *batch, size_t row, real *x)
{
    size_t n = rl_row_length(batch, row), begin = rl_row_at(batch, row);
    const struct rl_ids turn = rl_turns_at(batch, begin);
    size_t from = rl_turn_next(turn, 0, n, -1);
    for (int32_t k = 0; from < n; k++) {
        size_t to = rl_turn_next(turn, from, n, k);
        average(batch, begin + from, begin + to, x);
        from = to;
    }
}

/*
 * Write the log-ratios of a row, averaged over its turns, to c->l. Afterwards the normal PPO runs
 * with these means as log-probs and zeros as old log-probs, so no second PPO for turns is needed.
 */
static rl_int average_ratios(const struct composing *c, size_t row, const struct factor *f)
{
    rl_int bad = 0;
    for (size_t i = rl_row_at(&c->left, row), end = rl_row_end(&c->left, row); i < end; i += RL_CHUNK)
        bad |= subtract(&c->left, f, i, chunk_at(i, end), c->l + i);
    average_turns(&c->left, row, c->l);
    return bad;
}

/* Compute up to RL_CHUNK capped factors, 0 at mask 0. */
HOT(struct rl_factor_sums, take_factors,
    (const struct rl_grid *batch, size_t i, size_t n, const real *l, real cap, real *restrict factors),
    (batch, i, n, l, cap, factors))
{
    _Alignas(64) real limited[RL_CHUNK], ratio[RL_CHUNK];
    _Alignas(64) rl_int on[RL_CHUNK];
    real min, max;
    rl_int capped = 0, clamped = 0;
    const real limit = (real)RL_LOG_RATIO_LIMIT;
    rl_mask_bits(batch, i, n, on);
    RL_INDEPENDENT
    for (size_t t = 0; t < n; t++) {
        limited[t] = rl_limit(l[t], -limit, limit);
        clamped -= rl_below(l[t], -limit) | rl_below(limit, l[t]);
    }
    rl_exp_near_all(ratio, limited, n);
    RL_INDEPENDENT
    for (size_t t = 0; t < n; t++) {
        real w = ratio[t];
        limited[t] = rl_real_of(rl_bits_in(w) | ~on[t]); /* NaN is never an extreme */
        factors[t] = rl_keep(on[t], w < cap ? w : cap);
        ratio[t] = rl_keep(on[t], w);
        capped -= on[t] & rl_below(cap, w);
    }
    rl_extremes(limited, n, &min, &max);
    return (struct rl_factor_sums){(double)rl_sum(ratio, n), (double)min, (double)max, (double)capped, (double)clamped};
}

HOT_VOID(multiply, (real *restrict weights, const real *factors, size_t n), (weights, factors, n))
{
    for (size_t t = 0; t < n; t++)
        weights[t] *= factors[t];
}

static void copy(real *to, const real *from, size_t n)
{
    for (size_t t = 0; to && t < n; t++)
        to[t] = from[t];
}

/* Compute one factor for all tokens of a row. */
static struct rl_factor_sums weigh_row(const struct composing *c, size_t row, const struct factor *f)
{
    struct rl_factor_sums sums = {.min = INFINITY, .max = -INFINITY};
    real l[RL_CHUNK], factors[RL_CHUNK];
    rl_int bad = c->options->per_turn ? average_ratios(c, row, f) : 0;
    for (size_t i = rl_row_at(&c->left, row), end = rl_row_end(&c->left, row); i < end; i += RL_CHUNK) {
        size_t n = chunk_at(i, end);
        if (!c->options->per_turn)
            bad |= subtract(&c->left, f, i, n, l);
        struct rl_factor_sums part = take_factors(&c->left, i, n, c->options->per_turn ? c->l + i : l, (real)f->cap, factors);
        rl_factor_add(&sums, &part);
        copy(f->to ? f->to + i : NULL, factors, n);
        if (f->weights)
            multiply(f->weights + i, factors, n);
    }
    c->rows[row].poisoned |= bad != 0;
    return sums;
}

HOT_VOID(sum_weights, (const real *weights, size_t n, struct rl_compose_row *row), (weights, n, row))
{
    double sum[RL_CHUNK], square[RL_CHUNK];
    for (size_t t = 0; t < n; t++) {
        double w = (double)weights[t];
        sum[t] = w;
        square[t] = w * w;
    }
    row->weight += rl_sum_wide(sum, n);
    row->square += rl_sum_wide(square, n);
}

static void clear(real *x, size_t n)
{
    for (size_t t = 0; t < n; t++)
        x[t] = 0;
}

/*
 * Compute the ratio and, per turn, the log-ratios for PPO. This must come last, because weigh_row
 * leaves the log-ratios in c->l, where PPO reads them.
 */
static void take_ratios(const struct composing *c, size_t row)
{
    const struct factor ratio = {
        .a = c->in.log_prob, .b = c->in.proximal, .a_k = LOG_PROB, .b_k = PROXIMAL, .cap = INFINITY, .to = c->out->ratio};
    if (c->options->per_turn)
        clear(c->zeros + rl_row_at(&c->left, row), rl_row_length(&c->left, row));
    if (c->options->per_turn || c->out->ratio)
        weigh_row(c, row, &ratio);
}

static void compose_row(const struct composing *c, size_t row)
{
    const struct factor backend = {.a = c->in.behaviour,
                                   .b = c->in.sampler,
                                   .a_k = BEHAVIOUR,
                                   .b_k = SAMPLER,
                                   .cap = c->options->backend_cap,
                                   .to = c->out->backend,
                                   .weights = c->weights},
                        staleness = {.a = c->in.proximal,
                                     .b = c->in.behaviour,
                                     .a_k = PROXIMAL,
                                     .b_k = BEHAVIOUR,
                                     .cap = c->options->staleness_cap,
                                     .to = c->out->staleness,
                                     .weights = c->weights};
    struct rl_compose_row *sums = &c->rows[row];
    size_t begin = rl_row_at(&c->left, row), end = rl_row_end(&c->left, row);
    *sums = (struct rl_compose_row){.n = (double)rl_count_on(&c->left, begin, end - begin)};
    for (size_t i = begin; i < end; i += RL_CHUNK)
        spread(&c->left, i, chunk_at(i, end), 1, c->weights);
    sums->factor[RL_BACKEND] = weigh_row(c, row, &backend);
    sums->factor[RL_STALENESS] = weigh_row(c, row, &staleness);
    for (size_t i = begin; i < end; i += RL_CHUNK)
        sum_weights(c->weights + i, chunk_at(i, end), sums);
    take_ratios(c, row);
}

static enum rl_status weigh(const struct composing *c, struct rl_compose_result *result, struct rl_error *err)
{
    size_t rows = c->left.n_rows;
    bool poisoned = false;
#pragma omp parallel for schedule(static) if (rl_grid_parallel(&c->left))
    for (size_t row = 0; row < rows; row++)
        compose_row(c, row);
    for (size_t row = 0; row < rows; row++)
        poisoned |= c->rows[row].poisoned;
    rl_compose_result_set(result, c->rows, rows);
    return poisoned ? check_reals(c, err) : RL_OK;
}

static enum rl_status run(struct composing *c, struct rl_compose_result *result, struct rl_error *err)
{
    bool turns = c->options->per_turn;
    size_t rows = c->left.n_rows;
    const struct rl_loss_input in = {.log_prob = turns ? c->l : c->in.log_prob,
                                     .old_log_prob = turns ? c->zeros : c->in.proximal,
                                     .advantages = c->in.advantages,
                                     .weights = c->weights,
                                     .clip_scale = c->in.clip_scale};
    real *d = c->out->d_log_prob;
    /* PPO's arrays are numbered 0 to 5: log-probs, advantages, weights, entropy, clip scales. */
    uint32_t bits =
        (turns ? 0 : c->left.bf16 & 3) | (c->left.bf16 >> ADVANTAGES & 1) << 2 | (c->left.bf16 >> CLIP_SCALE & 1) << 5;
    const struct rl_layout layout = rl_grid_layout(&c->left, NULL, NULL, bits);
    enum rl_status status = weigh(c, result, err);
    if (status == RL_OK)
        status = rl_ppo_loss(&layout.batch, &in, &c->options->loss, d, &result->loss, &c->rest, err);
    if (status != RL_OK || !d || !turns)
        return status;
#pragma omp parallel for schedule(static) if (rl_grid_parallel(&c->left))
    for (size_t row = 0; row < rows; row++)
        /*
         * A log-prob moves the mean of its turn of n tokens by 1/n, so each token gets the mean of
         * the turn's gradients.
         */
        average_turns(&c->left, row, d);
    return RL_OK;
}

enum rl_status rl_compose_loss(const struct rl_batch *batch, const struct rl_compose_input *in,
                               const struct rl_compose_options *options, const struct rl_compose_output *out,
                               struct rl_compose_result *result, struct rl_workspace *ws, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"batch", batch}, {"input", in}, {"options", options}, {"output", out}, {"result", result}));
    struct composing c = {.options = options, .in = *in, .out = out};
    RL_TRY(rl_grid_of(&c.left, batch, RL_NEEDS_MASK, err));
    RL_TRY(rl_compose_check(options, err));
    c.layout = rl_grid_layout(&c.left, NULL, NULL, c.left.bf16);
    RL_TRY(fill_in(&c, err));
    RL_TRY(take(&c, ws, err));
    RL_TRY(take_mask(&c, err));
    /* OPSM runs before the factors and cannot name a bad log-prob, so all are checked first. */
    if (options->use_opsm)
        RL_TRY(check_reals(&c, err));
    RL_TRY(rl_compose_routes(&c.layout.batch, &c.in.data, options->replay, &result->routes, &c.rest, err));
    RL_TRY(drop(&c, &result->opsm, err));
    return run(&c, result, err);
}
