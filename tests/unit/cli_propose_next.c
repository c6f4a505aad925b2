/* Tests the proposers: Sobol's points, the values of ranges, no repeats, what TPE learns, and that every machine
 * proposes the same. */
#include "support/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "propose/propose.h"
#include "propose/propose_math.h"
#include "propose/propose_space.h"
#include "propose/propose_problem.h"

#define LENGTH(a) (sizeof(a) / sizeof *(a))

static const struct propose_choice optimizers[] = {{.text = "adam"}, {.text = "sgd"}, {.text = "lion"}};

static const struct propose_range lr = {.name = "lr", .scale = PROPOSE_LOG, .low = 1e-5, .high = 1e-2};
static const struct propose_range alpha = {.name = "alpha", .scale = PROPOSE_LINEAR, .low = 0, .high = 1};
static const struct propose_range layers = {.name = "layers", .scale = PROPOSE_INTEGER, .low = 1, .high = 4};
static const struct propose_range width = {.name = "width", .scale = PROPOSE_LOG_INTEGER, .low = 8, .high = 512};
static const struct propose_range optimizer = {
    .name = "optimizer", .scale = PROPOSE_CHOICE, .high = 2, .choices = optimizers, .n_choices = 3};

/* ---- mathematics ---- */

static void functions_agree_with_libm(void **state)
{
    (void)state;
    for (double x = 1e-300; x < 1e300; x *= 1.37)
        assert_true(fabs(propose_log(x) - log(x)) <= 1e-15 * fmax(1, fabs(log(x))));
    for (double x = -690; x < 690; x += 0.37)
        assert_true(fabs(propose_exp(x) / exp(x) - 1) <= 2e-15);
    for (double x = -12; x < 12; x += 0.11)
        assert_true(fabs(propose_normal_cdf(x) - 0.5 * erfc(-x / sqrt(2))) <= 1e-14);
    assert_true(propose_exp(-1e9) == 0 && propose_exp(0) == 1 && propose_log(1) == 0);
}

static void draws_have_the_moments_they_should(void **state)
{
    (void)state;
    struct propose_stream stream = propose_stream_of(1, 2, 3);
    double mean = 0, square = 0, uniform = 0;
    for (int i = 0; i < 100000; i++) {
        double x = propose_normal(&stream);
        mean += x / 100000;
        square += x * x / 100000;
        uniform += propose_uniform(&stream) / 100000;
    }
    assert_true(fabs(mean) < 0.02 && fabs(square - 1) < 0.02 && fabs(uniform - 0.5) < 0.005);
}

/* ---- Sobol ---- */

/* Points 1, 2, 3, 5, 13, 40 and 63 times 2^30, computed by scipy.stats.qmc.Sobol(32, scramble=False) of scipy 1.10.1,
 * which uses the direction numbers of Joe and Kuo. Dimensions 1 to 10, 21 and 32. */
static void points_are_those_of_joe_and_kuo(void **state)
{
    (void)state;
    static const size_t dimensions[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 20, 31};
    static const struct {
        uint32_t index, want[12];
    } points[] = {
        {2,
         {805306368, 268435456, 268435456, 268435456, 805306368, 805306368, 268435456, 805306368, 805306368, 805306368, 268435456,
          268435456}},
        {3,
         {268435456, 805306368, 805306368, 805306368, 268435456, 268435456, 805306368, 268435456, 268435456, 268435456, 805306368,
          805306368}},
        {5,
         {939524096, 939524096, 134217728, 402653184, 939524096, 671088640, 939524096, 402653184, 402653184, 134217728, 671088640,
          671088640}},
        {13,
         {872415232, 738197504, 872415232, 67108864, 469762048, 1006632960, 603979776, 603979776, 603979776, 469762048, 603979776,
          469762048}},
        {40,
         {251658240, 83886080, 285212672, 1056964608, 754974720, 788529152, 788529152, 385875968, 50331648, 385875968, 419430400,
          352321536}},
        {63,
         {16777216, 855638016, 385875968, 486539264, 922746880, 150994944, 620756992, 150994944, 889192448, 620756992, 251658240,
          989855744}},
    };
    for (size_t d = 0; d < PROPOSE_RANGES_MAX; d++) {
        assert_int_equal(sobol_point(0, d), 0);
        assert_int_equal(sobol_point(1, d), (uint32_t)1 << 31);
    }
    for (size_t p = 0; p < LENGTH(points); p++)
        for (size_t d = 0; d < LENGTH(dimensions); d++)
            assert_int_equal(sobol_point(points[p].index, dimensions[d]), points[p].want[d] << 2);
}

/* Of 256 points, one lies in each of 256 slices of every dimension, and one in each of the 16 x 16 squares of the
 * first two dimensions. This holds for every seed, because scrambling a digital net gives a digital net. */
static void scrambled_points_are_spread_as_evenly(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++)
        for (size_t d = 0; d < PROPOSE_RANGES_MAX; d++) {
            bool slice[256] = {false}, square[256] = {false};
            for (uint32_t i = 0; i < 256; i++) {
                uint32_t x = sobol_scramble(sobol_point(i, d), d, seed);
                uint32_t other = sobol_scramble(sobol_point(i, 1), 1, seed);
                slice[x >> 24] = true;
                square[(x >> 28) * 16 + (other >> 28)] = true;
            }
            for (size_t i = 0; i < 256; i++)
                assert_true(slice[i] && (d != 0 || square[i]));
        }
    assert_true(sobol_scramble(0, 0, 1) != sobol_scramble(0, 0, 2) && sobol_scramble(0, 0, 1) != sobol_scramble(0, 1, 1));
}

/* ---- ranges ---- */

static void values_belong_to_their_range(void **state)
{
    (void)state;
    const struct propose_range ranges[] = {lr, alpha, layers, width, optimizer};
    for (size_t r = 0; r < LENGTH(ranges); r++) {
        double last = ranges[r].low;
        for (int i = 0; i <= 1000; i++) {
            double value = propose_value(&ranges[r], i / 1000.0);
            assert_true(propose_holds(&ranges[r], value) && value >= last);
            last = value;
        }
        assert_true(propose_value(&ranges[r], 0) == ranges[r].low && last == ranges[r].high);
    }
    assert_true(propose_value(&lr, 0.5) == 3.1623e-4 && propose_value(&alpha, 1.0 / 3) == 0.33333);
    assert_true(propose_value(&width, 0.5) == 62 && propose_value(&layers, 0.49) == 2);
    assert_false(propose_holds(&layers, 2.5) || propose_holds(&alpha, 1.01) || propose_holds(&alpha, NAN));
    assert_true(fabs(propose_position(&lr, 1e-3) - 2.0 / 3) < 1e-12);
}

static void a_range_far_from_zero_keeps_its_digits(void **state)
{
    (void)state;
    const struct propose_range far = {.name = "x", .scale = PROPOSE_LINEAR, .low = 1000000, .high = 1000000.001};
    assert_true(propose_value(&far, 0.5) > far.low && propose_value(&far, 0.5) < far.high);
}

static void near_is_measured_on_the_scale_of_the_range(void **state)
{
    (void)state;
    const struct propose_range ranges[] = {lr, optimizer};
    const struct propose_trial past[] = {{.x = {1e-3, 0}}, {.x = {1e-4, 1}}};
    const struct propose_problem problem = {.ranges = ranges, .n_ranges = 2, .past = past, .n_past = 2};
    assert_int_equal(propose_find(&problem, (double[]){1e-4, 1}, 0), 1);
    assert_int_equal(propose_find(&problem, (double[]){1.1e-4, 1}, 0), 2);
    assert_int_equal(propose_find(&problem, (double[]){1.1e-4, 1}, 0.02), 1);
    assert_int_equal(propose_find(&problem, (double[]){1.1e-4, 0}, 0.02), 2);
}

/* ---- no repeats ---- */

static const struct propose_range mixed[] = {
    {.name = "lr", .scale = PROPOSE_LOG, .low = 1e-5, .high = 1e-2},
    {.name = "layers", .scale = PROPOSE_INTEGER, .low = 1, .high = 4},
    {.name = "optimizer", .scale = PROPOSE_CHOICE, .high = 2, .choices = optimizers, .n_choices = 3}};

/* Every setting of a space of 12 is proposed once, except one that is running and one that failed. */
static void every_setting_once(void **state)
{
    (void)state;
    struct propose_trial past[16] = {{.x = {2, 1}, .end = PROPOSE_RUNNING}, {.x = {3, 0}, .end = PROPOSE_FAILED}};
    for (int method = 0; method < PROPOSE_N_METHODS; method++) {
        struct propose_problem problem = {.ranges = mixed + 1, .n_ranges = 2, .past = past, .n_past = 2, .seed = 7};
        double x[2];
        for (; problem.n_past < 12; problem.n_past++) {
            assert_int_equal(propose_next(x, &problem, (enum propose_method)method), PROPOSE_OK);
            assert_int_equal(propose_find(&problem, x, 0), problem.n_past);
            past[problem.n_past] = (struct propose_trial){.x = {x[0], x[1]}, .score = x[0]};
        }
        assert_int_equal(propose_next(x, &problem, (enum propose_method)method), PROPOSE_EXHAUSTED);
    }
}

static void grids_have_their_ends_and_the_last_range_is_fastest(void **state)
{
    (void)state;
    const struct propose_range ranges[] = {{.name = "lr", .scale = PROPOSE_LOG, .low = 1e-4, .high = 1e-2, .steps = 3}, alpha};
    static const double lrs[] = {1e-4, 1e-3, 1e-2}, alphas[] = {0, 0.33333, 0.66667, 1};
    struct propose_trial past[12] = {{.end = PROPOSE_MEASURED}};
    struct propose_problem problem = {.ranges = ranges, .n_ranges = 2, .past = past};
    double x[2];
    for (; propose_next(x, &problem, PROPOSE_GRID) == PROPOSE_OK; problem.n_past++) {
        assert_true(problem.n_past < 12);
        assert_true(x[0] == lrs[problem.n_past / 4] && x[1] == alphas[problem.n_past % 4]);
        memcpy(past[problem.n_past].x, x, sizeof x);
    }
    assert_int_equal(problem.n_past, 12);
}

/* ---- TPE ---- */

enum { MANY = 60 };

struct night {
    struct propose_trial past[MANY];
    struct propose_problem problem;
};

static void begin(struct night *night, const struct propose_range *ranges, size_t n, uint64_t seed)
{
    *night = (struct night){.problem = {.ranges = ranges, .n_ranges = n, .lower_is_better = true, .seed = seed}};
    night->problem.past = night->past;
}

static const double *take(struct night *night, enum propose_method method)
{
    double *x = night->past[night->problem.n_past].x;
    assert_int_equal(propose_next(x, &night->problem, method), PROPOSE_OK);
    return x;
}

/* The best score is near lr 1e-3 with two layers and the optimizer lion. */
static double bowl(const double *x)
{
    return pow(log10(x[0]) + 3, 2) + fabs(x[1] - 2) + 0.5 * (x[2] != 2);
}

static double best_of(enum propose_method method, uint64_t seed)
{
    struct night night;
    double best = INFINITY;
    begin(&night, mixed, 3, seed);
    for (; night.problem.n_past < MANY; night.problem.n_past++) {
        double score = bowl(take(&night, method));
        night.past[night.problem.n_past].score = score;
        best = fmin(best, score);
    }
    return best;
}

static void it_finds_more_than_chance(void **state)
{
    (void)state;
    double tpe = 0, chance = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        tpe += best_of(PROPOSE_TPE, seed);
        chance += best_of(PROPOSE_RANDOM, seed);
    }
    assert_true(tpe < 0.5 * chance);
}

static void it_goes_up_where_higher_is_better(void **state)
{
    (void)state;
    struct night night;
    double late = 0;
    begin(&night, &alpha, 1, 3);
    night.problem.lower_is_better = false;
    for (; night.problem.n_past < 40; night.problem.n_past++) {
        double x = take(&night, PROPOSE_TPE)[0];
        night.past[night.problem.n_past].score = x;
        late += night.problem.n_past >= 30 ? x / 10 : 0;
    }
    assert_true(late > 0.8);
}

static void the_first_ten_are_sobols(void **state)
{
    (void)state;
    struct night night;
    double x[3];
    begin(&night, mixed, 3, 5);
    for (; night.problem.n_past < TPE_STARTUP; night.problem.n_past++) {
        take(&night, PROPOSE_TPE);
        assert_int_equal(propose_next(x, &night.problem, PROPOSE_SOBOL), PROPOSE_OK);
        assert_memory_equal(x, night.past[night.problem.n_past].x, sizeof x);
    }
    assert_true(tpe_is_ready(&night.problem));
    for (size_t i = 0; i < TPE_STARTUP; i++)
        night.past[i].end = PROPOSE_FAILED;
    assert_false(tpe_is_ready(&night.problem));
    night.past[0].end = PROPOSE_MEASURED;
    assert_true(tpe_is_ready(&night.problem));
    night.past[9].end = PROPOSE_RUNNING;
    assert_false(tpe_is_ready(&night.problem));
}

/* The score is flat, and every setting above 0.5 runs out of memory. With `forgotten`, the failed trial's row is lost
 * too. */
static size_t late_failures(enum propose_method method, uint64_t seed, bool forgotten)
{
    struct night night;
    size_t failures = 0;
    begin(&night, &alpha, 1, seed);
    for (int i = 0; i < 40; i++) {
        bool fails = take(&night, method)[0] > 0.5;
        night.past[night.problem.n_past].end = fails ? PROPOSE_FAILED : PROPOSE_MEASURED;
        night.problem.n_past += !(fails && forgotten);
        failures += i >= 20 && fails;
        night.problem.seed++;
    }
    return failures;
}

static void it_keeps_away_from_what_fails(void **state)
{
    (void)state;
    size_t tpe = 0, forgetful = 0, chance = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        tpe += late_failures(PROPOSE_TPE, seed, false);
        forgetful += late_failures(PROPOSE_TPE, seed, true);
        chance += late_failures(PROPOSE_RANDOM, seed, false);
    }
    if (4 * tpe > 3 * chance || 4 * tpe > 3 * forgetful)
        fail_msg("%zu failures, by chance %zu, without memory of them %zu", tpe, chance, forgetful);
}

/* Proposes eight settings from the same measured past. If running trials were ignored, all eight would be close to the
 * best. */
static double spread_of_eight(bool told)
{
    struct night night;
    double x[8], nearest = 1;
    begin(&night, &alpha, 1, 11);
    for (; night.problem.n_past < 20; night.problem.n_past++)
        night.past[night.problem.n_past].score = fabs(take(&night, PROPOSE_SOBOL)[0] - 0.3);
    for (int i = 0; i < 8; i++) {
        night.problem.seed = 11 + (uint64_t)i;
        x[i] = take(&night, PROPOSE_TPE)[0];
        night.past[night.problem.n_past].end = PROPOSE_RUNNING;
        night.problem.n_past += told;
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < i; j++)
            nearest = fmin(nearest, fabs(x[i] - x[j]));
    return nearest;
}

static void it_spreads_what_runs_at_once(void **state)
{
    (void)state;
    assert_true(spread_of_eight(true) > spread_of_eight(false));
    assert_true(spread_of_eight(true) > 0.001);
}

/* Change these values only on purpose: with other values, a continued night would propose other trials. */
static void every_machine_proposes_the_same(void **state)
{
    (void)state;
    static const double want[PROPOSE_N_METHODS][3] = {[PROPOSE_SOBOL] = {7.3358e-05, 2, 0},
                                                      [PROPOSE_TPE] = {0.0013221999999999999, 1, 0},
                                                      [PROPOSE_RANDOM] = {4.9003e-05, 1, 0},
                                                      [PROPOSE_GRID] = {1e-05, 1, 0},
                                                      [PROPOSE_AUTO] = {3.6004000000000003e-05, 1, 0},
                                                      [PROPOSE_GP] = {3.6004000000000003e-05, 1, 0}};
    struct night night;
    begin(&night, mixed, 3, 42);
    for (; night.problem.n_past < 30; night.problem.n_past++) {
        const double *x = take(&night, PROPOSE_TPE);
        night.past[night.problem.n_past].score = fabs(x[0] - 1e-3) + x[1] + x[2];
    }
    for (int method = 0; method < PROPOSE_N_METHODS; method++) {
        double x[3];
        assert_int_equal(propose_next(x, &night.problem, (enum propose_method)method), PROPOSE_OK);
        if (memcmp(x, want[method], sizeof x) != 0)
            fail_msg("%s proposes %.17g %.17g %.17g", propose_method_name((enum propose_method)method), x[0], x[1], x[2]);
    }
}

static void methods_have_names(void **state)
{
    (void)state;
    enum propose_method method;
    for (int i = 0; i < PROPOSE_N_METHODS; i++)
        assert_true(propose_method_parse(&method, propose_method_name((enum propose_method)i)) && (int)method == i);
    assert_false(propose_method_parse(&method, "TPE") || propose_method_parse(&method, ""));
    assert_null(propose_method_name(PROPOSE_N_METHODS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_agree_with_libm),
        cmocka_unit_test(draws_have_the_moments_they_should),
        cmocka_unit_test(points_are_those_of_joe_and_kuo),
        cmocka_unit_test(scrambled_points_are_spread_as_evenly),
        cmocka_unit_test(values_belong_to_their_range),
        cmocka_unit_test(a_range_far_from_zero_keeps_its_digits),
        cmocka_unit_test(near_is_measured_on_the_scale_of_the_range),
        cmocka_unit_test(every_setting_once),
        cmocka_unit_test(grids_have_their_ends_and_the_last_range_is_fastest),
        cmocka_unit_test(it_finds_more_than_chance),
        cmocka_unit_test(it_goes_up_where_higher_is_better),
        cmocka_unit_test(the_first_ten_are_sobols),
        cmocka_unit_test(it_keeps_away_from_what_fails),
        cmocka_unit_test(it_spreads_what_runs_at_once),
        cmocka_unit_test(every_machine_proposes_the_same),
        cmocka_unit_test(methods_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
