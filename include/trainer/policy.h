/*
 * trainer/policy.h: the policy, a small decoder-only transformer, and its checkpoints.
 *
 * RMSNorm before each half block, rotary positions, ReLU MLP, tied output. With previous_token each position also adds
 * a second embedding: that of the previous token (token 0 at the first position). Sizes are those of struct
 * trainer_model. Parameters are one flat array, so that an optimizer, a checkpoint or a finite difference needs only a
 * pointer and a count:
 *
 *     embedding [tokens][width], previous [tokens][width] (with previous_token),
 *     per layer: norm1 [width], qkv [width][3*width], out [width][width], norm2 [width],
 *                up [width][mlp], down [mlp][width]                          (as input x output)
 *     norm [width]
 *     value [width], then its bias [1] (with value_head)
 *
 * With experts the MLP of every layer is a mixture (arXiv 1701.06538): up and down are replaced by router
 * [width][experts], followed by up and down of each expert. A token goes to the experts_per_token experts with the
 * largest router logits (if logits are equal, to the first expert), and the outputs of these experts are added with the
 * router's probabilities as weights.
 *
 * Training runs in float. Every function here that takes parameters has a twin without the `f`, in double, for
 * checking gradients.
 *
 * Sequences are packed, not padded: the tokens of all sequences follow each other, and start[s] .. start[s+1] are the
 * tokens of sequence s. `wanted` marks the tokens whose log-prob, given the tokens before them, the caller needs. The
 * last layer's MLP and the output are computed for the wanted tokens only, so masking the tool's tokens also saves
 * time. The first token of a sequence cannot be wanted.
 *
 * Memory: trainer_pass_create allocates all buffers for a number of tokens; after that a pass allocates nothing.
 * Use one pass per thread.
 */
#ifndef TRAINER_POLICY_H
#define TRAINER_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <trainer/status.h>

struct trainer_model {
    int32_t tokens;      /* size of the vocabulary */
    int32_t width;       /* 64 */
    int32_t layers;      /* 2 */
    int32_t heads;       /* (2) width / heads must be even */
    int32_t mlp;         /* 256 */
    int32_t max_tokens;  /* longest sequence */
    double rope_base;    /* 1000 */
    bool previous_token; /* true */
    int32_t experts;           /* (0) number of experts, at least 2, each with mlp hidden units; 0 = one MLP */
    int32_t experts_per_token; /* (2) ignored without experts */
    /* (true) weights are a softmax over the chosen experts only; false = over all experts */
    bool renormalise;
    bool value_head;     /* (false) the network also outputs one value per position */
};

TRAINER_API void trainer_model_init(struct trainer_model *model);
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_model_check(const struct trainer_model *model,
                                                                      struct trainer_error *err);

/* Number of parameters. */
TRAINER_API size_t trainer_model_parameters(const struct trainer_model *model);

/* Number of expert ids in the routes of a token: layers * experts_per_token, or 0 without experts. */
TRAINER_API size_t trainer_model_routes(const struct trainer_model *model);

/* Fills in random parameters, which depend only on the seed; both precisions give the same values up to rounding. */
TRAINER_API void trainer_policy_init(const struct trainer_model *model, uint64_t seed, double *params);
TRAINER_API void trainer_policy_initf(const struct trainer_model *model, uint64_t seed, float *params);

/* Packed sequences. */
struct trainer_sequences {
    size_t n;              /* number of sequences */
    const size_t *start;   /* [n+1] ascending from 0 */
    const int32_t *tokens; /* [start[n]] */
    const uint8_t *wanted; /* [start[n]] 1 = the log-prob of this token is needed */
};

/* Buffers of one forward and backward pass. */
struct trainer_pass;
struct trainer_passf;

/* Bytes that a pass allocates for n_tokens tokens, n_wanted of them wanted. */
TRAINER_API size_t trainer_pass_bytes(const struct trainer_model *model, size_t n_tokens, size_t n_wanted);
TRAINER_API size_t trainer_pass_bytesf(const struct trainer_model *model, size_t n_tokens, size_t n_wanted);
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_pass_create(struct trainer_pass **pass,
                                                                      const struct trainer_model *model, size_t n_tokens,
                                                                      size_t n_wanted, struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_pass_createf(struct trainer_passf **pass,
                                                                       const struct trainer_model *model, size_t n_tokens,
                                                                       size_t n_wanted, struct trainer_error *err);
TRAINER_API void trainer_pass_free(struct trainer_pass *pass);
TRAINER_API void trainer_pass_freef(struct trainer_passf *pass);

/*
 * log_prob [number wanted, in order] receives the log-probs of the wanted tokens; entropy, unless NULL, the
 * entropies of their distributions in nats. Returns TRAINER_EINVAL for tokens outside the vocabulary, sequences longer
 * than max_tokens, a wanted first token, or more tokens than the pass was created for. The arrays of `sequences` must
 * stay valid until the backward pass.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_policy_forward(struct trainer_pass *pass, const double *params,
                                                                         const struct trainer_sequences *sequences,
                                                                         double *log_prob, double *entropy,
                                                                         struct trainer_error *err);
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_policy_forwardf(struct trainer_passf *pass, const float *params,
                                                                          const struct trainer_sequences *sequences,
                                                                          float *log_prob, float *entropy,
                                                                          struct trainer_error *err);

/*
 * Called after a forward pass with the same params. Adds to gradient [parameters] the sum over wanted tokens of
 * d_log_prob times d log-prob / d parameter.
 */
TRAINER_API void trainer_policy_backward(struct trainer_pass *pass, const double *params, const double *d_log_prob,
                                         double *gradient);
TRAINER_API void trainer_policy_backwardf(struct trainer_passf *pass, const float *params, const float *d_log_prob,
                                          float *gradient);

/* ---- experts ------------------------------------------------------------------------------ */

/* Means "no expert": the layer was not computed at this position, or (in replay) the router chooses. */
#define TRAINER_NO_EXPERT UINT16_MAX

/*
 * Sets the experts of the tokens for all further passes. Each array is [tokens of the
 * sequences][layers][experts_per_token] expert ids, or NULL. replay: these experts are used instead of the router's
 * choice; at each token and layer either all ids are given or none. Their weights still come from the router, which
 * still receives its gradient. record: receives the experts used, in ascending order, and TRAINER_NO_EXPERT in the last
 * layer if the next token was not wanted. A forward pass with an id out of range, or with the same id twice for one
 * token and layer, returns TRAINER_EINVAL.
 */
TRAINER_API void trainer_pass_route(struct trainer_pass *pass, const uint16_t *replay, uint16_t *record);
TRAINER_API void trainer_pass_routef(struct trainer_passf *pass, const uint16_t *replay, uint16_t *record);

/*
 * Load balance (arXiv 2101.03961) of the last forward pass: the mean over layers of E sum_e f_e P_e, where f_e is the
 * share of choices that expert e got and P_e its mean probability. The value is 1 if all experts are used equally, and
 * 0 without experts.
 */
TRAINER_API double trainer_pass_balance(const struct trainer_pass *pass);
TRAINER_API double trainer_pass_balancef(const struct trainer_passf *pass);

/* Backward passes add weight times the gradient of the load balance (initially 0). */
TRAINER_API void trainer_pass_weigh_balance(struct trainer_pass *pass, double weight);
TRAINER_API void trainer_pass_weigh_balancef(struct trainer_passf *pass, double weight);

/*
 * Called after a forward pass of a model with a value head. value [number wanted, in order] receives a linear function
 * of the last hidden state before each wanted token.
 */
TRAINER_API void trainer_policy_values(struct trainer_pass *pass, const double *params, double *value);
TRAINER_API void trainer_policy_valuesf(struct trainer_passf *pass, const float *params, float *value);

/* Like trainer_policy_backward, but also adds the sum of d_value times d value / d parameter. */
TRAINER_API void trainer_policy_backward_values(struct trainer_pass *pass, const double *params, const double *d_log_prob,
                                                const double *d_value, double *gradient);
TRAINER_API void trainer_policy_backward_valuesf(struct trainer_passf *pass, const float *params, const float *d_log_prob,
                                                 const float *d_value, float *gradient);

/* ---- lower precision ---------------------------------------------------------------------- */

/*
 * Rounds the weights as an inference engine would store them; the result is still float. bf16: every parameter is
 * rounded to nearest even. int8: every row of a matrix (one row per output for qkv, out, router, up and down, one per
 * token for embeddings) is rounded to 127 steps up to its largest magnitude; norms are unchanged.
 */
enum trainer_precision { TRAINER_FLOAT, TRAINER_BF16, TRAINER_INT8 };

TRAINER_API void trainer_policy_quantise(const struct trainer_model *model, enum trainer_precision precision, const float *params,
                                         float *quantised);

/* ---- what numbers depend on --------------------------------------------------------------- */

#define TRAINER_KERNELS_MAX 96

/*
 * Writes what the bits of a pass depend on apart from its arguments: the kernels that OpenBLAS chose for this
 * processor, and the vector instructions by which compiled code chooses its variant ("OpenBLAS 0.3.21 SkylakeX,
 * AVX-512"). Two machines with the same build and the same text compute the same bits.
 */
TRAINER_API void trainer_kernels(char text[TRAINER_KERNELS_MAX]);

/* ---- checkpoints ---------------------------------------------------------------------------- */

/*
 * A checkpoint is one file: a header of 128 bytes (magic, version, the model's sizes, steps trained, count of
 * parameters, the text of trainer_kernels), the parameters as little-endian floats, and an XXH64 digest of header and
 * parameters. Models with experts or a value head have version 2 of the header. The file is replaced atomically, so
 * that a reader finds either the old or the new checkpoint.
 */
struct trainer_checkpoint {
    struct trainer_model model;
    uint64_t steps; /* number of updates */
};

TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_checkpoint_save(const char *path,
                                                                          const struct trainer_checkpoint *checkpoint,
                                                                          const float *params, struct trainer_error *err);

/*
 * Loads the header alone (params NULL), or also the parameters into params [capacity]. Returns TRAINER_ENOTFOUND, or
 * TRAINER_ECORRUPT with a message that names what is wrong: magic, version, length, digest, or a parameter that is not
 * finite.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_checkpoint_load(const char *path, struct trainer_checkpoint *checkpoint,
                                                                          float *params, size_t capacity,
                                                                          struct trainer_error *err);

/*
 * Loads into a model of known shape; TRAINER_ESHAPE names the first size that differs. A value head may differ: a value
 * head that only the file has is ignored; one that only the model has begins at 0.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_checkpoint_load_as(const char *path, const struct trainer_model *model,
                                                                             float *params, uint64_t *steps,
                                                                             struct trainer_error *err);

/*
 * Reads the text of trainer_kernels in the process that saved the checkpoint; "" if the file's version does not have
 * this text yet. The last bits of a policy depend on these kernels.
 */
TRAINER_API TRAINER_NODISCARD enum trainer_status trainer_checkpoint_kernels(const char *path, char kernels[TRAINER_KERNELS_MAX],
                                                                             struct trainer_error *err);

#endif
