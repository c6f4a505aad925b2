/* experts.h: the mixture of experts of one layer. Written in float, compiled for double as well. */
#ifndef TRAINER_EXPERTS_H
#define TRAINER_EXPERTS_H

#include <trainer/policy.h>

#include "policy/kernels.h"
#include "policy/layout.h"
#include "support/carve.h"

/* Sizes and weights of a layer's experts. */
struct net_expertsf {
    size_t n, k, d, m; /* experts, of which k per token; width, hidden units */
    bool renormalise;
    const real *router;    /* [d][n] */
    const real *up, *down; /* [d][m], [m][d] of the first */
    size_t per_expert;     /* from one to the next */
};

/* Those of the layer at that place. */
struct net_expertsf net_layer_expertsf(const struct trainer_model *model, struct net_layer at,
                                       const real *params);

/* What is kept of q rows for the way back. */
struct net_choicef {
    real *prob;       /* [q][n] of the router; the backward function leaves d logits there */
    real *gate;       /* [q][k] weight of each choice */
    uint16_t *chosen; /* [q][k] in ascending order */
    int32_t *order;   /* [q*k] choices by expert */
    size_t *first;    /* [n+1] into order */
    real *u;          /* [q*k][m] after ReLU, as order has them */
};

struct net_choicef net_carve_choicef(const struct trainer_model *model, size_t q,
                                     struct carve *block);

/*
 * out [q][d] += what the experts make of in [q][d]. chosen is also an argument: what stands in a row
 * is used, TRAINER_NO_EXPERT leaves it to the router. rows [q][d] is scratch.
 */
void net_experts_forwardf(const struct net_expertsf *x, size_t q, const real *in,
                          const struct net_choicef *c, real *rows, real *out);

/* E sum_e f_e P_e of those rows, 1 without any. */
double net_experts_balancef(size_t experts, size_t per_token, size_t q,
                            const struct net_choicef *c);

struct net_experts_scratchf {
    real *rows, *d_rows; /* [q][d] */
    real *d_u;           /* [q][m] */
    real *d_gate;        /* [q][k] */
    real *d_prob;        /* [n] */
};

struct net_experts_gradientf {
    real *router, *up, *down; /* as the weights; += */
};

/* d_in [q][d] = of d_out [q][d], and balance times the gradient of net_experts_balance. */
void net_experts_backwardf(const struct net_expertsf *x, size_t q, const real *in,
                           const real *d_out, double balance, const struct net_choicef *c,
                           const struct net_experts_scratchf *s, real *d_in,
                           struct net_experts_gradientf *g);

#endif
