/*
 * product.c: see product.h. A tile of the result stays in registers while its sums are computed, and the factors are
 * read in place, without copies. Each sum is computed in the order of BLAS's own kernel for AVX-512, so that
 * training with either gives the same bits. BLAS's kernel for AVX2 has an order for each place in its tiles, which is
 * not imitated. The loops are in product_level.h.
 */
#include "policy/product.h"

#include "policy/precision.h"

#ifdef VECTOR_LEVELS

/*
 * Largest number of terms in a part of a sum, which is the depth of OpenBLAS's panels for AVX-512. As in OpenBLAS, a
 * remainder between one and two depths is cut in two.
 */
enum { DEPTH = 448, DEPTH_STEP = 16 };

static size_t part_of(size_t left)
{
    if (left >= 2 * DEPTH)
        return DEPTH;
    return left > DEPTH ? (left / 2 + DEPTH_STEP - 1) / DEPTH_STEP * DEPTH_STEP : left;
}

/* 32 registers of 64 bytes: 24 sums */
#define LEVEL(name) name##_avx512
#define LEVEL_TARGET __attribute__((target("avx512f,fma")))
#define LANES 16
#define ROWS 6
#define VECTORS 4
#include "policy/product_level.h"

/* 16 registers of 32 bytes: 12 sums */
#define LEVEL(name) name##_avx2
#define LEVEL_TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define ROWS 6
#define VECTORS 2
#include "policy/product_level.h"

/* Columns are taken in blocks of this size at every level. */
enum { BLOCK = 16 };

/* Transposes b [n][k] into to [k][n]. Each cache line of `to` is written completely, from BLOCK rows of b. */
static void transpose(const struct product *x, float *to)
{
    for (size_t j = 0; j < x->n; j += BLOCK)
        for (size_t p = 0; p < x->k; p++)
            for (size_t i = 0; i < BLOCK; i++)
                to[p * x->n + j + i] = x->b[(j + i) * x->ldb + p];
}

/* Largest b that is transposed, in numbers; the transposed copy is on the stack. */
enum { TRANSPOSED = 16384 };

/*
 * With AVX-512, BLAS has kernels without panels for small products, which are left to it. With AVX2 it has none, and takes
 * up to three times as long for a few rows. A transposed copy of b pays for itself only if there are more rows than that.
 */
static bool suits(const struct product *x)
{
    const enum rl_level level = rl_level();
    if (level < RL_LEVEL_AVX2 || x->n % BLOCK || (x->transpose_b && (x->n * x->k > TRANSPOSED || x->m < BLOCK)))
        return false;
    return level == RL_LEVEL_AVX2 || x->m * x->n * x->k > 1000000;
}

static void run_parts(const struct product *x)
{
    if (rl_level() == RL_LEVEL_AVX512)
        run_parts_avx512(x);
    else
        run_parts_avx2(x);
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
