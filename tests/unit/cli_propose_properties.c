/*
 * Tests properties that every proposal of every method has, on spaces and pasts drawn at random: values inside their ranges,
 * whole numbers and choices exact, no values where a condition does not hold, no setting twice while there are new ones, the
 * same bytes for the same past. Then what the Gaussian process learns from noise, failures and other contexts.
 */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "propose/gaussian.h"
#include "propose/gp.h"
#include "propose/propose_problem.h"
#include "propose/propose.h"
#include "propose/propose_math.h"
#include "propose/propose_space.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

enum { RANGES = 5, NIGHT = 40 };

/* ---- spaces at random ---- */

static const double first_values[] = {0, 2};

/* Conditions name the last range, which comes after all that depend on it, or a range that has a condition itself. */
static void draw_space(struct propose_range *ranges, struct propose_stream *stream)
{
    static const char *const names[RANGES] = {"a", "b", "c", "d", "e"};
    for (size_t i = 0; i < RANGES; i++) {
        enum propose_scale scale = i == RANGES - 1 ? PROPOSE_CHOICE : (enum propose_scale)(propose_uniform(stream) * 5);
        double low = scale == PROPOSE_LOG || scale == PROPOSE_LOG_INTEGER ? 1 : -3;
        ranges[i] = (struct propose_range){.name = names[i], .scale = scale, .low = low, .high = low + 7};
        if (scale == PROPOSE_CHOICE)
            ranges[i] = (struct propose_range){.name = names[i], .scale = scale, .high = 3, .n_choices = 4};
    }
    for (size_t i = 0; i < 2; i++)
        if (propose_uniform(stream) < 0.7)
            ranges[i].condition = (struct propose_condition){true, RANGES - 1, first_values, LENGTH(first_values), 0, 0};
    if (propose_uniform(stream) < 0.5)
        ranges[2].condition = (struct propose_condition){true, 0, NULL, 0, -1, 3};
}

static void draw_end(struct propose_trial *trial, struct propose_stream *stream)
{
    double u = propose_uniform(stream);
    trial->end = u < 0.7 ? PROPOSE_MEASURED : u < 0.85 ? PROPOSE_FAILED : u < 0.95 ? PROPOSE_RUNNING : PROPOSE_UNRELATED;
    trial->score = propose_normal(stream);
    trial->weight = u < 0.8 ? 0.5 : 0;
    trial->differs = propose_uniform(stream) < 0.2 ? 1 : 0;
    trial->context = trial->differs ? 7 : 0;
}

static void check_setting(const struct propose_problem *problem, const double *x)
{
    for (size_t i = 0; i < problem->n_ranges; i++) {
        const struct propose_range *range = &problem->ranges[i];
        bool active = propose_is_active(problem->ranges, x, i);
        assert_true(active ? propose_holds(range, x[i]) : x[i] == range->low);
    }
    assert_int_equal(propose_find(problem, x, 0), problem->n_past);
}

static void proposals_keep_to_the_space(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 12; seed++)
        for (int method = 0; method < PROPOSE_N_METHODS; method++) {
            struct propose_stream stream = propose_stream_of(seed, 1, 0);
            struct propose_range ranges[RANGES];
            struct propose_trial past[NIGHT] = {{.score = 0}};
            struct propose_problem problem = {.ranges = ranges, .n_ranges = RANGES, .past = past, .seed = seed};
            draw_space(ranges, &stream);
            for (; problem.n_past < NIGHT; problem.n_past++) {
                double again[RANGES];
                struct propose_trial *trial = &past[problem.n_past];
                enum propose_answer answer = propose_next(trial->x, &problem, (enum propose_method)method);
                assert_int_equal(propose_next(again, &problem, (enum propose_method)method), answer);
                if (answer == PROPOSE_EXHAUSTED && method == PROPOSE_GRID)
                    break;
                assert_int_equal(answer, PROPOSE_OK);
                assert_memory_equal(again, trial->x, sizeof again);
                check_setting(&problem, trial->x);
                draw_end(trial, &stream);
            }
        }
}

/* ---- conditions ---- */

/* o has 3 values; m, 1 to 4, only with the first; k, 0 or 1, only where m is 2 to 3. There are 8 settings: the
 * first with m 1 or 4, the first with m 2 or 3 and two values of k each, and the two other values of o. */
static void every_conditional_setting_once(void **state)
{
    (void)state;
    static const double first[] = {0};
    const struct propose_range ranges[] = {
        {.name = "k", .scale = PROPOSE_INTEGER, .low = 0, .high = 1, .condition = {true, 1, NULL, 0, 2, 3}},
        {.name = "m", .scale = PROPOSE_INTEGER, .low = 1, .high = 4, .condition = {true, 2, first, 1, 0, 0}},
        {.name = "o", .scale = PROPOSE_CHOICE, .high = 2, .n_choices = 3},
    };
    for (int method = 0; method < PROPOSE_N_METHODS; method++) {
        struct propose_trial past[16] = {{.score = 0}};
        struct propose_problem problem = {.ranges = ranges, .n_ranges = 3, .past = past, .seed = 3};
        for (; problem.n_past < 8; problem.n_past++) {
            struct propose_trial *trial = &past[problem.n_past];
            assert_int_equal(propose_next(trial->x, &problem, (enum propose_method)method), PROPOSE_OK);
            check_setting(&problem, trial->x);
            trial->score = trial->x[1];
        }
        double x[3];
        assert_int_equal(propose_next(x, &problem, (enum propose_method)method), PROPOSE_EXHAUSTED);
    }
}

/* Of 30000 settings only those of the first value have a range of any number, which draws rarely find. */
static void a_rare_condition_leaves_new_settings(void **state)
{
    (void)state;
    static const double first[] = {0};
    const struct propose_range ranges[] = {
        {.name = "m", .scale = PROPOSE_LINEAR, .low = 0, .high = 1, .condition = {true, 1, first, 1, 0, 0}},
        {.name = "o", .scale = PROPOSE_INTEGER, .low = 0, .high = 29},
    };
    struct propose_trial past[64] = {{.score = 0}};
    struct propose_problem problem = {.ranges = ranges, .n_ranges = 2, .past = past, .seed = 1};
    for (size_t i = 1; i < 30; i++)
        past[problem.n_past++] = (struct propose_trial){.x = {0, (double)i}, .score = (double)i};
    for (int method = 0; method < PROPOSE_N_METHODS; method++) {
        double x[2];
        assert_int_equal(propose_next(x, &problem, (enum propose_method)method), PROPOSE_OK);
        assert_true(x[1] == 0);
    }
}

/* ---- one observation for each setting ---- */

static void equal_settings_are_one_observation(void **state)
{
    (void)state;
    static const struct propose_range range = {.name = "a", .low = 0, .high = 1};
    const struct propose_trial past[] = {
        {.x = {0.5}, .score = 1},
        {.x = {0.25}, .score = 1.5},
        {.x = {0.5}, .score = 4, .seeds = 2},
        {.x = {0.5}, .score = 9, .differs = 1, .context = 3},
        {.x = {0.75}, .end = PROPOSE_FAILED},
        {.x = {0.5}, .end = PROPOSE_RUNNING},
    };
    struct propose_problem problem = {
        .ranges = &range, .n_ranges = 1, .past = past, .n_past = LENGTH(past), .lower_is_better = true};
    struct observed list[LENGTH(past)];
    size_t n;
    observed_list(list, &n, &problem);
    assert_int_equal(n, 3);
    assert_true(list[0].trial == &past[1] && list[1].trial == &past[0] && list[2].trial == &past[3]);
    assert_true(list[1].loss == 3 && list[1].seeds == 3 && list[2].loss == 9);
    problem.lower_is_better = false;
    observed_list(list, &n, &problem);
    assert_true(list[0].trial == &past[0] && list[0].loss == -3);
}

/* ---- linear equations ---- */

enum { ROWS = 23 };

static void factors_solve_equations(void **state)
{
    (void)state;
    double a[ROWS * ROWS], l[ROWS * ROWS], inverse[ROWS * ROWS], rows[ROWS * ROWS], x[ROWS], b[ROWS];
    struct propose_stream stream = propose_stream_of(5, 5, 5);
    double g[ROWS * ROWS], half = 0;
    for (size_t i = 0; i < ROWS * ROWS; i++)
        g[i] = propose_normal(&stream);
    for (size_t j = 0; j < ROWS; j++)
        for (size_t i = 0; i < ROWS; i++) {
            a[j * ROWS + i] = i == j;
            for (size_t k = 0; k < ROWS; k++)
                a[j * ROWS + i] += g[i * ROWS + k] * g[j * ROWS + k];
        }
    memcpy(l, a, sizeof l);
    assert_true(cholesky_factor(l, ROWS));
    for (size_t i = 0; i < ROWS; i++)
        x[i] = b[i] = propose_normal(&stream);
    cholesky_forward(l, ROWS, x);
    cholesky_backward(l, ROWS, x);
    cholesky_inverse(inverse, l, ROWS, rows);
    for (size_t i = 0; i < ROWS; i++) {
        double product = 0, solved = 0;
        for (size_t k = 0; k < ROWS; k++) {
            product += a[k * ROWS + i] * x[k];
            solved += inverse[i < k ? i * ROWS + k : k * ROWS + i] * b[k];
        }
        assert_true(fabs(product - b[i]) < 1e-9 && fabs(solved - x[i]) < 1e-9);
        half += log(l[i * ROWS + i]);
    }
    assert_true(fabs(cholesky_half_log_determinant(l, ROWS) - half) < 1e-12);
    a[0] = -1;
    assert_false(cholesky_factor(a, ROWS));
}

/* ---- the process ---- */

static const bool numbers[3] = {false, false, false};
static const struct gaussian_prior little_noise = {.noise = 1e-4, .spread = 1};

static double wave(const double *z)
{
    return sin(5 * z[0]) + 0.3 * z[1];
}

static size_t fill_wave(struct gaussian_point *points, size_t n)
{
    struct propose_stream stream = propose_stream_of(2, 2, 2);
    for (size_t i = 0; i < n; i++) {
        points[i] = (struct gaussian_point){.seeds = 1, .relation = 1};
        for (size_t r = 0; r < 3; r++)
            points[i].z[r] = propose_uniform(&stream);
        points[i].y = wave(points[i].z);
    }
    return n;
}

static void a_process_learns_a_function(void **state)
{
    (void)state;
    struct gaussian_point points[40];
    struct gaussian gaussian;
    size_t n = fill_wave(points, LENGTH(points));
    double worst = 0, mean, deviation;
    assert_true(gaussian_fit(&gaussian, points, n, numbers, 3, &little_noise));
    for (size_t i = 0; i < n; i++) {
        gaussian_predict(&mean, &deviation, &gaussian, points[i].z);
        assert_true(fabs(mean - gaussian_mean_at(&gaussian, i)) < 1e-6 &&
                    fabs(mean - gaussian_mean(&gaussian, points[i].z)) < 1e-9);
        assert_true(fabs(mean - points[i].y) < 0.05 && deviation < 0.1);
    }
    for (double u = 0.2; u < 0.85; u += 0.1) {
        const double z[PROPOSE_RANGES_MAX] = {u, 0.5, 0.5};
        gaussian_predict(&mean, &deviation, &gaussian, z);
        worst = fmax(worst, fabs(mean - wave(z)));
    }
    assert_true(worst < 0.15);
    assert_true(gaussian.length[2] > 2 * gaussian.length[0]); /* the third range does nothing */
    gaussian_release(&gaussian);
}

/* Where a trial runs, nothing is left to learn, and the expected value stays. */
static void believing_removes_doubt_and_keeps_the_mean(void **state)
{
    (void)state;
    struct gaussian_point points[12];
    struct gaussian gaussian;
    const double z[1][PROPOSE_RANGES_MAX] = {{0.93, 0.07, 0.9}};
    double mean, before, after, deviation;
    assert_true(gaussian_fit(&gaussian, points, fill_wave(points, LENGTH(points)), numbers, 3, &little_noise));
    gaussian_predict(&before, &deviation, &gaussian, z[0]);
    assert_true(gaussian_believe(&gaussian, z, 1));
    gaussian_predict(&mean, &after, &gaussian, z[0]);
    assert_true(fabs(mean - before) < 1e-3 && after < 0.3 * deviation);
    gaussian_release(&gaussian);
}

/* The other context is the same function plus 5. Its points help, and its offset does not spoil the mean. */
static void another_context_helps_in_spite_of_its_offset(void **state)
{
    (void)state;
    struct gaussian_point points[44];
    struct gaussian both, alone;
    double error_both = 0, error_alone = 0;
    fill_wave(points, LENGTH(points));
    for (size_t i = 4; i < LENGTH(points); i++) {
        points[i].y += 5;
        points[i].context = 9;
        points[i].relation = 0.9;
    }
    assert_true(gaussian_fit(&both, points, LENGTH(points), numbers, 3, &little_noise));
    assert_true(gaussian_fit(&alone, points, 4, numbers, 3, &little_noise));
    for (double u = 0.05; u < 1; u += 0.1) {
        const double z[PROPOSE_RANGES_MAX] = {u, 0.3, 0.6};
        error_both += fabs(gaussian_mean(&both, z) - wave(z));
        error_alone += fabs(gaussian_mean(&alone, z) - wave(z));
    }
    assert_true(error_both < 0.6 * error_alone);
    gaussian_release(&both);
    gaussian_release(&alone);
}

/* ---- nights ---- */

static const struct propose_range square[] = {{.name = "a", .low = 0, .high = 1}, {.name = "b", .low = 0, .high = 1}};

/* The score falls towards a = 1, and above 0.6 every trial fails for `cause`. Returns how many of 40 failed. */
static size_t failures_at_a_cliff(enum propose_method method, uint64_t seed, enum propose_end cause)
{
    struct propose_trial past[NIGHT] = {{.score = 0}};
    struct propose_problem problem = {.ranges = square, .n_ranges = 2, .past = past, .lower_is_better = true, .seed = seed};
    size_t failures = 0;
    for (; problem.n_past < NIGHT; problem.n_past++) {
        struct propose_trial *trial = &past[problem.n_past];
        assert_int_equal(propose_next(trial->x, &problem, method), PROPOSE_OK);
        trial->end = trial->x[0] > 0.6 ? cause : PROPOSE_MEASURED;
        trial->score = pow(trial->x[1] - 0.5, 2) - trial->x[0];
        failures += trial->end == cause;
    }
    return failures;
}

static void failures_repel_only_if_their_settings_are_to_blame(void **state)
{
    (void)state;
    static const enum propose_method methods[] = {PROPOSE_GP, PROPOSE_TPE};
    for (size_t m = 0; m < LENGTH(methods); m++) {
        size_t blamed = 0, unrelated = 0;
        for (uint64_t seed = 0; seed < 8; seed++) {
            blamed += failures_at_a_cliff(methods[m], seed, PROPOSE_FAILED);
            unrelated += failures_at_a_cliff(methods[m], seed, PROPOSE_UNRELATED);
        }
        if (2 * blamed > unrelated)
            fail_msg("%s: %zu failures, %zu if nothing is learned", propose_method_name(methods[m]), blamed, unrelated);
    }
}

/* The best setting of 40 is at most this far from the minimum at 0.3 of a noisy bowl, on average over ten seeds. */
static double distance_with_noise(double known, double diverging)
{
    double sum = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct propose_trial past[NIGHT] = {{.score = 0}};
        struct propose_problem problem = {
            .ranges = square, .n_ranges = 1, .past = past, .lower_is_better = true, .noise = known, .seed = seed};
        struct propose_stream stream = propose_stream_of(seed, 8, 8);
        for (; problem.n_past < NIGHT; problem.n_past++) {
            struct propose_trial *trial = &past[problem.n_past];
            assert_int_equal(propose_next(trial->x, &problem, PROPOSE_GP), PROPOSE_OK);
            trial->score = pow(trial->x[0] - 0.3, 2) + 0.05 * propose_normal(&stream);
            trial->score += propose_uniform(&stream) < diverging ? 8 : 0;
        }
        for (size_t i = NIGHT - 10; i < NIGHT; i++)
            sum += fabs(past[i].x[0] - 0.3) / 100;
    }
    return sum;
}

static void noise_does_not_lead_astray(void **state)
{
    (void)state;
    assert_true(distance_with_noise(0.05, 0) < 0.2);
    assert_true(distance_with_noise(0, 0) < 0.25);
    const double diverging = distance_with_noise(0, 0.1);
    if (diverging > 0.1)
        fail_msg("proposals are %g from the best if runs diverge", diverging);
}

/* Eight workers ask before any of their trials has ended. */
static void workers_are_spread(void **state)
{
    (void)state;
    struct propose_trial past[NIGHT] = {{.score = 0}};
    struct propose_problem problem = {.ranges = square, .n_ranges = 2, .past = past, .lower_is_better = true, .seed = 4};
    double nearest = 1;
    for (; problem.n_past < 28; problem.n_past++) {
        struct propose_trial *trial = &past[problem.n_past];
        assert_int_equal(propose_next(trial->x, &problem, problem.n_past < 20 ? PROPOSE_SOBOL : PROPOSE_GP), PROPOSE_OK);
        trial->end = problem.n_past < 20 ? PROPOSE_MEASURED : PROPOSE_RUNNING;
        trial->score = pow(trial->x[0] - 0.3, 2) + pow(trial->x[1] - 0.7, 2);
        for (size_t i = 20; i < problem.n_past; i++)
            nearest = fmin(nearest, hypot(trial->x[0] - past[i].x[0], trial->x[1] - past[i].x[1]));
    }
    if (nearest < 0.005)
        fail_msg("two of eight running trials are %g apart", nearest);
}

/* A flat past, equal scores and huge scores must not stop the search. */
static void odd_scores_are_survived(void **state)
{
    (void)state;
    static const double scores[][2] = {{1, 1}, {0, 1e300}, {-1e300, 1e300}, {1e-300, 2e-300}, {0, 0}};
    for (size_t s = 0; s < LENGTH(scores); s++) {
        struct propose_trial past[NIGHT] = {{.score = 0}};
        struct propose_problem problem = {.ranges = square, .n_ranges = 2, .past = past, .seed = 4};
        for (; problem.n_past < 24; problem.n_past++) {
            struct propose_trial *trial = &past[problem.n_past];
            assert_int_equal(propose_next(trial->x, &problem, PROPOSE_GP), PROPOSE_OK);
            check_setting(&problem, trial->x);
            trial->score = scores[s][problem.n_past % 2];
        }
    }
}

/* A space in which nearly all trials fail is learned, too, from the first measured one on. */
static void failures_count_as_known(void **state)
{
    (void)state;
    struct propose_trial past[NIGHT] = {{.score = 0}};
    struct propose_problem problem = {.ranges = square, .n_ranges = 2, .past = past, .n_past = 20};
    for (size_t i = 0; i < problem.n_past; i++)
        past[i].end = PROPOSE_FAILED;
    assert_false(gp_is_ready(&problem));
    past[7].end = PROPOSE_MEASURED;
    assert_true(gp_is_ready(&problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proposals_keep_to_the_space),
        cmocka_unit_test(every_conditional_setting_once),
        cmocka_unit_test(a_rare_condition_leaves_new_settings),
        cmocka_unit_test(equal_settings_are_one_observation),
        cmocka_unit_test(factors_solve_equations),
        cmocka_unit_test(a_process_learns_a_function),
        cmocka_unit_test(believing_removes_doubt_and_keeps_the_mean),
        cmocka_unit_test(another_context_helps_in_spite_of_its_offset),
        cmocka_unit_test(failures_repel_only_if_their_settings_are_to_blame),
        cmocka_unit_test(noise_does_not_lead_astray),
        cmocka_unit_test(workers_are_spread),
        cmocka_unit_test(odd_scores_are_survived),
        cmocka_unit_test(failures_count_as_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
