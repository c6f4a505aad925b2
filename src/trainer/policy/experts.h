/* experts.h: the mixture of experts of one layer. The source is written in float and also compiled for double. */
#pragma once

#include <trainer/policy.h>

#include "policy/kernels.h"
#include "policy/layout.h"
#include "support/carve.h"

/* Sizes and weights of a layer's experts. */
struct net_expertsf {
    size_t n, k, d, m; /* number of experts; experts per token; width; hidden units */
    bool renormalise;
    const real *router;    /* [d][n] */
    const real *up, *down; /* [d][m], [m][d] matrices of the first expert */
    size_t per_expert;     /* offset from one expert's matrices to the next expert's */
};

/* Returns the experts of the layer whose parameters are at this place of params. */
struct net_expertsf net_layer_expertsf(const struct trainer_model *model, struct net_layer at, const real *params);

/* The data of q rows that is kept for the backward pass. */
struct net_choicef {
    real *prob;       /* [q][n] the router's probabilities; the backward function leaves d logits here */
    real *gate;       /* [q][k] weight of each choice */
    uint16_t *chosen; /* [q][k] experts in ascending order */
    int32_t *order;   /* [q*k] choices sorted by expert */
    size_t *first;    /* [n+1] range of each expert in order */
    real *u;          /* [q*k][m] hidden units after ReLU, sorted as `order` */
};

struct net_choicef net_carve_choicef(const struct trainer_model *model, size_t q, struct carve *block);

/*
 * Adds the experts' outputs for in [q][d] to out [q][d]. `chosen` is also an input: the experts given in a row are
 * used; TRAINER_NO_EXPERT leaves the choice to the router. rows [q][d] is scratch memory.
 */
void net_experts_forwardf(const struct net_expertsf *x, size_t q, const real *in, const struct net_choicef *c, real *rows,
                          real *out);

/* Returns the load balance E sum_e f_e P_e over q rows; 1 without rows. */
double net_experts_balancef(size_t experts, size_t per_token, size_t q, const struct net_choicef *c);

struct net_experts_scratchf {
    real *rows, *d_rows; /* [q][d] */
    real *d_u;           /* [q][m] */
    real *d_gate;        /* [q][k] */
    real *d_prob;        /* [n] */
};

struct net_experts_gradientf {
    real *router, *up, *down; /* gradients with the layout of the weights; results are added */
};

/* Computes d_in [q][d] from d_out [q][d], and adds `balance` times the gradient of net_experts_balance. */
void net_experts_backwardf(const struct net_expertsf *x, size_t q, const real *in, const real *d_out, double balance,
                           const struct net_choicef *c, const struct net_experts_scratchf *s, real *d_in,
                           struct net_experts_gradientf *g);
