/*
 * product.c: see product.h. A tile of the result stays in registers while its sums are computed, and the factors are
 * read in place, without copies. Each sum is computed in the order of BLAS's own kernel for AVX-512, so that
 * training with either gives the same bits. BLAS's kernel for AVX2 has an order for each place in its tiles, which is
 * not imitated. The loops are in product_level.h.
 */
#include "policy/product.h"

#include "policy/transpose.h"

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

/*
 * Seven or eight last rows are taken as four and the rest, because one or two rows alone have too few sums: each addition would wait for
 * the previous one.
 */
static size_t rows_of_block(size_t left, size_t most)
{
    return left == 7 || left == 8 ? 4 : left < most ? left : most;
}

/* Columns are taken in blocks of BLOCK at every level. At most GROUP rows of a transposed a are copied at a time. */
enum { BLOCK = 16, GROUP = 96 };

/*
 * to [k][width] = b transposed, whose rows are ldb apart; width is a multiple of BLOCK. A cache line of the copy is written at once.
 * Not inlined, because gcc's transposition with wider vectors spills.
 */
__attribute__((noinline)) static void transpose_columns(size_t width, size_t k, const float *b, size_t ldb, float *to)
{
    const size_t whole = k / 4 * 4;
    for (size_t j = 0; j < width; j += BLOCK) {
        for (size_t p = 0; p < whole; p += 4)
            for (size_t i = j; i < j + BLOCK; i += 4)
                transpose_four(b + i * ldb + p, ldb, to + p * width + i, width);
        for (size_t p = whole; p < k; p++)
            for (size_t i = j; i < j + BLOCK; i++)
                to[p * width + i] = b[i * ldb + p];
    }
}

/* Below this size, or with fewer columns, copying takes longer than it saves (measured with AVX2). */
static bool gains_from_copies(const struct product *x)
{
    return x->n > 64 && x->m * x->k > 8192;
}

/* 32 registers of 64 bytes: 24 sums */
#define LEVEL(name) name##_avx512
#define LEVEL_TARGET __attribute__((target("avx512f,fma")))
#define LANES 16
#define ROWS 6
#define VECTORS 4
#define PACKS 0
#include "policy/product_level.h"

/* 16 registers of 32 bytes: 12 sums */
#define LEVEL(name) name##_avx2
#define LEVEL_TARGET __attribute__((target("avx2,fma")))
#define LANES 8
#define ROWS 6
#define VECTORS 2
#define PACKS 1
#include "policy/product_level.h"

/* Largest b that is transposed, in numbers. BLAS is as fast for a larger b. */
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

bool product_run(const struct product *x)
{
    if (!suits(x))
        return false;
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
