/*
 * token_losses_real.c: the policy losses whose terms are of one token or of one row's ratio: ppo, cispo, sapo, reinforce,
 * gspo.
 */
#include "loss/segment.h"
#include "loss/token_chunk.h"

/*
 * ---- PPO with dual clip (arXiv 1707.06347, 1912.09729). clip_high > clip_low gives DAPO's asymmetric clip
 * (2503.14476), and clip scales A2TGPO's adaptive clip (2605.06200).
 */

/*
 * The clip takes the larger (worse) loss of the plain and the clipped ratio, so that it only
 * removes the gain of moving further. Where A < 0 a large ratio makes that loss unbounded, and the
 * dual clip bounds it at c. In both cases the loss is constant in the token's log-prob.
 */
static RL_INLINE void ppo(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                          bool scaled, struct rl_row_sums *sums)
{
    const struct rl_clip clip = rl_clip_of(options);
    const real c = (real)options->clip_c, *advantages = at->advantages;
    real *slope = at->slope;
    rl_int clipped = 0, lower = 0;
    RL_INDEPENDENT
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real a = rl_keep(at->on[t], advantages[t]), w = weighted ? at->weight[t] : 1;
        real low = rl_clip_low(at, clip, t, scaled), high = rl_clip_high(at, clip, t, scaled);
        real plain = -a * at->ratio[t], bounded = -a * rl_limit(at->ratio[t], low, high);
        rl_int cut = rl_below(plain, bounded);
        /* Where A > 0 the loss is negative and never reaches the bound of the dual clip. */
        real larger = rl_pick(cut, bounded, plain), bound = rl_size(a) * c;
        rl_int dual = rl_below(bound, larger);
        at->term[t] = w * rl_pick(dual, bound, larger);
        slope[t] = w * rl_keep(~(cut | dual), plain) * row_weight;
        clipped -= cut;
        lower -= dual;
    }
    /*
     * A log-ratio at the limit of 20 is constant, so its slope is 0. This is rare enough for a
     * separate pass.
     */
    if (at->limited)
        rl_token_chunk_zero(at);
    sums->clipped += (double)clipped;
    sums->lower += (double)lower;
}

HOT(struct rl_row_sums, ppo_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    return rl_token_row(call, row, row_weight, true, true, ppo);
}

RL_POLICY_LOSS(rl_ppo_loss, .row = ppo_row, .weights = RL_WEIGHTS_AGG)

/* ---- CISPO (arXiv 2506.13585). */

/*
 * The clipped ratio is a constant weight of -A log_prob, so that a clipped token still has a
 * gradient. That is the point of CISPO, whose authors found that PPO's clip drops the rare tokens
 * where a line of reasoning changes direction.
 */
static RL_INLINE void cispo(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                            bool scaled, struct rl_row_sums *sums)
{
    const struct rl_clip clip = rl_clip_of(options);
    const real *log_prob = at->log_prob, *advantages = at->advantages;
    real *slope = at->slope;
    rl_int clipped = 0;
    /*
     * Limited tokens keep their slope, unlike in PPO: here the ratio carries no gradient, and its
     * limit is far outside the clip.
     */
    RL_INDEPENDENT
    for (size_t t = 0; t < RL_CHUNK; t++) {
        rl_int on = at->on[t];
        real p = rl_keep(on, log_prob[t]), a = rl_keep(on, advantages[t]);
        real w = weighted ? at->weight[t] : 1;
        real low = rl_clip_low(at, clip, t, scaled), high = rl_clip_high(at, clip, t, scaled);
        real factor = rl_limit(at->ratio[t], low, high), pull = -factor * a;
        at->term[t] = w * (pull * p);
        slope[t] = w * pull * row_weight;
        clipped -= rl_below(at->ratio[t], low) | rl_below(high, at->ratio[t]);
    }
    sums->clipped += (double)clipped;
}

HOT(struct rl_row_sums, cispo_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    return rl_token_row(call, row, row_weight, true, true, cispo);
}

RL_POLICY_LOSS(rl_cispo_loss, .row = cispo_row, .weights = RL_WEIGHTS_AGG)

/* ---- SAPO (arXiv 2511.20347). */

/*
 * Beyond this argument a sigmoid is 0 or 1 in either precision. The function is deliberately not
 * inlined. If the compiler does not know the limit it uses a minimum; if it knows the limit it
 * would use branches, which are not vectorised.
 */
static __attribute__((noinline)) real sigmoid_reach(void)
{
    return 80;
}

/*
 * A sigmoid of the ratio replaces the clip, so that the gradient fades out instead of stopping. The
 * factor 4 / tau gives it slope 1 at ratio 1 for every temperature. The temperature is larger (the
 * gradient fades sooner) where A <= 0, because pushing one token down raises many others at random.
 */
static RL_INLINE void sapo(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                           bool scaled, struct rl_row_sums *sums)
{
    const real tau_pos = (real)options->tau_pos, tau_neg = (real)options->tau_neg;
    const real scale_pos = (real)(4 / options->tau_pos), scale_neg = (real)(4 / options->tau_neg);
    const real far = sigmoid_reach(), *advantages = at->advantages;
    real *slope = at->slope;
    _Alignas(64) real x[RL_CHUNK], fading[RL_CHUNK];
    (void)scaled, (void)sums;
#pragma omp simd
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real a = rl_keep(at->on[t], advantages[t]);
        real tau = rl_pick(rl_below(0, a), tau_pos, tau_neg);
        x[t] = rl_limit(-tau * (at->ratio[t] - 1), -far, far);
    }
    rl_exp_near_all(fading, x, RL_CHUNK);
#pragma omp simd
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real a = rl_keep(at->on[t], advantages[t]), w = weighted ? at->weight[t] : 1;
        real scale = rl_pick(rl_below(0, a), scale_pos, scale_neg);
        real gate = 1 / (1 + fading[t]), gated = -a * gate;
        at->term[t] = w * (gated * scale);
        slope[t] = w * (gated * 4 * (1 - gate) * at->ratio[t]) * row_weight;
    }
    if (at->limited)
        rl_token_chunk_zero(at);
}

HOT(struct rl_row_sums, sapo_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    return rl_token_row(call, row, row_weight, true, false, sapo);
}

RL_POLICY_LOSS(rl_sapo_loss, .row = sapo_row, .weights = RL_WEIGHTS_SEQ_MEAN, .unclipped = "sapo")

/*
 * ---- REINFORCE (Williams 1992) and GPG (arXiv 2504.02546). They differ in their advantages and in
 * whether there is an old policy to compare with.
 */

/*
 * The ratio is reported but not used in the loss, so its limit neither counts tokens nor cuts
 * gradients. Without an old policy no ratio is reported.
 */
static RL_INLINE void reinforce(struct rl_token_chunk *at, const struct rl_loss_options *options, real row_weight, bool weighted,
                                bool scaled, struct rl_row_sums *sums)
{
    const real *log_prob = at->log_prob, *advantages = at->advantages;
    real *slope = at->slope;
    (void)options, (void)scaled, (void)sums;
#pragma omp simd
    for (size_t t = 0; t < RL_CHUNK; t++) {
        rl_int on = at->on[t];
        real p = rl_keep(on, log_prob[t]), a = rl_keep(on, advantages[t]);
        real w = weighted ? at->weight[t] : 1;
        at->term[t] = w * (-a * p);
        slope[t] = w * -a * row_weight;
    }
}

HOT(struct rl_row_sums, reinforce_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    struct rl_row_sums sums = rl_token_row(call, row, row_weight, false, false, reinforce);
    sums.clamped = 0;
    if (!call->in->old_log_prob) {
        sums.ratio_min = INFINITY;
        sums.ratio_max = -INFINITY;
    }
    return sums;
}

RL_POLICY_LOSS(rl_reinforce_loss, .row = reinforce_row, .weights = RL_WEIGHTS_AGG, .unclipped = "reinforce")

RL_POLICY_LOSS(rl_gpg_loss, .row = reinforce_row, .weights = RL_WEIGHTS_AGG, .old_optional = true, .unclipped = "gpg")

/*
 * ---- GSPO (arXiv 2507.18071): each row is one segment.
 *
 * With one reward for the whole response, clipping per token would correct each token by a ratio
 * that a single sample cannot estimate. The ratio of the response has the same unit as the reward:
 * the whole response.
 */

HOT(struct rl_row_sums, gspo_row, (const struct rl_loss_call *call, size_t row, real row_weight), (call, row, row_weight))
{
    const struct rl_segment segment = {
        .call = call,
        .from = rl_row_at(&call->batch, row),
        .n = rl_row_length(&call->batch, row),
        .low = (real)call->options->clip_low,
        .high = (real)call->options->clip_high,
        .row_weight = row_weight,
    };
    struct rl_row_sums sums = rl_row_sums_empty();
    rl_segment_loss(&segment, &sums);
    return sums;
}

/* The paper's objective is seq-mean-token-mean. Trainers offer the other modes too, verl since 0.9.1. */
RL_POLICY_LOSS(rl_gspo_loss, .row = gspo_row, .weights = RL_WEIGHTS_AGG)

/* ---- the extra pass over chunks that contain a log-ratio beyond the limit. */

void rl_token_chunk_limit(struct rl_token_chunk *at, struct rl_row_sums *sums)
{
    for (size_t t = 0; t < RL_CHUNK; t++) {
        real l = at->log_ratio[t], l20 = rl_limit(l, -rl_l_limit, rl_l_limit);
        at->log_ratio[t] = l20;
        at->cut[t] = rl_below(l, l20) | rl_below(l20, l);
        sums->clamped -= (double)at->cut[t];
    }
}

void rl_token_chunk_zero(const struct rl_token_chunk *at)
{
    for (size_t t = 0; t < RL_CHUNK; t++)
        at->slope[t] = rl_keep(~at->cut[t], at->slope[t]);
}
