/*
 * kernels.h: the layers of the policy, each with a forward and a backward function. Sources that include this
 * header are written in float and compiled a second time for double (precision.h, CMakeLists.txt). Arrays are
 * row-major, and rows are tokens. "+=" marks outputs that are added to.
 */
#pragma once

#include <stdbool.h>

#include "policy/precision.h"

/* c [m][n] = beta c + op(a) op(b), with beta 0 or 1. Leading dimensions are those of a, b and c in memory. */
void net_gemmf(bool transpose_a, bool transpose_b, size_t m, size_t n, size_t k, const real *a, size_t lda, const real *b,
               size_t ldb, real beta, real *c, size_t ldc);

/* RMSNorm: y = gain x / sqrt(mean(x^2) + 1e-5). */
void net_normf(size_t n, size_t d, const real *x, const real *gain, real *y);
/* dx +=, d_gain += */
void net_norm_backwardf(size_t n, size_t d, const real *x, const real *gain, const real *dy, real *dx, real *d_gain);

/* x [n][d] = embedding of the tokens, plus `previous` (may be NULL) of the tokens before them. */
void net_embedf(size_t n, size_t d, const int32_t *tokens, const int32_t *before, const real *embedding, const real *previous,
                real *x);
/* Adds to d_embedding and to d_previous, which may be NULL. */
void net_embed_backwardf(size_t n, size_t d, const int32_t *tokens, const int32_t *before, const real *dx, real *d_embedding,
                         real *d_previous);

/* Rotary positions. table [max][head_dim]: cosines and then sines of each position. */
void net_rope_tablef(size_t max, size_t head_dim, double base, real *table);
/* Rotates the heads of every row by the row's position; rows are `stride` apart; direction -1 rotates back. */
void net_ropef(size_t n, const int32_t *position, size_t heads, size_t head_dim, const real *table, real direction, real *x,
               size_t stride);

/* Attention over the keys of one sequence. */
struct net_attentionf {
    size_t heads, head_dim;
    size_t n_queries;     /* number of rows of p and out */
    const int32_t *query; /* [n_queries] ascending positions of the queries, which see keys 0 .. query */
    const real *q;        /* one row per key, q_stride apart: query i is row query[i] */
    size_t q_stride;
    const real *k, *v; /* rows of keys and values */
    size_t k_stride, v_stride;
    size_t n_keys;
    size_t pad; /* row length of p: n_keys rounded up to whole blocks */
};

/*
 * p [n_queries][heads][pad] = softmax of q k / sqrt(head_dim); out [n_queries][heads*head_dim]. This and the
 * backward function need scratch [(3 * head_dim + NET_QUERIES) * pad].
 */
void net_attendf(const struct net_attentionf *a, real *p, real *out, real *scratch);
/* dq, dk, dv have the shapes of q, k, v, with rows d_stride apart; all are overwritten. */
void net_attend_backwardf(const struct net_attentionf *a, const real *p, const real *d_out, real *dq, real *dk, real *dv,
                          size_t d_stride, real *scratch);

/* One query over cached keys kt [heads][head_dim][pad] and values v [n_keys][heads*head_dim]. scratch [pad]. */
void net_attend_cachedf(size_t heads, size_t head_dim, size_t n_keys, size_t pad, const real *q, const real *kt, const real *v,
                        real *out, real *scratch);

/* u = max(u, 0); du = 0 where u is 0. */
void net_reluf(size_t n, real *u);
void net_relu_backwardf(size_t n, const real *u, real *du);

/* x += y */
void net_addf(size_t n, const real *y, real *x);

/* value [n] = x [n][d] times head [d], plus head[d]. */
void net_valuef(size_t n, size_t d, const real *x, const real *head, real *value);
/* Adds to dx and to d_head [d + 1]. */
void net_value_backwardf(size_t n, size_t d, const real *x, const real *head, const real *d_value, real *dx, real *d_head);

/*
 * logits [n][v] become probabilities. Writes log_prob [n] of target [n], and entropy [n] in nats unless it is NULL.
 */
void net_softmaxf(size_t n, size_t v, real *logits, const int32_t *target, real *log_prob, real *entropy);
/* p [n][v] becomes d logits, given d_log_prob [n]. */
void net_softmax_backwardf(size_t n, size_t v, real *p, const int32_t *target, const real *d_log_prob);
