/*
 * rlcore/offpolicy.h: corrections for data that the policy being trained did not sample.
 *
 * The trainer's recomputed log-probs differ from the sampler's (another engine, another precision,
 * older weights). l = train - rollout; l20 is l limited to +-20. What can be done about it, alone
 * or together:
 *     weights    truncated importance sampling, per token or per sequence    rl_rollout_correction
 *     rejection  tokens or sequences out of bounds leave the mask            rl_rollout_correction
 *     OPSM       the same by name, for whole sequences or turns              rl_opsm
 *     admission  data that is too old is not trained on at all               rl_staleness_admit
 * and the distance is measured: rl_offpolicy_metrics, rlcore/diagnostics.h. rl_bypass_loss and
 * rl_decoupled_loss put a correction in front of the losses of rlcore/loss.h.
 *
 * rlcore/compose.h puts all of it together; rlcore/correction_plan.h says what a setting needs.
 *
 * Where a definition has no limit (k3_kl, perplexities), a log-ratio beyond 709 overflows:
 * RL_EVALUE names the token, as it does for a log-prob at mask 1 that is not finite.
 *
 * Metrics come as a list of names and values; the names are verl's. Source: verl,
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

#ifdef __cplusplus
extern "C" {
#endif

#define RL_METRIC_NAME_MAX 64

struct rl_metric {
    char name[RL_METRIC_NAME_MAX];
    double value;
};

/* A list that the caller provides; items beyond capacity are counted in n but not stored. */
struct rl_metrics {
    struct rl_metric *items;
    size_t n, capacity;
};

/* Enough for any one call here. */
#define RL_METRICS_ENOUGH 256

/*
 * Distance of two policies on a batch: perplexities, kl, k3_kl, chi2_token, chi2_seq and
 * differences of log perplexity; log_ratio_clamped and log_ratio_clamped_seq count the tokens with
 * |l| > 20 and the rows whose sum of l is. train and rollout [B*T] log-probs. Appends to metrics. A
 * batch without rows is refused.
 */
RL_API RL_NODISCARD enum rl_status rl_offpolicy_metrics(const struct rl_batch *batch,
                                                        const double *train, const double *rollout,
                                                        struct rl_metrics *metrics,
                                                        struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_offpolicy_metricsf(const struct rl_batch *batch,
                                                         const float *train, const float *rollout,
                                                         struct rl_metrics *metrics,
                                                         struct rl_error *err);

enum rl_is_level { RL_IS_NONE, RL_IS_TOKEN, RL_IS_SEQUENCE };

struct rl_correction_options {
    enum rl_is_level is;
    double is_threshold;      /* cap U of the weights, > 0 */
    bool is_batch_normalize;  /* divide the truncated weights by their mean */
    const char *rs;           /* rejection options, comma-separated: token_k1..3, seq_sum_k1..3,
                                 seq_mean_k1..3, seq_max_k2..3; repeated ones count once;
                                 NULL = none */
    const char *rs_threshold; /* one for all or one each, comma-separated: k1 takes `lower_upper`,
                                 or U for 1/U_U; the others one upper bound */
};

/*
 * Weights [B*T] (0 at mask 0; untouched with RL_IS_NONE, then NULL is allowed) and the mask [B*T]
 * that rejection leaves. Statistics of the weights are taken before truncation; rejection does not
 * change weights. metrics receives all of it, rl_offpolicy_metrics included. A mask without any
 * response token is refused.
 */
RL_API RL_NODISCARD enum rl_status
rl_rollout_correction(const struct rl_batch *batch, const struct rl_correction_options *options,
                      const double *train, const double *rollout, double *weights,
                      uint8_t *modified_mask, struct rl_metrics *metrics, struct rl_workspace *ws,
                      struct rl_error *err);
RL_API RL_NODISCARD enum rl_status
rl_rollout_correctionf(const struct rl_batch *batch, const struct rl_correction_options *options,
                       const float *train, const float *rollout, float *weights,
                       uint8_t *modified_mask, struct rl_metrics *metrics, struct rl_workspace *ws,
                       struct rl_error *err);

enum rl_bypass_kind { RL_BYPASS_PPO_CLIP, RL_BYPASS_REINFORCE };

/*
 * Two policies, the sampler's log-probs in the place of the old ones. The correction is computed
 * with train := log_prob, without gradient. ppo_clip: rl_ppo_loss with old := rollout on the mask
 * that rejection leaves; weights are reported, not applied. reinforce: L = -A log_prob w on that
 * mask. d_log_prob [B*T] or NULL. Source: verl.
 */
RL_API RL_NODISCARD enum rl_status
rl_bypass_loss(const struct rl_batch *batch, enum rl_bypass_kind kind,
               const struct rl_correction_options *correction,
               const struct rl_loss_options *options, const double *log_prob, const double *rollout,
               const double *advantages, double *d_log_prob, struct rl_loss_result *out,
               struct rl_metrics *metrics, struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status
rl_bypass_lossf(const struct rl_batch *batch, enum rl_bypass_kind kind,
                const struct rl_correction_options *correction,
                const struct rl_loss_options *options, const float *log_prob, const float *rollout,
                const float *advantages, float *d_log_prob, struct rl_loss_result *out,
                struct rl_metrics *metrics, struct rl_workspace *ws, struct rl_error *err);

/*
 * Three policies (decoupled PPO): correction with train := proximal, then rl_ppo_loss with old :=
 * proximal, weights multiplied, on the mask that is left. weights and modified_mask [B*T] receive
 * the correction. Source: verl.
 */
RL_API RL_NODISCARD enum rl_status
rl_decoupled_loss(const struct rl_batch *batch, const struct rl_correction_options *correction,
                  const struct rl_loss_options *options, const double *log_prob,
                  const double *proximal, const double *rollout, const double *advantages,
                  double *weights, uint8_t *modified_mask, double *d_log_prob,
                  struct rl_loss_result *out, struct rl_metrics *metrics, struct rl_workspace *ws,
                  struct rl_error *err);
RL_API RL_NODISCARD enum rl_status
rl_decoupled_lossf(const struct rl_batch *batch, const struct rl_correction_options *correction,
                   const struct rl_loss_options *options, const float *log_prob,
                   const float *proximal, const float *rollout, const float *advantages,
                   float *weights, uint8_t *modified_mask, float *d_log_prob,
                   struct rl_loss_result *out, struct rl_metrics *metrics, struct rl_workspace *ws,
                   struct rl_error *err);

/* What OPSM drops as a whole. */
enum rl_opsm_unit { RL_OPSM_ROW, RL_OPSM_TURN };

struct rl_opsm_options {
    enum rl_opsm_unit unit;
    bool per_token;      /* bound the geometric mean exp(sum(l20) / n), else exp(sum(l20)) */
    double lower, upper; /* kept while lower <= ratio <= upper; 0 <= lower <= upper, upper may be
                            INFINITY. Of train / rollout, where seq_sum_k1 bounds the inverse */
    bool negative_only;  /* drop only what has a negative sum of advantages */
};

struct rl_opsm_result {
    uint64_t n_units, n_dropped; /* rows or turns that have a response token */
    uint64_t n_tokens_dropped;
};

/*
 * OPSM, off-policy sequence masking: rows, or turns of an agent, whose importance ratio leaves its
 * bounds leave the mask whole. A turn is judged by its own tokens only, so one turn's drift does
 * not cost the others (turn ids needed). modified_mask [B*T]; ratio [B*T] or NULL receives the
 * ratio of each token's unit (exp(20) at most), 0 at mask 0; advantages [B*T] are needed with
 * negative_only, else NULL. With whole rows this is the rejection seq_sum_k1 or seq_mean_k1 of
 * rl_rollout_correction. Source: DeepSeek-V3.2 (negative_only, per_token); definitions in
 * fixtures/golden/README.md.
 */
RL_API RL_NODISCARD enum rl_status
rl_opsm(const struct rl_batch *batch, const struct rl_opsm_options *options, const double *train,
        const double *rollout, const double *advantages, uint8_t *modified_mask, double *ratio,
        struct rl_opsm_result *result, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status
rl_opsmf(const struct rl_batch *batch, const struct rl_opsm_options *options, const float *train,
         const float *rollout, const float *advantages, uint8_t *modified_mask, float *ratio,
         struct rl_opsm_result *result, struct rl_error *err);

/* Whether a sampler may go on: floor((generated - 1) / batch_size) <= policy_version +
 * max_staleness, for `generated` samples so far. RL_EINVAL for a batch size below 1 or a negative
 * count. */
RL_API RL_NODISCARD enum rl_status rl_staleness_admit(int64_t generated, int64_t batch_size,
                                                      int64_t policy_version, int64_t max_staleness,
                                                      bool *admit, struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
