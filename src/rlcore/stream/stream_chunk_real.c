/* stream_chunk_real.c: the three components in wide loops, for chunks without unusual values. */
#include "stream/stream_internal.h"
#include "support/vexp.h"

static const real widest_allowed = 40; /* largest |log-prob| for which rl_exp_near is used */
#ifdef RL_SINGLE
static const real nearest_allowed = 1e-5f; /* smallest distance of a difference from its threshold */
#else
static const real nearest_allowed = 1e-13;
#endif

/* Pointers to the n tokens of a chunk. */
struct chunk {
    size_t n;
    const uint8_t *mask;
    const real *trainer, *inference, *other; /* other: advantages or reference log-probs */
    const real *weights;
    real *gradient;
};

/* Copies of tokens whose layout or type the loops do not read. */
struct copies {
    uint8_t mask[RL_CHUNK];
    _Alignas(64) real floats[4][RL_CHUNK];
};

/* The parameters in which rl and ref_kl differ, in the element type. */
struct rule {
    real low, high; /* out if the difference is below low or above high */
    real tau;       /* factor of the advantage, or of the distance to the reference */
    real kl_tau, per_scale;
};

/* The members of a chunk. plain: the mask is 0 or 1 and all weights are finite. */
struct members {
    _Alignas(64) rl_int on[RL_CHUNK];
    _Alignas(64) real weight[RL_CHUNK];
    rl_int n;
    bool plain;
};

/*
 * Both loops always run, one of them over no elements, because the compiler vectorises loops with
 * such bounds but not a loop with a branch on the weights. A NaN weight is not a member by
 * comparison, but it makes the chunk not plain.
 */
static RL_INLINE void members_of(const struct chunk *chunk, bool masked, struct members *out)
{
    const struct chunk at = *chunk; /* results cannot overwrite a copy, so the loops vectorise */
    const size_t weighted = at.weights ? at.n : 0, plain = at.n - weighted;
    rl_int n = 0, bad = 0, mask[RL_CHUNK];
    uint8_t bits = 0;
    for (size_t t = 0; t < at.n; t++)
        bits |= at.mask[t];
    for (size_t t = 0; t < at.n; t++)
        mask[t] = -(rl_int)(at.mask[t] & 1);
    RL_INDEPENDENT
    for (size_t t = 0; t < plain; t++) {
        out->weight[t] = rl_keep(mask[t], 1);
        out->on[t] = mask[t];
        n -= mask[t];
    }
    RL_INDEPENDENT
    for (size_t t = 0; t < weighted; t++) {
        real w = at.weights[t], used = masked ? rl_keep(mask[t], w) : w;
        rl_int on = rl_below(0, used) | rl_below(used, 0);
        bad |= rl_not_finite(w);
        out->weight[t] = used;
        out->on[t] = on;
        n -= on;
    }
    out->n = n;
    out->plain = bits <= 1 && bad == 0;
}

/* Ratio and difference of the probabilities of a chunk's members; 1 and 0 at other tokens. */
struct pairs {
    _Alignas(64) real ratio[RL_CHUNK];
    _Alignas(64) real difference[RL_CHUNK];
};

static RL_INLINE real larger(real a, real b)
{
    return a > b ? a : b;
}

/*
 * Compute ratios and differences; returns whether all log-probs are finite and at most widest_allowed.
 * exp(p) is computed as exp(q) ratio, because two exps are cheaper than three.
 */
static RL_INLINE bool pair_pass(const struct chunk *chunk, const struct members *m, struct pairs *out)
{
    const struct chunk at = *chunk;
    const real limit = widest_allowed;
    _Alignas(64) real l[RL_CHUNK], inference[RL_CHUNK], before[RL_CHUNK];
    rl_int bad = 0;
    RL_INDEPENDENT
    for (size_t t = 0; t < at.n; t++) {
        real p = rl_keep(m->on[t], at.trainer[t]), q = rl_keep(m->on[t], at.inference[t]);
        l[t] = p - q;
        inference[t] = q;
        bad |= rl_beyond(p, limit) | rl_beyond(q, limit);
    }
    rl_exp_near_all(out->ratio, l, at.n);
    rl_exp_near_all(before, inference, at.n);
#pragma omp simd
    for (size_t t = 0; t < at.n; t++)
        out->difference[t] = before[t] * out->ratio[t] - before[t];
    return bad == 0;
}

/* The sums of one chunk. */
struct chunk_sums {
    real loss, in_kl, out_kl, other;
    rl_int out, positive, negative;
    bool fits; /* all values are finite, and no token is too near to its threshold */
};

/* The terms of these sums. */
struct terms {
    _Alignas(64) real loss[RL_CHUNK];
    _Alignas(64) real in_kl[RL_CHUNK];
    _Alignas(64) real out_kl[RL_CHUNK];
    _Alignas(64) real other[RL_CHUNK];
};

/*
 * The threshold is compared in rounded numbers. A chunk with a token nearer to it than nearest_allowed is left to the
 * exact path, so that both paths agree on every token.
 */
static RL_INLINE struct chunk_sums rule_pass(const struct chunk *chunk, const struct members *m, const struct pairs *pairs,
                                             const struct rule *rule, bool dppo, bool ref, real *gradient)
{
    const struct chunk at = *chunk;
    const struct rule k = *rule;
    struct terms terms;
    const real nearest = nearest_allowed;
    rl_int outs = 0, positive = 0, negative = 0, bad = 0;
    RL_INDEPENDENT
    for (size_t t = 0; t < at.n; t++) {
        rl_int on = m->on[t];
        real p = at.trainer[t], r = pairs->ratio[t], d = pairs->difference[t], w = m->weight[t];
        real l = rl_keep(on, p - at.inference[t]);
        real a = rl_keep(on, ref ? at.other[t] - p : at.other[t]);
        real above = d - k.high, below = k.low - d; /* the token is out if this exceeds 0 */
        rl_int up = rl_below(0, a);
        real excess = dppo ? rl_pick(up, above, below) : ref ? below : larger(above, below);
        rl_int beyond = rl_below(0, excess), out = beyond & on;
        real pull = rl_keep(~beyond, k.tau * a * r), mismatch = r - l - 1;
        gradient[t] = w * (2 * k.kl_tau * l - pull) * k.per_scale;
        terms.loss[t] = w * (k.kl_tau * l * l - pull);
        terms.in_kl[t] = rl_keep(~beyond, mismatch);
        terms.out_kl[t] = rl_keep(beyond, mismatch);
        terms.other[t] = a;
        outs -= out;
        positive -= out & up;
        negative -= out & rl_below(a, 0);
        bad |= rl_not_finite(a) | (on & ~rl_beyond(excess, nearest));
    }
    return (struct chunk_sums){.loss = rl_sum(terms.loss, at.n),
                               .in_kl = rl_sum(terms.in_kl, at.n),
                               .out_kl = rl_sum(terms.out_kl, at.n),
                               .other = ref ? rl_sum(terms.other, at.n) : 0,
                               .out = outs,
                               .positive = positive,
                               .negative = negative,
                               .fits = bad == 0};
}

/*
 * Three functions share one body. The flags of the body are constants in each function, so that the
 * compiler makes three loops without conditions.
 */
HOT(struct chunk_sums, dppo_pass,
    (const struct chunk *at, const struct members *m, const struct pairs *pairs, const struct rule *k, real *gradient),
    (at, m, pairs, k, gradient))
{
    return rule_pass(at, m, pairs, k, true, false, gradient);
}

HOT(struct chunk_sums, ipo_pass,
    (const struct chunk *at, const struct members *m, const struct pairs *pairs, const struct rule *k, real *gradient),
    (at, m, pairs, k, gradient))
{
    return rule_pass(at, m, pairs, k, false, false, gradient);
}

HOT(struct chunk_sums, ref_pass,
    (const struct chunk *at, const struct members *m, const struct pairs *pairs, const struct rule *k, real *gradient),
    (at, m, pairs, k, gradient))
{
    return rule_pass(at, m, pairs, k, false, true, gradient);
}

HOT_VOID(prepare, (const struct chunk *at, bool masked, struct members *m), (at, masked, m))
{
    members_of(at, masked, m);
}

HOT(bool, prepare_pairs, (const struct chunk *at, const struct members *m, struct pairs *pairs), (at, m, pairs))
{
    rl_fetch_ahead(at->trainer);
    rl_fetch_ahead(at->inference);
    rl_fetch_ahead(at->other);
    if (at->gradient)
        rl_fetch_ahead(at->gradient);
    return pair_pass(at, m, pairs);
}

HOT_VOID(add_gradient, (real * gradient, const real *from, size_t n), (gradient, from, n))
{
    for (size_t t = 0; t < n; t++)
        gradient[t] += from[t];
}

static void add_sums(struct rl_stream_sums *to, const struct chunk_sums *from)
{
    to->loss += (double)from->loss;
    to->out_kl += (double)from->out_kl;
    to->in_kl += (double)from->in_kl;
    to->out += (double)from->out;
    to->positive += (double)from->positive;
    to->negative += (double)from->negative;
    to->high += (double)from->positive; /* only reported for DPPO */
    to->low += (double)from->negative;
}

/* A chunk is refused before anything is added to the sums. */
static bool run_pairs(const struct chunk *at, const struct members *m, const struct rule *k,
                      struct chunk_sums (*pass)(const struct chunk *, const struct members *, const struct pairs *,
                                                const struct rule *, real *),
                      struct rl_stream_sums *sums, bool ref)
{
    struct pairs pairs;
    real buffer[RL_CHUNK], *gradient = at->gradient && !ref ? at->gradient : buffer;
    if (!prepare_pairs(at, m, &pairs))
        return false;
    struct chunk_sums x = pass(at, m, &pairs, k, gradient);
    if (!x.fits)
        return false;
    if (at->gradient && ref)
        add_gradient(at->gradient, gradient, at->n);
    add_sums(sums, &x);
    sums->n += (double)m->n;
    sums->other += ref ? (double)x.other : 0;
    return true;
}

/* A chunk is refused before anything is added, as in run_pairs. */
HOT(bool, run_ce, (const struct chunk *chunk, const struct members *m, real per_scale, struct rl_stream_sums *sums),
    (chunk, m, per_scale, sums))
{
    const struct chunk at = *chunk;
    real loss[RL_CHUNK], other[RL_CHUNK];
    for (size_t t = 0; t < at.n; t++) {
        real p = rl_keep(m->on[t], at.trainer[t]);
        loss[t] = -(m->weight[t] * p);
        other[t] = p;
    }
    real sum = rl_sum(other, at.n);
    if (!isfinite(sum))
        return false;
    for (size_t t = 0; t < (at.gradient ? at.n : 0); t++)
        at.gradient[t] -= m->weight[t] * per_scale;
    sums->loss += (double)rl_sum(loss, at.n);
    sums->other -= (double)sum;
    sums->n += (double)m->n;
    return true;
}

/* A chunk without members, where the arrays that only members read may be missing. */
static bool run_nothing(const struct chunk *at, enum rl_component component)
{
    for (size_t t = 0; at->gradient && component == RL_COMPONENT_RL && t < at->n; t++)
        at->gradient[t] = 0;
    return true;
}

/*
 * Both kinds of loss become a rule with two bounds, so that the loops differ in constants and not
 * in branches.
 */
static struct rule rl_rule(const struct rl_stream_options *o)
{
    bool ipo = o->kind == RL_STREAM_IPO;
    return (struct rule){.low = (real)(ipo ? -o->ipo_threshold : -o->dppo_mask_low),
                         .high = (real)(ipo ? o->ipo_threshold : o->dppo_mask_high),
                         .tau = (real)o->adv_tau,
                         .kl_tau = (real)o->kl_tau,
                         .per_scale = (real)(1 / o->rl_scale)};
}

/* The mask as one byte per token; converted into `copy` if it is wider. */
static const uint8_t *mask_at(const struct rl_grid *batch, size_t i, size_t n, uint8_t *copy)
{
    if (batch->mask_step == 1)
        return batch->mask + i;
    for (size_t t = 0; t < n; t++)
        copy[t] = rl_on(batch, i + t);
    return copy;
}

static struct chunk chunk_at(const struct rl_streaming *s, enum rl_component component, const struct rl_stretch *stretch,
                             struct copies *copies)
{
    const struct rl_streams *in = s->streams;
    const struct rl_grid *batch = &s->batch;
    const real *const weights[] = {in->rl_weights, in->ce_weights, in->ref_kl_weights};
    bool ref = component == RL_COMPONENT_REF_KL;
    size_t n = stretch->n, i = rl_row_at(batch, stretch->sequence) + stretch->from;
    return (struct chunk){
        .n = n,
        .mask = mask_at(batch, i, n, copies->mask),
        .trainer = rl_reals_at(batch, RL_TRAINER, in->trainer, i, n, copies->floats[0]),
        .inference = rl_reals_at(batch, RL_INFERENCE, in->inference, i, n, copies->floats[1]),
        .other = rl_reals_at(batch, ref ? RL_REF : RL_STREAM_ADVANTAGES, ref ? in->ref : in->advantages, i, n, copies->floats[2]),
        .weights = rl_reals_at(batch, RL_RL_WEIGHTS + (unsigned)component, weights[component], i, n, copies->floats[3]),
        .gradient = s->gradient ? s->gradient + i : NULL};
}

/* Returns false if the exact path must run, which also names a missing or bad value. */
bool rl_stream_chunk(const struct rl_streaming *s, enum rl_component component, const struct rl_stretch *stretch,
                     struct rl_stream_sums *sums)
{
    const struct rl_stream_options *o = s->options;
    struct copies copies;
    const struct chunk at = chunk_at(s, component, stretch, &copies);
    struct members m;
    prepare(&at, component == RL_COMPONENT_RL, &m);
    if (!m.plain)
        return false;
    if (m.n == 0)
        return run_nothing(&at, component);
    if (component == RL_COMPONENT_CE)
        return run_ce(&at, &m, (real)(1 / o->ce_scale), sums);
    /* A missing array is left to the exact path, which names the token that needed it. */
    if (!at.other || !at.inference)
        return false;
    if (component == RL_COMPONENT_RL) {
        const struct rule rule = rl_rule(o);
        return run_pairs(&at, &m, &rule, o->kind == RL_STREAM_IPO ? ipo_pass : dppo_pass, sums, false);
    }
    const struct rule rule = {-(real)RL_REF_MASK_LOW, 0, 1, (real)RL_REF_KL_TAU, (real)(1 / o->ref_kl_scale)};
    return run_pairs(&at, &m, &rule, ref_pass, sums, true);
}
