/*
 * product.c: see product.h. A tile of the result stays in registers while its sums are computed, and the factors are
 * read in place, without copies. Each sum is computed in the order of BLAS's own kernel for these machines, so that
 * training with either gives the same bits.
 */
#include "policy/product.h"

#include "policy/precision.h"

#ifdef VECTOR_LEVELS

#define WIDE __attribute__((target("avx512f,fma")))

/* 24 accumulators, 4 vectors of b and one number of a are held in registers at the same time. */
enum { LANES = 16, ROWS = 6, VECTORS = 4 };

typedef float vec
    __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

/*
 * Largest number of terms in a part of a sum, which is the depth of OpenBLAS's panels. As in OpenBLAS, a remainder
 * between one and two depths is cut in two.
 */
enum { DEPTH = 448 };

static size_t part_of(size_t left)
{
    if (left >= 2 * DEPTH)
        return DEPTH;
    return left > DEPTH ? (left / 2 + LANES - 1) / LANES * LANES : left;
}

/*
 * Multiplies a [rows][k], read with strides a_row and a_step, by b [k][vectors * LANES]. rows and vectors are constants
 * in every inlined copy.
 */
WIDE static TRAINER_INLINE void tile(size_t rows, size_t vectors, size_t k, const float *a,
                                     size_t a_row, size_t a_step, const float *b, size_t ldb,
                                     float *c, size_t ldc, bool add)
{
    vec sum[ROWS][VECTORS] = {{{0}}};
    for (size_t p = 0; p < k; p++, a += a_step, b += ldb)
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < vectors; j++)
                sum[i][j] += a[i * a_row] * *(const vec *)(b + j * LANES);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < vectors; j++) {
            vec *to = (vec *)(c + i * ldc + j * LANES);
            if (add)
                *to += sum[i][j];
            else
                *to = sum[i][j];
        }
}

/* Computes all rows of `vectors` vectors of columns of the result. */
WIDE static TRAINER_INLINE void column(size_t vectors, const struct product *x, size_t k,
                                       const float *a, const float *b, float *c, bool add)
{
    size_t row = x->transpose_a ? 1 : x->lda, step = x->transpose_a ? x->lda : 1, i = 0;
    for (; i + ROWS <= x->m; i += ROWS)
        tile(ROWS, vectors, k, a + i * row, row, step, b, x->ldb, c + i * x->ldc, x->ldc, add);
    for (; i + 4 <= x->m; i += 4)
        tile(4, vectors, k, a + i * row, row, step, b, x->ldb, c + i * x->ldc, x->ldc, add);
    for (; i < x->m; i++)
        tile(1, vectors, k, a + i * row, row, step, b, x->ldb, c + i * x->ldc, x->ldc, add);
}

WIDE static void part(const struct product *x, size_t k, const float *a, const float *b, bool add)
{
    size_t j = 0;
    for (; j + VECTORS * LANES <= x->n; j += VECTORS * LANES)
        column(VECTORS, x, k, a, b + j, x->c + j, add);
    for (; j < x->n; j += LANES)
        column(1, x, k, a, b + j, x->c + j, add);
}

/* Transposes b [n][k] into to [k][n]. Each cache line of `to` is written completely, from LANES rows of b. */
static void transpose(const struct product *x, float *to)
{
    for (size_t j = 0; j < x->n; j += LANES)
        for (size_t p = 0; p < x->k; p++)
            for (size_t i = 0; i < LANES; i++)
                to[p * x->n + j + i] = x->b[(j + i) * x->ldb + p];
}

/* Largest b that is transposed, in numbers; the transposed copy is on the stack. */
enum { TRANSPOSED = 16384 };

/* Small products are left to BLAS, which has kernels without panels for them. */
static bool suits(const struct product *x)
{
    return x->n % LANES == 0 && x->m * x->n * x->k > 1000000 &&
           (!x->transpose_b || x->n * x->k <= TRANSPOSED) && rl_level() == RL_LEVEL_AVX512;
}

static void run_parts(const struct product *x)
{
    for (size_t first = 0, k; first < x->k; first += k) {
        k = part_of(x->k - first);
        part(x, k, x->a + first * (x->transpose_a ? x->lda : 1), x->b + first * x->ldb,
             x->add || first > 0);
    }
}

static void run_transposed(struct product x)
{
    float b[TRANSPOSED];
    transpose(&x, b);
    x.b = b;
    x.ldb = x.n;
    run_parts(&x);
}

bool product_run(const struct product *x)
{
    if (!suits(x))
        return false;
    if (x->transpose_b)
        run_transposed(*x);
    else
        run_parts(x);
    return true;
}

#else

bool product_run(const struct product *x)
{
    (void)x;
    return false;
}

#endif
