/*
 * learner.h: the policy being trained: forward and backward passes over rows of tokens, and
 * updates.
 *
 * Rows are cut into chunks, the micro-batches of micro_batch.h, chunks are dealt to GRADIENT_LANES
 * lanes, and the gradients of the lanes are added in order: sums do not depend on how many threads
 * do the work. Where several processes share a run, lanes are dealt out to them, each with its
 * chunks; log-probs and the sum of the gradients are on all of them.
 *
 * The way back needs what the forward pass left. Where there is no room for the passes of all
 * chunks, those without one of their own go forward again just before (activation recomputation,
 * arXiv 1604.06174): the same numbers, for a third more work on them.
 */
#ifndef TRAINER_LEARNER_H
#define TRAINER_LEARNER_H

#include <trainer/policy.h>

#include "learn/adamw.h"
#include "learn/micro_batch.h"
#include "support/ranks.h"

/* n rows of width tokens each; wanted marks those whose log-prob is asked for. */
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
    struct micro_batches micro; /* of the last forward pass: a chunk each */
    size_t n_passes;            /* there are; as many chunks at most keep their activations */
    int threads, workers;       /* workers: threads that there are passes for */
    struct ranks *ranks;        /* NULL: alone; the caller's, to be set after learner_open */
    /*
     * Of the rows handed in: [n*width][layers][experts_per_token], each NULL or the caller's, as in
     * trainer_pass_route. Routes stand with the token that they predict: those of the pass over a
     * token are at the place behind it.
     */
    const uint16_t *replay;
    uint16_t *record;
    double balance; /* weight of the load-balancing loss, mean over chunks; the caller's */
    float *params;
    float *gradient; /* [GRADIENT_LANES][n_params] */
    struct adamw adam;
    float *muon; /* scratch */
    /* [n_passes] the first of chunks that keep them, then of workers */
    struct trainer_passf **pass;
    size_t n_kept;
    struct learner_chunk *chunks; /* [micro.most] */
    struct learner_chunk *whole;  /* one, whose arrays all others are cut from */
    float *shared;           /* log-probs on their way between ranks, NULL until there are any */
    uint16_t *shared_routes; /* and routes */
};

/* micro may be NULL: the defaults. At least one pass is made, whatever activation_bytes says. */
double learner_bytes(const struct trainer_model *model, size_t max_rows,
                     const struct trainer_micro_batch *micro);
enum trainer_status learner_open(struct learner *learner, const struct trainer_model *model,
                                 size_t max_rows, const struct trainer_micro_batch *micro,
                                 int threads, struct trainer_error *err);
void learner_close(struct learner *learner);

/* Forget what the optimizer has learned about the gradient. */
void learner_restart(struct learner *learner, double beta1, double beta2, double weight_decay);

/*
 * log_prob [n*width], and entropy unless NULL, at the wanted tokens; others are left alone. At most
 * max_rows.
 */
enum trainer_status learner_forward(struct learner *learner, const float *params,
                                    const struct learner_rows *rows, float *log_prob,
                                    float *entropy, struct trainer_error *err);

/* The same for any number of rows, to be scored only. */
enum trainer_status learner_score(struct learner *learner, const float *params,
                                  const struct learner_rows *rows, float *log_prob,
                                  struct trainer_error *err);

/* How an update moves. */
struct learner_rates {
    double rate;        /* of AdamW */
    double matrix_rate; /* of Muon for the matrices of the layers; 0 = AdamW for them as well */
    double clip_norm;   /* longest gradient, 0 = any */
    double value_rate;  /* of AdamW for the value head; 0 = rate */
};

/* After learner_forward with a value head: value [n*width] at the wanted tokens. */
enum trainer_status learner_values(struct learner *learner, const struct learner_rows *rows,
                                   float *value, struct trainer_error *err);

/*
 * After learner_forward with the learner's own params: gradient of sum(d_log_prob log_prob), and of
 * sum(d_value value) unless d_value is NULL, then an update. *norm: of the gradient before it is cut. TRAINER_ENUMERIC if it is not finite
 * (parameters are then unchanged), or the parameters are not after the update.
 */
enum trainer_status learner_update(struct learner *learner, const float *d_log_prob,
                                   const float *d_value, const struct learner_rates *rates,
                                   double *norm, struct trainer_error *err);

#endif
