/*
 * rlcore/envelope.h: does a run fit into memory? Arithmetic to be done before a trial starts, so
 * that one that cannot fit is turned down with the reason instead of dying in its first step.
 *
 * Calling sequence
 *     struct rl_envelope_run run;
 *     rl_envelope_lora(&run, 4e9);                        or rl_envelope_small(&run, 2e5, 8e6)
 *     run.n_layers = 36; run.kv_width = 1024; run.context = 8192; run.sequences = 8;
 *     run.retriever_bytes = 5e9;
 *     double bytes[RL_ENVELOPE_PARTS];
 *     status = rl_envelope_measure(&run, bytes, &err);
 *     bytes[RL_ENVELOPE_KV_CACHE] = 9.0e9;                a part that was measured may be put in
 *     status = rl_envelope_judge(bytes, 128e9, &out, &err);
 *     if (!out.fits) puts(out.text);                      "does not fit: 140.0 of 128.0 GB; ..."
 *
 * Bytes are doubles; 1 GB is 1e9 bytes, 1 GiB 2^30. What a framework adds for itself (allocator,
 * fragments, temporary buffers) is not in here: leave room.
 *
 *     weights       parameters * bytes_per_parameter
 *     lora          lora_factor * weights, when only an adapter is trained: adapter, its gradients
 *                   and moments, activations
 *     gradients     parameters * bytes_per_parameter, when all of it is trained
 *     optimizer     parameters * optimizer_states * optimizer_bytes, when all of it is trained
 *     activations   activation_bytes
 *     kv cache      2 * n_layers * kv_width * kv_bytes * context * sequences
 *     gain forward  gain_forward_bytes: the information-gain pass, 0 when it is the policy's own
 *     retriever     retriever_bytes
 *
 * The article on A2TGPO (ai-field-notes, a2tgpo-turn-clipping-on-spark) budgets Qwen3-4B on 128 GB
 * as 8.0 + 12.0 + 9.0 + 0 + 5.0 = 34 GB. Its 9.0 for the KV cache of 8 sequences of 8192 tokens
 * does not follow from the 28 layers of width 2560 that it names: the formula gives 18.8 GB for
 * those. It does follow from the model's real shape, 36 layers with a KV width of 1024 (8 heads of
 * 128): 9.66 GB, which is 9.0 GiB beside figures in GB. Widths here are those of keys, not of the
 * model.
 */
#ifndef RLCORE_ENVELOPE_H
#define RLCORE_ENVELOPE_H

#include <stdbool.h>
#include <stddef.h>

#include <rlcore/status.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* "weights", "lora", ...; "unknown" beyond the list. */
RL_API const char *rl_envelope_part_name(enum rl_envelope_part part);

enum rl_training { RL_TRAIN_NOTHING, RL_TRAIN_LORA, RL_TRAIN_ALL };

/* The shape of a run; no value may be negative. */
struct rl_envelope_run {
    double parameters, bytes_per_parameter;
    enum rl_training training;
    double lora_factor;
    double optimizer_states, optimizer_bytes; /* per parameter: values kept, bytes of each */
    double activation_bytes;
    double n_layers, kv_width, kv_bytes; /* kv_width: KV heads * head size */
    double context, sequences;           /* tokens per sequence, sequences at a time */
    double gain_forward_bytes, retriever_bytes;
};

/* A language model in bf16, an adapter trained (factor 1.5), KV cache in bf16 of a shape to be set.
 */
RL_API void rl_envelope_lora(struct rl_envelope_run *run, double parameters);

/*
 * A small model on a CPU: weights, gradients and Adam's two moments in float, and the activations
 * of one update. No cache.
 */
RL_API void rl_envelope_small(struct rl_envelope_run *run, double parameters,
                              double activation_bytes);

/* bytes [RL_ENVELOPE_PARTS]. RL_EINVAL for a negative or infinite field, or a product that is. */
RL_API RL_NODISCARD enum rl_status rl_envelope_measure(const struct rl_envelope_run *run,
                                                       double *bytes, struct rl_error *err);

struct rl_envelope {
    double total, capacity; /* bytes */
    bool fits;              /* total <= capacity */
    enum rl_envelope_part largest;
    char text[RL_ERROR_TEXT_MAX]; /* one line: fits or not, both sums, the largest part */
};

/* bytes [RL_ENVELOPE_PARTS] against capacity bytes, > 0. A run that does not fit is no error. */
RL_API RL_NODISCARD enum rl_status rl_envelope_judge(const double *bytes, double capacity,
                                                     struct rl_envelope *out, struct rl_error *err);

#ifdef __cplusplus
}
#endif

#endif
