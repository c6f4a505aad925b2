/*
 * rlcore/loss.h: policy losses, their aggregation, KL penalties and the value loss, each with its
 * gradient.
 *
 * Calling sequence
 *     struct rl_loss_options options;
 *     rl_loss_options_init(&options);               the defaults of the cited systems
 *     options.clip_high = 0.28;                     e.g. DAPO's asymmetric clip
 *     struct rl_loss_input in = {.log_prob = p, .old_log_prob = q, .advantages = a};
 *     struct rl_loss_result out;
 *     status = rl_ppo_loss(&batch, &in, &options, d_log_prob, &out, &ws, &err);
 *
 * All policy losses have this signature. d_log_prob receives d loss / d log_prob ([B*T], 0 at mask
 * 0) and may be NULL. With it a trainer needs no automatic differentiation of the loss: it
 * back-propagates d_log_prob through its own log-probs.
 *
 * Symbols
 *     m      the response mask
 *     n_i    the number of response tokens of row i; N their sum
 *     A      the advantage
 *     l      log_prob - old_log_prob (natural logarithms)
 *     l20    l limited to [-20, 20]; the gradient is 0 outside
 *     [c]    1 if c holds, else 0
 *     lo, hi clip_low and clip_high, times the token's clip_scale if there is one
 *     mm(x)  sum(m x) / (N + 1e-8), the masked mean
 * Gradients at exact ties of a minimum or maximum are those of the unclipped branch.
 *
 * Errors
 *     RL_EINVAL  a required array is missing, an option is out of range, the aggregation divides by
 *                zero, or clip_scale is given to a loss without a clip range
 *     RL_EVALUE  a value at mask 1 is not finite, a weight or clip scale is negative, the mask holds
 *                something other than 0 and 1, or the loss overflows; the text names array, row and
 *                token
 * Values at mask 0 are never read as numbers, so NaN is allowed there.
 *
 * Reproducibility, layouts, and which output may be which input: rlcore/status.h.
 *
 * Sources: PPO (arXiv 1707.06347), dual clip (1912.09729), DAPO (2503.14476), GSPO (2507.18071),
 * CISPO (2506.13585), SAPO (2511.20347), GPG (2504.02546), GMPO (2507.20673), REINFORCE (Williams
 * 1992), Dr. GRPO (2503.20783). Constants and the order of operations are those of verl's
 * core_algos.py.
 */
#ifndef RLCORE_LOSS_H
#define RLCORE_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

/*
 * How token losses L become one number. Rows without response tokens do not count in any of the
 * means.
 */
enum rl_agg_mode {
    RL_AGG_TOKEN_MEAN,             /* sum(m L) / N */
    RL_AGG_SEQ_MEAN_TOKEN_SUM,     /* mean over rows of sum_t(m L): the objective of Dr. GRPO */
    RL_AGG_SEQ_MEAN_TOKEN_MEAN,    /* mean over rows of sum_t(m L) / (n_i + 1e-8) */
    RL_AGG_SEQ_MEAN_TOKEN_SUM_NORM /* sum(m L) / T: the sum, scaled by a constant length */
};

/*
 * Aggregation over a batch that may be one of several of a data-parallel step. Zero-initialised:
 * token-mean over this batch. The first three modes multiply by dp_size, because their counts are
 * global and gradients are averaged over the workers afterwards. RL_EINVAL for a number of the
 * global batch that is smaller than that of this batch.
 */
struct rl_agg {
    enum rl_agg_mode mode;
    double dp_size;           /* number of workers; 0 means 1 */
    double batch_num_tokens; /* token-mean: response tokens of the global batch; 0: of this batch */
    double global_batch_size; /* seq-mean modes: rows of the global batch; 0: the non-empty rows of
                                 this batch */
    double loss_scale_factor; /* ..-norm: the constant length; 0: T */
};

/*
 * Aggregate token losses: loss_mat [B*T] -> *loss, and d_loss_mat [B*T] = d loss / d loss_mat
 * unless NULL. RL_EINVAL if a count that is taken from this batch is 0. Source: verl, agg_loss.
 */
RL_API RL_NODISCARD enum rl_status rl_agg_loss(const struct rl_batch *batch, const struct rl_agg *agg, const double *loss_mat,
                                               double *d_loss_mat, double *loss, struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_agg_lossf(const struct rl_batch *batch, const struct rl_agg *agg, const float *loss_mat,
                                                float *d_loss_mat, double *loss, struct rl_workspace *ws, struct rl_error *err);

/* Inputs of a policy loss; all arrays [B*T]. */
struct rl_loss_input {
    const double *log_prob;     /* of the policy that is trained */
    const double *old_log_prob; /* of the old policy, the denominator of the ratio; may be NULL for
                                   rl_gpg_loss */
    const double *advantages;   /* constants: no gradient flows into them */
    const double *weights;      /* off-policy importance weights >= 0, or NULL for 1; they multiply
                                   the token loss after clipping and enter no metric */
    const double *entropy; /* entropy of the policy at each token, or NULL; used for statistics only */
    /*
     * factor >= 0 of both clip ranges at each token, or NULL for 1: A2TGPO's dynamic_clip
     * (rl_a2tgpo_advantage). Read by PPO, GSPO, CISPO and GMPO; a loss without a clip range refuses it
     */
    const double *clip_scale;
};

struct rl_loss_inputf {
    const float *log_prob, *old_log_prob, *advantages, *weights, *entropy, *clip_scale;
};

struct rl_loss_options {
    struct rl_agg agg;
    double clip_low;  /* 0.2: the ratio is clipped to [1 - clip_low s, 1 + clip_high s], s = clip_scale */
    double clip_high; /* 0.2; DAPO: 0.28 */
    double clip_c;    /* 3: dual clip, the upper bound c of the ratio where A < 0; must exceed 1 */
    double tau_pos;   /* 1: SAPO's temperature where A > 0; > 0 */
    double tau_neg;   /* 1.05: SAPO's temperature elsewhere; > 0 */
    double dro_beta;  /* 0: DRO's penalty, which has no default; > 0 */
    double vespo_k_pos, vespo_lambda_pos; /* 2, 3: VESPO's weight where A >= 0 */
    double vespo_k_neg, vespo_lambda_neg; /* 3, 2: elsewhere; lambda at least 1e-4 */
};

RL_API void rl_loss_options_init(struct rl_loss_options *options);

/*
 * Statistics over response tokens. They are 0 without response tokens, and for a loss that does not
 * define them.
 */
struct rl_loss_result {
    double loss;
    double pg_clipfrac;       /* share (mm) of the tokens whose gradient the clip cut off */
    double pg_clipfrac_lower; /* share of the tokens cut off by the dual clip, or by the lower of
                                 two clips */
    double ppo_kl;            /* mm(-l), the k1 estimate of KL(old || current) */
    /* the importance ratio before the clip */
    double ratio_mean, ratio_min, ratio_max;
    double entropy_mean, entropy_min, entropy_max;
    uint64_t n_tokens;  /* N */
    uint64_t n_clamped; /* tokens whose log-ratio reached a fixed limit (20; 10 for mean log-ratios) */
};

/*
 * Every policy loss has this type: rl_ppo_loss(batch, in, options, d_log_prob, out, ws, err). The losses with suffix f have the
 * second one.
 */
typedef enum rl_status rl_policy_loss(const struct rl_batch *batch, const struct rl_loss_input *in,
                                      const struct rl_loss_options *options, double *d_log_prob, struct rl_loss_result *out,
                                      struct rl_workspace *ws, struct rl_error *err);
typedef enum rl_status rl_policy_lossf(const struct rl_batch *batch, const struct rl_loss_inputf *in,
                                       const struct rl_loss_options *options, float *d_log_prob, struct rl_loss_result *out,
                                       struct rl_workspace *ws, struct rl_error *err);

/*
 * PPO with dual clip; DAPO through clip_high > clip_low.
 *   r = exp(l20), L1 = -A r, L2 = -A clip(r, 1 - lo, 1 + hi), La = max(L1, L2),
 *   L = min(-A c, La) where A < 0, else La.
 * pg_clipfrac = mm([L2 > L1]), pg_clipfrac_lower = mm([La > -A c][A < 0]), ppo_kl = mm(-l20).
 */
RL_API RL_NODISCARD rl_policy_loss rl_ppo_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_ppo_lossf;

/*
 * GSPO: one ratio per row, s = exp(min(mean of l over the row, 10)), straight-through to each token
 * (d s / d log_prob_t = s for the token itself; 0 beyond the limit).
 *   L = max(-A s, -A clip(s, 1 - lo, 1 + hi)). The paper's aggregation is seq-mean-token-mean.
 * pg_clipfrac = mm([second > first]), ppo_kl = mm(-l) without a limit.
 */
RL_API RL_NODISCARD rl_policy_loss rl_gspo_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_gspo_lossf;

/*
 * CISPO: the clipped ratio is a constant weight, so every token keeps a gradient.
 *   L = -clip(exp(l20), 1 - lo, 1 + hi) A log_prob, gradient through log_prob only.
 * pg_clipfrac = mm([clip changes the ratio]), ppo_kl = mm(-l20).
 */
RL_API RL_NODISCARD rl_policy_loss rl_cispo_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_cispo_lossf;

/*
 * DPPO (arXiv 2602.04879) as verl has it: c = clip_c bounds the ratio from above, and a token that has
 * moved too far in the direction of its advantage is cut off.
 *   L = -A min(exp(l20), c) log_prob [valid], gradient through log_prob only.
 *   tv: valid where A > 0: pi - pi_old <= clip_high; else pi - pi_old >= -clip_low.
 *   kl: the same with the divergence of (pi_old, 1 - pi_old) from (pi, 1 - pi), where the movement has
 *       that direction.
 * pg_clipfrac = mm([not valid]), pg_clipfrac_lower = mm([ratio > c][valid]), ppo_kl = mm(-l20).
 */
RL_API RL_NODISCARD rl_policy_loss rl_dppo_tv_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_dppo_tv_lossf;
RL_API RL_NODISCARD rl_policy_loss rl_dppo_kl_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_dppo_kl_lossf;

/*
 * DRO (arXiv 2405.19107) as verl has it since 0.9.1: L = -A log_prob + dro_beta / 2 l^2, l without a limit.
 * ppo_kl = mm(-l); no clip.
 */
RL_API RL_NODISCARD rl_policy_loss rl_dro_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_dro_lossf;

/*
 * VESPO (arXiv 2602.10693) as TRL has it: with the ratio of the row w = exp(sum of l20, plus the sum of
 * log weights), its logarithm limited to [log 1e-8, 20],
 *   L = -A exp(lambda + k log w - lambda w) log_prob, gradient through log_prob only.
 * Here the weights are ratios of the old policy to the sampler and multiply nothing. ppo_kl = mm(-l20).
 * LUSPO (arXiv 2602.05261) is rl_gspo_loss with RL_AGG_SEQ_MEAN_TOKEN_SUM.
 */
RL_API RL_NODISCARD rl_policy_loss rl_vespo_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_vespo_lossf;

/*
 * SAPO: a soft gate in place of the clip.
 *   tau = tau_pos where A > 0, else tau_neg; L = -A sigmoid(tau (exp(l20) - 1)) 4 / tau.
 * Always seq-mean-token-mean: agg.mode is ignored. Clip fractions are 0, ppo_kl = mm(-l20).
 */
RL_API RL_NODISCARD rl_policy_loss rl_sapo_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_sapo_lossf;

/* GPG: L = -A log_prob. ppo_kl and the ratio statistics are 0 without old_log_prob. */
RL_API RL_NODISCARD rl_policy_loss rl_gpg_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_gpg_lossf;

/*
 * REINFORCE: L = -A log_prob, times the weights if there are any. ppo_kl = mm(old_log_prob -
 * log_prob), without a limit.
 */
RL_API RL_NODISCARD rl_policy_loss rl_reinforce_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_reinforce_lossf;

/*
 * GMPO, the geometric mean of token ratios; the clip acts on the log-ratio.
 *   lc = clip(l, -lo, hi); t = min(l, lc) where A > 0, max(l, lc) where A < 0, 0 where A = 0;
 *   R_i = exp(sum(m t) / (n_i + 1e-8)); A_i = sum(m A) / (n_i + 1e-8);
 *   loss = mean over all B rows, empty ones included, of -A_i R_i W_i,
 *   W_i = exp(sum(m log(w + 1e-10)) / (n_i + 1e-8)), 1 without weights. agg is ignored.
 * pg_clipfrac = mm([l != lc][A > 0]), pg_clipfrac_lower = mm([l != lc][A < 0]), ppo_kl = mm(-l).
 */
RL_API RL_NODISCARD rl_policy_loss rl_geo_mean_loss;
RL_API RL_NODISCARD rl_policy_lossf rl_geo_mean_lossf;

/* Estimators of KL(current || reference) per token, with x = log_prob - ref_log_prob. */
enum rl_kl {
    RL_KL_K1,  /* x */
    RL_KL_ABS, /* |x|, gradient 0 at 0 */
    RL_KL_K2,  /* x^2 / 2 */
    RL_KL_K3   /* k = exp(d) - d - 1, at most 10, with d = -x limited to +-20; gradient 1 - exp(d),
                  or 0 where a limit applies */
};

/*
 * KL penalty of n elements: kl [n] and, unless NULL, d_log_prob [n] = d sum(kl) / d log_prob.
 * Without a mask every element must be finite. straight_through keeps the value but takes the
 * gradient of k2, which is x. That gradient is unbiased, unlike those of k1 and k3. Source:
 * Schulman, "Approximating KL divergence"; verl, kl_penalty.
 */
RL_API RL_NODISCARD enum rl_status rl_kl_penalty(enum rl_kl kind, bool straight_through, size_t n, const double *log_prob,
                                                 const double *ref_log_prob, double *kl, double *d_log_prob,
                                                 struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_kl_penaltyf(enum rl_kl kind, bool straight_through, size_t n, const float *log_prob,
                                                  const float *ref_log_prob, float *kl, float *d_log_prob, struct rl_error *err);

/*
 * rl_kl_penalty for the tokens of a batch, all arrays [B*T]: 0 at mask 0, where log-probs are not
 * read. A NULL mask selects every position.
 */
RL_API RL_NODISCARD enum rl_status rl_token_kl(const struct rl_batch *batch, enum rl_kl kind, bool straight_through,
                                               const double *log_prob, const double *ref_log_prob, double *kl, double *d_log_prob,
                                               struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_token_klf(const struct rl_batch *batch, enum rl_kl kind, bool straight_through,
                                                const float *log_prob, const float *ref_log_prob, float *kl, float *d_log_prob,
                                                struct rl_error *err);

/*
 * The KL penalty off policy: with r = exp(l20), the ratio of the policy to old_log_prob's, which sampled the tokens,
 *     kl = r k, k being the estimator's value as in rl_token_kl;  d_log_prob = r x, x = log_prob - ref_log_prob.
 * The mean of r x d log_prob over samples of the old policy is the gradient of KL(current || reference). For k3 inside of
 * its limits r x is the derivative of r k; beyond them it is kept, because a limited k would give it the wrong sign. Source:
 * DeepSeek-V3.2 (arXiv 2512.02556); TRL, use_bias_correction_kl, which has no limits. Arrays, mask and errors as in
 * rl_token_kl; old_log_prob is the third array of reals.
 */
RL_API RL_NODISCARD enum rl_status rl_unbiased_kl(const struct rl_batch *batch, enum rl_kl kind, const double *log_prob,
                                                  const double *ref_log_prob, const double *old_log_prob, double *kl,
                                                  double *d_log_prob, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_unbiased_klf(const struct rl_batch *batch, enum rl_kl kind, const float *log_prob,
                                                   const float *ref_log_prob, const float *old_log_prob, float *kl,
                                                   float *d_log_prob, struct rl_error *err);

struct rl_value_result {
    double loss;
    double vf_clipfrac; /* share (mm) of the tokens where the clipped error is the larger one */
};

/*
 * PPO's clipped value loss. values are the predictions at rollout time; all arrays are [B*T].
 *     vc = vpreds limited to [values - c, values + c], c = cliprange >= 0;
 *     L = max((vpreds - returns)^2, (vc - returns)^2);
 *     loss = agg_loss(L) / 2. d_vpreds = d loss / d vpreds, or NULL.
 * Source: verl, compute_value_loss.
 */
RL_API RL_NODISCARD enum rl_status rl_value_loss(const struct rl_batch *batch, const struct rl_agg *agg, double cliprange,
                                                 const double *vpreds, const double *values, const double *returns,
                                                 double *d_vpreds, struct rl_value_result *out, struct rl_workspace *ws,
                                                 struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_value_lossf(const struct rl_batch *batch, const struct rl_agg *agg, double cliprange,
                                                  const float *vpreds, const float *values, const float *returns, float *d_vpreds,
                                                  struct rl_value_result *out, struct rl_workspace *ws, struct rl_error *err);

#endif
