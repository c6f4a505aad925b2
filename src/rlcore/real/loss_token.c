/*
 * loss_token.c: the policy losses whose ratio belongs to one token: PPO, CISPO, SAPO, GPG,
 * REINFORCE.
 *
 * Each is a rule: from a token's log-prob, ratio and advantage to its loss and its slope, d loss /
 * d log_prob. A chunk of tokens, small enough for the first-level cache, goes through two loops,
 * ratios and then the rule: one long loop would keep the processor waiting for each exp. Both add
 * up the metrics, and sums of the inputs: a sum is not finite if any term is not.
 */
#include "policy.h"
#include "vexp.h"

struct token {
    real log_prob, ratio, advantage;
    real clamped; /* 1 if |l| > 20, where the ratio is constant, else 0 */
};

struct verdict {
    real loss, slope;
    real clipped, lower; /* 1 if counted in pg_clipfrac, pg_clipfrac_lower, else 0 */
};

/* The options in the element type. */
struct constants {
    real low, high, c, tau_pos, tau_neg;
};

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
                            .slope = clipped + lower + x->clamped > 0 ? 0 : first,
                            .clipped = clipped,
                            .lower = lower};
}

static RL_INLINE struct verdict cispo_rule(const struct token *x, const struct constants *k)
{
    real weight = rl_limit(x->ratio, k->low, k->high);
    real slope = -weight * x->advantage, below = x->ratio < k->low ? 1 : 0;
    return (struct verdict){
        .loss = slope * x->log_prob, .slope = slope, .clipped = x->ratio > k->high ? 1 : below};
}

static RL_INLINE struct verdict sapo_rule(const struct token *x, const struct constants *k)
{
    real tau = x->advantage > 0 ? k->tau_pos : k->tau_neg;
    real gate = 1 / (1 + rl_exp_near(rl_limit(-tau * (x->ratio - 1), -80, 80))); /* 1 above 37 */
    real slope = -x->advantage * 4 * gate * (1 - gate) * x->ratio;
    return (struct verdict){.loss = -x->advantage * gate * 4 / tau,
                            .slope = x->clamped > 0 ? 0 : slope};
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
    real mask[RL_CHUNK], ratio[RL_CHUNK], clamped[RL_CHUNK];
};

static RL_INLINE void ratio_pass(const struct chunk *at, bool limited_kl, struct ratios *out,
                                 struct rl_row_sums *sums)
{
    real sum = 0, kl = 0, ratio = 0, clamped = 0, ratio_min = INFINITY, ratio_max = -INFINITY;
    rl_mask_reals(at->mask, at->n, out->mask);
#pragma omp simd reduction(+ : sum, kl, ratio, clamped) reduction(min : ratio_min) \
    reduction(max : ratio_max)
    for (size_t t = 0; t < at->n; t++) {
        real on = out->mask[t], p = at->log_prob[t], q = at->old_log_prob[t];
        p = on > 0 ? p : 0;
        q = on > 0 ? q : 0;
        real l = p - q, l20 = rl_limit(l, -20, 20), r = rl_exp_near(l20), hit = l20 == l ? 0 : 1;
        real r_min = on > 0 ? r : INFINITY, r_max = on > 0 ? r : -INFINITY;
        out->ratio[t] = r;
        out->clamped[t] = hit;
        sum += l;
        kl -= limited_kl ? l20 : l;
        clamped += hit;
        ratio += on * r;
        ratio_min = r_min < ratio_min ? r_min : ratio_min;
        ratio_max = r_max > ratio_max ? r_max : ratio_max;
    }
    sums->kl += (double)kl;
    sums->clamped += (double)clamped;
    sums->ratio += (double)ratio;
    sums->ratio_min = fmin(sums->ratio_min, (double)ratio_min);
    sums->ratio_max = fmax(sums->ratio_max, (double)ratio_max);
    sums->poisoned |= !isfinite(sum);
}

static RL_INLINE void rule_pass(const struct chunk *at, const struct ratios *ratios,
                                const struct constants *k, real row_weight, token_rule *rule,
                                struct rl_row_sums *sums)
{
    real loss = 0, clipped = 0, lower = 0, sum = 0, least = 0;
#pragma omp simd reduction(+ : loss, clipped, lower, sum) reduction(min : least)
    for (size_t t = 0; t < at->n; t++) {
        real on = ratios->mask[t], p = at->log_prob[t], a = at->advantages[t], w = at->weights[t];
        p = on > 0 ? p : 0;
        a = on > 0 ? a : 0;
        w = on > 0 ? w : 0;
        const struct token x = {p, ratios->ratio[t], a, ratios->clamped[t]};
        const struct verdict v = rule(&x, k);
        at->slope[t] = w * v.slope * row_weight;
        loss += w * v.loss;
        clipped += v.clipped;
        lower += v.lower;
        sum += a + w;
        least = w < least ? w : least;
    }
    sums->loss += (double)loss;
    sums->clipped += (double)clipped;
    sums->lower += (double)lower;
    sums->poisoned |= !isfinite(sum) || least < 0;
}

static void fill_ones(real *weights, size_t n)
{
    for (size_t t = 0; t < n; t++)
        weights[t] = 1;
}

static RL_INLINE struct rl_row_sums token_row(const struct RL(rl_policy) * policy, size_t row,
                                              double weight, bool limited_kl, token_rule *rule)
{
    const struct rl_loss_options *o = policy->options;
    const struct constants k = {(real)(1 - o->clip_low), (real)(1 + o->clip_high), (real)o->clip_c,
                                (real)o->tau_pos, (real)o->tau_neg};
    const struct RL(rl_loss_input) *in = policy->in;
    const real *old = in->old_log_prob ? in->old_log_prob : in->log_prob;
    struct rl_row_sums sums = rl_row_sums_empty();
    size_t n_tokens = policy->batch->n_tokens;
    struct ratios ratios;
    real ones[RL_CHUNK], unwanted[RL_CHUNK];
    fill_ones(ones, in->weights ? 0 : RL_CHUNK);
    for (size_t t = 0; t < n_tokens; t += RL_CHUNK) {
        size_t i = row * n_tokens + t;
        struct chunk at = {.n = n_tokens - t < RL_CHUNK ? n_tokens - t : RL_CHUNK,
                           .mask = policy->batch->mask + i,
                           .log_prob = in->log_prob + i,
                           .old_log_prob = old + i,
                           .advantages = in->advantages + i,
                           .weights = in->weights ? in->weights + i : ones,
                           .slope = policy->d_log_prob ? policy->d_log_prob + i : unwanted};
        rl_fetch_ahead(at.log_prob);
        rl_fetch_ahead(at.old_log_prob);
        rl_fetch_ahead(at.advantages);
        rl_fetch_ahead(at.slope);
        ratio_pass(&at, limited_kl, &ratios, &sums);
        rule_pass(&at, &ratios, &k, (real)weight, rule, &sums);
    }
    RL(rl_policy_entropy)(policy, row, &sums);
    return sums;
}

RL_HOT static struct rl_row_sums ppo_row(const void *policy, size_t row, size_t n_response,
                                         double weight)
{
    (void)n_response;
    return token_row(policy, row, weight, true, ppo_rule);
}

RL_HOT static struct rl_row_sums cispo_row(const void *policy, size_t row, size_t n_response,
                                           double weight)
{
    (void)n_response;
    return token_row(policy, row, weight, true, cispo_rule);
}

RL_HOT static struct rl_row_sums sapo_row(const void *policy, size_t row, size_t n_response,
                                          double weight)
{
    (void)n_response;
    return token_row(policy, row, weight, true, sapo_rule);
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
    struct rl_row_sums sums = token_row(policy, row, weight, false, reinforce_rule);
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
