/* pass.h: buffers of one forward and backward pass over packed sequences. */
#pragma once

#include <trainer/policy.h>

#include "support/carve.h"
#include "policy/layout.h"
#include "policy/kernels.h"
#include "policy/experts.h"

/*
 * Data that a layer keeps for its backward function. N tokens go in; Q tokens come out: all N, or in the last layer
 * those that predict a wanted token.
 */
struct pass_layerf {
    real *in;  /* [N][d] */
    real *qkv; /* [N][3d], rotated */
    real *p;   /* [Q][heads][pad] */
    real *att; /* [Q][d] */
    real *mid; /* [Q][d] after the attention half */
    real *u;   /* [Q][mlp] after ReLU */
    struct net_choicef choice; /* with experts; replaces u */
};

struct trainer_passf {
    struct trainer_model model;
    struct net_layout layout;
    size_t capacity, wanted_capacity, pad;
    size_t n, n_wanted;                 /* tokens of the current sequences */
    struct trainer_sequences sequences; /* points to arrays of the caller */
    struct pass_layerf *layer;          /* [layers] */
    real *rope;
    int32_t *position, *before; /* [N] position in the sequence; the previous token */
    int32_t *row;               /* [W] the token that predicts a wanted one */
    int32_t *target;            /* [W] the wanted token */
    int32_t *query;             /* [W] position of the token `row` */
    int32_t *first;             /* [sequences+1] first wanted token of each sequence */
    int32_t *every;             /* [N] 0, 1, 2, ..: the queries of a layer that keeps all tokens */
    real *last;                 /* [W][d] output of the last layer */
    real *prob;                 /* [W][tokens] */
    real *x, *y;                /* [N][d] */
    real *d_in, *d_out;         /* [N][d] */
    real *d_qkv;                /* [N][3d] */
    real *d_u;                  /* [N][mlp] */
    real *scratch;
    const uint16_t *replay; /* [N][layers][experts_per_token], or NULL: see trainer_pass_route */
    uint16_t *record;
    double balance;        /* weight of the load-balancing loss */
    real *d_gate, *d_prob; /* [N][experts_per_token], [experts] */
};

/* Returns the experts of a layer. */
struct net_expertsf net_pass_expertsf(const struct trainer_passf *pass, const real *params, int32_t layer);

/* Returns the attention of sequence s in a layer. */
struct net_attentionf net_pass_attentionf(const struct trainer_passf *pass, const struct pass_layerf *layer, size_t s, bool last);

/* Rotates queries and keys by their positions (direction 1), or back (-1). */
void net_rotatef(const struct trainer_passf *pass, real direction, real *qkv);

/* Copies rows row[0..n) of `from` to `to` [n][d]. */
void net_gatherf(size_t n, size_t d, const int32_t *row, const real *from, real *to);
