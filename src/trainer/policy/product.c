/*
 * product.c: see product.h. A tile of the result stays in registers while its sums are taken, from
 * factors that are read where they lie. Each sum is taken in the order of BLAS's own kernel for these
 * machines, so that a policy trained with either is the same to the bit.
 */
#include "policy/product.h"

#include "policy/precision.h"

#ifdef VECTOR_LEVELS

#define WIDE __attribute__((target("avx512f,fma")))

/* 24 accumulators, 4 vectors of b and one number of a are in registers at a time. */
enum { LANES = 16, ROWS = 6, VECTORS = 4 };

typedef float vec
    __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

/* Terms of a part of a sum: as many as OpenBLAS keeps of a panel, more are cut in two. */
enum { DEPTH = 448 };

static size_t part_of(size_t left)
{
    if (left >= 2 * DEPTH)
        return DEPTH;
    return left > DEPTH ? (left / 2 + LANES - 1) / LANES * LANES : left;
}

/* a [rows][k] by its steps, b [k][vectors * LANES]; rows and vectors are constants where it is inlined. */
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

/* All rows of `vectors` columns of the result. */
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

/* to [k][n] of b [n][k]: lines are written whole, and read from as many rows as a line has numbers. */
static void transpose(const struct product *x, float *to)
{
    for (size_t j = 0; j < x->n; j += LANES)
        for (size_t p = 0; p < x->k; p++)
            for (size_t i = 0; i < LANES; i++)
                to[p * x->n + j + i] = x->b[(j + i) * x->ldb + p];
}

/* Numbers of a b that is transposed, which is done on the stack. */
enum { TRANSPOSED = 16384 };

/* Small ones are left to BLAS, which has kernels without panels for them. */
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
