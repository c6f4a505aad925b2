/* trainer_optimizer.c: tests AdamW against arithmetic, and properties of a step of Muon. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/small_recipe.h"
#include "learn/optimizers.h"

static void adamw_takes_the_steps_of_its_definition(void **state)
{
    (void)state;
    float m[2] = {0}, v[2] = {0}, params[2] = {1, -2};
    const float gradient[2] = {0.5f, -4};
    struct adamw adam = {2, m, v, 0, 0.9, 0.95, 1e-8, 0.1};
    double p[2] = {1, -2}, m1[2] = {0}, v1[2] = {0};
    for (int t = 1; t <= 3; t++) {
        adamw_begin(&adam);
        adamw_step(&adam, 0, 2, 0.01, 0.5, gradient, params);
        for (int i = 0; i < 2; i++) {
            double g = 0.5 * (double)gradient[i];
            m1[i] = 0.9 * m1[i] + 0.1 * g;
            v1[i] = 0.95 * v1[i] + 0.05 * g * g;
            double moved = m1[i] / (1 - pow(0.9, t)) / (sqrt(v1[i] / (1 - pow(0.95, t))) + 1e-8);
            p[i] -= 0.01 * (moved + 0.1 * p[i]);
            assert_near((double)params[i], p[i], 1e-6);
        }
    }
}

static void adamw_leaves_parameters_out_of_range_alone(void **state)
{
    (void)state;
    float m[3] = {0}, v[3] = {0}, params[3] = {1, 1, 1};
    const float gradient[3] = {1, 1, 1};
    struct adamw adam = {3, m, v, 0, 0.9, 0.95, 1e-8, 0};
    adamw_begin(&adam);
    adamw_step(&adam, 1, 1, 0.1, 1, gradient, params);
    assert_near((double)params[0], 1, 0);
    assert_near((double)params[1], 0.9, 1e-6);
    assert_near((double)params[2], 1, 0);
}

static void a_norm_is_the_root_of_the_sum_of_squares(void **state)
{
    (void)state;
    float x[10000];
    for (size_t i = 0; i < 10000; i++)
        x[i] = 0.01f * (float)(i % 7);
    double sum = 0;
    for (size_t i = 0; i < 10000; i++)
        sum += (double)x[i] * (double)x[i];
    assert_near(adamw_norm(10000, x), sqrt(sum), 1e-5);
}

enum { ROWS = 6, COLUMNS = 15, STRIDE = 18 };

/* Takes one Muon step of rate 1 with a gradient whose singular values differ greatly. */
static void step_once(size_t rows, size_t columns, float *params)
{
    float gradient[COLUMNS * STRIDE] = {0}, momentum[COLUMNS * STRIDE] = {0};
    float *scratch = calloc(muon_scratch(rows, columns), sizeof *scratch);
    struct muon_matrix matrix = {rows, columns, STRIDE, gradient, momentum, params};
    uint32_t bits = 7;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            bits = bits * 1664525u + 1013904223u;
            gradient[i * STRIDE + j] = ((float)(bits >> 8) / 0x1p24f - 0.5f) * (float)(1 + 3 * (rows < columns ? i : j));
        }
    muon_step(&matrix, 1, 1, scratch);
    free(scratch);
}

/* The rows of a wide step, or the columns of a tall one, are nearly orthonormal, whatever the gradient's scale. */
static void muon_moves_all_directions_alike(void **state)
{
    (void)state;
    float wide[ROWS * STRIDE] = {0};
    step_once(ROWS, COLUMNS, wide);
    for (size_t a = 0; a < ROWS; a++)
        for (size_t b = 0; b < ROWS; b++) {
            double dot = 0;
            for (size_t j = 0; j < COLUMNS; j++)
                dot += (double)wide[a * STRIDE + j] * (double)wide[b * STRIDE + j];
            assert_near(dot, a == b, 0.45);
        }
    for (size_t j = COLUMNS; j < STRIDE; j++)
        assert_near((double)wide[j], 0, 0);
}

/* A step of a tall matrix is larger, by the factor sqrt(rows / columns). */
static void muon_scales_tall_matrices(void **state)
{
    (void)state;
    float tall[COLUMNS * STRIDE] = {0};
    double sum = 0;
    step_once(COLUMNS, ROWS, tall);
    for (size_t i = 0; i < COLUMNS; i++)
        for (size_t j = 0; j < ROWS; j++)
            sum += (double)tall[i * STRIDE + j] * (double)tall[i * STRIDE + j];
    assert_true(sum > 0.5 * COLUMNS && sum < 1.5 * COLUMNS);
}

static void muon_ignores_the_size_of_the_gradient(void **state)
{
    (void)state;
    const float gradient[4] = {1, 2, -3, 0.5f}, small[4] = {1e-3f, 2e-3f, -3e-3f, 5e-4f};
    float moved[2][4] = {{0}}, momentum[2][4] = {{0}}, scratch[16];
    struct muon_matrix a = {2, 2, 2, gradient, momentum[0], moved[0]};
    struct muon_matrix b = {2, 2, 2, small, momentum[1], moved[1]};
    assert_int_equal(muon_scratch(2, 2), 16);
    muon_step(&a, 0.1, 0.5, scratch);
    muon_step(&b, 0.1, 0.5, scratch);
    for (size_t i = 0; i < 4; i++) {
        assert_near((double)moved[0][i], (double)moved[1][i], 1e-4);
        assert_near((double)momentum[0][i], 0.5 * (double)gradient[i], 1e-6);
        assert_true((double)moved[0][i] * (double)gradient[i] < 0);
    }
}

static void a_norm_that_is_not_finite_is_seen(void **state)
{
    (void)state;
    float x[5000] = {0};
    x[4999] = INFINITY;
    assert_true(!isfinite(adamw_norm(5000, x)));
    x[4999] = NAN;
    assert_true(!isfinite(adamw_norm(5000, x)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adamw_takes_the_steps_of_its_definition),
        cmocka_unit_test(adamw_leaves_parameters_out_of_range_alone),
        cmocka_unit_test(a_norm_is_the_root_of_the_sum_of_squares),
        cmocka_unit_test(muon_moves_all_directions_alike),
        cmocka_unit_test(muon_scales_tall_matrices),
        cmocka_unit_test(muon_ignores_the_size_of_the_gradient),
        cmocka_unit_test(a_norm_that_is_not_finite_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
