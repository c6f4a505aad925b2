/*
 * attention.c: causal attention of one sequence. Scores are computed along the keys of a transposed copy and mixtures
 * along the features of a row, so that both are plain loops over contiguous memory.
 */
#include <string.h>

#include "policy/kernels.h"

/* kt [head_dim][pad] = rows [n][stride] transposed, followed by zeros. */
static TRAINER_INLINE void transpose(size_t n, size_t head_dim, const real *rows, size_t stride,
                                     size_t pad, real *restrict kt)
{
    for (size_t d = 0; d < head_dim; d++) {
        for (size_t t = 0; t < n; t++)
            kt[d * pad + t] = rows[t * stride + d];
        for (size_t t = n; t < pad; t++)
            kt[d * pad + t] = 0;
    }
}

/* Even and odd features are summed separately, so that additions do not wait for each other. */
static TRAINER_INLINE void dots_of_blocks(size_t blocks, size_t head_dim, const real *x,
                                          const real *kt, size_t pad, real *s)
{
    net_vec even[4] = {{0}, {0}, {0}, {0}}, odd[4] = {{0}, {0}, {0}, {0}};
    for (size_t d = 0; d < head_dim; d += 2)
        for (size_t b = 0; b < blocks; b++) {
            even[b] += x[d] * NET_READ(kt + d * pad + b * NET_BLOCK);
            odd[b] += x[d + 1] * NET_READ(kt + (d + 1) * pad + b * NET_BLOCK);
        }
    for (size_t b = 0; b < blocks; b++)
        NET_AT(s + b * NET_BLOCK) = even[b] + odd[b];
}

/*
 * s[t] = x . kt[:, t] for t < n, in whole blocks. Four blocks at a time keep eight accumulators in registers; the cases
 * in this function have constant bounds, so that each is unrolled. The last block may run past n: the scores of these
 * later keys are computed but not read.
 */
static TRAINER_INLINE void dots(size_t n, size_t head_dim, const real *x, const real *kt,
                                size_t pad, real *s)
{
    size_t left = (n + NET_BLOCK - 1) / NET_BLOCK;
    for (; left >= 4; left -= 4, kt += 4 * NET_BLOCK, s += 4 * NET_BLOCK)
        dots_of_blocks(4, head_dim, x, kt, pad, s);
    switch (left) {
    case 3: dots_of_blocks(3, head_dim, x, kt, pad, s); break;
    case 2: dots_of_blocks(2, head_dim, x, kt, pad, s); break;
    case 1: dots_of_blocks(1, head_dim, x, kt, pad, s); break;
    default: break;
    }
}

/* Two accumulators, for even and odd keys, because in a single chain each addition waits for the previous one. */
static TRAINER_INLINE void mix_blocks(size_t blocks, size_t n, const real *p, const real *rows,
                                      size_t stride, real *out)
{
    net_vec even[2] = {{0}, {0}}, odd[2] = {{0}, {0}};
    size_t t = 0;
    for (; t + 2 <= n; t += 2)
        for (size_t b = 0; b < blocks; b++) {
            even[b] += p[t] * NET_READ(rows + t * stride + b * NET_BLOCK);
            odd[b] += p[t + 1] * NET_READ(rows + (t + 1) * stride + b * NET_BLOCK);
        }
    for (size_t b = 0; b < blocks; b++) {
        if (t < n)
            even[b] += p[t] * NET_READ(rows + t * stride + b * NET_BLOCK);
        NET_AT(out + b * NET_BLOCK) = even[b] + odd[b];
    }
}

/* out = sum over t < n of p[t] rows[t]. */
static TRAINER_INLINE void mix(size_t n, size_t head_dim, const real *p, const real *rows,
                               size_t stride, real *out)
{
    size_t d = 0;
    for (; d + 2 * NET_BLOCK <= head_dim; d += 2 * NET_BLOCK)
        mix_blocks(2, n, p, rows + d, stride, out + d);
    for (; d + NET_BLOCK <= head_dim; d += NET_BLOCK)
        mix_blocks(1, n, p, rows + d, stride, out + d);
    for (; d < head_dim; d++) {
        out[d] = 0;
        for (size_t t = 0; t < n; t++)
            out[d] += p[t] * rows[t * stride + d];
    }
}

/*
 * s [n] becomes softmax(scale s). The scale is applied inside exp, because multiplying the queries first would take
 * another pass over them.
 */
static TRAINER_INLINE void softmax(size_t n, real scale, real *restrict s)
{
    real most = s[0], sum = 0;
    for (size_t t = 1; t < n; t++)
        most = s[t] > most ? s[t] : most;
#pragma omp simd reduction(+ : sum)
    for (size_t t = 0; t < n; t++) {
        s[t] = real_exp(scale * (s[t] - most));
        sum += s[t];
    }
    real inverse = 1 / sum;
    for (size_t t = 0; t < n; t++)
        s[t] *= inverse;
}

/*
 * Keys are copied once per head and read by every query of the sequence. The weights are kept for the backward
 * pass, which would otherwise need a second softmax for every pair.
 */
HOT_VOID(attend_head, (const struct net_attentionf *a, size_t head, real *p, real *out, real *kt),
         (a, head, p, out, kt))
{
    size_t dh = a->head_dim, first = head * dh;
    real scale = 1 / real_sqrt((real)dh);
    transpose(a->n_keys, dh, a->k + first, a->k_stride, a->pad, kt);
    for (size_t i = 0; i < a->n_queries; i++) {
        size_t at = (size_t)a->query[i], n = at + 1;
        real *s = p + (i * a->heads + head) * a->pad;
        dots(n, dh, a->q + at * a->q_stride + first, kt, a->pad, s);
        softmax(n, scale, s);
        mix(n, dh, s, a->v + first, a->v_stride, out + i * a->heads * dh + first);
    }
}

void net_attendf(const struct net_attentionf *a, real *p, real *out, real *scratch)
{
    for (size_t head = 0; head < a->heads; head++)
        attend_head(a, head, p, out, scratch);
}

/* Used in decoding: one query over a cache that is stored transposed, so that nothing is copied per token. */
HOT_VOID(attend_cached, (size_t heads, size_t dh, size_t n, size_t pad, const real *q,
                         const real *kt, const real *v, real *out, real *s),
         (heads, dh, n, pad, q, kt, v, out, s))
{
    real scale = 1 / real_sqrt((real)dh);
    for (size_t head = 0; head < heads; head++) {
        dots(n, dh, q + head * dh, kt + head * dh * pad, pad, s);
        softmax(n, scale, s);
        mix(n, dh, s, v + head * dh, heads * dh, out + head * dh);
    }
}

void net_attend_cachedf(size_t heads, size_t head_dim, size_t n_keys, size_t pad, const real *q,
                        const real *kt, const real *v, real *out, real *scratch)
{
    attend_cached(heads, head_dim, n_keys, pad, q, kt, v, out, scratch);
}

/* dp becomes ds = scale p (dp - sum p dp). */
static TRAINER_INLINE void softmax_backward(size_t n, real scale, const real *restrict p,
                                            real *restrict dp)
{
    real sum = 0;
    for (size_t t = 0; t < n; t++)
        sum += p[t] * dp[t];
    for (size_t t = 0; t < n; t++)
        dp[t] = scale * p[t] * (dp[t] - sum);
}

/* rows[t] += w[t] x for t < n. */
static TRAINER_INLINE void spread(size_t n, size_t head_dim, const real *w, const real *x,
                                  real *rows)
{
    size_t d = 0;
    for (; d + NET_BLOCK <= head_dim; d += NET_BLOCK) {
        net_vec part = NET_READ(x + d);
        for (size_t t = 0; t < n; t++)
            NET_AT(rows + t * head_dim + d) += w[t] * part;
    }
    for (; d < head_dim; d++)
        for (size_t t = 0; t < n; t++)
            rows[t * head_dim + d] += w[t] * x[d];
}

static TRAINER_INLINE void copy_out(size_t n, size_t head_dim, const real *restrict rows,
                                    real *restrict out, size_t stride)
{
    for (size_t t = 0; t < n; t++)
        for (size_t d = 0; d < head_dim; d++)
            out[t * stride + d] = rows[t * head_dim + d];
}

/*
 * scratch: vt [head_dim][pad], sums of dk and dv [pad][head_dim], ds [pad]. The sums of dk and dv are first gathered in
 * compact rows, because in the packed gradient every query would read and write rows that are 3d apart.
 */
HOT_VOID(attend_head_backward, (const struct net_attentionf *a, size_t head, const real *p,
                                const real *d_out, real *dq, real *dk, real *dv, size_t d_stride,
                                real *scratch),
         (a, head, p, d_out, dq, dk, dv, d_stride, scratch))
{
    size_t dh = a->head_dim, first = head * dh, size = dh * a->pad;
    real scale = 1 / real_sqrt((real)dh);
    real *vt = scratch, *k_sum = vt + size, *v_sum = k_sum + size, *ds = v_sum + size;
    transpose(a->n_keys, dh, a->v + first, a->v_stride, a->pad, vt);
    memset(k_sum, 0, 2 * size * sizeof *k_sum);
    for (size_t i = 0; i < a->n_queries; i++) {
        size_t at = (size_t)a->query[i], n = at + 1;
        const real *row = p + (i * a->heads + head) * a->pad;
        const real *d_mix = d_out + i * a->heads * dh + first;
        dots(n, dh, d_mix, vt, a->pad, ds);
        softmax_backward(n, scale, row, ds);
        mix(n, dh, ds, a->k + first, a->k_stride, dq + at * d_stride + first);
        spread(n, dh, ds, a->q + at * a->q_stride + first, k_sum);
        spread(n, dh, row, d_mix, v_sum);
    }
    copy_out(a->n_keys, dh, k_sum, dk + first, d_stride);
    copy_out(a->n_keys, dh, v_sum, dv + first, d_stride);
}

/* dq is written for wanted queries only, so the other queries are zeroed here; dk and dv are written for every key. */
void net_attend_backwardf(const struct net_attentionf *a, const real *p, const real *d_out,
                          real *dq, real *dk, real *dv, size_t d_stride, real *scratch)
{
    for (size_t t = 0; t < a->n_keys; t++)
        memset(dq + t * d_stride, 0, a->heads * a->head_dim * sizeof *dq);
    for (size_t head = 0; head < a->heads; head++)
        attend_head_backward(a, head, p, d_out, dq, dk, dv, d_stride, scratch);
}
