/*
 * embed.c: token embeddings, rotary positions, and the small loops between matrix products.
 *
 * The second embedding, that of the previous token, replaces a look-up that the first layer would otherwise have to
 * learn before the second layer can match "relation, entity" (induction heads, arXiv 2209.11895). Rotary positions
 * (arXiv 2104.09864) rotate the two halves of a head against each other and not neighbouring pairs, because halves are
 * contiguous.
 */
#include "policy/kernels.h"

HOT_EXTERN_VOID(net_embedf,
                (size_t n, size_t d, const int32_t *tokens, const int32_t *before, const real *embedding, const real *previous,
                 real *restrict x),
                (n, d, tokens, before, embedding, previous, x))
{
    for (size_t i = 0; i < n; i++, x += d) {
        const real *e = embedding + (size_t)tokens[i] * d;
        for (size_t j = 0; j < d; j++)
            x[j] = e[j];
        const real *b = previous ? previous + (size_t)before[i] * d : NULL;
        for (size_t j = 0; b && j < d; j++)
            x[j] += b[j];
    }
}

/*
 * Several tokens of a pack may be equal and add to the same row, so rows are added one after another, never in
 * parallel.
 */
HOT_VOID(scatter, (size_t n, size_t d, const int32_t *tokens, const real *restrict dx, real *restrict table),
         (n, d, tokens, dx, table))
{
    for (size_t i = 0; i < n; i++, dx += d) {
        real *row = table + (size_t)tokens[i] * d;
        for (size_t j = 0; j < d; j++)
            row[j] += dx[j];
    }
}

void net_embed_backwardf(size_t n, size_t d, const int32_t *tokens, const int32_t *before, const real *dx, real *d_embedding,
                         real *d_previous)
{
    scatter(n, d, tokens, dx, d_embedding);
    if (d_previous)
        scatter(n, d, before, dx, d_previous);
}

/* Angles are in double, because in float they lose digits as positions grow. */
void net_rope_tablef(size_t max, size_t head_dim, double base, real *table)
{
    size_t half = head_dim / 2;
    for (size_t t = 0; t < max; t++)
        for (size_t j = 0; j < half; j++) {
            double angle = (double)t * pow(base, -(double)j / (double)half);
            table[t * head_dim + j] = (real)cos(angle);
            table[t * head_dim + half + j] = (real)sin(angle);
        }
}

HOT_EXTERN_VOID(net_ropef,
                (size_t n, const int32_t *position, size_t heads, size_t head_dim, const real *table, real direction, real *x,
                 size_t stride),
                (n, position, heads, head_dim, table, direction, x, stride))
{
    size_t half = head_dim / 2;
    for (size_t i = 0; i < n; i++) {
        const real *restrict c = table + (size_t)position[i] * head_dim, *restrict s = c + half;
        for (size_t h = 0; h < heads; h++) {
            real *restrict a = x + i * stride + h * head_dim, *restrict b = a + half;
            for (size_t j = 0; j < half; j++) {
                real low = a[j], high = b[j], sine = direction * s[j];
                a[j] = low * c[j] - high * sine;
                b[j] = low * sine + high * c[j];
            }
        }
    }
}

HOT_EXTERN_VOID(net_reluf, (size_t n, real *u), (n, u))
{
    for (size_t i = 0; i < n; i++)
        u[i] = u[i] < 0 ? 0 : u[i];
}

HOT_EXTERN_VOID(net_relu_backwardf, (size_t n, const real *restrict u, real *restrict du), (n, u, du))
{
    for (size_t i = 0; i < n; i++)
        du[i] = u[i] > 0 ? du[i] : 0;
}

HOT_EXTERN_VOID(net_addf, (size_t n, const real *restrict y, real *restrict x), (n, y, x))
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}
