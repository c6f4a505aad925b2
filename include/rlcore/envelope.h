/*
 * rlcore/envelope.h: does a run fit into memory? The arithmetic is done before a trial starts, so
 * that a trial that cannot fit is refused with the reason instead of failing in its first step.
 *
 * Calling sequence
 *     struct rl_envelope_run run;
 *     rl_envelope_lora(&run, 4e9);                        or rl_envelope_small(&run, 2e5, 8e6)
 *     run.n_layers = 36; run.kv_width = 1024; run.context = 8192; run.sequences = 8;
 *     run.retriever_bytes = 5e9;
 *     double bytes[RL_ENVELOPE_PARTS];
 *     status = rl_envelope_measure(&run, bytes, &err);
 *     bytes[RL_ENVELOPE_KV_CACHE] = 9.0e9;                a measured part may replace the computed one
 *     status = rl_envelope_judge(bytes, 128e9, &out, &err);
 *     if (!out.fits) puts(out.text);                      "does not fit: 140.0 of 128.0 GB; ..."
 *
 * Bytes are doubles; 1 GB is 1e9 bytes, 1 GiB 2^30. Memory that a framework needs for itself
 * (allocator, fragmentation, temporary buffers) is not included, so leave room for it.
 *
 *     weights       parameters * bytes_per_parameter
 *     lora          lora_factor * weights, if only an adapter is trained: the adapter, its gradients
 *                   and moments, and activations
 *     gradients     parameters * bytes_per_parameter, if the whole model is trained
 *     optimizer     parameters * optimizer_states * optimizer_bytes, if the whole model is trained
 *     activations   activation_bytes
 *     kv cache      2 * n_layers * kv_width * kv_bytes * context * sequences
 *     gain forward  gain_forward_bytes: the information-gain pass, 0 if it is the policy's own pass
 *     retriever     retriever_bytes
 *
 * The article on A2TGPO (ai-field-notes, a2tgpo-turn-clipping-on-spark) budgets Qwen3-4B on 128 GB
 * as 8.0 + 12.0 + 9.0 + 0 + 5.0 = 34 GB. Its 9.0 for the KV cache of 8 sequences of 8192 tokens
 * does not follow from the 28 layers of width 2560 that it names: for those the formula gives 18.8
 * GB. It does follow from the model's real shape, 36 layers with a KV width of 1024 (8 heads of
 * 128): 9.66 GB, which is 9.0 GiB among figures in GB. kv_width here is the width of the keys, not
 * of the model.
 */
#ifndef RLCORE_ENVELOPE_H
#define RLCORE_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>

#include <rlcore/status.h>

enum rl_envelope_part {
    RL_ENVELOPE_WEIGHTS,
    RL_ENVELOPE_LORA,
    RL_ENVELOPE_GRADIENTS,
    RL_ENVELOPE_OPTIMIZER,
    RL_ENVELOPE_ACTIVATIONS,
    RL_ENVELOPE_KV_CACHE,
    RL_ENVELOPE_GAIN_FORWARD,
    RL_ENVELOPE_RETRIEVER,
    RL_ENVELOPE_PARTS
};

/* "weights", "lora", ...; "unknown" for any other value. */
RL_API const char *rl_envelope_part_name(enum rl_envelope_part part);

/*
 * Reads "weights=8,lora=12,kv_cache=9,capacity=34": parts, and perhaps a capacity, in GB of 1e9 bytes. Fills bytes
 * [RL_ENVELOPE_PARTS], and *capacity if the text names one; parts that it does not name are 0. RL_EINVAL, and nothing is
 * changed, for an empty text, an unknown or repeated name, and anything but a number from 0 on.
 */
RL_API RL_NODISCARD enum rl_status rl_envelope_read(const char *text, double *bytes, double *capacity, struct rl_error *err);

enum rl_training { RL_TRAIN_NOTHING, RL_TRAIN_LORA, RL_TRAIN_ALL };

/* The shape of a run; no value may be negative. */
struct rl_envelope_run {
    double parameters, bytes_per_parameter;
    enum rl_training training;
    double lora_factor;
    double optimizer_states, optimizer_bytes; /* per parameter: number of values kept, bytes of each */
    double activation_bytes;
    double n_layers, kv_width, kv_bytes; /* kv_width: KV heads * head size */
    double context, sequences;           /* tokens per sequence, sequences at a time */
    double gain_forward_bytes, retriever_bytes;
};

/*
 * A language model in bf16 with a trained adapter (factor 1.5). The KV cache is in bf16; the caller
 * sets its shape.
 */
RL_API void rl_envelope_lora(struct rl_envelope_run *run, double parameters);

/*
 * A small model on a CPU: weights, gradients and Adam's two moments in float, and the activations
 * of one update. No KV cache.
 */
RL_API void rl_envelope_small(struct rl_envelope_run *run, double parameters, double activation_bytes);

/* Fill bytes [RL_ENVELOPE_PARTS]. RL_EINVAL for a negative or infinite field or product. */
RL_API RL_NODISCARD enum rl_status rl_envelope_measure(const struct rl_envelope_run *run, double *bytes, struct rl_error *err);

struct rl_envelope {
    double total, capacity; /* bytes */
    bool fits;              /* total <= capacity */
    enum rl_envelope_part largest;
    char text[RL_ERROR_TEXT_MAX]; /* one line: whether it fits, both sums, the largest part */
};

/*
 * Compare bytes [RL_ENVELOPE_PARTS] with a capacity > 0 in bytes. The status is RL_OK even if the
 * run does not fit.
 */
RL_API RL_NODISCARD enum rl_status rl_envelope_judge(const double *bytes, double capacity, struct rl_envelope *out,
                                                     struct rl_error *err);

#endif
