/*
 * compare.c: differences between variants and a baseline, seed by seed.
 *
 * Pairing by seed removes the effect that a seed has on every variant alike (data order, initial weights). That effect
 * is often larger than the difference in question and would hide it if only two means were compared. So seeds that only
 * the variant or only the baseline has are left out and counted, never filled in.
 */
#include <lineage/compare.h>

#include <float.h>
#include <math.h>

#include "../internal.h"
#include "../statistics/student.h"
#include "variants.h"

/* Mean and standard deviation (n - 1) of values[0..n); the mean is absent for n = 0, the deviation for n < 2.
 * Divides by n - 1, because the mean is estimated from the same values; for one value the deviation is absent instead
 * of 0. */
static void paired_moments(const double *values, size_t n, struct lineage_number *mean, struct lineage_number *std)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    *mean = (struct lineage_number){n > 0, n ? sum / (double)n : 0};
    for (size_t i = 0; i < n; i++) /* from the mean, because the mean of squares minus the squared mean cancels */
        squares += (values[i] - mean->value) * (values[i] - mean->value);
    *std = (struct lineage_number){n > 1, n > 1 ? sqrt(squares / (double)(n - 1)) : 0};
}

/* Ends of the interval for a two-sided error probability alpha. */
static void interval(const struct lineage_variant *v, double alpha, struct lineage_number *low, struct lineage_number *high)
{
    double half = student_quantile(alpha, v->freedom.value) * v->error.value;
    *low = (struct lineage_number){true, v->difference.value - half};
    *high = (struct lineage_number){true, v->difference.value + half};
}

static void test(struct lineage_variant *v, double confidence)
{
    v->p = (struct lineage_number){true, student_two_sided(fabs(v->difference.value) / v->error.value, v->freedom.value)};
    interval(v, 1 - confidence, &v->low, &v->high);
}

/* Sets the variant's difference, interval and p from differences[0..n); scale is the largest score that they were
 * computed from. */
static void paired_test(struct lineage_variant *v, const double *differences, size_t n, double scale, double confidence)
{
    v->n_pairs = n;
    paired_moments(differences, n, &v->difference, &v->difference_std);
    /* If all differences are equal (up to rounding) their spread cannot be estimated; an interval of zero width would
     * claim certainty. */
    if (n < 2 || !(v->difference_std.value > 8 * DBL_EPSILON * scale))
        return;
    /* There are n - 1 degrees of freedom for n pairs, because the spread is estimated from the same differences. For two
     * pairs and alpha 0.05, the factor is 12.7 instead of the normal distribution's 1.96. */
    v->error = (struct lineage_number){true, v->difference_std.value / sqrt((double)n)};
    v->freedom = (struct lineage_number){true, (double)(n - 1)};
    test(v, confidence);
}

/*
 * Holm's method starts at the smallest p, multiplies each p by the number of tests left, and never lets a later p fall
 * below an earlier one. Among ten variants without any effect, one is below 0.1 by chance. Holm keeps the chance of a
 * single false claim in the family at the chosen level, assumes nothing about how the tests depend on each other (all
 * share one baseline), and rejects whatever Bonferroni would.
 */
static void adjust_holm(struct lineage_variant *variants, size_t n, size_t tests)
{
    double highest = 0;
    for (size_t left = tests; left; left--) {
        struct lineage_variant *next = NULL;
        for (size_t i = 0; i < n; i++)
            if (variants[i].p.present && !variants[i].p_holm.present && (!next || variants[i].p.value < next->p.value))
                next = &variants[i];
        highest = fmax(highest, fmin(1, (double)left * next->p.value));
        next->p_holm = (struct lineage_number){true, highest};
    }
}

/* Computes intervals and p values that hold for all comparisons together; returns the number of comparisons that have a
 * p.
 * Holm's stepwise correction works for p values but not for intervals. The family's intervals are therefore
 * Bonferroni's, which are wider and hold simultaneously. */
static size_t paired_adjust(struct lineage_variant *variants, size_t n, double confidence)
{
    size_t tests = 0;
    for (size_t i = 0; i < n; i++)
        tests += variants[i].p.present;
    for (size_t i = 0; i < n; i++)
        if (variants[i].p.present)
            interval(&variants[i], (1 - confidence) / (double)tests, &variants[i].family_low, &variants[i].family_high);
    adjust_holm(variants, n, tests);
    return tests;
}

/* Computes the differences over the common seeds and returns their number; `seen` of both groups is sorted. *scale
 * becomes the largest score, which shows how large a difference rounding alone could make. */
static size_t pair_up(const struct group *baseline, const struct group *g, double *differences, double *scale)
{
    size_t n = 0;
    *scale = 0;
    for (size_t i = 0, j = 0; i < baseline->n_seen && j < g->n_seen;) {
        int order = variants_order(&baseline->seen[i], &g->seen[j]);
        if (order == 0) {
            *scale = fmax(*scale, fmax(fabs(baseline->seen[i].score), fabs(g->seen[j].score)));
            differences[n++] = g->seen[j].score - baseline->seen[i].score;
        }
        i += order <= 0;
        j += order >= 0;
    }
    return n;
}

/* The number of pairs is not known in advance, so the scratch array has the largest possible size. */
static enum lineage_status test_group(const struct group *baseline, struct group *g, double confidence, struct lineage_error *err)
{
    double scale, *differences = calloc(g->n_seen + 1, sizeof *differences);
    if (!differences)
        return store_no_memory(err);
    size_t n = pair_up(baseline, g, differences, &scale);
    paired_test(&g->variant, differences, n, scale, confidence);
    g->variant.unpaired = baseline->n_seen + g->n_seen - 2 * n;
    free(differences);
    return LINEAGE_OK;
}

static enum lineage_status describe(struct group *g, struct lineage_error *err)
{
    double *scores = calloc(g->n_seen + 1, sizeof *scores);
    if (!scores)
        return store_no_memory(err);
    for (size_t i = 0; i < g->n_seen; i++)
        scores[i] = g->seen[i].score;
    g->variant.n_seeds = g->n_seen;
    paired_moments(scores, g->n_seen, &g->variant.mean, &g->variant.std);
    free(scores);
    return LINEAGE_OK;
}

static const struct lineage_variant_setting *find_setting(const struct lineage_variant *v, const char *name)
{
    for (size_t i = 0; i < v->n_settings; i++)
        if (strcmp(v->settings[i].name, name) == 0)
            return &v->settings[i];
    return NULL;
}

/* Whether `one` has a single value, and it equals the first value of the other setting. */
static bool has_one_value(const struct lineage_variant_setting *one, const struct lineage_variant_setting *other)
{
    if (one->text || other->text)
        return one->text && other->text && !one->mixed && strcmp(one->text, other->text) == 0;
    return one->low == other->low && one->high == other->low;
}

/* Whether every trial that counts has the same value of the setting. A setting that some trials lack counts as
 * different, because its value there is unknown. */
static bool is_constant(const struct comparing *c, const struct lineage_variant_setting *setting)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct lineage_variant *v = &c->groups[i].variant;
        const struct lineage_variant_setting *its = find_setting(v, setting->name);
        if (v->n_trials && (!its || its->n != v->n_trials || !has_one_value(its, setting)))
            return false;
    }
    return true;
}

static bool is_listed(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* If two variants also differ in a second setting, the numbers are right, but the reader must know that the second
 * setting could also have caused the difference. Settings that name the variants or pair the trials differ on purpose,
 * so they are not listed. */
static enum lineage_status list_confounded(const struct comparing *c, struct lineage_comparison *out, struct lineage_error *err)
{
    size_t most = 0, n = 0;
    for (size_t i = 0; i < c->n; i++)
        most += c->groups[i].variant.n_settings;
    const char **names = arena_alloc(c->arena, most + 1, sizeof *names);
    if (!names)
        return store_no_memory(err);
    for (size_t i = 0; i < c->n; i++)
        for (size_t j = 0; j < c->groups[i].variant.n_settings; j++) {
            const struct lineage_variant_setting *setting = &c->groups[i].variant.settings[j];
            if (!is_listed(c->named, c->n_named, setting->name) && !is_listed(names, n, setting->name) &&
                !is_constant(c, setting))
                names[n++] = setting->name;
        }
    out->confounded = names;
    out->n_confounded = n;
    return LINEAGE_OK;
}

/* Names are in the arena already; this function copies the variants there too. Intervals and p values are adjusted
 * after all tests, because both corrections depend on the number of tests. */
static enum lineage_status give(const struct comparing *c, struct lineage_comparison *out, struct lineage_error *err)
{
    out->variants = arena_alloc(c->arena, c->n, sizeof *out->variants);
    if (!out->variants)
        return store_no_memory(err);
    out->n_variants = c->n;
    for (size_t i = 0; i < c->n; i++)
        out->variants[i] = c->groups[i].variant;
    out->n_tests = paired_adjust(out->variants, out->n_variants, out->confidence);
    return list_confounded(c, out, err);
}

/* Without this check, a store whose trials have no seed would give empty variants, as if none had been run. */
static enum lineage_status check_seeds(const struct comparing *c, struct lineage_error *err)
{
    size_t with = 0, without = 0;
    for (size_t i = 0; i < c->n; i++) {
        with += c->groups[i].variant.n_trials;
        without += c->groups[i].variant.without_seed;
    }
    if (with || !without)
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EINVAL, "none of these trials has '%.60s' to pair them by; name another parameter",
                      c->options->over ? c->options->over : "seed");
}

static enum lineage_status compare(struct comparing *c, struct lineage_comparison *out, struct lineage_error *err)
{
    TRY(variants_collect(c, err));
    TRY(check_seeds(c, err));
    for (size_t i = 0; i < c->n; i++)
        TRY(describe(&c->groups[i], err));
    for (size_t i = 1; i < c->n; i++)
        TRY(test_group(&c->groups[0], &c->groups[i], out->confidence, err));
    return give(c, out, err);
}

enum lineage_status lineage_compare(struct lineage_store *store, const struct lineage_compare_options *options,
                                    struct lineage_comparison *out, struct lineage_error *err)
{
    struct lineage_error local; /* filled in if collecting the trials fails */
    *out = (struct lineage_comparison){.confidence = options->confidence > 0 ? options->confidence : 0.95};
    if (!(options->confidence >= 0 && options->confidence < 1))
        return store_fail(err, LINEAGE_EINVAL, "a confidence lies between 0 and 1, as 0.95 does");
    struct arena *arena = calloc(1, sizeof *arena);
    if (!arena)
        return store_no_memory(err);
    out->memory = arena;
    struct comparing c = {.store = store, .options = options, .arena = arena};
    enum lineage_status status = compare(&c, out, err ? err : &local);
    variants_release(&c);
    if (status != LINEAGE_OK)
        lineage_comparison_release(out);
    return status;
}

void lineage_comparison_release(struct lineage_comparison *comparison)
{
    if (!comparison)
        return;
    if (comparison->memory)
        arena_release(comparison->memory);
    free(comparison->memory);
    *comparison = (struct lineage_comparison){0};
}
