/* paired.c: paired t tests (Student 1908), Bonferroni's intervals and Holm's p values (Holm 1979). */
#include "paired.h"

#include <float.h>
#include <math.h>

#include "../statistics/student.h"

/* Divides by n - 1, because the mean is estimated from the same values; for one value the deviation is absent instead
 * of 0. */
void paired_moments(const double *values, size_t n, struct lineage_number *mean, struct lineage_number *std)
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

void paired_test(struct lineage_variant *v, const double *differences, size_t n, double scale, double confidence)
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

/* The spreads of the two sides may differ, and so may their sizes (Welch 1947). */
void paired_welch(struct lineage_variant *v, const struct lineage_variant *baseline, double scale, double confidence)
{
    double n = (double)v->n_seeds, m = (double)baseline->n_seeds;
    if (!v->mean.present || !baseline->mean.present)
        return;
    v->welch = true;
    v->difference = (struct lineage_number){true, v->mean.value - baseline->mean.value};
    v->difference_std = (struct lineage_number){0};
    if (!v->std.present || !baseline->std.present)
        return;
    double a = v->std.value * v->std.value / n, b = baseline->std.value * baseline->std.value / m;
    if (!(sqrt(a + b) > 8 * DBL_EPSILON * scale))
        return;
    v->error = (struct lineage_number){true, sqrt(a + b)};
    v->freedom = (struct lineage_number){true, (a + b) * (a + b) / (a * a / (n - 1) + b * b / (m - 1))};
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

/* Holm's stepwise correction works for p values but not for intervals. The family's intervals are therefore
 * Bonferroni's, which are wider and hold simultaneously. */
size_t paired_adjust(struct lineage_variant *variants, size_t n, double confidence)
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
