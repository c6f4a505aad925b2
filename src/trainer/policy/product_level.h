/*
 * product_level.h: the loops of matrix products for one vector level. product.c includes this file once per level, because the
 * width of a vector is part of its type. It has no include guard.
 *
 *   LEVEL(name)     the name of a function of this level
 *   LEVEL_TARGET    the attribute that lets the compiler use the level's instructions
 *   LANES           floats of a vector register
 *   ROWS, VECTORS   a tile: its sums, VECTORS vectors of b and one number of a are held in registers at the same time
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
LOOP void LEVEL(tile)(size_t rows, size_t vectors, size_t k, const float *a, size_t a_row, size_t a_step, const float *b, size_t ldb,
                      float *c, size_t ldc, bool add)
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
 * Computes all rows of `vectors` vectors of columns of the result. Seven or eight last rows are taken as four and the rest, because
 * one or two rows alone have too few sums: each addition would wait for the previous one.
 */
LOOP void LEVEL(column)(size_t vectors, const struct product *x, size_t k, const float *a, const float *b, float *c, bool add)
{
    const size_t a_row = x->transpose_a ? 1 : x->lda, step = x->transpose_a ? x->lda : 1;
    for (size_t i = 0, rows = 0; i < x->m; i += rows) {
        const size_t left = x->m - i;
        const float *from = a + i * a_row;
        float *to = c + i * x->ldc;
        rows = left == 7 || left == 8 ? 4 : left < ROWS ? left : ROWS;
        switch (rows) {
        case 1: LEVEL(tile)(1, vectors, k, from, a_row, step, b, x->ldb, to, x->ldc, add); break;
        case 2: LEVEL(tile)(2, vectors, k, from, a_row, step, b, x->ldb, to, x->ldc, add); break;
        case 3: LEVEL(tile)(3, vectors, k, from, a_row, step, b, x->ldb, to, x->ldc, add); break;
        case 4: LEVEL(tile)(4, vectors, k, from, a_row, step, b, x->ldb, to, x->ldc, add); break;
        case 5: LEVEL(tile)(5, vectors, k, from, a_row, step, b, x->ldb, to, x->ldc, add); break;
        default: LEVEL(tile)(ROWS, vectors, k, from, a_row, step, b, x->ldb, to, x->ldc, add);
        }
    }
}

LEVEL_TARGET static void LEVEL(part)(const struct product *x, size_t k, const float *a, const float *b, bool add)
{
    size_t j = 0;
    for (; j + VECTORS * LANES <= x->n; j += VECTORS * LANES)
        LEVEL(column)(VECTORS, x, k, a, b + j, x->c + j, add);
    for (; j < x->n; j += LANES)
        LEVEL(column)(1, x, k, a, b + j, x->c + j, add);
}

static void LEVEL(run_parts)(const struct product *x)
{
    for (size_t first = 0, k; first < x->k; first += k) {
        k = part_of(x->k - first);
        LEVEL(part)(x, k, x->a + first * (x->transpose_a ? x->lda : 1), x->b + first * x->ldb, x->add || first > 0);
    }
}

#undef VEC
#undef LOOP
#undef LEVEL
#undef LEVEL_TARGET
#undef LANES
#undef ROWS
#undef VECTORS
