/* Tests Student's t against closed forms and tables, and paired comparisons against results worked out by hand. */
#include "support/unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lineage/compare.h>

#include "statistics/student.h"
#include "support/files.h"
#include "support/rows.h"

static const double pi = 3.14159265358979323846;

static void assert_near(double got, double wanted, double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance * fmax(1, fabs(wanted))))
        fail_msg("%.17g is not %.17g within %g", got, wanted, tolerance);
}

/* ---- the distribution ---- */

/* P(|T| >= t), computed by the finite series for integer df (Abramowitz and Stegun 26.7.3 and 26.7.4). */
static double series_two_sided(double t, int df)
{
    double angle = atan(t / sqrt(df)), c = cos(angle), s = sin(angle), term, sum = 0;
    if (df % 2) {
        term = c;
        for (int i = 3; i <= df; term *= c * c * (i - 1) / i, i += 2)
            sum += term;
        return 1 - (angle + s * sum) * 2 / pi;
    }
    term = 1;
    for (int i = 2; i <= df; term *= c * c * (i - 1) / i, i += 2)
        sum += term;
    return 1 - s * sum;
}

static void tail_is_that_of_the_finite_series(void **state)
{
    (void)state;
    static const double ts[] = {0, 1e-8, 0.1, 0.7, 1, 1.96, 2.5, 4, 12};
    for (int df = 1; df <= 400; df++)
        for (size_t i = 0; i < sizeof ts / sizeof *ts; i++)
            assert_near(student_two_sided(ts[i], df), series_two_sided(ts[i], df), 1e-12);
}

/* For large t the series cancels to zero, so it is not used here; for one and two degrees of freedom the tail has
 * closed forms. */
static void far_tail_keeps_its_digits(void **state)
{
    (void)state;
    for (double t = 10; t < 1e12; t *= 10) {
        double root = sqrt(t * t + 2);
        assert_near(student_two_sided(t, 1) * t, atan(1 / t) * 2 / pi * t, 1e-12);
        assert_near(student_two_sided(t, 2) * t * t, 2 / (root * (root + t)) * t * t, 1e-12);
    }
    assert_true(student_two_sided(INFINITY, 3) == 0);
    assert_true(student_two_sided(1e200, 3) >= 0);
}

static void quantile_is_that_of_the_tables(void **state)
{
    (void)state;
    /* Two-sided 5 % points to 16 digits (the usual tables give 12.706, 4.303, 3.182, 2.776, 2.571, ...). */
    static const struct {
        int df;
        double t;
    } table[] = {{1, 12.70620473617471},   {2, 4.302652729749464},  {3, 3.182446305283710},  {4, 2.776445105197794},
                 {5, 2.570581835636316},   {7, 2.364624251592785},  {9, 2.262157162798206},  {10, 2.228138851986275},
                 {15, 2.131449545559776},  {29, 2.045229642132704}, {30, 2.042272456301238}, {100, 1.983971518523552},
                 {1000, 1.962339080826408}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        assert_near(student_quantile(0.05, table[i].df), table[i].t, 1e-12);
    assert_near(student_quantile(0.01, 8), 3.355387331333395, 1e-12);
    assert_near(student_quantile(0.05 / 6, 7), 3.635807421953935, 1e-12);
}

/* Closed forms: tan for df 1, the root of a quadratic for df 2, and of a cubic for df 4. */
static void quantile_is_that_of_the_closed_forms(void **state)
{
    (void)state;
    for (double alpha = 0.001; alpha < 1; alpha += 0.0173) {
        double root = sqrt(alpha * (2 - alpha));
        assert_near(student_quantile(alpha, 1), tan(pi * (1 - alpha) / 2), 1e-10);
        assert_near(student_quantile(alpha, 2), (1 - alpha) * sqrt(2) / root, 1e-10);
        assert_near(student_quantile(alpha, 4), 2 * sqrt(cos(acos(root) / 3) / root - 1), 1e-10);
    }
}

/* ---- comparisons ---- */

static struct lineage_error err;

static void compare(struct lineage_comparison *out, const char *dir, const struct lineage_compare_options *options)
{
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    if (lineage_compare(store, options, out, &err) != LINEAGE_OK)
        fail_msg("%s", err.text);
    lineage_store_close(store);
}

static void assert_refused(const char *dir, const struct lineage_compare_options *options, const char *text)
{
    struct lineage_comparison out;
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    enum lineage_status status = lineage_compare(store, options, &out, &err);
    if (status != LINEAGE_EINVAL && status != LINEAGE_ELIMIT)
        fail_msg("status %d where '%s' was expected", (int)status, text);
    if (!strstr(err.text, text))
        fail_msg("'%s' lacks '%s'", err.text, text);
    assert_null(out.memory);
    lineage_store_close(store);
}

/* Differences to the baseline: b has 0.1, 0.3, 0.2; c has -0.1 on two seeds, equal up to rounding; d shares one
 * seed. */
static const struct row seeds_and_variants[] = {{"000", "a", .status = "baseline", .metric = "1.0", .notes = "seed=1; lr=0.1"},
                                                {"001", "b", .status = "keep", .metric = "1.1", .notes = "seed=1; lr=0.1"},
                                                {"002", "c", .status = "discard", .metric = "0.9", .notes = "seed=1; lr=0.1"},
                                                {"003", "a", .status = "discard", .metric = "2.0", .notes = "seed=2; lr=0.1"},
                                                {"004", "b", .status = "keep", .metric = "2.3", .notes = "seed=2; lr=0.2"},
                                                {"005", "c", .status = "discard", .metric = "1.9", .notes = "seed=2; lr=0.1"},
                                                {"006", "a", .status = "discard", .metric = "3.0", .notes = "seed=3; lr=0.1"},
                                                {"007", "b", .status = "keep", .metric = "3.2", .notes = "seed=3; lr=0.2"},
                                                {"008", "d", .status = "keep", .metric = "5", .notes = "seed=3; lr=0.1"},
                                                {"009", "d", .status = "crash", .notes = "seed=1; lr=0.1"},
                                                {"010", "d", .status = "harness_abort", .notes = "seed=2; lr=0.1"},
                                                {"011", "d", .status = "keep", .metric = "5"},
                                                {"012", "d", .status = "keep", .metric = "7", .notes = "seed=9; lr=0.1"},
                                                {"013", "d", .status = "size_blocked", .metric = "9", .notes = "seed=2; lr=0.1"},
                                                {"014", "d", .status = "keep", .metric = "nan", .notes = "seed=2; lr=0.1"},
                                                {.id = NULL}};

static void differences_are_taken_seed_by_seed(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct lineage_comparison c;
    add_rows(dir, seeds_and_variants);
    compare(&c, dir, &(struct lineage_compare_options){0});
    assert_int_equal(c.n_variants, 4);
    const struct lineage_variant *a = &c.variants[0], *b = &c.variants[1];
    assert_string_equal(a->name, "a");
    assert_near(a->mean.value, 2, 1e-15);
    assert_near(a->std.value, 1, 1e-15);
    assert_false(a->difference.present || a->p.present);
    /* t = 0.2 / (0.1 / sqrt 3); with 2 degrees of freedom p = 1 - t / sqrt(t^2 + 2), t^2 = 12. */
    assert_int_equal(b->n_pairs, 3);
    assert_near(b->difference.value, 0.2, 1e-14);
    assert_near(b->difference_std.value, 0.1, 1e-13);
    assert_near(b->p.value, 1 - sqrt(12.0 / 14), 1e-12);
    assert_near(b->low.value, 0.2 - 4.302652729749464 * 0.1 / sqrt(3), 1e-12);
    assert_near(b->high.value, 0.2 + 4.302652729749464 * 0.1 / sqrt(3), 1e-12);
    lineage_comparison_release(&c);
    lineage_comparison_release(&c);
    remove_dir(dir);
}

static bool next_of_cursor(void *cursor, struct lineage_trial *trial)
{
    return lineage_cursor_next(cursor, trial, &err) == LINEAGE_OK;
}

static void trials_of_the_caller_stand_in_for_the_store(void **state)
{
    (void)state;
    char *dir = make_dir(), *empty = make_dir();
    struct lineage_comparison c;
    struct lineage_cursor *cursor;
    add_rows(dir, seeds_and_variants);
    struct lineage_store *store = open_store(dir, LINEAGE_HIGHER, NULL);
    assert_int_equal(lineage_query_open(&cursor, store, &(struct lineage_query){0}, &err), LINEAGE_OK);
    compare(&c, empty, &(struct lineage_compare_options){.next = next_of_cursor, .context = cursor});
    assert_int_equal(c.n_variants, 4);
    assert_string_equal(c.variants[0].name, "a");
    assert_near(c.variants[1].difference.value, 0.2, 1e-14);
    assert_int_equal(c.variants[3].failed + c.variants[3].aborted + c.variants[3].without_seed, 5);
    assert_refused(empty, &(struct lineage_compare_options){.next = next_of_cursor, .by = "lr"}, "by specialist");
    lineage_comparison_release(&c);
    lineage_cursor_close(cursor);
    lineage_store_close(store);
    remove_dir(empty);
    remove_dir(dir);
}

static void too_few_or_equal_differences_have_no_interval(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct lineage_comparison out;
    add_rows(dir, seeds_and_variants);
    compare(&out, dir, &(struct lineage_compare_options){0});
    const struct lineage_variant *c = &out.variants[2], *d = &out.variants[3];
    assert_int_equal(c->n_pairs, 2); /* 0.9 - 1.0 and 1.9 - 2.0 differ by rounding only */
    assert_near(c->difference.value, -0.1, 1e-14);
    assert_false(c->p.present || c->low.present || c->family_low.present || c->p_holm.present);
    assert_int_equal(d->n_pairs, 1);
    assert_near(d->difference.value, 2, 1e-15);
    assert_false(d->difference_std.present || d->p.present || d->high.present || d->p_holm.present);
    assert_int_equal(out.n_tests, 1);
    lineage_comparison_release(&out);
    remove_dir(dir);
}

static void what_is_left_out_is_counted(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct lineage_comparison c;
    add_rows(dir, seeds_and_variants);
    compare(&c, dir, &(struct lineage_compare_options){0});
    const struct lineage_variant *d = &c.variants[3];
    assert_int_equal(d->n_trials, 2);
    assert_int_equal(d->failed, 3); /* crash, size_blocked, nan */
    assert_int_equal(d->aborted, 1);
    assert_int_equal(d->without_seed, 1);
    assert_int_equal(d->unpaired, 3); /* seeds 1 and 2 of a, seed 9 of d */
    assert_int_equal(c.n_confounded, 1);
    assert_string_equal(c.confounded[0], "lr");
    lineage_comparison_release(&c);
    remove_dir(dir);
}

static void a_seed_run_twice_counts_once(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct lineage_comparison c;
    add_rows(dir, seeds_and_variants);
    add_rows(dir, (const struct row[]){{"015", "b", .status = "keep", .metric = "1.5", .notes = "seed=1; lr=0.1"}, {.id = NULL}});
    compare(&c, dir, &(struct lineage_compare_options){.variants = (const char *[]){"a", "b"}, .n_variants = 2});
    assert_int_equal(c.variants[1].n_trials, 4);
    assert_int_equal(c.variants[1].n_seeds, 3);
    assert_near(c.variants[1].difference.value, (0.3 + 0.3 + 0.2) / 3, 1e-14);
    lineage_comparison_release(&c);
    remove_dir(dir);
}

/* More trials than are kept at once. Scores of a seed are added up in the order of the log, so the mean has the same last digit. */
static void many_trials_of_a_seed_have_one_mean(void **state)
{
    (void)state;
    enum { N = 1000, SEEDS = 3 };
    static char ids[2 * N][8], metrics[2 * N][32], notes[2 * N][16];
    static struct row rows[2 * N + 1];
    double sums[2][SEEDS] = {{0}}, difference = 0;
    char *dir = make_dir();
    struct lineage_comparison c;
    for (int i = 0; i < 2 * N; i++) {
        int variant = i % 2, seed = i * 7 % SEEDS;
        double score = (variant ? 0.1 : 0.3) * (1 + i % 13) / 7;
        snprintf(ids[i], sizeof ids[i], "%04d", i);
        snprintf(metrics[i], sizeof metrics[i], "%.17g", score);
        snprintf(notes[i], sizeof notes[i], "seed=%d", seed);
        rows[i] = (struct row){ids[i], variant ? "b" : "a", .status = "keep", .metric = metrics[i], .notes = notes[i]};
        sums[variant][seed] += score;
    }
    add_rows(dir, rows);
    compare(&c, dir, &(struct lineage_compare_options){.variants = (const char *[]){"a", "b"}, .n_variants = 2});
    assert_int_equal(c.variants[1].n_trials, N);
    assert_int_equal(c.variants[1].n_seeds, SEEDS);
    for (int seed = 0; seed < SEEDS; seed++) {
        size_t n = 0;
        for (int i = 0; i < 2 * N; i += 2)
            n += i * 7 % SEEDS == seed;
        size_t of_b = 0;
        for (int i = 1; i < 2 * N; i += 2)
            of_b += i * 7 % SEEDS == seed;
        difference += sums[1][seed] / (double)of_b - sums[0][seed] / (double)n;
    }
    assert_near(c.variants[1].difference.value, difference / SEEDS, 1e-15);
    lineage_comparison_release(&c);
    remove_dir(dir);
}

/* Four variants on four seeds. Their differences are chosen so that t is 3, 1, 6 and 2. */
static void holm_steps_down_and_bonferroni_covers_all(void **state)
{
    (void)state;
    static const double ts[] = {3, 1, 6, 2};
    char *dir = make_dir();
    struct lineage_comparison c;
    struct row rows[32] = {{.id = NULL}};
    char ids[20][4], metrics[20][32], notes[20][16];
    size_t n = 0;
    for (int v = 0; v < 5; v++)
        for (int seed = 0; seed < 4; seed++, n++) {
            static const char *const names[] = {"a", "b", "c", "d", "e"};
            /* The deviations from the mean are -1, 1, -1, 1, so the standard error is sqrt(4 / 3) / 2. */
            double mean = v ? ts[v - 1] * sqrt(4.0 / 3) / 2 : 0, deviation = v ? (seed % 2 ? 1 : -1) : 0;
            snprintf(ids[n], sizeof ids[n], "%03zu", n);
            snprintf(metrics[n], sizeof metrics[n], "%.17g", 10 + mean + deviation);
            snprintf(notes[n], sizeof notes[n], "seed=%d", seed);
            rows[n] = (struct row){ids[n], names[v], .status = "keep", .metric = metrics[n], .notes = notes[n]};
        }
    add_rows(dir, rows);
    compare(&c, dir, &(struct lineage_compare_options){.confidence = 0.9});
    double p[5];
    assert_int_equal(c.n_tests, 4);
    for (int i = 1; i < 5; i++) {
        p[i] = series_two_sided(ts[i - 1], 3);
        assert_near(c.variants[i].p.value, p[i], 1e-11);
        double half = student_quantile(0.1 / 4, 3) * sqrt(4.0 / 3) / 2;
        assert_near(c.variants[i].family_high.value - c.variants[i].difference.value, half, 1e-11);
        assert_near(c.variants[i].difference.value - c.variants[i].family_low.value, half, 1e-11);
    }
    /* Sorted by t: 6 (d), 3 (b), 2 (e), 1 (c). */
    assert_near(c.variants[3].p_holm.value, 4 * p[3], 1e-11);
    assert_near(c.variants[1].p_holm.value, 3 * p[1], 1e-11);
    assert_near(c.variants[4].p_holm.value, 2 * p[4], 1e-11);
    assert_near(c.variants[2].p_holm.value, fmax(2 * p[4], p[2]), 1e-11);
    lineage_comparison_release(&c);
    remove_dir(dir);
}

static void variants_are_named_by_text(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct lineage_comparison c;
    add_rows(dir, seeds_and_variants);
    compare(&c, dir,
            &(struct lineage_compare_options){
                .variants = (const char *[]){"b,lr=0.2", "a", "exp_007,001"}, .n_variants = 3, .baseline = "a"});
    assert_string_equal(c.variants[0].name, "a");
    assert_string_equal(c.variants[1].name, "b,lr=0.2");
    assert_int_equal(c.variants[1].n_pairs, 2);
    assert_near(c.variants[1].difference.value, 0.25, 1e-14);
    assert_int_equal(c.variants[2].n_pairs, 2);
    assert_near(c.variants[2].difference.value, 0.15, 1e-14);
    lineage_comparison_release(&c);
    compare(&c, dir, &(struct lineage_compare_options){.by = "lr", .baseline = "0.2", .over = "seed"});
    assert_int_equal(c.n_variants, 2);
    assert_string_equal(c.variants[0].name, "lr=0.2");
    assert_string_equal(c.variants[1].name, "lr=0.1");
    assert_int_equal(c.n_confounded, 0);
    lineage_comparison_release(&c);
    compare(&c, dir, &(struct lineage_compare_options){.over = "seed,lr"});
    assert_int_equal(c.variants[1].n_pairs, 1); /* only seed 1 has b at the baseline's lr */
    lineage_comparison_release(&c);
    remove_dir(dir);
}

static void conditions_choose_the_trials(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct lineage_comparison c;
    const struct lineage_condition low_rate = {.name = "lr", .range = {{true, 0}, {true, 0.1}}};
    add_rows(dir, seeds_and_variants);
    compare(&c, dir, &(struct lineage_compare_options){.conditions = &low_rate, .n_conditions = 1});
    assert_int_equal(c.variants[0].n_trials, 3);
    assert_int_equal(c.variants[1].n_trials, 1);
    lineage_comparison_release(&c);
    remove_dir(dir);
}

static void what_cannot_be_compared_is_refused(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, seeds_and_variants);
    const char *one[] = {"a"}, *unknown[] = {"a", "beats"}, *twice[] = {"a", "a"}, *bad[] = {"a", "lr=fast"};
    assert_refused(dir, &(struct lineage_compare_options){.variants = one, .n_variants = 1}, "only one variant");
    assert_refused(dir, &(struct lineage_compare_options){.variants = unknown, .n_variants = 2}, "'beats' names no trial");
    assert_refused(dir, &(struct lineage_compare_options){.variants = twice, .n_variants = 2}, "named twice");
    assert_refused(dir, &(struct lineage_compare_options){.variants = bad, .n_variants = 2}, "'fast' is not a number");
    assert_refused(dir, &(struct lineage_compare_options){.baseline = "z"}, "baseline 'z'");
    assert_refused(dir, &(struct lineage_compare_options){.by = "beats"}, "beats");
    assert_refused(dir, &(struct lineage_compare_options){.over = "beats"}, "'beats' to pair them by");
    assert_refused(dir, &(struct lineage_compare_options){.over = ","}, "at least one parameter");
    assert_refused(dir, &(struct lineage_compare_options){.confidence = 1}, "confidence");
    assert_refused(dir, &(struct lineage_compare_options){.confidence = NAN}, "confidence");
    remove_dir(dir);
}

/* Tests variants as people type them: with quotes, with extra commas, and with trials that do not exist. */
static void texts_of_variants_are_read_to_their_end(void **state)
{
    (void)state;
    static const struct {
        const char *text, *why;
    } refused[] = {{"a,b,lr=0.1", "names no trial"}, {"lr=0.1 or so", "is not a number"}, {"lr=nan", "is not a number"},
                   {"opt='x'y", "is not a number"},  {"000,nowhere", "names no trial"},   {"lr=7", "names no trial"}};
    char many[7 * 200 + 1] = "";
    char *dir = make_dir();
    struct lineage_comparison c;
    add_rows(dir, seeds_and_variants);
    add_rows(dir, (const struct row[]){{"020", "e", .status = "keep", .metric = "1", .notes = "seed=1; opt='a, b'"},
                                       {"021", "e", .status = "keep", .metric = "2", .notes = "seed=1; opt=adam"},
                                       {"022", "e", .status = "keep", .metric = "3", .notes = "seed=2; opt=adam"},
                                       {.id = NULL}});
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_refused(dir,
                       &(struct lineage_compare_options){.variants = (const char *[]){"a", refused[i].text}, .n_variants = 2},
                       refused[i].why);
    for (int i = 0; i < 200; i++)
        strcat(many, "seed=1,");
    assert_refused(dir, &(struct lineage_compare_options){.variants = (const char *[]){"a", many}, .n_variants = 2},
                   "too many conditions");
    compare(&c, dir,
            &(struct lineage_compare_options){.variants = (const char *[]){",e,,opt='a, b',", "opt=adam"}, .n_variants = 2});
    assert_int_equal(c.variants[0].n_trials, 1);
    assert_int_equal(c.variants[1].n_trials, 2);
    assert_near(c.variants[1].difference.value, 1, 0);
    lineage_comparison_release(&c);
    compare(&c, dir, &(struct lineage_compare_options){.by = "opt", .baseline = "adam"});
    assert_string_equal(c.variants[0].name, "opt=adam");
    assert_int_equal(c.n_variants, 2);
    lineage_comparison_release(&c);
    compare(&c, dir, &(struct lineage_compare_options){.variants = (const char *[]){"a"}, .n_variants = 1, .baseline = "b"});
    assert_string_equal(c.variants[0].name, "b"); /* the baseline is added */
    lineage_comparison_release(&c);
    remove_dir(dir);
}

/* A setting that some trials lack, or that is a number in some and text in others, is reported, unlike a setting that
 * all trials share. */
static void what_else_differs_is_named(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"000", "a", .status = "keep", .metric = "1", .notes = "seed=1; same=x; wd=1; opt=adam; part=1; none=y"},
        {"001", "a", .status = "keep", .metric = "2", .notes = "seed=2; same=x; wd=low; opt=adam; none=y"},
        {"002", "b", .status = "keep", .metric = "1", .notes = "seed=1; same=x; wd=1; opt=sgd; part=1"},
        {"003", "b", .status = "keep", .metric = "2", .notes = "seed=2; same=x; wd=1; opt=sgd; part=1"},
        {"004", "", .status = "keep", .metric = "2", .notes = "seed=2"},
        {.id = NULL}};
    char *dir = make_dir(), names[256] = "";
    struct lineage_comparison c;
    add_rows(dir, rows);
    compare(&c, dir, &(struct lineage_compare_options){0});
    assert_int_equal(c.n_variants, 2); /* a trial without a specialist belongs to no variant */
    for (size_t i = 0; i < c.n_confounded; i++)
        strcat(strcat(names, c.confounded[i]), " ");
    assert_string_equal(names, "none opt part wd ");
    lineage_comparison_release(&c);
    remove_dir(dir);
}

/* A setting may be a number in one trial and text in the other, in either order. A variant whose trials all failed
 * does not count. */
static void numbers_and_texts_differ(void **state)
{
    (void)state;
    static const struct row rows[] = {{"000", "a", .status = "keep", .metric = "1", .notes = "seed=1; p=1; q=x; r=1"},
                                      {"001", "b", .status = "keep", .metric = "2", .notes = "seed=1; p=x; q=1; r=1"},
                                      {"002", "b", .status = "keep", .metric = "2", .notes = "seed=2; p=x; q=1; r=x"},
                                      {"003", "c", .status = "crash", .notes = "seed=1; p=5; q=5; r=5"},
                                      {"004", "b", .status = "keep", .metric = "2", .notes = "seed=inf; p=x; q=1; r=x"},
                                      {.id = NULL}};
    char *dir = make_dir(), names[256] = "";
    struct lineage_comparison c;
    add_rows(dir, rows);
    compare(&c, dir, &(struct lineage_compare_options){0});
    for (size_t i = 0; i < c.n_confounded; i++)
        strcat(strcat(names, c.confounded[i]), " ");
    assert_string_equal(names, "p q r ");
    assert_int_equal(c.n_variants, 3);
    assert_int_equal(c.variants[1].without_seed, 1); /* inf is not a seed */
    lineage_comparison_release(&c);
    lineage_comparison_release(NULL);
    remove_dir(dir);
}

/* One of two specialists has no seed, and the caller passes no error struct. */
static void some_without_seeds_are_counted(void **state)
{
    (void)state;
    static const struct row rows[] = {{"000", "a", .status = "keep", .metric = "1"},
                                      {"001", "b", .status = "keep", .metric = "2", .notes = "seed=1"},
                                      {.id = NULL}};
    char *dir = make_dir();
    struct lineage_comparison c;
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_compare(store, &(struct lineage_compare_options){0}, &c, NULL), LINEAGE_OK);
    assert_int_equal(c.variants[0].without_seed, 1);
    assert_int_equal(c.variants[1].n_trials, 1);
    lineage_comparison_release(&c);
    assert_int_equal(lineage_compare(store, &(struct lineage_compare_options){.by = "nothing"}, &c, NULL), LINEAGE_EINVAL);
    lineage_store_close(store);
    remove_dir(dir);
}

static void limits_are_told(void **state)
{
    (void)state;
    char *dir = make_dir(), id[8], notes[1024];
    struct lineage_condition conditions[80];
    struct lineage_comparison c;
    for (int i = 0; i < 80; i++)
        conditions[i] = (struct lineage_condition){.name = "seed"};
    add_rows(dir, (const struct row[]){{"a", "x", .status = "keep", .metric = "1", .notes = "seed=1"}, {.id = NULL}});
    for (int i = 0; i <= LINEAGE_COMPARE_MAX_VARIANTS; i++) {
        snprintf(id, sizeof id, "%03d", i);
        int n = snprintf(notes, sizeof notes, "seed=%d; v=%d", i % 40, i);
        /* The first row has more settings than expected. */
        for (int j = 0; j < 40; j++)
            n += i ? 0 : snprintf(notes + n, sizeof notes - (size_t)n, "; p%d=%d", j, j);
        add_rows(dir, (const struct row[]){{id, "y", .status = "keep", .metric = "1", .notes = notes}, {.id = NULL}});
    }
    assert_refused(dir, &(struct lineage_compare_options){.by = "v"}, "variants");
    assert_refused(dir, &(struct lineage_compare_options){.over = "a,b,c,d,e"}, "at most 4");
    assert_refused(dir, &(struct lineage_compare_options){.conditions = conditions, .n_conditions = 80}, "more than");
    const struct lineage_condition none = {.name = "seed", .range = {{true, 99}, {true, 99}}};
    assert_refused(dir, &(struct lineage_compare_options){.conditions = &none, .n_conditions = 1}, "no trial matches");
    compare(&c, dir, &(struct lineage_compare_options){0});
    assert_int_equal(c.variants[1].n_seeds, 40);
    assert_int_equal(c.variants[1].n_settings, 42);
    lineage_comparison_release(&c);
    lineage_comparison_release(NULL);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tail_is_that_of_the_finite_series),
                                       cmocka_unit_test(far_tail_keeps_its_digits),
                                       cmocka_unit_test(quantile_is_that_of_the_tables),
                                       cmocka_unit_test(quantile_is_that_of_the_closed_forms),
                                       cmocka_unit_test(differences_are_taken_seed_by_seed),
                                       cmocka_unit_test(trials_of_the_caller_stand_in_for_the_store),
                                       cmocka_unit_test(too_few_or_equal_differences_have_no_interval),
                                       cmocka_unit_test(what_is_left_out_is_counted),
                                       cmocka_unit_test(a_seed_run_twice_counts_once),
                                       cmocka_unit_test(many_trials_of_a_seed_have_one_mean),
                                       cmocka_unit_test(holm_steps_down_and_bonferroni_covers_all),
                                       cmocka_unit_test(variants_are_named_by_text),
                                       cmocka_unit_test(conditions_choose_the_trials),
                                       cmocka_unit_test(what_cannot_be_compared_is_refused),
                                       cmocka_unit_test(texts_of_variants_are_read_to_their_end),
                                       cmocka_unit_test(what_else_differs_is_named),
                                       cmocka_unit_test(numbers_and_texts_differ),
                                       cmocka_unit_test(some_without_seeds_are_counted),
                                       cmocka_unit_test(limits_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
