/*
 * rlcore/stream_loss.h: the trainer-side loss of prime-rl's algorithms: three components rl, ce and
 * ref_kl, each with a weight per token (a stream), summed over its own members and divided by its
 * own global token count. Components may overlap, and any of them may be empty.
 *
 * Sequences are ragged: token arrays are flat, and sequence s has the tokens start[s] ..
 * start[s+1].
 *
 * A token is a member of rl if loss_mask is 1 and its rl weight is not 0 (without an rl stream: if
 * loss_mask is 1). It is a member of ce or ref_kl if its weight there is not 0, whatever loss_mask
 * is. A token with weight 0 is treated as absent. Values at tokens that are members of no component
 * are never read.
 *
 *   l = trainer - inference, r = exp(l) without a limit, D = exp(trainer) - exp(inference),
 *   W the weight (1 without a stream).
 *   rl, DPPO+KL   out = [D > mask_high] where A > 0, else [D < -mask_low]
 *                 W (-[not out] adv_tau A r + kl_tau l^2),
 *                 gradient W (-[not out] adv_tau A r + 2 kl_tau l)
 *   rl, IPO       out = [|D| > ipo_threshold], the same otherwise
 *   ce            -W trainer
 *   ref_kl        out = [D < -0.2], k = ref - trainer held constant:
 *                 W (-[not out] k r + 1e-3 l^2), gradient W (-[not out] k r + 2e-3 l)
 *
 * Source: prime-rl, src/prime_rl/trainer/rl/loss.py; definitions in fixtures/golden/README.md,
 * "prime_loss".
 */
#ifndef RLCORE_STREAM_LOSS_H
#define RLCORE_STREAM_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/batch.h>
#include <rlcore/status.h>

struct rl_sequences {
    size_t n;                 /* number of sequences */
    const size_t *start;      /* [n+1], ascending from 0 */
    const uint8_t *loss_mask; /* [start[n]] 0 or 1 */
};

/* All arrays are [start[n]]; a NULL stream is absent. */
struct rl_streams {
    const double *trainer;    /* log-probs of the policy that is trained */
    const double *inference;  /* log-probs at sampling; read at members of rl and ref_kl */
    const double *advantages; /* read at members of rl */
    const double *ref;        /* reference log-probs, or NULL; needed at members of ref_kl */
    const double *rl_weights, *ce_weights, *ref_kl_weights;
};
struct rl_streamsf {
    const float *trainer, *inference, *advantages, *ref, *rl_weights, *ce_weights, *ref_kl_weights;
};

enum rl_stream_kind { RL_STREAM_DPPO, RL_STREAM_IPO };

struct rl_stream_options {
    enum rl_stream_kind kind;
    double dppo_mask_low;                    /* 0.2 */
    double dppo_mask_high;                   /* 0.2 */
    double ipo_threshold;                    /* 0.1 */
    double adv_tau;                          /* 1 */
    double kl_tau;                           /* 1e-3 */
    double rl_scale, ce_scale, ref_kl_scale; /* global token counts (rl_stream_count), at least 1 */
};

RL_API void rl_stream_options_init(struct rl_stream_options *options);

/*
 * Means over the members of one sequence: masked_* over the members that are out, unmasked_* over
 * the other members. A mean over no member is 0. For a component that has no members in the
 * sequence, ran is false and the numbers are 0.
 */
struct rl_stream_metrics {
    bool rl_ran, ce_ran, ref_kl_ran;
    double masked_mismatch_kl, unmasked_mismatch_kl; /* r - l - 1 over members that are out, and
                                                        over the others */
    double is_masked;                                /* share of the members that are out */
    /* DPPO only */
    double is_masked_low, is_masked_high, masked_advantage_positive, masked_advantage_negative;
    double nll; /* -trainer */
    double ref_masked_mismatch_kl, ref_unmasked_mismatch_kl, ref_is_masked;
    double ref_kl; /* ref - trainer */
};

struct rl_stream_result {
    double loss, rl, ce, ref_kl; /* loss is the sum of the three scaled components */
};

/*
 * Number of members of each component. A scale is max(1, the sum of this number over all micro
 * batches of all workers). Counting sets all three; a caller adds those of its micro batches.
 */
struct rl_stream_counts {
    uint64_t rl, ce, ref_kl;
};

RL_API void rl_stream_count(const struct rl_sequences *sequences, const struct rl_streams *streams,
                            struct rl_stream_counts *counts);
RL_API void rl_stream_countf(const struct rl_sequences *sequences, const struct rl_streamsf *streams,
                             struct rl_stream_counts *counts);

/*
 * Computes the loss, d loss / d trainer [start[n]] (or NULL), and metrics [n] (or NULL). RL_EINVAL
 * for scales below 1, for a scale above 1 that is smaller than the component's members here, for
 * members of ref_kl without ref, for a bound of the chosen kind that is negative or NaN (INFINITY
 * masks nothing), and for a weight (adv_tau, kl_tau) that is negative or not finite. RL_EVALUE for a
 * value that is read and not finite.
 */
RL_API RL_NODISCARD enum rl_status rl_stream_loss(const struct rl_sequences *sequences, const struct rl_streams *streams,
                                                  const struct rl_stream_options *options, double *d_trainer,
                                                  struct rl_stream_metrics *metrics, struct rl_stream_result *result,
                                                  struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_stream_lossf(const struct rl_sequences *sequences, const struct rl_streamsf *streams,
                                                   const struct rl_stream_options *options, float *d_trainer,
                                                   struct rl_stream_metrics *metrics, struct rl_stream_result *result,
                                                   struct rl_error *err);

/*
 * rl_stream_count and rl_stream_loss for a batch of any layout (struct rl_layout), whose rows are
 * the sequences and whose mask is loss_mask. d_trainer has the same layout.
 */
RL_API RL_NODISCARD enum rl_status rl_batch_stream_count(const struct rl_batch *batch, const struct rl_streams *streams,
                                                         struct rl_stream_counts *counts, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_batch_stream_countf(const struct rl_batch *batch, const struct rl_streamsf *streams,
                                                          struct rl_stream_counts *counts, struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_batch_stream_loss(const struct rl_batch *batch, const struct rl_streams *streams,
                                                        const struct rl_stream_options *options, double *d_trainer,
                                                        struct rl_stream_metrics *metrics, struct rl_stream_result *result,
                                                        struct rl_error *err);
RL_API RL_NODISCARD enum rl_status rl_batch_stream_lossf(const struct rl_batch *batch, const struct rl_streamsf *streams,
                                                         const struct rl_stream_options *options, float *d_trainer,
                                                         struct rl_stream_metrics *metrics, struct rl_stream_result *result,
                                                         struct rl_error *err);

#endif
