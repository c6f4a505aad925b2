/*
 * loss_token.c: the policy losses whose ratio belongs to one token: PPO, CISPO, SAPO, GPG,
 * REINFORCE.
 *
 * Each is a rule: from a token's log-prob, ratio and advantage to its loss and its slope, d loss /
 * d log_prob. A chunk of tokens, small enough for the first-level cache, goes through two loops,
 * ratios and then the rule: one long loop would keep the processor waiting for each exp. Both add
 * up the metrics, and sums of the inputs: a sum is not finite if any term is not. Log-ratios beyond
 * 20 are rare, so both loops leave them out, and a chunk that holds one is mended afterwards.
 */
#include "policy.h"
#include "vexp.h"

struct token {
    real log_prob, ratio, advantage;
};

struct verdict {
    real loss, slope;
    real clipped, lower; /* 1 if counted in pg_clipfrac, pg_clipfrac_lower, else 0 */
};

/* The options in the element type. */
struct constants {
    real low, high, c;
    real tau_pos, tau_neg, scale_pos, scale_neg; /* scale: 4 / tau */
    real far;                                    /* where a sigmoid is 0 or 1 */
};

/* Out of line: a limit unknown to the compiler becomes a minimum, a known one a choice of paths. */
static __attribute__((noinline)) struct constants constants_of(const struct rl_loss_options *o)
{
    return (struct constants){.low = (real)(1 - o->clip_low),
                              .high = (real)(1 + o->clip_high),
                              .c = (real)o->clip_c,
                              .tau_pos = (real)o->tau_pos,
                              .tau_neg = (real)o->tau_neg,
                              .scale_pos = (real)(4 / o->tau_pos),
                              .scale_neg = (real)(4 / o->tau_neg),
                              .far = 80};
}

typedef struct verdict token_rule(const struct token *x, const struct constants *k);

static RL_INLINE struct verdict ppo_rule(const struct token *x, const struct constants *k)
{
    real first = -x->advantage * x->ratio;
    real second = -x->advantage * rl_limit(x->ratio, k->low, k->high);
    real larger = second > first ? second : first;
    real bound = -x->advantage * k->c;
    real clipped = second > first ? 1 : 0, above = larger > bound ? 1 : 0;
    real lower = x->advantage < 0 ? above : 0;
    return (struct verdict){.loss = lower > 0 ? bound : larger,
                            .slope = clipped + lower > 0 ? 0 : first,
                            .clipped = clipped,
                            .lower = lower};
}

/* The square is what the compiler cannot trace back to the limits; it would branch on them. */
static RL_INLINE struct verdict cispo_rule(const struct token *x, const struct constants *k)
{
    real weight = rl_limit(x->ratio, k->low, k->high), excess = x->ratio - weight;
    real slope = -weight * x->advantage;
    return (struct verdict){
        .loss = slope * x->log_prob, .slope = slope, .clipped = excess * excess > 0 ? 1 : 0};
}

static RL_INLINE struct verdict sapo_rule(const struct token *x, const struct constants *k)
{
    real tau = x->advantage > 0 ? k->tau_pos : k->tau_neg;
    real scale = x->advantage > 0 ? k->scale_pos : k->scale_neg;
    real gate = 1 / (1 + rl_exp_near(rl_limit(-tau * (x->ratio - 1), -k->far, k->far)));
    real gated = -x->advantage * gate;
    return (struct verdict){.loss = gated * scale, .slope = gated * 4 * (1 - gate) * x->ratio};
}

static RL_INLINE struct verdict reinforce_rule(const struct token *x, const struct constants *k)
{
    (void)k;
    return (struct verdict){.loss = -x->advantage * x->log_prob, .slope = -x->advantage};
}

/* Pointers to RL_CHUNK tokens at most. */
struct chunk {
    size_t n;
    const uint8_t *mask;
    const real *log_prob, *old_log_prob, *advantages, *weights;
    real *slope;
};

/* Ratios of a chunk, 1 where the mask is 0. */
struct ratios {
    real mask[RL_CHUNK], ratio[RL_CHUNK];
};

/* Log-ratios l of response tokens, and the sum of their ratios. */
struct log_ratios {
    real sum, ratio, lowest, highest;
};

static RL_INLINE struct log_ratios ratio_pass(const struct chunk *at, struct ratios *out)
{
    real sum = 0, ratio = 0, lowest = INFINITY, highest = -INFINITY;
    rl_mask_reals(at->mask, at->n, out->mask);
#pragma omp simd reduction(+ : sum, ratio) reduction(min : lowest) reduction(max : highest)
    for (size_t t = 0; t < at->n; t++) {
        real on = out->mask[t], l = at->log_prob[t] - at->old_log_prob[t];
        real low = on > 0 ? l : INFINITY, high = on > 0 ? l : -INFINITY;
        l = on > 0 ? l : 0;
        real r = rl_exp_near(l), counted = on > 0 ? r : 0;
        out->ratio[t] = r;
        sum += l;
        ratio += counted;
        lowest = low < lowest ? low : lowest;
        highest = high > highest ? high : highest;
    }
    return (struct log_ratios){sum, ratio, lowest, highest};
}

static const real l_limit = 20;

/* The ratios of a chunk again, with l limited; limited_kl: in the sum as well. */
static struct log_ratios limited_pass(const struct chunk *at, bool limited_kl, struct ratios *out,
                                      struct rl_row_sums *sums)
{
    struct log_ratios x = {.lowest = l_limit, .highest = -l_limit};
    for (size_t t = 0; t < at->n; t++) {
        real l = at->mask[t] ? at->log_prob[t] - at->old_log_prob[t] : 0;
        real l20 = rl_limit(l, -l_limit, l_limit);
        out->ratio[t] = rl_exp_near(l20);
        if (!at->mask[t])
            continue;
        x.sum += limited_kl ? l20 : l;
        x.ratio += out->ratio[t];
        x.lowest = l20 < x.lowest ? l20 : x.lowest;
        x.highest = l20 > x.highest ? l20 : x.highest;
        sums->clamped += l20 < l || l20 > l;
    }
    return x;
}

static void zero_limited_slopes(const struct chunk *at)
{
    for (size_t t = 0; t < at->n; t++) {
        real l = at->log_prob[t] - at->old_log_prob[t];
        at->slope[t] = l < -l_limit || l > l_limit ? 0 : at->slope[t];
    }
}

static RL_INLINE void rule_pass(const struct chunk *at, const struct ratios *ratios,
                                const struct constants *k, real row_weight, token_rule *rule,
                                bool weighted, struct rl_row_sums *sums)
{
    real loss = 0, clipped = 0, lower = 0, sum = 0, least = 0;
#pragma omp simd reduction(+ : loss, clipped, lower, sum) reduction(min : least)
    for (size_t t = 0; t < at->n; t++) {
        real on = ratios->mask[t], p = at->log_prob[t], a = at->advantages[t];
        real w = weighted ? at->weights[t] : 1;
        p = on > 0 ? p : 0;
        a = on > 0 ? a : 0;
        w = !weighted || on > 0 ? w : 0;
        const struct token x = {p, ratios->ratio[t], a};
        const struct verdict v = rule(&x, k);
        at->slope[t] = w * v.slope * row_weight;
        loss += w * v.loss;
        clipped += v.clipped;
        lower += v.lower;
        sum += weighted ? a + w : a;
        least = w < least ? w : least;
    }
    sums->loss += (double)loss;
    sums->clipped += (double)clipped;
    sums->lower += (double)lower;
    sums->poisoned |= !isfinite(sum) || least < 0;
}

/* What varies between the losses, beside the rule. */
struct traits {
    bool limited_kl;    /* ppo_kl is of limited log-ratios */
    bool limited_slope; /* no gradient beyond the limit */
};

static RL_INLINE void token_chunk(const struct chunk *at, const struct constants *k,
                                  real row_weight, struct traits traits, token_rule *rule,
                                  struct rl_row_sums *sums)
{
    struct ratios ratios;
    struct log_ratios l = ratio_pass(at, &ratios);
    bool limited = l.lowest < -l_limit || l.highest > l_limit;
    sums->poisoned |= !isfinite(l.sum);
    if (limited)
        l = limited_pass(at, traits.limited_kl, &ratios, sums);
    sums->kl -= (double)l.sum;
    sums->ratio += (double)l.ratio;
    sums->ratio_min = (double)l.lowest < sums->ratio_min ? (double)l.lowest : sums->ratio_min;
    sums->ratio_max = (double)l.highest > sums->ratio_max ? (double)l.highest : sums->ratio_max;
    if (at->weights)
        rule_pass(at, &ratios, k, row_weight, rule, true, sums);
    else
        rule_pass(at, &ratios, k, row_weight, rule, false, sums);
    if (limited && traits.limited_slope)
        zero_limited_slopes(at);
}

static RL_INLINE struct rl_row_sums token_row(const struct RL(rl_policy) * policy, size_t row,
                                              double weight, struct traits traits, token_rule *rule)
{
    const struct constants k = constants_of(policy->options);
    const struct RL(rl_loss_input) *in = policy->in;
    const real *old = in->old_log_prob ? in->old_log_prob : in->log_prob;
    struct rl_row_sums sums = rl_row_sums_empty();
    size_t n_tokens = policy->batch->n_tokens;
    real unwanted[RL_CHUNK];
    for (size_t t = 0; t < n_tokens; t += RL_CHUNK) {
        size_t i = row * n_tokens + t;
        struct chunk at = {.n = n_tokens - t < RL_CHUNK ? n_tokens - t : RL_CHUNK,
                           .mask = policy->batch->mask + i,
                           .log_prob = in->log_prob + i,
                           .old_log_prob = old + i,
                           .advantages = in->advantages + i,
                           .weights = in->weights ? in->weights + i : NULL,
                           .slope = policy->d_log_prob ? policy->d_log_prob + i : unwanted};
        rl_fetch_ahead(at.log_prob);
        rl_fetch_ahead(at.old_log_prob);
        rl_fetch_ahead(at.advantages);
        rl_fetch_ahead(at.slope);
        token_chunk(&at, &k, (real)weight, traits, rule, &sums);
    }
    if (sums.ratio_min <= sums.ratio_max) { /* log-ratios until here */
        sums.ratio_min = (double)rl_exp_near((real)sums.ratio_min);
        sums.ratio_max = (double)rl_exp_near((real)sums.ratio_max);
    }
    RL(rl_policy_entropy)(policy, row, &sums);
    return sums;
}

RL_HOT static struct rl_row_sums ppo_row(const void *policy, size_t row, size_t n_response,
                                         double weight)
{
    (void)n_response;
    return token_row(policy, row, weight, (struct traits){true, true}, ppo_rule);
}

RL_HOT static struct rl_row_sums cispo_row(const void *policy, size_t row, size_t n_response,
                                           double weight)
{
    (void)n_response;
    return token_row(policy, row, weight, (struct traits){true, false}, cispo_rule);
}

RL_HOT static struct rl_row_sums sapo_row(const void *policy, size_t row, size_t n_response,
                                          double weight)
{
    (void)n_response;
    return token_row(policy, row, weight, (struct traits){true, true}, sapo_rule);
}

/*
 * The ratio is reported, not used: its limit counts nothing, and without an old policy there is
 * none.
 */
RL_HOT static struct rl_row_sums reinforce_row(const void *context, size_t row, size_t n_response,
                                               double weight)
{
    (void)n_response;
    const struct RL(rl_policy) *policy = context;
    struct rl_row_sums sums =
        token_row(policy, row, weight, (struct traits){false, false}, reinforce_rule);
    sums.clamped = 0;
    if (!policy->in->old_log_prob) {
        sums.ratio_min = INFINITY;
        sums.ratio_max = -INFINITY;
    }
    return sums;
}

static enum rl_status run(const struct RL(rl_policy) * policy, enum rl_policy_needs needs,
                          rl_row_fn *row, const enum rl_agg_mode *mode, struct rl_loss_result *out,
                          struct rl_workspace *ws, struct rl_error *err)
{
    enum rl_status status = RL(rl_policy_check)(policy, needs, err);
    if (status != RL_OK)
        return status;
    struct rl_agg agg = policy->options->agg;
    agg.mode = mode ? *mode : agg.mode;
    return RL(rl_policy_run)(policy, row, RL_WEIGHTS_AGG, &agg, out, ws, err);
}

enum rl_status RL(rl_ppo_loss)(const struct rl_batch *batch, const struct RL(rl_loss_input) * in,
                               const struct rl_loss_options *options, real *d_log_prob,
                               struct rl_loss_result *out, struct rl_workspace *ws,
                               struct rl_error *err)
{
    const struct RL(rl_policy) policy = {batch, in, options, d_log_prob};
    return run(&policy, RL_POLICY_OLD, ppo_row, NULL, out, ws, err);
}

enum rl_status RL(rl_cispo_loss)(const struct rl_batch *batch, const struct RL(rl_loss_input) * in,
                                 const struct rl_loss_options *options, real *d_log_prob,
                                 struct rl_loss_result *out, struct rl_workspace *ws,
                                 struct rl_error *err)
{
    const struct RL(rl_policy) policy = {batch, in, options, d_log_prob};
    return run(&policy, RL_POLICY_OLD, cispo_row, NULL, out, ws, err);
}

enum rl_status RL(rl_sapo_loss)(const struct rl_batch *batch, const struct RL(rl_loss_input) * in,
                                const struct rl_loss_options *options, real *d_log_prob,
                                struct rl_loss_result *out, struct rl_workspace *ws,
                                struct rl_error *err)
{
    const struct RL(rl_policy) policy = {batch, in, options, d_log_prob};
    const enum rl_agg_mode mode = RL_AGG_SEQ_MEAN_TOKEN_MEAN;
    return run(&policy, RL_POLICY_OLD, sapo_row, &mode, out, ws, err);
}

enum rl_status RL(rl_gpg_loss)(const struct rl_batch *batch, const struct RL(rl_loss_input) * in,
                               const struct rl_loss_options *options, real *d_log_prob,
                               struct rl_loss_result *out, struct rl_workspace *ws,
                               struct rl_error *err)
{
    const struct RL(rl_policy) policy = {batch, in, options, d_log_prob};
    return run(&policy, RL_POLICY_OLD_OPTIONAL, reinforce_row, NULL, out, ws, err);
}

enum rl_status RL(rl_reinforce_loss)(const struct rl_batch *batch,
                                     const struct RL(rl_loss_input) * in,
                                     const struct rl_loss_options *options, real *d_log_prob,
                                     struct rl_loss_result *out, struct rl_workspace *ws,
                                     struct rl_error *err)
{
    const struct RL(rl_policy) policy = {batch, in, options, d_log_prob};
    return run(&policy, RL_POLICY_OLD, reinforce_row, NULL, out, ws, err);
}
