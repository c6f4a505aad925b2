/* trainer_product.c: tests matrix products of the policy's shapes against sums in double, and against BLAS. */
#include "support/unit.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/level.h>

#include "support/rng.h"
#include "policy/product.h"

enum { SPARE = 5 }; /* extra elements between rows, which must not be written */

static float *random_floats(size_t n, uint64_t seed)
{
    struct trainer_rng rng = {seed};
    float *x = malloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(trainer_rng_uniform(&rng) - 0.5);
    return x;
}

/* A product, its factors, and the contents of c before the product. */
struct example {
    struct product x;
    float *a, *b, *c, *before;
    size_t size; /* number of elements of c */
};

static struct example example(bool transpose_a, bool transpose_b, bool add, size_t m, size_t n, size_t k)
{
    size_t a_rows = transpose_a ? k : m, b_rows = transpose_b ? n : k;
    struct example e = {.x = {.transpose_a = transpose_a,
                              .transpose_b = transpose_b,
                              .add = add,
                              .m = m,
                              .n = n,
                              .k = k,
                              .lda = (transpose_a ? m : k) + SPARE,
                              .ldb = (transpose_b ? k : n) + SPARE,
                              .ldc = n + SPARE},
                        .size = m * (n + SPARE)};
    e.x.a = e.a = random_floats(a_rows * e.x.lda, m + k);
    e.x.b = e.b = random_floats(b_rows * e.x.ldb, n + k);
    e.x.c = e.c = random_floats(e.size, n);
    e.before = malloc(e.size * sizeof *e.before);
    memcpy(e.before, e.c, e.size * sizeof *e.c);
    return e;
}

static void release(struct example *e)
{
    free(e->a);
    free(e->b);
    free(e->c);
    free(e->before);
}

static double exact(const struct example *e, size_t i, size_t j)
{
    const struct product *x = &e->x;
    double sum = x->add ? (double)e->before[i * x->ldc + j] : 0;
    for (size_t p = 0; p < x->k; p++)
        sum += (double)x->a[x->transpose_a ? p * x->lda + i : i * x->lda + p] *
               (double)x->b[x->transpose_b ? j * x->ldb + p : p * x->ldb + j];
    return sum;
}

static void assert_exact(const struct example *e)
{
    for (size_t i = 0; i < e->x.m; i++)
        for (size_t j = 0; j < e->x.ldc; j++) {
            double c = (double)e->c[i * e->x.ldc + j];
            double right = j < e->x.n ? exact(e, i, j) : (double)e->before[i * e->x.ldc + j];
            if (!(fabs(c - right) <= (j < e->x.n ? 2e-6 * sqrt((double)e->x.k) : 0)))
                fail_msg("%zu x %zu x %zu: [%zu][%zu] is %g, not %g", e->x.m, e->x.n, e->x.k, i, j, c, right);
        }
}

/* Returns true if the fast product runs on this machine: every machine with AVX2 or AVX-512 accepts this shape. */
static bool is_taken_here(void)
{
    struct example e = example(false, false, false, 600, 64, 64);
    bool taken = product_run(&e.x);
    release(&e);
    return taken;
}

/* The shapes are made of whole tiles, or leave remainders of rows, columns or parts of a sum. */
static void products_are_right(void **state)
{
    const size_t shapes[][3] = {{600, 192, 64}, {601, 64, 64},  {605, 80, 70},  {64, 192, 600},
                                {259, 64, 449}, {66, 16, 1000}, {64, 64, 1400}, {300, 112, 100}};
    (void)state;
    if (!is_taken_here())
        skip();
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int kind = 0; kind < 8; kind++) {
            struct example e = example(kind & 1, kind & 2, kind & 4, shapes[s][0], shapes[s][1], shapes[s][2]);
            bool turned_fits = !(kind & 2) || shapes[s][1] * shapes[s][2] <= 16384;
            assert_int_equal(product_run(&e.x), turned_fits);
            if (turned_fits)
                assert_exact(&e);
            else
                assert_memory_equal(e.c, e.before, e.size * sizeof *e.c);
            release(&e);
        }
}

/* Few rows: every remainder of a tile. BLAS has kernels of its own for them with AVX-512, but not with AVX2. */
static void few_rows_are_taken_with_avx2(void **state)
{
    bool avx2 = is_taken_here() && rl_level() == RL_LEVEL_AVX2;
    (void)state;
    for (size_t m = 1; m <= 16; m++) {
        struct example e = example(false, false, m & 1, m, 48, 64);
        assert_int_equal(product_run(&e.x), avx2);
        if (avx2)
            assert_exact(&e);
        release(&e);
    }
}

/* Long sums of transposed rows are multiplied from copies. A copied vector is longer than these rows, but must not be read beyond a. */
static void few_long_rows_are_right(void **state)
{
    (void)state;
    for (size_t m = 1; m <= 9; m++) {
        struct example e = example(true, false, m & 1, m, 80, 9000);
        free(e.a);
        e.x.lda = m;
        e.x.a = e.a = random_floats(e.x.k * m, m);
        if (product_run(&e.x))
            assert_exact(&e);
        release(&e);
    }
}

/* An element is added up in the same order with vectors of any length. */
static void every_level_gives_the_same_bits(void **state)
{
    (void)state;
    if (!is_taken_here() || rl_level_highest() < RL_LEVEL_AVX512)
        skip();
    const enum rl_level level = rl_level();
    for (int kind = 0; kind < 8; kind++) {
        struct example e = example(kind & 1, kind & 2, kind & 4, 605, 80, kind & 2 ? 70 : 1000);
        assert_int_equal(rl_level_use(RL_LEVEL_AVX2, NULL), RL_OK);
        assert_true(product_run(&e.x));
        float *avx2 = e.c;
        e.x.c = e.c = malloc(e.size * sizeof *e.c);
        memcpy(e.c, e.before, e.size * sizeof *e.c);
        assert_int_equal(rl_level_use(RL_LEVEL_AVX512, NULL), RL_OK);
        assert_true(product_run(&e.x));
        assert_memory_equal(e.c, avx2, e.size * sizeof *e.c);
        free(avx2);
        release(&e);
    }
    assert_int_equal(rl_level_use(level, NULL), RL_OK);
}

static void others_are_left_to_blas(void **state)
{
    const size_t shapes[][3] = {{600, 65, 64}, {600, 8, 640}, {1, 40, 64}};
    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        struct example e = example(false, false, false, shapes[s][0], shapes[s][1], shapes[s][2]);
        assert_false(product_run(&e.x));
        assert_memory_equal(e.c, e.before, e.size * sizeof *e.c);
        release(&e);
    }
}

/* Without optimisation, the compiler does not fuse multiply and add, so both are rounded. */
#ifdef NDEBUG
enum { FUSED = 1 };
#else
enum { FUSED = 0 };
#endif

/*
 * Sums must equal those of the OpenBLAS kernel for these machines. Other kernels add in another order, so the test is
 * skipped.
 */
static void sums_are_those_of_blas(void **state)
{
    const struct {
        bool transpose_a;
        size_t m, n, k;
    } shapes[] = {
        {false, 600, 192, 64}, {false, 500, 64, 256}, {true, 64, 192, 447}, {true, 64, 192, 700}, {true, 256, 64, 1300}};
    (void)state;
    openblas_set_num_threads(1); /* with several threads, sums would be split */
    if (!FUSED || !is_taken_here() || rl_level() != RL_LEVEL_AVX512 || strcmp(openblas_get_corename(), "SkylakeX") != 0 ||
        !strstr(openblas_get_config(), " 0.3.21 "))
        skip();
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        bool turned = shapes[s].transpose_a;
        struct example e = example(turned, false, turned, shapes[s].m, shapes[s].n, shapes[s].k);
        assert_true(product_run(&e.x));
        cblas_sgemm(CblasRowMajor, turned ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)e.x.m, (int)e.x.n, (int)e.x.k, 1, e.a,
                    (int)e.x.lda, e.b, (int)e.x.ldb, turned ? 1 : 0, e.before, (int)e.x.ldc);
        assert_memory_equal(e.c, e.before, e.size * sizeof *e.c);
        release(&e);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),      cmocka_unit_test(few_rows_are_taken_with_avx2),
        cmocka_unit_test(few_long_rows_are_right), cmocka_unit_test(every_level_gives_the_same_bits),
        cmocka_unit_test(others_are_left_to_blas), cmocka_unit_test(sums_are_those_of_blas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
