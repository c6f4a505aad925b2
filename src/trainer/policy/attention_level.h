/*
 * attention_level.h: the loops of attention for one vector level. attention.c includes this file once per level, because the
 * width of a vector is part of its type. It has no include guard.
 *
 *   LEVEL(name)    the name of a function of this level
 *   LEVEL_TARGET   the attribute that lets the compiler use the level's instructions; empty: those of the whole build
 *   LEVEL_BYTES    bytes of a vector register
 *   TILE_QUERIES, TILE_BLOCKS  scores are computed for this many queries and vectors of keys at a time
 *   MIX_BLOCKS     vectors of features that are mixed at a time
 *
 * The constants are such that all sums stay in registers (tests/unit/spills.sh looks at the code). No sum depends on them:
 * every score, and every feature of a mixture, is added up in the same order at every level.
 */
#define VEC LEVEL(net_vec)
#define LANES (LEVEL_BYTES / sizeof(real))
#define AT(x) (*(VEC *)(x))
#define READ(x) (*(const VEC *)(x))
#define LOOP LEVEL_TARGET TRAINER_INLINE static

typedef real VEC __attribute__((vector_size(LEVEL_BYTES), aligned(sizeof(real)), may_alias));

/* The product of some queries and some blocks of keys. x[q] is a query, s[q] its row of scores. Even and odd features are summed
 * separately, so that additions do not wait for each other. */
LOOP void LEVEL(dots_of_blocks)(size_t queries, size_t blocks, size_t head_dim, const real *const *x, const real *kt, size_t pad,
                                real *const *s, size_t first)
{
    VEC even[TILE_QUERIES][TILE_BLOCKS] = {{{0}}}, odd[TILE_QUERIES][TILE_BLOCKS] = {{{0}}};
    kt += first;
    for (size_t d = 0; d < head_dim; d += 2) {
        for (size_t b = 0; b < blocks; b++)
            for (size_t q = 0; q < queries; q++)
                even[q][b] += x[q][d] * READ(kt + d * pad + b * LANES);
        for (size_t b = 0; b < blocks; b++)
            for (size_t q = 0; q < queries; q++)
                odd[q][b] += x[q][d + 1] * READ(kt + (d + 1) * pad + b * LANES);
    }
    for (size_t q = 0; q < queries; q++)
        for (size_t b = 0; b < blocks; b++)
            AT(s[q] + first + b * LANES) = even[q][b] + odd[q][b];
}

/*
 * s[q][t] = x[q] . kt[:, t] for t < n, in whole blocks. The cases have constant bounds, so that each is unrolled. The last
 * block may run past n: the scores of these later keys are computed but not read.
 */
LOOP void LEVEL(dots_of_queries)(size_t queries, size_t n, size_t head_dim, const real *const *x, const real *kt, size_t pad,
                                 real *const *s)
{
    size_t first = 0, left = (n + LANES - 1) / LANES;
    for (; left >= TILE_BLOCKS; left -= TILE_BLOCKS, first += TILE_BLOCKS * LANES)
        LEVEL(dots_of_blocks)(queries, TILE_BLOCKS, head_dim, x, kt, pad, s, first);
    switch (left) {
    case 3: LEVEL(dots_of_blocks)(queries, 3 < TILE_BLOCKS ? 3 : 1, head_dim, x, kt, pad, s, first); break;
    case 2: LEVEL(dots_of_blocks)(queries, 2 < TILE_BLOCKS ? 2 : 1, head_dim, x, kt, pad, s, first); break;
    case 1: LEVEL(dots_of_blocks)(queries, 1, head_dim, x, kt, pad, s, first); break;
    default: break;
    }
}

/* Does the same for one query, which has registers for more keys at a time. */
LOOP void LEVEL(dots_of_many)(size_t blocks, size_t head_dim, const real *x, const real *kt, size_t pad, real *s)
{
    VEC even[4] = {{0}}, odd[4] = {{0}};
    for (size_t d = 0; d < head_dim; d += 2)
        for (size_t b = 0; b < blocks; b++) {
            even[b] += x[d] * READ(kt + d * pad + b * LANES);
            odd[b] += x[d + 1] * READ(kt + (d + 1) * pad + b * LANES);
        }
    for (size_t b = 0; b < blocks; b++)
        AT(s + b * LANES) = even[b] + odd[b];
}

LOOP void LEVEL(dots)(size_t n, size_t head_dim, const real *x, const real *kt, size_t pad, real *s)
{
    size_t left = (n + LANES - 1) / LANES;
    for (; left >= 4; left -= 4, kt += 4 * LANES, s += 4 * LANES)
        LEVEL(dots_of_many)(4, head_dim, x, kt, pad, s);
    switch (left) {
    case 3: LEVEL(dots_of_many)(3, head_dim, x, kt, pad, s); break;
    case 2: LEVEL(dots_of_many)(2, head_dim, x, kt, pad, s); break;
    case 1: LEVEL(dots_of_many)(1, head_dim, x, kt, pad, s); break;
    default: break;
    }
}

/* Two accumulators, for even and odd keys, because in a single chain each addition waits for the previous one. */
LOOP void LEVEL(mix_blocks)(size_t blocks, size_t n, const real *p, const real *rows, size_t stride, real *out)
{
    VEC even[MIX_BLOCKS] = {{0}}, odd[MIX_BLOCKS] = {{0}};
    size_t t = 0;
    for (; t + 2 <= n; t += 2)
        for (size_t b = 0; b < blocks; b++) {
            even[b] += p[t] * READ(rows + t * stride + b * LANES);
            odd[b] += p[t + 1] * READ(rows + (t + 1) * stride + b * LANES);
        }
    if (t < n)
        for (size_t b = 0; b < blocks; b++)
            even[b] += p[t] * READ(rows + t * stride + b * LANES);
    for (size_t b = 0; b < blocks; b++)
        AT(out + b * LANES) = even[b] + odd[b];
}

/* out = sum over t < n of p[t] rows[t]. */
LOOP void LEVEL(mix)(size_t n, size_t head_dim, const real *p, const real *rows, size_t stride, real *out)
{
    size_t d = 0;
    for (; d + MIX_BLOCKS * LANES <= head_dim; d += MIX_BLOCKS * LANES)
        LEVEL(mix_blocks)(MIX_BLOCKS, n, p, rows + d, stride, out + d);
    for (; d + LANES <= head_dim; d += LANES)
        LEVEL(mix_blocks)(1, n, p, rows + d, stride, out + d);
    for (; d < head_dim; d++) {
        out[d] = 0;
        for (size_t t = 0; t < n; t++)
            out[d] += p[t] * rows[t * stride + d];
    }
}

/*
 * The largest of n numbers, in whole vectors. The loop over the lanes is outside and becomes a vector; with one maximum the
 * loop would not be vectorised, because the compiler must assume NaN.
 */
LOOP real LEVEL(largest)(size_t n, const real *s)
{
    real lane[LANES], most;
#pragma omp simd
    for (size_t j = 0; j < LANES; j++) {
        real own = s[j];
        size_t t = 0;
        do {
            own = s[t + j] > own ? s[t + j] : own;
            t += LANES;
        } while (t < n);
        lane[j] = own;
    }
    most = lane[0];
    for (size_t j = 1; j < LANES; j++)
        most = lane[j] > most ? lane[j] : most;
    return most;
}

/*
 * s [n] becomes softmax(scale s). The scale is applied inside exp, because multiplying the queries first would take
 * another pass over them. What is behind n in its last block becomes 0, so that exp is called for whole vectors alone:
 * up to 15 calls for single numbers took longer than all others.
 */
LOOP void LEVEL(softmax)(size_t n, real scale, real *restrict s)
{
    const size_t whole = (n + LANES - 1) / LANES * LANES;
    real sum = 0;
    VEC part = {0};
    for (size_t t = n; t < whole; t++)
        s[t] = -(real)INFINITY;
    const real most = LEVEL(largest)(whole, s);
    for (size_t t = 0; t < whole; t += LANES) {
#pragma omp simd
        for (size_t lane = 0; lane < LANES; lane++)
            s[t + lane] = real_exp(scale * (s[t + lane] - most));
        part += READ(s + t);
    }
    for (size_t lane = 0; lane < LANES; lane++)
        sum += part[lane];
    const real inverse = 1 / sum;
    for (size_t t = 0; t < whole; t += LANES)
        AT(s + t) *= inverse;
}

/*
 * Keys are copied once per head and read by every query of the sequence. The weights are kept for the backward
 * pass, which would otherwise need a second softmax for every pair. Queries ascend, so the last of a tile has the most keys.
 */
LEVEL_TARGET static void LEVEL(attend_head)(const struct net_attentionf *a, size_t head, real *p, real *out, real *kt)
{
    size_t dh = a->head_dim, first = head * dh, i = 0;
    real scale = 1 / real_sqrt((real)dh);
    transpose(a->n_keys, dh, a->k + first, a->k_stride, a->pad, kt);
    while (i < a->n_queries) {
        const real *x[TILE_QUERIES];
        real *s[TILE_QUERIES];
        size_t queries = a->n_queries - i < TILE_QUERIES ? 1 : TILE_QUERIES;
        for (size_t q = 0; q < queries; q++) {
            x[q] = a->q + (size_t)a->query[i + q] * a->q_stride + first;
            s[q] = p + ((i + q) * a->heads + head) * a->pad;
        }
        if (queries == TILE_QUERIES)
            LEVEL(dots_of_queries)(TILE_QUERIES, (size_t)a->query[i + TILE_QUERIES - 1] + 1, dh, x, kt, a->pad, s);
        else
            LEVEL(dots)((size_t)a->query[i] + 1, dh, x[0], kt, a->pad, s[0]);
        for (size_t q = 0; q < queries; q++, i++) {
            size_t n = (size_t)a->query[i] + 1;
            LEVEL(softmax)(n, scale, s[q]);
            LEVEL(mix)(n, dh, s[q], a->v + first, a->v_stride, out + i * a->heads * dh + first);
        }
    }
}

/* Used in decoding: one query over a cache that is stored transposed, so that nothing is copied per token. */
LEVEL_TARGET static void LEVEL(attend_cached)(size_t heads, size_t dh, size_t n, size_t pad, const real *q, const real *kt,
                                              const real *v, real *out, real *s)
{
    real scale = 1 / real_sqrt((real)dh);
    for (size_t head = 0; head < heads; head++) {
        LEVEL(dots)(n, dh, q + head * dh, kt + head * dh * pad, pad, s);
        LEVEL(softmax)(n, scale, s);
        LEVEL(mix)(n, dh, s, v + head * dh, heads * dh, out + head * dh);
    }
}

/* dp becomes ds = scale p (dp - sum p dp). */
LOOP void LEVEL(softmax_backward)(size_t n, real scale, const real *restrict p, real *restrict dp)
{
    real sum = 0;
    for (size_t t = 0; t < n; t++)
        sum += p[t] * dp[t];
    for (size_t t = 0; t < n; t++)
        dp[t] = scale * p[t] * (dp[t] - sum);
}

/* rows[t] += w[t] x for first <= t < n. */
LOOP void LEVEL(spread)(size_t first, size_t n, size_t head_dim, const real *w, const real *x, real *rows)
{
    size_t d = 0;
    for (; d + LANES <= head_dim; d += LANES) {
        VEC part = READ(x + d);
        for (size_t t = first; t < n; t++)
            AT(rows + t * head_dim + d) += w[t] * part;
    }
    for (; d < head_dim; d++)
        for (size_t t = first; t < n; t++)
            rows[t * head_dim + d] += w[t] * x[d];
}

/*
 * rows[t] += w[q][t] x[q] for NET_SPREAD queries, each for its own n[q], which ascend. Each row is read and written once for all
 * of them. The additions to a row are in the order of the queries, as if they came one by one.
 */
LOOP void LEVEL(spread_queries)(const size_t *n, size_t head_dim, const real *const *w, const real *const *x, real *rows)
{
    size_t d = 0;
    for (; d + LANES <= head_dim; d += LANES) {
        const VEC x0 = READ(x[0] + d), x1 = READ(x[1] + d), x2 = READ(x[2] + d), x3 = READ(x[3] + d);
        for (size_t t = 0; t < n[0]; t++) {
            VEC sum = READ(rows + t * head_dim + d);
            sum += w[0][t] * x0;
            sum += w[1][t] * x1;
            sum += w[2][t] * x2;
            sum += w[3][t] * x3;
            AT(rows + t * head_dim + d) = sum;
        }
    }
    for (; d < head_dim; d++)
        for (size_t q = 0; q < NET_SPREAD; q++)
            for (size_t t = 0; t < n[0]; t++)
                rows[t * head_dim + d] += w[q][t] * x[q][d];
    for (size_t q = 1; q < NET_SPREAD; q++)
        LEVEL(spread)(n[0], n[q], head_dim, w[q], x[q], rows);
}

/*
 * scratch: vt [head_dim][pad], sums of dk and dv [pad][head_dim], ds [NET_SPREAD][pad]. The sums of dk and dv are first gathered in
 * compact rows, because in the packed gradient every query would read and write rows that are 3d apart.
 */
LEVEL_TARGET static void LEVEL(attend_head_backward)(const struct net_attentionf *a, size_t head, const real *p, const real *d_out,
                                                     real *dq, real *dk, real *dv, size_t d_stride, real *scratch)
{
    size_t dh = a->head_dim, first = head * dh, size = dh * a->pad;
    real scale = 1 / real_sqrt((real)dh);
    real *vt = scratch, *k_sum = vt + size, *v_sum = k_sum + size, *ds = v_sum + size;
    transpose(a->n_keys, dh, a->v + first, a->v_stride, a->pad, vt);
    memset(k_sum, 0, 2 * size * sizeof *k_sum);
    for (size_t i = 0; i < a->n_queries;) {
        size_t queries = a->n_queries - i < NET_SPREAD ? 1 : NET_SPREAD, n[NET_SPREAD];
        const real *row[NET_SPREAD], *query[NET_SPREAD], *d_mix[NET_SPREAD], *d_scores[NET_SPREAD];
        for (size_t q = 0; q < queries; q++, i++) {
            size_t at = (size_t)a->query[i];
            real *own = ds + q * a->pad;
            n[q] = at + 1;
            row[q] = p + (i * a->heads + head) * a->pad;
            query[q] = a->q + at * a->q_stride + first;
            d_mix[q] = d_out + i * a->heads * dh + first;
            d_scores[q] = own;
            LEVEL(dots)(n[q], dh, d_mix[q], vt, a->pad, own);
            LEVEL(softmax_backward)(n[q], scale, row[q], own);
            LEVEL(mix)(n[q], dh, own, a->k + first, a->k_stride, dq + at * d_stride + first);
        }
        if (queries == NET_SPREAD) {
            LEVEL(spread_queries)(n, dh, d_scores, query, k_sum);
            LEVEL(spread_queries)(n, dh, row, d_mix, v_sum);
        } else {
            LEVEL(spread)(0, n[0], dh, d_scores[0], query[0], k_sum);
            LEVEL(spread)(0, n[0], dh, row[0], d_mix[0], v_sum);
        }
    }
    copy_out(a->n_keys, dh, k_sum, dk + first, d_stride);
    copy_out(a->n_keys, dh, v_sum, dv + first, d_stride);
}

#undef VEC
#undef LANES
#undef AT
#undef READ
#undef LOOP
#undef LEVEL
#undef LEVEL_TARGET
#undef LEVEL_BYTES
#undef TILE_QUERIES
#undef TILE_BLOCKS
#undef MIX_BLOCKS
