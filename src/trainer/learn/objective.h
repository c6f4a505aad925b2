/* objective.h: the loss of one minibatch and its gradient with respect to log-probs. */
#ifndef TRAINER_OBJECTIVE_H
#define TRAINER_OBJECTIVE_H

#include "rollout/rollouts.h"
#include "support/workspace.h"

/*
 * Rows gathered from the rollouts, those with tokens of the rl component first. Per token arrays
 * are [n*width].
 */
struct minibatch {
    size_t n, n_rl, capacity, width;
    int32_t *tokens, *length, *turn;
    uint8_t *mask;    /* tokens of the rl component */
    uint8_t *written; /* tokens of the policy */
    uint8_t *wanted;  /* tokens of any component */
    uint8_t *told;    /* tokens of the policy after the tool first answered */
    uint8_t *part;    /* scratch: some of mask */
    float *behaviour;
    float *old, *sampled, *log_prob, *entropy, *advantage, *clip_scale, *weight, *rl, *ce, *ref_kl,
        *reference, *start;
    float *kd; /* weights of a teacher's square distance */
    float *d_log_prob, *d_part;
    float *value, *expected, *returns, *d_value; /* NULL without a value head: see run/values.h */
    uint8_t *valued;                             /* tokens with a return, of the rl component */
    size_t *first; /* [n+1] */
    size_t *row;   /* [n] of the rollouts */
};

size_t minibatch_bytes(size_t rows, size_t width);
struct minibatch *minibatch_new(size_t rows, size_t width); /* NULL when out of memory; free() */

/* Rows row[0..n) of the rollouts. */
void minibatch_gather(struct minibatch *batch, const struct trainer_rollouts *rollouts,
                      const size_t *row, size_t n);

/* Of tokens after a tool where they have a clip range of their own. */
struct objective_told {
    double share; /* of the rl component's tokens */
    double clip_fraction, ratio, kl;
};

struct objective_composed {
    double backend, staleness;               /* mean factors before their caps */
    double backend_capped, staleness_capped; /* shares */
    double ess;                              /* of the weights */
};

struct objective_result {
    double dropped; /* by OPSM, share of the rl component's tokens */
    struct objective_told told;
    struct objective_composed composed;
    double loss, clip_fraction, kl, entropy;
    double value_loss, value_clip_fraction;
    uint64_t n_valued;
    double distilled, distill_clipped; /* K2: its loss, and the share of its tokens left alone */
    uint64_t n_tokens;
};

/* d_log_prob from log_prob and the rest. */
enum trainer_status objective(struct minibatch *batch, const struct trainer_loss *loss,
                              struct workspace *workspace, struct objective_result *result,
                              struct trainer_error *err);

/* After it: d_value from value, expected and returns; the loss of values is added, times its weight. */
enum trainer_status objective_values(struct minibatch *batch, const struct trainer_recipe *recipe,
                                     struct workspace *workspace, struct objective_result *result,
                                     struct trainer_error *err);

#endif
