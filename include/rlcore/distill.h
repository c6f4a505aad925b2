/*
 * rlcore/distill.h: on-policy distillation beside reinforcement learning: a teacher's log-probs for
 * the rollouts that the student failed, without touching the statistics of the others.
 *
 * A row is eligible if the pass rate of its prompt group (share of rows with reward > 0) is at most
 * the threshold and its own reward is not above 0. Selected are the response tokens of eligible
 * rows with fewer than `horizon` response tokens before them. Source: definitions in
 * fixtures/golden/README.md, "distillation".
 */
#ifndef RLCORE_DISTILL_H
#define RLCORE_DISTILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rl_distill_options {
    double pass_rate_threshold; /* 0..1 */
    size_t horizon;             /* tokens */
    bool normalise;             /* K1: (x - mean) / (biased std + 1e-8) over the selected tokens, if
                                   2 or more */
    double kd_coef;             /* K2: coefficient of the loss, >= 0 */
};

/* What a call reports beside its arrays. */
struct rl_distill_result {
    size_t n_selected; /* tokens */
    double kd_loss; /* K2: kd_coef * mean over the selected of (s - t)^2 / 2, 0 if there is none */
};

/*
 * log_prob s, teacher t, rl_advantages [B*T]; rewards [B]; groups needed.
 *     advantages [B*T] (K1): t - s at selected tokens of eligible rows, 0 elsewhere in them;
 *         rl_advantages * mask in the other rows.
 *     d_log_prob [B*T] or NULL (K2): d kd_loss / d log_prob.
 *     pass_rate [B], eligible [B].
 */
RL_API RL_NODISCARD enum rl_status
rl_distill(const struct rl_batch *batch, const struct rl_distill_options *options,
           const double *log_prob, const double *teacher, const double *rl_advantages,
           const double *rewards, double *advantages, double *d_log_prob, double *pass_rate,
           uint8_t *eligible, struct rl_distill_result *result, struct rl_workspace *ws,
           struct rl_error *err);
RL_API RL_NODISCARD enum rl_status
rl_distillf(const struct rl_batch *batch, const struct rl_distill_options *options,
            const float *log_prob, const float *teacher, const float *rl_advantages,
            const double *rewards, float *advantages, float *d_log_prob, double *pass_rate,
            uint8_t *eligible, struct rl_distill_result *result, struct rl_workspace *ws,
            struct rl_error *err);

/* Fingerprints of tokenizer and chat template, as the caller makes them, of student and teacher. */
struct rl_fingerprint {
    const char *tokenizer, *chat_template;
};

/*
 * RL_EINVAL with both values if student and teacher do not share tokenizer and chat template, and
 * if any of the four is missing or empty: what nobody fingerprinted cannot be known to agree.
 */
RL_API RL_NODISCARD enum rl_status rl_distill_check(const struct rl_fingerprint *student,
                                                    const struct rl_fingerprint *teacher,
                                                    struct rl_error *err);

/*
 * Cut a teacher's log-probs of whole sequences to the response: row i of out [B*T] is
 * full[i][prompt[i] .. prompt[i] + T) of its row [full_length]. RL_EINVAL if a row is too short.
 */
RL_API RL_NODISCARD enum rl_status rl_distill_cut(size_t n_rows, size_t n_tokens,
                                                  size_t full_length, const size_t *prompt,
                                                  const double *full, double *out,
                                                  struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_distill_cutf(size_t n_rows, size_t n_tokens,
                                                   size_t full_length, const size_t *prompt,
                                                   const float *full, float *out,
                                                   struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
