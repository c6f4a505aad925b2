/*
 * learner.h: the policy being trained: forward and backward passes over rows of tokens, and updates.
 *
 * Rows are cut into chunks, which are the micro-batches of micro_batch.h. Chunks are dealt to GRADIENT_LANES lanes,
 * and the gradients of the lanes are added in order, so that sums do not depend on the number of threads.
 *
 * The backward pass needs the activations of the forward pass. If memory does not suffice to keep the activations of
 * all chunks, the other chunks repeat their forward pass just before the backward pass (activation recomputation, arXiv
 * 1604.06174). The results are the same, and these chunks take a third more work.
 */
#pragma once

#include <trainer/policy.h>

#include "learn/optimizers.h"
#include "learn/micro_batch.h"

/* n rows of width tokens each; the log-probs of wanted tokens are computed. */
struct learner_rows {
    size_t n, width;
    const int32_t *tokens; /* [n*width] */
    const int32_t *length; /* [n] */
    const uint8_t *wanted; /* [n*width] */
};

struct learner_chunk;

struct learner {
    struct trainer_model model;
    size_t n_params;
    struct micro_batches micro; /* micro-batches of the last forward pass; each is a chunk */
    size_t n_passes;            /* number of passes; at most this many chunks can keep their activations */
    int threads, workers;       /* workers: number of threads that have a pass */
    /*
     * For the rows of the next forward passes: [n*width][layers][experts_per_token], NULL or arrays of the caller,
     * as in trainer_pass_route. A route is stored with the token that it predicts, so the route of a token is at the
     * next token's index.
     */
    const uint16_t *replay;
    uint16_t *record;
    double balance; /* weight of the load-balancing loss, a mean over chunks; set by the caller */
    float *params;
    float *gradient; /* [GRADIENT_LANES][n_params] */
    struct adamw adam;
    float *muon; /* scratch memory of muon_step */
    /* [n_passes] first the passes of chunks that keep activations, then the passes of workers */
    struct trainer_passf **pass;
    size_t n_kept;
    struct learner_chunk *chunks; /* [micro.most] */
    struct learner_chunk *whole;  /* a single chunk; the arrays of all other chunks are parts of its arrays */
};

/*
 * Bytes needed, and allocation, for batches of at most max_rows rows. micro may be NULL for the defaults. At least one
 * pass is created, even if it exceeds activation_bytes. learner_close also works after a failure.
 */
double learner_bytes(const struct trainer_model *model, size_t max_rows, const struct trainer_micro_batch *micro);
enum trainer_status learner_open(struct learner *learner, const struct trainer_model *model, size_t max_rows,
                                 const struct trainer_micro_batch *micro, int threads, struct trainer_error *err);
void learner_close(struct learner *learner);

/* Resets the moments of the optimizer and sets its options. */
void learner_restart(struct learner *learner, double beta1, double beta2, double weight_decay);

/*
 * Runs a forward pass over at most max_rows rows. Writes log_prob [n*width], and entropy unless it is NULL, at the
 * wanted tokens only. learner_values and learner_update may follow.
 */
enum trainer_status learner_forward(struct learner *learner, const float *params, const struct learner_rows *rows,
                                    float *log_prob, float *entropy, struct trainer_error *err);

/* Computes only log-probs, for any number of rows. */
enum trainer_status learner_score(struct learner *learner, const float *params, const struct learner_rows *rows, float *log_prob,
                                  struct trainer_error *err);

/* Learning rates and clip norm of an update. */
struct learner_rates {
    double rate;        /* learning rate of AdamW */
    double matrix_rate; /* learning rate of Muon for the matrices of the layers; 0 = AdamW updates them too */
    double clip_norm;   /* a gradient with a larger norm is scaled down to this norm; 0 = no clipping */
    double value_rate;  /* learning rate of AdamW for the value head; 0 = rate */
};

/* Called after learner_forward if there is a value head. Writes value [n*width] at the wanted tokens. */
void learner_values(const struct learner *learner, float *value);

/*
 * Called after learner_forward with the learner's own params. Computes the gradient of sum(d_log_prob log_prob), plus
 * the gradient of sum(d_value value) unless d_value is NULL, and then updates the parameters. *norm receives the
 * gradient's norm before clipping. Returns TRAINER_ENUMERIC if the gradient is not finite (the parameters are then
 * unchanged) or if the new parameters are not finite.
 */
enum trainer_status learner_update(struct learner *learner, const float *d_log_prob, const float *d_value,
                                   const struct learner_rates *rates, double *norm, struct trainer_error *err);
