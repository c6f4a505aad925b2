/*
 * trainer/policy.h: the policy, a small decoder-only transformer, and its checkpoints.
 *
 * RMSNorm before each half block, rotary positions, ReLU MLP, tied output. With previous_token each
 * position also adds a second embedding, of the token before it (token 0 before the first). Sizes
 * are those of struct trainer_model; parameters are one flat array, so that an optimizer, a
 * checkpoint or a finite difference needs no more than a pointer and a count:
 *
 *     embedding [tokens][width], previous [tokens][width] (with previous_token),
 *     per layer: norm1 [width], qkv [width][3*width], out [width][width], norm2 [width],
 *                up [width][mlp], down [mlp][width]                          (as input x output)
 *     norm [width]
 *     value [width], then its bias [1] (with value_head)
 *
 * With experts the MLP of every layer is a mixture of as many (arXiv 1701.06538): in the place of up
 * and down stand router [width][experts], then up and down of each expert. A token goes to the
 * experts_per_token experts of the largest router logits (the first of equals), and their outputs
 * are added with the router's probabilities as weights.
 *
 * Training runs in float; every function here that takes parameters has a twin without the `f` in
 * double, which exists for checking gradients.
 *
 * Sequences are packed, not padded: tokens of all sequences one after the other, start[s] ..
 * start[s+1] those of sequence s. `wanted` marks the tokens whose log-prob given what stands before
 * them is asked for; the last layer's MLP and the output are computed only for those, so a mask of
 * tool tokens also saves time. A sequence's first token cannot be wanted.
 *
 * Memory: one call to trainer_pass_create sizes all buffers for a number of tokens; a pass
 * allocates nothing after that. One pass per thread.
 */
#ifndef TRAINER_POLICY_H
#define TRAINER_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trainer/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct trainer_model {
    int32_t tokens;      /* size of the vocabulary */
    int32_t width;       /* 64 */
    int32_t layers;      /* 2 */
    int32_t heads;       /* 2; width / heads must be even */
    int32_t mlp;         /* 256 */
    int32_t max_tokens;  /* longest sequence */
    double rope_base;    /* 1000 */
    bool previous_token; /* true */
    int32_t experts;           /* 0: one MLP; else at least 2, each of mlp hidden units */
    int32_t experts_per_token; /* 2; not read without experts */
    bool renormalise;          /* true: weights are a softmax over the chosen experts alone, not
                                  the share that they have of the softmax over all */
    bool value_head;     /* false; one number beside the log-probs of each token */
};

TRAINER_API void trainer_model_init(struct trainer_model *model);
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_model_check(const struct trainer_model *model, struct trainer_error *err);

/* Number of parameters. */
TRAINER_API size_t trainer_model_parameters(const struct trainer_model *model);

/* Expert ids in the routes of a token: layers * experts_per_token, 0 without experts. */
TRAINER_API size_t trainer_model_routes(const struct trainer_model *model);

/* Random parameters: the same for the same seed, in both precisions up to rounding. */
TRAINER_API void trainer_policy_init(const struct trainer_model *model, uint64_t seed,
                                     double *params);
TRAINER_API void trainer_policy_initf(const struct trainer_model *model, uint64_t seed,
                                      float *params);

/* Packed sequences. */
struct trainer_sequences {
    size_t n;              /* number of sequences */
    const size_t *start;   /* [n+1] ascending from 0 */
    const int32_t *tokens; /* [start[n]] */
    const uint8_t *wanted; /* [start[n]] 1 where the log-prob is asked for */
};

/* Buffers of one forward and backward pass. */
struct trainer_pass;
struct trainer_passf;

/* Bytes that a pass for so many tokens, of which so many wanted, allocates. */
TRAINER_API size_t trainer_pass_bytes(const struct trainer_model *model, size_t n_tokens,
                                      size_t n_wanted);
TRAINER_API size_t trainer_pass_bytesf(const struct trainer_model *model, size_t n_tokens,
                                       size_t n_wanted);
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_pass_create(struct trainer_pass **pass, const struct trainer_model *model, size_t n_tokens,
                    size_t n_wanted, struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_pass_createf(struct trainer_passf **pass, const struct trainer_model *model,
                     size_t n_tokens, size_t n_wanted, struct trainer_error *err);
TRAINER_API void trainer_pass_free(struct trainer_pass *pass);
TRAINER_API void trainer_pass_freef(struct trainer_passf *pass);

/*
 * log_prob [number wanted, in order]: log-probs of the wanted tokens; entropy of their
 * distributions in nats, or NULL. TRAINER_EINVAL for tokens outside the vocabulary, sequences
 * longer than max_tokens, a wanted first token, or more than the pass was made for. The arrays of
 * sequences must stay until the backward pass.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_policy_forward(struct trainer_pass *pass, const double *params,
                       const struct trainer_sequences *sequences, double *log_prob, double *entropy,
                       struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_policy_forwardf(struct trainer_passf *pass, const float *params,
                        const struct trainer_sequences *sequences, float *log_prob, float *entropy,
                        struct trainer_error *err);

/*
 * After a forward pass: gradient [parameters] += sum over wanted tokens of d_log_prob times d
 * log-prob / d parameter. params must be those of the forward pass.
 */
TRAINER_API void trainer_policy_backward(struct trainer_pass *pass, const double *params,
                                         const double *d_log_prob, double *gradient);
TRAINER_API void trainer_policy_backwardf(struct trainer_passf *pass, const float *params,
                                          const float *d_log_prob, float *gradient);

/* ---- experts ------------------------------------------------------------------------------ */

/* No expert: a place whose layer was not computed, or where the router is to choose. */
#define TRAINER_NO_EXPERT UINT16_MAX

/*
 * For the passes to come, until it is said otherwise: where tokens go. [tokens of the sequences]
 * [layers][experts_per_token] expert ids, each array or NULL. replay: these experts are used
 * instead of the router's choice (all of them at a token and layer, or none); their weights come
 * from the router as it is now, which keeps its gradient. record: receives what was used, in
 * ascending order; TRAINER_NO_EXPERT in the last layer where nothing was wanted of the token behind.
 * A forward pass with an id out of range, or the same twice at one place, is TRAINER_EINVAL.
 */
TRAINER_API void trainer_pass_route(struct trainer_pass *pass, const uint16_t *replay,
                                    uint16_t *record);
TRAINER_API void trainer_pass_routef(struct trainer_passf *pass, const uint16_t *replay,
                                     uint16_t *record);

/*
 * Load balancing (arXiv 2101.03961): mean over layers of E sum_e f_e P_e, with f_e the share of
 * choices that expert e got and P_e its mean probability, over the tokens of the last forward pass;
 * 1 when experts are used alike, 0 without experts.
 */
TRAINER_API double trainer_pass_balance(const struct trainer_pass *pass);
TRAINER_API double trainer_pass_balancef(const struct trainer_passf *pass);

/* Backward passes add weight times the gradient of that (0 at first). */
TRAINER_API void trainer_pass_weigh_balance(struct trainer_pass *pass, double weight);
TRAINER_API void trainer_pass_weigh_balancef(struct trainer_passf *pass, double weight);

/*
 * After a forward pass of a model with a value head: value [number wanted, in order], a linear
 * function of the last hidden state in front of each wanted token: what is expected there.
 */
TRAINER_API void trainer_policy_values(struct trainer_pass *pass, const double *params,
                                       double *value);
TRAINER_API void trainer_policy_valuesf(struct trainer_passf *pass, const float *params,
                                        float *value);

/* The same as trainer_policy_backward, and gradient += sum of d_value times d value / d parameter. */
TRAINER_API void trainer_policy_backward_values(struct trainer_pass *pass, const double *params,
                                                const double *d_log_prob, const double *d_value,
                                                double *gradient);
TRAINER_API void trainer_policy_backward_valuesf(struct trainer_passf *pass, const float *params,
                                                 const float *d_log_prob, const float *d_value,
                                                 float *gradient);

/* ---- lower precision ---------------------------------------------------------------------- */

/*
 * Weights as an inference engine would hold them. bf16: every parameter rounded to nearest even.
 * int8: every row of a matrix (one per output for qkv, out, router, up and down, one per token for
 * embeddings) as 127 steps up to its largest magnitude; norms stay as they are. The result is held
 * in float.
 */
enum trainer_precision { TRAINER_FLOAT, TRAINER_BF16, TRAINER_INT8 };

TRAINER_API void trainer_policy_quantise(const struct trainer_model *model,
                                      enum trainer_precision precision, const float *params,
                                      float *lowered);

/* ---- what numbers depend on --------------------------------------------------------------- */

#define TRAINER_KERNELS_MAX 96

/*
 * What the bits of a pass depend on beside its arguments: the kernels that OpenBLAS took for this
 * processor, and the vector instructions that compiled code chooses by ("OpenBLAS 0.3.21 SkylakeX,
 * AVX-512"). Equal on two machines with the same build: equal bits.
 */
TRAINER_API void trainer_kernels(char text[TRAINER_KERNELS_MAX]);

/* ---- checkpoints ---------------------------------------------------------------------------- */

/*
 * A checkpoint is one file: a header of 128 bytes (magic, version, the model's sizes, steps
 * trained, count of parameters), the parameters as little-endian floats, and an XXH64 digest of all
 * that. Models with experts or a value head have version 2 of the header. It is written beside its
 * place, synced and renamed, so that a reader finds the old one or
 * the new one.
 */
struct trainer_checkpoint {
    struct trainer_model model;
    uint64_t steps; /* updates that made it */
};

TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_checkpoint_save(const char *path, const struct trainer_checkpoint *checkpoint,
                        const float *params, struct trainer_error *err);

/*
 * The header alone (params NULL), or all of it: capacity floats are there for the parameters.
 * TRAINER_ENOTFOUND, TRAINER_ECORRUPT (says what is wrong: magic, version, length, digest, a
 * parameter that is not finite).
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_checkpoint_load(const char *path, struct trainer_checkpoint *checkpoint, float *params,
                        size_t capacity, struct trainer_error *err);

/*
 * Load into a model of known shape; TRAINER_ESHAPE names the first size that differs. A value head
 * is none of them: one that the model does not have is left out, one that the file does not have
 * begins at 0.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status
trainer_checkpoint_load_as(const char *path, const struct trainer_model *model, float *params,
                           uint64_t *steps, struct trainer_error *err);

#ifdef __cplusplus
}
#endif

#endif
