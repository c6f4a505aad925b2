/* minibatch.h: rows of an update, gathered from the rollouts. */
#pragma once

#include <rlcore/stream_loss.h>

#include "rollout/rollouts.h"

/*
 * Rows with tokens of the rl component come first (n_rl of n), because the core's policy losses take whole rows and
 * average over all rows that they get: a row of opd or sft among them would change the mean of the other rows. Arrays
 * per token are [n*width].
 */
struct minibatch {
    size_t n, n_rl, capacity, width;
    bool clip_scaled; /* whether losses read clip_scale; set once by the owner */
    const struct trainer_correction *bypass; /* the correction bypass, or NULL; set by the owner */
    const struct trainer_task *tasks;        /* the recipe's tasks; set by the owner */
    int32_t *tokens, *length, *turn;
    uint8_t *mask;       /* tokens of the rl component */
    uint8_t *written;    /* tokens of the policy */
    uint8_t *trained;    /* those of them that any component trains, which the KL penalty trains, too */
    uint8_t *wanted;     /* tokens of the policy, and of any component */
    uint8_t *after_tool; /* tokens of the policy after the tool's first answer */
    uint8_t *part;       /* scratch: a part of mask */
    float *behaviour;    /* these arrays: as in struct trainer_rollouts; `sampled` is its log_prob */
    float *old, *sampled, *log_prob, *entropy, *advantage, *clip_scale, *weight, *rl, *ce, *ref_kl, *reference, *start;
    float *kd;                                   /* weights of the squared distance to a teacher */
    float *d_log_prob, *d_part;                  /* gradients: of the loss, and of one of its terms */
    float *value, *expected, *returns, *d_value; /* NULL without a value head (run/value_arrays.h) */
    uint8_t *valued;                             /* tokens of the rl component with a return */
    size_t *first;                               /* [n+1] place of each row's first token */
    size_t *row;                                 /* [n] number of each row in the rollouts */
    int32_t *task;                               /* [n] task of each row */
    struct rl_stream_metrics *streams;           /* [n] scratch: metrics of the components of each row */
};

/*
 * minibatch_bytes returns the size of a minibatch for `rows` rows of `width` tokens. minibatch_new returns such a
 * minibatch (free), or NULL when out of memory.
 */
size_t minibatch_bytes(size_t rows, size_t width);
struct minibatch *minibatch_new(size_t rows, size_t width);

/* Copies rows row[0..n) of the rollouts, which have the same width. */
void minibatch_gather(struct minibatch *batch, const struct trainer_rollouts *rollouts, const size_t *row, size_t n);
