/*
 * rlcore/distill.h: on-policy distillation together with reinforcement learning: a teacher's
 * log-probs train the rollouts that the student failed, without changing the statistics of the
 * others.
 *
 * A row is eligible if the pass rate of its prompt group (the share of rows with reward > 0) is at
 * most the threshold and its own reward is not above 0. The first `horizon` response tokens of
 * eligible rows are selected. Source: definitions in fixtures/golden/README.md, "distillation".
 */
#ifndef RLCORE_DISTILL_H
#define RLCORE_DISTILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

struct rl_distill_options {
    double pass_rate_threshold; /* 0..1 */
    size_t horizon;             /* tokens */
    bool normalise;             /* K1: (x - mean) / (biased std + 1e-8) over the selected tokens, if
                                   there are at least 2 */
    double kd_coef;             /* K2: coefficient of the loss, >= 0 */
    /*
     * For a batch that is a part of a larger one, so that the losses and gradients of the parts add up
     * to those of the whole. First call the function on the whole batch, which gives both numbers.
     */
    size_t n_selected;       /* selected tokens of the whole batch; 0: of this batch */
    double dp_size;          /* workers whose gradients are averaged afterwards; 0: 1 */
    const double *pass_rate; /* [B] pass rate of each row's whole group, or NULL: of its rows here */
};

/* Results in addition to the output arrays. */
struct rl_distill_result {
    size_t n_selected; /* tokens */
    double kd_loss; /* K2: kd_coef * mean over the selected tokens of (s - t)^2 / 2; 0 if no token
                       is selected. Of a part: its share of the whole batch's, times dp_size */
};

/*
 * log_prob s, teacher t and rl_advantages are [B*T], rewards [B]. The batch needs groups. Outputs:
 *     advantages [B*T] (K1)          t - s at selected tokens, 0 elsewhere in eligible rows;
 *                                    rl_advantages * mask in the other rows
 *     d_log_prob [B*T] or NULL (K2)  d kd_loss / d log_prob
 *     pass_rate [B], eligible [B]
 * RL_EINVAL for n_selected below the number of this batch, for dp_size without n_selected, for given pass
 * rates that contradict the rewards or differ within a group, and for normalise with a part of a batch.
 */
RL_API RL_NODISCARD enum rl_status rl_distill(const struct rl_batch *batch, const struct rl_distill_options *options,
                                              const double *log_prob, const double *teacher, const double *rl_advantages,
                                              const double *rewards, double *advantages, double *d_log_prob, double *pass_rate,
                                              uint8_t *eligible, struct rl_distill_result *result, struct rl_workspace *ws,
                                              struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_distillf(const struct rl_batch *batch, const struct rl_distill_options *options,
                                               const float *log_prob, const float *teacher, const float *rl_advantages,
                                               const double *rewards, float *advantages, float *d_log_prob, double *pass_rate,
                                               uint8_t *eligible, struct rl_distill_result *result, struct rl_workspace *ws,
                                               struct rl_error *err);

/* Fingerprints of a model's tokenizer and chat template, computed by the caller. */
struct rl_fingerprint {
    const char *tokenizer, *chat_template;
};

/*
 * RL_EINVAL, with both values, if student and teacher differ in tokenizer or chat template.
 * RL_EINVAL also if one of the four fingerprints is missing or empty, because then agreement is not
 * known.
 */
RL_API RL_NODISCARD enum rl_status rl_distill_check(const struct rl_fingerprint *student, const struct rl_fingerprint *teacher,
                                                    struct rl_error *err);

/*
 * Cut a teacher's log-probs of whole sequences to the response. Row i of out [B*T] becomes
 * full[i][prompt[i] .. prompt[i] + T), where the rows of full have full_length elements. RL_EINVAL
 * if a row is too short.
 */
RL_API RL_NODISCARD enum rl_status rl_distill_cut(size_t n_rows, size_t n_tokens, size_t full_length, const size_t *prompt,
                                                  const double *full, double *out, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_distill_cutf(size_t n_rows, size_t n_tokens, size_t full_length, const size_t *prompt,
                                                   const float *full, float *out, struct rl_error *err);

#endif
