/*
 * attention_level.h: the loops of attention for one vector level. attention.c includes this file once per level, because the
 * width of a vector is part of its type. It has no include guard.
 *
 *   LEVEL(name)    the name of a function of this level
 *   LEVEL_TARGET   the attribute that lets the compiler use the level's instructions; empty: those of the whole build
 *   LEVEL_BYTES    bytes of a vector register
 *   TILE_BLOCKS    vectors of keys, and of features, that are taken for NET_QUERIES queries at a time in the forward pass
 *   MIX_BLOCKS     vectors of features that are mixed for one query at a time
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

#ifndef TRAINER_DOUBLE
typedef int32_t LEVEL(net_ints) __attribute__((vector_size(LEVEL_BYTES), may_alias));
#endif

/*
 * The product of some queries and some blocks of keys. x[q] is a query, s[q] its row of scores. With two chains, even and odd features
 * are summed separately, so that additions do not wait for each other.
 */
LOOP void LEVEL(dots_of_blocks)(size_t chains, size_t queries, size_t blocks, size_t head_dim, const real *const *x,
                                const real *kt, size_t pad, real *const *s, size_t first)
{
    VEC sum[2][NET_QUERIES][MOST_BLOCKS] = {{{{0}}}};
    kt += first;
    for (size_t d = 0; d < head_dim; d += chains)
        for (size_t c = 0; c < chains; c++)
            for (size_t b = 0; b < blocks; b++) {
                const VEC keys = READ(kt + (d + c) * pad + b * LANES);
                for (size_t q = 0; q < queries; q++)
                    sum[c][q][b] += x[q][d + c] * keys;
            }
    for (size_t q = 0; q < queries; q++)
        for (size_t b = 0; b < blocks; b++) {
            if (chains == 2)
                sum[0][q][b] += sum[1][q][b];
            AT(s[q] + first + b * LANES) = sum[0][q][b];
        }
}

/*
 * s[q][t] = x[q] . kt[:, t] for t < n, in whole blocks. The cases have constant bounds, so that each is unrolled. The last
 * block may run past n: the scores of these later keys are computed but not read.
 */
LOOP void LEVEL(dots_of_queries)(size_t chains, size_t queries, size_t blocks, size_t n, size_t head_dim, const real *const *x,
                                 const real *kt, size_t pad, real *const *s)
{
    size_t first = 0, left = (n + LANES - 1) / LANES;
    for (; left >= blocks; left -= blocks, first += blocks * LANES)
        LEVEL(dots_of_blocks)(chains, queries, blocks, head_dim, x, kt, pad, s, first);
    switch (left) {
    case 3: LEVEL(dots_of_blocks)(chains, queries, 3 < blocks ? 3 : 1, head_dim, x, kt, pad, s, first); break;
    case 2: LEVEL(dots_of_blocks)(chains, queries, 2 < blocks ? 2 : 1, head_dim, x, kt, pad, s, first); break;
    case 1: LEVEL(dots_of_blocks)(chains, queries, 1, head_dim, x, kt, pad, s, first); break;
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

/*
 * out[q] = sum over t < n[q] of p[q][t] rows[t], for some queries, whose n ascend, and some blocks of features. Each row is read once for
 * all queries. With two chains, even and odd keys are summed separately.
 */
LOOP void LEVEL(mix_blocks)(size_t chains, size_t queries, size_t blocks, const size_t *n, const real *const *p, const real *rows,
                            size_t stride, real *const *out, size_t first)
{
    VEC sum[2][NET_QUERIES][MOST_BLOCKS] = {{{{0}}}};
    size_t both = 0;
    rows += first;
    for (; both + chains <= n[0]; both += chains)
        for (size_t c = 0; c < chains; c++)
            for (size_t b = 0; b < blocks; b++) {
                const VEC row = READ(rows + (both + c) * stride + b * LANES);
                for (size_t q = 0; q < queries; q++)
                    sum[c][q][b] += p[q][both + c] * row;
            }
#pragma GCC unroll 4
    for (size_t q = 0; q < queries; q++) {
        size_t t = both;
        for (; t + chains <= n[q]; t += chains)
            for (size_t c = 0; c < chains; c++)
                for (size_t b = 0; b < blocks; b++)
                    sum[c][q][b] += p[q][t + c] * READ(rows + (t + c) * stride + b * LANES);
        if (t < n[q])
            for (size_t b = 0; b < blocks; b++)
                sum[0][q][b] += p[q][t] * READ(rows + t * stride + b * LANES);
        for (size_t b = 0; b < blocks; b++) {
            if (chains == 2)
                sum[0][q][b] += sum[1][q][b];
            AT(out[q] + first + b * LANES) = sum[0][q][b];
        }
    }
}

LOOP void LEVEL(mix_of_queries)(size_t chains, size_t queries, size_t blocks, const size_t *n, size_t head_dim,
                                const real *const *p, const real *rows, size_t stride, real *const *out)
{
    size_t d = 0;
    for (; d + blocks * LANES <= head_dim; d += blocks * LANES)
        LEVEL(mix_blocks)(chains, queries, blocks, n, p, rows, stride, out, d);
    for (; d + LANES <= head_dim; d += LANES)
        LEVEL(mix_blocks)(chains, queries, 1, n, p, rows, stride, out, d);
    for (; d < head_dim; d++)
        for (size_t q = 0; q < queries; q++) {
            real sum = 0;
            for (size_t t = 0; t < n[q]; t++)
                sum += p[q][t] * rows[t * stride + d];
            out[q][d] = sum;
        }
}

LOOP void LEVEL(mix)(size_t n, size_t head_dim, const real *p, const real *rows, size_t stride, real *out)
{
    LEVEL(mix_of_queries)(2, 1, MIX_BLOCKS, &n, head_dim, &p, rows, stride, &out);
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
 * exp of numbers that are at most 0, with a relative error of at most 3e-7. Below -87, where exp becomes subnormal, the result is 0.
 * x = k log 2 + r with |r| <= log(2) / 2, and exp(r) is its Taylor polynomial. A library's exp took longer than the rest of the
 * softmax, because all vectors are moved to memory before a call.
 */
#ifdef TRAINER_DOUBLE
LOOP VEC LEVEL(exponential)(VEC x)
{
    for (size_t lane = 0; lane < LANES; lane++)
        x[lane] = exp(x[lane]);
    return x;
}
#else
LOOP VEC LEVEL(exponential)(VEC x)
{
    const LEVEL(net_ints) k = __builtin_convertvector(x * 1.44269504f - 0.5f, LEVEL(net_ints)); /* truncates towards 0 */
    const VEC n = __builtin_convertvector(k, VEC), r = x - n * 0.693359375f - n * -2.12194440e-4f;
    VEC y = r * (1.f / 5040) + 1.f / 720;
    y = r * y + 1.f / 120;
    y = r * y + 1.f / 24;
    y = r * y + 1.f / 6;
    y = r * y + 0.5f;
    y = r * y + 1;
    y = r * y + 1;
    return (VEC)((LEVEL(net_ints))(y * (VEC)((k + 127) << 23)) & ~(x < -87.f));
}
#endif

/*
 * s [n] becomes softmax(scale s). The scale is applied inside exp, because multiplying the queries first would take
 * another pass over them. What is behind n in its last block becomes 0, so that whole vectors can be taken everywhere.
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
        const VEC e = LEVEL(exponential)(scale * (READ(s + t) - most));
        AT(s + t) = e;
        part += e;
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
        const real *x[NET_QUERIES], *weights[NET_QUERIES];
        real *s[NET_QUERIES], *mixed[NET_QUERIES];
        size_t queries = a->n_queries - i < NET_QUERIES ? 1 : NET_QUERIES, n[NET_QUERIES];
        for (size_t q = 0; q < queries; q++, i++) {
            x[q] = a->q + (size_t)a->query[i] * a->q_stride + first;
            n[q] = (size_t)a->query[i] + 1;
            weights[q] = s[q] = p + (i * a->heads + head) * a->pad;
            mixed[q] = out + i * a->heads * dh + first;
        }
        if (queries == NET_QUERIES)
            LEVEL(dots_of_queries)(2, NET_QUERIES, TILE_BLOCKS, n[NET_QUERIES - 1], dh, x, kt, a->pad, s);
        else
            LEVEL(dots)(n[0], dh, x[0], kt, a->pad, s[0]);
        for (size_t q = 0; q < queries; q++)
            LEVEL(softmax)(n[q], scale, s[q]);
        if (queries == NET_QUERIES)
            LEVEL(mix_of_queries)(2, NET_QUERIES, TILE_BLOCKS, n, dh, weights, a->v + first, a->v_stride, mixed);
        else
            LEVEL(mix)(n[0], dh, s[0], a->v + first, a->v_stride, mixed[0]);
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
    const size_t whole = n / LANES * LANES;
    real sum = 0;
    VEC part = {0};
    for (size_t t = 0; t < whole; t += LANES)
        part += READ(p + t) * READ(dp + t);
    for (size_t lane = 0; lane < LANES; lane++)
        sum += part[lane];
    for (size_t t = whole; t < n; t++)
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

LOOP void LEVEL(spread_blocks)(size_t blocks, size_t n, size_t head_dim, const real *const *w, const real *const *x, real *rows,
                               size_t d)
{
    VEC part[NET_QUERIES][BACKWARD_BLOCKS];
    for (size_t q = 0; q < NET_QUERIES; q++)
        for (size_t b = 0; b < blocks; b++)
            part[q][b] = READ(x[q] + d + b * LANES);
    for (size_t t = 0; t < n; t++)
        for (size_t b = 0; b < blocks; b++) {
            VEC sum = READ(rows + t * head_dim + d + b * LANES);
            for (size_t q = 0; q < NET_QUERIES; q++)
                sum += w[q][t] * part[q][b];
            AT(rows + t * head_dim + d + b * LANES) = sum;
        }
}

/*
 * rows[t] += w[q][t] x[q] for NET_QUERIES queries, each for its own n[q], which ascend. Each row is read and written once for all
 * of them. The additions to a row are in the order of the queries, as if they came one by one.
 */
LOOP void LEVEL(spread_queries)(const size_t *n, size_t head_dim, const real *const *w, const real *const *x, real *rows)
{
    size_t d = 0;
    for (; d + BACKWARD_BLOCKS * LANES <= head_dim; d += BACKWARD_BLOCKS * LANES)
        LEVEL(spread_blocks)(BACKWARD_BLOCKS, n[0], head_dim, w, x, rows, d);
    for (; d + LANES <= head_dim; d += LANES)
        LEVEL(spread_blocks)(1, n[0], head_dim, w, x, rows, d);
    for (; d < head_dim; d++)
        for (size_t q = 0; q < NET_QUERIES; q++)
            for (size_t t = 0; t < n[0]; t++)
                rows[t * head_dim + d] += w[q][t] * x[q][d];
    for (size_t q = 1; q < NET_QUERIES; q++)
        LEVEL(spread)(n[0], n[q], head_dim, w[q], x[q], rows);
}

/*
 * scratch: vt [head_dim][pad], sums of dk and dv [pad][head_dim], ds [NET_QUERIES][pad]. The sums of dk and dv are first gathered in
 * compact rows, because in the packed gradient every query would read and write rows that are 3d apart.
 */
LEVEL_TARGET static void LEVEL(attend_head_backward)(const struct net_attentionf *a, size_t head, const real *p,
                                                     const real *d_out, real *dq, real *dk, real *dv, size_t d_stride,
                                                     real *scratch)
{
    size_t dh = a->head_dim, first = head * dh, size = dh * a->pad;
    real scale = 1 / real_sqrt((real)dh);
    real *vt = scratch, *k_sum = vt + size, *v_sum = k_sum + size, *ds = v_sum + size;
    transpose(a->n_keys, dh, a->v + first, a->v_stride, a->pad, vt);
    memset(k_sum, 0, 2 * size * sizeof *k_sum);
    for (size_t i = 0; i < a->n_queries;) {
        size_t queries = a->n_queries - i < NET_QUERIES ? 1 : NET_QUERIES, n[NET_QUERIES];
        const real *row[NET_QUERIES], *query[NET_QUERIES], *d_mix[NET_QUERIES], *d_scores[NET_QUERIES];
        real *own[NET_QUERIES], *d_query[NET_QUERIES];
        for (size_t q = 0; q < queries; q++, i++) {
            size_t at = (size_t)a->query[i];
            n[q] = at + 1;
            row[q] = p + (i * a->heads + head) * a->pad;
            query[q] = a->q + at * a->q_stride + first;
            d_mix[q] = d_out + i * a->heads * dh + first;
            d_scores[q] = own[q] = ds + q * a->pad;
            d_query[q] = dq + at * d_stride + first;
        }
        if (queries == NET_QUERIES)
            LEVEL(dots_of_queries)(1, NET_QUERIES, BACKWARD_BLOCKS, n[NET_QUERIES - 1], dh, d_mix, vt, a->pad, own);
        else
            LEVEL(dots_of_queries)(1, 1, BACKWARD_BLOCKS, n[0], dh, d_mix, vt, a->pad, own);
        for (size_t q = 0; q < queries; q++)
            LEVEL(softmax_backward)(n[q], scale, row[q], own[q]);
        if (queries == NET_QUERIES) {
            LEVEL(mix_of_queries)(1, NET_QUERIES, BACKWARD_BLOCKS, n, dh, d_scores, a->k + first, a->k_stride, d_query);
            LEVEL(spread_queries)(n, dh, d_scores, query, k_sum);
            LEVEL(spread_queries)(n, dh, row, d_mix, v_sum);
        } else {
            LEVEL(mix_of_queries)(1, 1, BACKWARD_BLOCKS, n, dh, d_scores, a->k + first, a->k_stride, d_query);
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
#undef TILE_BLOCKS
#undef MIX_BLOCKS
