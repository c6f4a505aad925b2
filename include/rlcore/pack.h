/*
 * rlcore/pack.h: packing of training samples into micro batches, and their distribution over
 * workers.
 *
 * Calling sequence
 *     rl_pack_check(samples, n, &options, &err);             are the streams complete, the names allowed?
 *     rl_pack_plan(lengths, n, &options, &plan, &ws, &err);  which sample goes where
 *     for each slot of the plan: rl_pack_fill(samples, &options, &plan, slot, &out);
 *                                rl_pack_verify(samples, &options, &plan, slot, &out, &err);
 *
 * The plan is a permutation: every sample is in exactly one bin, and rl_pack_unpack returns it from
 * there. Slots beyond the bins repeat bin 0 without training on it, so that all workers have the
 * same number of micro batches.
 *
 * Source: prime-rl, trainer/batch.py: first fit decreasing, then largest differencing with swaps.
 */
#ifndef RLCORE_PACK_H
#define RLCORE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>

struct rl_pack_options {
    size_t seq_len;      /* largest bin in tokens, >= 1; longer samples are cut to it */
    size_t n_workers;    /* V >= 1 */
    size_t pad_multiple; /* P >= 1: micro batches are padded to a multiple of it */
    double cost_linear;  /* cost of a bin = cost_linear sum(n) + cost_quadratic sum(n^2) over its
                            sample lengths n */
    double cost_quadratic;
};

/* One sample. Arrays are n_tokens long; optional ones may be NULL (an absent stream). */
struct rl_pack_sample {
    size_t n_tokens;
    const int64_t *token_ids;
    const uint8_t *mask; /* 1 for a trainable token */
    const double *logprobs, *temperatures;
    const double *advantages; /* optional if no token is a member of rl */
    const double *ref_logprobs, *rl_weights, *ce_weights, *ref_kl_weights; /* optional */
    const char *env_name; /* not "all", which is reserved for totals */
};

/* The bin and slot of every sample. Arrays are allocated by the caller. */
struct rl_pack_plan {
    size_t n_bins;     /* out */
    size_t n_slots;    /* out: n_bins rounded up to a multiple of n_workers */
    size_t *order;     /* [n] out: samples, bin after bin */
    size_t *bin_start; /* [n + 1] out: where each bin begins in order */
    size_t *slots; /* [n + n_workers] out: micro batches, worker after worker: the number of a bin,
                      or a number >= n_bins for a copy of bin 0 that trains nothing */
};

/* One micro batch. Arrays over tokens have rl_pack_tokens(...) elements, lengths one per sample. */
struct rl_pack_micro_batch {
    int64_t *token_ids, *position_ids;
    uint8_t *mask;
    double *advantages, *logprobs, *temperatures;
    double *ref_logprobs, *rl_weights, *ce_weights, *ref_kl_weights; /* written if has_.. is true */
    size_t *lengths;
    size_t *sample; /* per token: the sample it comes from, SIZE_MAX for padding */
    bool has_ref_logprobs, has_rl_weights, has_ce_weights, has_ref_kl_weights; /* out */
    size_t n_samples, n_tokens;                                                /* out */
};

/*
 * Check the samples: every required array exists and is not empty, all values are finite, no name
 * is reserved, and advantages exist wherever a token is a member of rl (mask 1, and rl weight
 * absent or not 0). RL_EINVAL, RL_EVALUE.
 */
RL_API RL_NODISCARD enum rl_status rl_pack_check(const struct rl_pack_sample *samples, size_t n,
                                                 const struct rl_pack_options *options, struct rl_error *err);

/*
 * Plan n >= 1 samples of the given lengths, each >= 1 and cut to seq_len. Ties are resolved by
 * position.
 */
RL_API RL_NODISCARD enum rl_status rl_pack_plan(const size_t *lengths, size_t n, const struct rl_pack_options *options,
                                                struct rl_pack_plan *plan, struct rl_workspace *ws, struct rl_error *err);

/* Tokens of the micro batch in a slot, padding included. */
RL_API size_t rl_pack_tokens(const size_t *lengths, const struct rl_pack_options *options, const struct rl_pack_plan *plan,
                             size_t slot);

/* Write the micro batch of a slot from samples that were checked and the plan of their lengths. */
RL_API void rl_pack_fill(const struct rl_pack_sample *samples, const struct rl_pack_options *options,
                         const struct rl_pack_plan *plan, size_t slot, struct rl_pack_micro_batch *out);

/*
 * The k-th sample of a micro batch, k < n_samples, without padding. The arrays of *out point into
 * the micro batch; streams that the micro batch lacks are NULL, and so is env_name. Returns the
 * index of the sample. A sample of up to seq_len tokens is returned unchanged, except that absent
 * streams are filled with default values if another sample of the batch has them.
 */
RL_API size_t rl_pack_unpack(const struct rl_pack_micro_batch *batch, size_t k, struct rl_pack_sample *out);

/*
 * Check a micro batch against its samples, after rl_pack_fill or any later change to it. Every
 * sample must be at the place that the plan gives it. Every value of every stream must be the
 * sample's own or the default (rl weight 1, all others 0). Padding and copies must train nothing.
 * Every member of ref_kl must have a reference log-prob, because a default of 0 would train.
 * RL_EVALUE names the token.
 */
RL_API RL_NODISCARD enum rl_status rl_pack_verify(const struct rl_pack_sample *samples, const struct rl_pack_options *options,
                                                  const struct rl_pack_plan *plan, size_t slot,
                                                  const struct rl_pack_micro_batch *batch, struct rl_error *err);

#endif
