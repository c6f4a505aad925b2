/*
 * rlcore/offpolicy.h: corrections for data that the policy being trained did not sample.
 *
 * The trainer's recomputed log-probs differ from the sampler's (another engine, another precision, older
 * weights). l = train - rollout; l20 is l limited to +-20. Three things are done about it, alone or together:
 *   weights     truncated importance sampling, per token or per sequence        rl_rollout_correction
 *   rejection   tokens or sequences out of bounds leave the mask                rl_rollout_correction
 *   admission   data that is too old is not trained on at all                   rl_staleness_admit
 * and the distance is measured (rl_offpolicy_metrics). rl_bypass_loss and rl_decoupled_loss put a correction in
 * front of the losses of rlcore/loss.h.
 *
 * Metrics come as a list of names and values; the names are verl's. Source: verl, rollout_corr_helper.py and
 * core_algos.py; definitions in fixtures/golden/README.md.
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
 * Distance of two policies on a batch: perplexities, kl, k3_kl, chi2_token, chi2_seq and differences of log
 * perplexity. train and rollout [B*T] log-probs. Appends to metrics. A batch without rows is refused.
 */
RL_API RL_NODISCARD enum rl_status rl_offpolicy_metrics(const struct rl_batch *batch, const double *train,
                                                        const double *rollout, struct rl_metrics *metrics,
                                                        struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_offpolicy_metricsf(const struct rl_batch *batch, const float *train,
                                                         const float *rollout, struct rl_metrics *metrics,
                                                         struct rl_error *err);

enum rl_is_level { RL_IS_NONE, RL_IS_TOKEN, RL_IS_SEQUENCE };

struct rl_correction_options {
    enum rl_is_level is;
    double is_threshold;    /* cap U of the weights, > 0 */
    bool is_batch_normalize; /* divide the truncated weights by their mean */
    const char *rs;          /* rejection options, comma-separated: token_k1..3, seq_sum_k1..3, seq_mean_k1..3,
                                seq_max_k2..3; repeated ones count once; NULL = none */
    const char *rs_threshold; /* one for all or one each, comma-separated: k1 takes `lower_upper`, or U for 1/U_U;
                                 the others one upper bound */
};

/*
 * Weights [B*T] (0 at mask 0; untouched with RL_IS_NONE, then NULL is allowed) and the mask [B*T] that rejection
 * leaves. Statistics of the weights are taken before truncation; rejection does not change weights. metrics
 * receives all of it, rl_offpolicy_metrics included. A mask without any response token is refused.
 */
RL_API RL_NODISCARD enum rl_status rl_rollout_correction(const struct rl_batch *batch,
                                                         const struct rl_correction_options *options,
                                                         const double *train, const double *rollout,
                                                         double *weights, uint8_t *modified_mask,
                                                         struct rl_metrics *metrics, struct rl_workspace *ws,
                                                         struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_rollout_correctionf(const struct rl_batch *batch,
                                                          const struct rl_correction_options *options,
                                                          const float *train, const float *rollout,
                                                          float *weights, uint8_t *modified_mask,
                                                          struct rl_metrics *metrics, struct rl_workspace *ws,
                                                          struct rl_error *err);

enum rl_bypass_kind { RL_BYPASS_PPO_CLIP, RL_BYPASS_REINFORCE };

/*
 * Two policies, the sampler's log-probs in the place of the old ones. The correction is computed with train :=
 * log_prob, without gradient. ppo_clip: rl_ppo_loss with old := rollout on the mask that rejection leaves; weights are
 * reported, not applied. reinforce: L = -A log_prob w on that mask. d_log_prob [B*T] or NULL. Source: verl.
 */
RL_API RL_NODISCARD enum rl_status rl_bypass_loss(const struct rl_batch *batch, enum rl_bypass_kind kind,
                                                  const struct rl_correction_options *correction,
                                                  const struct rl_loss_options *options, const double *log_prob,
                                                  const double *rollout, const double *advantages,
                                                  double *d_log_prob, struct rl_loss_result *out,
                                                  struct rl_metrics *metrics, struct rl_workspace *ws,
                                                  struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_bypass_lossf(const struct rl_batch *batch, enum rl_bypass_kind kind,
                                                  const struct rl_correction_options *correction,
                                                  const struct rl_loss_options *options, const float *log_prob,
                                                  const float *rollout, const float *advantages,
                                                  float *d_log_prob, struct rl_loss_result *out,
                                                  struct rl_metrics *metrics, struct rl_workspace *ws,
                                                  struct rl_error *err);

/*
 * Three policies (decoupled PPO): correction with train := proximal, then rl_ppo_loss with old := proximal, weights
 * multiplied, on the mask that is left. weights and modified_mask [B*T] receive the correction. Source: verl.
 */
RL_API RL_NODISCARD enum rl_status rl_decoupled_loss(const struct rl_batch *batch,
                                                     const struct rl_correction_options *correction,
                                                     const struct rl_loss_options *options, const double *log_prob,
                                                     const double *proximal, const double *rollout,
                                                     const double *advantages, double *weights,
                                                     uint8_t *modified_mask, double *d_log_prob,
                                                     struct rl_loss_result *out, struct rl_metrics *metrics,
                                                     struct rl_workspace *ws, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_decoupled_lossf(const struct rl_batch *batch,
                                                     const struct rl_correction_options *correction,
                                                     const struct rl_loss_options *options, const float *log_prob,
                                                     const float *proximal, const float *rollout,
                                                     const float *advantages, float *weights,
                                                     uint8_t *modified_mask, float *d_log_prob,
                                                     struct rl_loss_result *out, struct rl_metrics *metrics,
                                                     struct rl_workspace *ws, struct rl_error *err);

/* Whether a sampler may go on: floor((generated - 1) / batch_size) <= policy_version + max_staleness, for
 * `generated` samples so far. RL_EINVAL for a batch size below 1 or a negative count. */
RL_API RL_NODISCARD enum rl_status rl_staleness_admit(int64_t generated, int64_t batch_size,
                                                      int64_t policy_version, int64_t max_staleness,
                                                      bool *admit, struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
