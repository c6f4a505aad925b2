/*
 * attention.c: causal attention of one sequence. Scores are computed along the keys of a transposed copy and mixtures
 * along the features of a row, so that both are plain loops over contiguous memory. The loops are in attention_level.h.
 */
#include <string.h>

#include "policy/kernels.h"
#include "policy/transpose.h"

/* Vectors that the backward pass takes for NET_QUERIES queries at a time, and the most that any tile takes. */
enum { BACKWARD_BLOCKS = 2, MOST_BLOCKS = 4 };

/*
 * kt [head_dim][pad] = rows [n][stride] transposed, followed by zeros. pad is a multiple of 4. The loops take four numbers at a time also
 * where they only copy or clear, because gcc makes a call of memset or memcpy of a plain loop, and these are short.
 */
static TRAINER_INLINE void transpose(size_t n, size_t head_dim, const real *rows, size_t stride, size_t pad, real *restrict kt)
{
    const size_t whole_n = n / 4 * 4, whole_d = head_dim / 4 * 4;
    for (size_t t = 0; t < whole_n; t += 4) {
        for (size_t d = 0; d < whole_d; d += 4)
            transpose_four(rows + t * stride + d, stride, kt + d * pad + t, pad);
        for (size_t d = whole_d; d < head_dim; d++)
            for (size_t i = t; i < t + 4; i++)
                kt[d * pad + i] = rows[i * stride + d];
    }
    for (size_t t = whole_n; t < pad; t += 4)
        for (size_t d = 0; d < head_dim; d++)
            *(net_four *)(kt + d * pad + t) = (net_four){0};
    for (size_t t = whole_n; t < n; t++)
        for (size_t d = 0; d < head_dim; d++)
            kt[d * pad + t] = rows[t * stride + d];
}

static TRAINER_INLINE void copy_out(size_t n, size_t head_dim, const real *restrict rows, real *restrict out, size_t stride)
{
    const size_t whole = head_dim / 4 * 4;
    for (size_t t = 0; t < n; t++, rows += head_dim, out += stride) {
        for (size_t d = 0; d < whole; d += 4)
            *(net_four *)(out + d) = *(const net_four *)(rows + d);
        for (size_t d = whole; d < head_dim; d++)
            out[d] = rows[d];
    }
}

#ifdef VECTOR_LEVELS

/* 32 registers of 64 bytes */
#define LEVEL(name) name##_avx512
#define LEVEL_TARGET __attribute__((target("arch=x86-64-v4")))
#define LEVEL_BYTES 64
#define TILE_BLOCKS 2
#define MIX_BLOCKS 2
#include "policy/attention_level.h"

/* 16 registers of 32 bytes */
#define LEVEL(name) name##_avx2
#define LEVEL_TARGET __attribute__((target("arch=x86-64-v3")))
#define LEVEL_BYTES 32
#define TILE_BLOCKS 1
#define MIX_BLOCKS 4
#include "policy/attention_level.h"

/* 16 registers of 16 bytes */
#define LEVEL(name) name##_sse2
#define LEVEL_TARGET __attribute__((target("arch=x86-64")))
#define LEVEL_BYTES 16
#define TILE_BLOCKS 1
#define MIX_BLOCKS 4
#include "policy/attention_level.h"

#define AT_LEVEL(name) {name##_sse2, name##_avx2, name##_avx512}
#define LEVEL_IN_USE rl_level()

#else

/* 32 registers of 16 bytes on aarch64 */
#define LEVEL(name) name##_plain
#define LEVEL_TARGET
#define LEVEL_BYTES 16
#define TILE_BLOCKS 2
#define MIX_BLOCKS 4
#include "policy/attention_level.h"

#define AT_LEVEL(name) {name##_plain}
#define LEVEL_IN_USE 0

#endif

void net_attendf(const struct net_attentionf *a, real *p, real *out, real *scratch)
{
    static void (*const level[])(const struct net_attentionf *, size_t, real *, real *, real *) = AT_LEVEL(attend_head);
    for (size_t head = 0; head < a->heads; head++)
        level[LEVEL_IN_USE](a, head, p, out, scratch);
}

void net_attend_cachedf(size_t heads, size_t head_dim, size_t n_keys, size_t pad, const real *q, const real *kt, const real *v,
                        real *out, real *scratch)
{
    static void (*const level[])(size_t, size_t, size_t, size_t, const real *, const real *, const real *, real *, real *) =
        AT_LEVEL(attend_cached);
    level[LEVEL_IN_USE](heads, head_dim, n_keys, pad, q, kt, v, out, scratch);
}

/* dq is written for wanted queries only, so others are zeroed here; dk and dv are written for every key. */
void net_attend_backwardf(const struct net_attentionf *a, const real *p, const real *d_out, real *dq, real *dk, real *dv,
                          size_t d_stride, real *scratch)
{
    static void (*const level[])(const struct net_attentionf *, size_t, const real *, const real *, real *, real *, real *,
                                 size_t, real *) = AT_LEVEL(attend_head_backward);
    for (size_t t = 0; a->n_queries < a->n_keys && t < a->n_keys; t++)
        memset(dq + t * d_stride, 0, a->heads * a->head_dim * sizeof *dq);
    for (size_t head = 0; head < a->heads; head++)
        level[LEVEL_IN_USE](a, head, p, d_out, dq, dk, dv, d_stride, scratch);
}
