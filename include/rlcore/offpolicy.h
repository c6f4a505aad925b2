/*
 * rlcore/offpolicy.h: corrections for data that was not sampled by the policy that is trained.
 *
 * The trainer's recomputed log-probs differ from the sampler's because of another engine, another
 * precision or older weights. l = train - rollout; l20 is l limited to +-20. The corrections can be
 * used alone or together:
 *     weights    truncated importance sampling, per token or per sequence    rl_rollout_correction
 *     rejection  tokens or sequences out of bounds leave the mask            rl_rollout_correction
 *     OPSM       whole sequences or turns out of bounds leave the mask       rl_opsm
 *     admission  data that is too old is not trained on at all               rl_staleness_admit
 * rl_offpolicy_metrics and rlcore/diagnostics.h measure the distance of the two policies.
 * rl_bypass_loss and rl_decoupled_loss apply a correction before the losses of rlcore/loss.h.
 * rlcore/compose.h combines all of them, and rlcore/correction_plan.h says which of them a setting
 * needs.
 *
 * RL_EVALUE, with the token, for a log-prob at mask 1 that is not finite, and for a log-ratio above
 * 709 where a definition has no limit (k3_kl, perplexities) and exp overflows.
 *
 * Metrics are returned as a list of names and values; the names are verl's. Source: verl,
 * rollout_corr_helper.py and core_algos.py; definitions in fixtures/golden/README.md.
 */
#ifndef RLCORE_OFFPOLICY_H
#define RLCORE_OFFPOLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/loss.h>
#include <rlcore/status.h>

#define RL_METRIC_NAME_MAX 64

struct rl_metric {
    char name[RL_METRIC_NAME_MAX];
    double value;
};

/* A list in memory of the caller. Items beyond capacity are counted in n but not stored. */
struct rl_metrics {
    struct rl_metric *items;
    size_t n, capacity;
};

/* A capacity that suffices for any function of this header. */
#define RL_METRICS_ENOUGH 256

/*
 * Append the distance of two policies on a batch to metrics: perplexities, kl, k3_kl, chi2_token,
 * chi2_seq and differences of log perplexity. log_ratio_clamped counts the tokens with |l| > 20,
 * log_ratio_clamped_seq the rows whose sum of l exceeds 20. train and rollout are log-probs [B*T].
 * A batch without rows is refused.
 */
RL_API RL_NODISCARD enum rl_status rl_offpolicy_metrics(const struct rl_batch *batch, const double *train, const double *rollout,
                                                        struct rl_metrics *metrics, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_offpolicy_metricsf(const struct rl_batch *batch, const float *train, const float *rollout,
                                                         struct rl_metrics *metrics, struct rl_error *err);

enum rl_is_level { RL_IS_NONE, RL_IS_TOKEN, RL_IS_SEQUENCE };

struct rl_correction_options {
    enum rl_is_level is;
    double is_threshold;      /* cap U of the weights, > 0 */
    double is_lower;          /* IcePop (arXiv 2510.18855): a weight outside of [is_lower, U] is 0; 0: no such interval */
    bool is_applied;          /* the metrics of the weights measure the truncated ones, as verl does since 0.8.0: mean, std and
                                 ESS (limited to [0, U]), at token level min and max, and seq_* but for the fractions; false: the
                                 ratios, as verl did up to 0.7.1 */
    bool is_batch_normalize;  /* divide the truncated weights by their mean */
    const char *rs;           /* rejection options, separated by commas: token_k1..3, seq_sum_k1..3,
                                 seq_mean_k1..3, seq_max_k2..3. A repeated option counts once. NULL:
                                 none */
    const char *rs_threshold; /* thresholds, separated by commas, one for all options or one for
                                 each. k1 takes `lower_upper`, or only U, which means 1/U_U; the
                                 others take one upper bound */
};

/*
 * Computes weights [B*T] (0 at mask 0; unchanged with RL_IS_NONE, where NULL is allowed) and the
 * mask [B*T] that remains after rejection. Statistics of the weights are taken before truncation;
 * rejection does not change weights. metrics receives statistics of both, and those of
 * rl_offpolicy_metrics. A mask without any response token is refused.
 */
RL_API RL_NODISCARD enum rl_status rl_rollout_correction(const struct rl_batch *batch,
                                                         const struct rl_correction_options *options, const double *train,
                                                         const double *rollout, double *weights, uint8_t *modified_mask,
                                                         struct rl_metrics *metrics, struct rl_workspace *ws,
                                                         struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_rollout_correctionf(const struct rl_batch *batch,
                                                          const struct rl_correction_options *options, const float *train,
                                                          const float *rollout, float *weights, uint8_t *modified_mask,
                                                          struct rl_metrics *metrics, struct rl_workspace *ws,
                                                          struct rl_error *err);

enum rl_bypass_kind { RL_BYPASS_PPO_CLIP, RL_BYPASS_REINFORCE };

/*
 * Policy loss with two policies: the sampler's log-probs replace the old ones. The correction is
 * computed with train = log_prob, without gradient. ppo_clip: rl_ppo_loss with old = rollout on the
 * remaining mask; weights are reported, not applied. reinforce: L = -A log_prob w on the remaining
 * mask. d_log_prob [B*T] or NULL. Source: verl.
 */
RL_API RL_NODISCARD enum rl_status rl_bypass_loss(const struct rl_batch *batch, enum rl_bypass_kind kind,
                                                  const struct rl_correction_options *correction,
                                                  const struct rl_loss_options *options, const double *log_prob,
                                                  const double *rollout, const double *advantages, double *d_log_prob,
                                                  struct rl_loss_result *out, struct rl_metrics *metrics, struct rl_workspace *ws,
                                                  struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_bypass_lossf(const struct rl_batch *batch, enum rl_bypass_kind kind,
                                                   const struct rl_correction_options *correction,
                                                   const struct rl_loss_options *options, const float *log_prob,
                                                   const float *rollout, const float *advantages, float *d_log_prob,
                                                   struct rl_loss_result *out, struct rl_metrics *metrics,
                                                   struct rl_workspace *ws, struct rl_error *err);

/*
 * Policy loss with three policies (decoupled PPO): the correction is computed with train =
 * proximal, then rl_ppo_loss runs with old = proximal, the weights as factors, and the remaining
 * mask. weights and modified_mask [B*T] receive the correction. Source: verl.
 */
RL_API RL_NODISCARD enum rl_status rl_decoupled_loss(const struct rl_batch *batch, const struct rl_correction_options *correction,
                                                     const struct rl_loss_options *options, const double *log_prob,
                                                     const double *proximal, const double *rollout, const double *advantages,
                                                     double *weights, uint8_t *modified_mask, double *d_log_prob,
                                                     struct rl_loss_result *out, struct rl_metrics *metrics,
                                                     struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_decoupled_lossf(const struct rl_batch *batch,
                                                      const struct rl_correction_options *correction,
                                                      const struct rl_loss_options *options, const float *log_prob,
                                                      const float *proximal, const float *rollout, const float *advantages,
                                                      float *weights, uint8_t *modified_mask, float *d_log_prob,
                                                      struct rl_loss_result *out, struct rl_metrics *metrics,
                                                      struct rl_workspace *ws, struct rl_error *err);

/* The unit that OPSM drops as a whole. */
enum rl_opsm_unit { RL_OPSM_ROW, RL_OPSM_TURN };

struct rl_opsm_options {
    enum rl_opsm_unit unit;
    bool per_token;      /* the bounds apply to the geometric mean exp(sum(l20) / n); if false, to
                            exp(sum(l20)) */
    double lower, upper; /* bounds of the ratio train / rollout; a unit stays if lower <= ratio <=
                            upper. 0 <= lower <= upper; upper may be INFINITY. (seq_sum_k1 bounds
                            the inverse ratio.) */
    bool negative_only;  /* drop only units whose sum of advantages is negative */
};

struct rl_opsm_result {
    uint64_t n_units, n_dropped; /* rows or turns with a response token */
    uint64_t n_tokens_dropped;
};

/*
 * OPSM, off-policy sequence masking: rows, or turns of an agent, whose importance ratio leaves its
 * bounds are removed from the mask as a whole. A turn is judged by its own tokens only, so that the
 * drift of one turn does not cost the others (needs turn ids). modified_mask [B*T] receives the
 * remaining mask. ratio [B*T], or NULL, receives the ratio of each token's unit (exp(20) at most),
 * 0 at mask 0. advantages [B*T] are needed with negative_only, else NULL. With whole rows this
 * equals the rejection seq_sum_k1 or seq_mean_k1 of rl_rollout_correction. Source: DeepSeek-V3.2
 * (negative_only, per_token); definitions in fixtures/golden/README.md.
 */
RL_API RL_NODISCARD enum rl_status rl_opsm(const struct rl_batch *batch, const struct rl_opsm_options *options,
                                           const double *train, const double *rollout, const double *advantages,
                                           uint8_t *modified_mask, double *ratio, struct rl_opsm_result *result,
                                           struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_opsmf(const struct rl_batch *batch, const struct rl_opsm_options *options,
                                            const float *train, const float *rollout, const float *advantages,
                                            uint8_t *modified_mask, float *ratio, struct rl_opsm_result *result,
                                            struct rl_error *err);

/*
 * Set *admit to whether a sampler that has generated `generated` samples so far may continue:
 * floor((generated - 1) / batch_size) <= policy_version + max_staleness. RL_EINVAL for a batch size
 * below 1 or a negative count. Source: AReaL (arXiv 2505.24298).
 */
RL_API RL_NODISCARD enum rl_status rl_staleness_admit(int64_t generated, int64_t batch_size, int64_t policy_version,
                                                      int64_t max_staleness, bool *admit, struct rl_error *err);

#endif
