/*
 * product_level.h: the loops of matrix products for one vector level. product.c includes this file once per level, because the
 * width of a vector is part of its type. It has no include guard.
 *
 *   LEVEL(name)     the name of a function of this level
 *   LEVEL_TARGET    the attribute that lets the compiler use the level's instructions
 *   LANES           floats of a vector register
 *   ROWS, VECTORS   a tile: its sums, VECTORS vectors of b and one number of a are held in registers at the same time
 *   PACKS           1 if large products are faster from copies of a and b (packed_part)
 *
 * Each element of a result is added up in the same order at every level.
 */
#define VEC LEVEL(product_vec)
#define LOOP LEVEL_TARGET TRAINER_INLINE static

typedef float VEC __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

/*
 * Multiplies a [rows][k], read with strides a_row and a_step, by b [k][vectors * LANES]. rows and vectors are constants
 * in every inlined copy.
 */
LOOP void LEVEL(tile)(size_t rows, size_t vectors, size_t k, const float *a, size_t a_row, size_t a_step, const float *b,
                      size_t ldb, float *c, size_t ldc, bool add)
{
    VEC sum[ROWS][VECTORS] = {{{0}}};
    for (size_t p = 0; p < k; p++, a += a_step, b += ldb)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < vectors; j++)
                sum[i][j] += a[i * a_row] * *(const VEC *)(b + j * LANES);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < vectors; j++) {
            VEC *to = (VEC *)(c + i * ldc + j * LANES);
            if (add)
                *to += sum[i][j];
            else
                *to = sum[i][j];
        }
}

/*
 * Computes m rows of `vectors` vectors of columns of the result. Row i of a begins at a + i * a_row; its numbers are a_step apart. If a
 * is packed, each block of rows is stored as [k][rows of the block], block after block.
 */
LOOP void LEVEL(column)(size_t vectors, size_t m, size_t k, const float *a, size_t a_row, size_t a_step, bool packed,
                        const float *b, size_t ldb, float *c, size_t ldc, bool add)
{
    for (size_t i = 0, rows = 0; i < m; i += rows) {
        rows = rows_of_block(m - i, ROWS);
        const float *from = a + i * (packed ? k : a_row);
        const size_t row = packed ? 1 : a_row, step = packed ? rows : a_step;
        float *to = c + i * ldc;
        switch (rows) {
        case 1: LEVEL(tile)(1, vectors, k, from, row, step, b, ldb, to, ldc, add); break;
        case 2: LEVEL(tile)(2, vectors, k, from, row, step, b, ldb, to, ldc, add); break;
        case 3: LEVEL(tile)(3, vectors, k, from, row, step, b, ldb, to, ldc, add); break;
        case 4: LEVEL(tile)(4, vectors, k, from, row, step, b, ldb, to, ldc, add); break;
        case 5: LEVEL(tile)(5, vectors, k, from, row, step, b, ldb, to, ldc, add); break;
        default: LEVEL(tile)(ROWS, vectors, k, from, row, step, b, ldb, to, ldc, add);
        }
    }
}

LEVEL_TARGET static void LEVEL(part)(const struct product *x, size_t k, const float *a, const float *b, bool add)
{
    const size_t row = x->transpose_a ? 1 : x->lda, step = x->transpose_a ? x->lda : 1;
    size_t j = 0;
    for (; j + VECTORS * LANES <= x->n; j += VECTORS * LANES)
        LEVEL(column)(VECTORS, x->m, k, a, row, step, false, b + j, x->ldb, x->c + j, x->ldc, add);
    for (; j < x->n; j += LANES)
        LEVEL(column)(1, x->m, k, a, row, step, false, b + j, x->ldb, x->c + j, x->ldc, add);
}

/* to = a copy of `vectors` vectors of columns of op(b). */
LOOP void LEVEL(copy_columns)(size_t vectors, const struct product *x, size_t k, const float *b, float *to)
{
    if (x->transpose_b)
        transpose_columns(vectors * LANES, k, b, x->ldb, to);
    else
        for (size_t p = 0; p < k; p++)
            for (size_t j = 0; j < vectors; j++)
                *(VEC *)(to + (p * vectors + j) * LANES) = *(const VEC *)(b + p * x->ldb + j * LANES);
}

/*
 * The next two functions do the same as part(), from copies of the columns of b: rows of b that are a multiple of 256 bytes apart
 * share few sets of the cache. They are not inlined, because their arrays would otherwise be pages of the stack for every product.
 */
LEVEL_TARGET __attribute__((noinline)) static void LEVEL(copied_part)(const struct product *x, size_t k, const float *a,
                                                                      const float *b, bool add)
{
    _Alignas(64) float columns[DEPTH * VECTORS * LANES];
    const size_t row = x->transpose_a ? 1 : x->lda, step = x->transpose_a ? x->lda : 1, b_column = x->transpose_b ? x->ldb : 1;
    size_t j = 0;
    for (; j + VECTORS * LANES <= x->n; j += VECTORS * LANES) {
        LEVEL(copy_columns)(VECTORS, x, k, b + j * b_column, columns);
        LEVEL(column)(VECTORS, x->m, k, a, row, step, false, columns, VECTORS * LANES, x->c + j, x->ldc, add);
    }
    for (; j < x->n; j += LANES) {
        LEVEL(copy_columns)(1, x, k, b + j * b_column, columns);
        LEVEL(column)(1, x->m, k, a, row, step, false, columns, LANES, x->c + j, x->ldc, add);
    }
}

#if PACKS
/*
 * Copies m rows of a transposed a, k numbers each, block after block. A copied vector has more numbers than a block has rows; the next
 * copy overwrites the surplus. Where a vector would reach beyond the last number of the block, numbers are copied one by one.
 */
LOOP void LEVEL(pack_rows)(size_t m, size_t k, const float *a, size_t lda, float *to)
{
    for (size_t i = 0, rows = 0; i < m; i += rows, a += rows) {
        rows = rows_of_block(m - i, ROWS);
        const size_t end = (k - 1) * lda + rows;
        size_t p = 0;
        for (; p < k && p * lda + LANES <= end; p++, to += rows)
            *(VEC *)to = *(const VEC *)(a + p * lda);
        for (; p < k; p++, to += rows)
            for (size_t j = 0; j < rows; j++)
                to[j] = a[p * lda + j];
    }
}

/* The rows of a transposed a are copied, too, because a tile uses only a part of each of their cache lines. */
LEVEL_TARGET __attribute__((noinline)) static void LEVEL(packed_part)(const struct product *x, size_t k, const float *a,
                                                                      const float *b, bool add)
{
    _Alignas(64) float columns[DEPTH * VECTORS * LANES];
    _Alignas(64) float rows[DEPTH * GROUP + LANES];
    for (size_t i = 0; i < x->m; i += GROUP) {
        const size_t m = x->m - i < GROUP ? x->m - i : GROUP;
        float *c = x->c + i * x->ldc;
        LEVEL(pack_rows)(m, k, a + i, x->lda, rows);
        for (size_t j = 0; j < x->n; j += VECTORS * LANES) {
            LEVEL(copy_columns)(VECTORS, x, k, b + j, columns);
            LEVEL(column)(VECTORS, m, k, rows, 1, 0, true, columns, VECTORS * LANES, c + j, x->ldc, add);
        }
    }
}
#endif

static void LEVEL(run_parts)(const struct product *x)
{
    void (*part)(const struct product *, size_t, const float *, const float *, bool) =
        x->transpose_b || (PACKS && gains_from_copies(x)) ? LEVEL(copied_part) : LEVEL(part);
#if PACKS
    if (x->transpose_a && !x->transpose_b && part == LEVEL(copied_part))
        part = LEVEL(packed_part);
#endif
    for (size_t first = 0, k; first < x->k; first += k) {
        k = part_of(x->k - first);
        part(x, k, x->a + first * (x->transpose_a ? x->lda : 1), x->b + first * (x->transpose_b ? 1 : x->ldb),
             x->add || first > 0);
    }
}

#undef VEC
#undef LOOP
#undef LEVEL
#undef LEVEL_TARGET
#undef LANES
#undef ROWS
#undef VECTORS
#undef PACKS
