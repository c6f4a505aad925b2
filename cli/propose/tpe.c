/*
 * tpe.c: see propose_problem.h. Bergstra, Bardenet, Bengio, Kegl 2011, with joint densities of all ranges (Falkner, Klein, Hutter 2018,
 * "BOHB"): a density is a sum of kernels, one for each trial and one for the whole space, and a kernel is a product over the
 * ranges. So a proposal combines values that were good together, not each value that was good somewhere.
 *
 * The kernel of a number is a normal distribution that is cut off at the ends of its range; its width follows Scott's rule
 * (1992) with the settings of Optuna. The kernel of a choice has most of its weight on the value of its trial. Where a range
 * was inactive in a trial, its kernel is even, so that ranges with conditions share the trials of the other ranges.
 *
 * A failed trial counts as bad because it is as good evidence as a bad score. A running trial also counts as bad, because
 * otherwise every worker that asks meanwhile would be proposed nearly the same setting. Neither is counted in n, so failures
 * cannot enlarge the set of good trials. Trials of another context are compared with each other only, and weigh less.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "propose/propose_math.h"
#include "propose/propose_space.h"

enum { RECENT = 25 }; /* the latest trials have full weight; the weight of older trials falls linearly */

/* A trial as the centre of a kernel. A NULL trial is the kernel of the whole space. */
struct centre {
    const struct propose_trial *trial;
    double weight;
    double inside[PROPOSE_RANGES_MAX]; /* the part of the kernel's mass that lies within the range */
};

struct density {
    const struct propose_problem *problem;
    struct centre *centres; /* [n] */
    size_t n;
    double total;                     /* of the weights */
    double sigma[PROPOSE_RANGES_MAX]; /* on the scale of each range */
    double astray[PROPOSE_RANGES_MAX]; /* of a choice: the weight of each value that is not the trial's */
};

bool tpe_is_ready(const struct propose_problem *problem)
{
    size_t ended = 0, measured = 0;
    for (size_t i = 0; i < problem->n_past; i++) {
        ended += problem->past[i].end == PROPOSE_MEASURED || problem->past[i].end == PROPOSE_FAILED;
        measured += problem->past[i].end == PROPOSE_MEASURED;
    }
    return ended >= TPE_STARTUP && measured > 0;
}

static void add_centre(struct density *density, const struct propose_trial *trial)
{
    bool fails = trial->end == PROPOSE_FAILED && trial->weight > 0;
    double weight = (fails ? trial->weight : 1) * propose_exp(-0.3 * (double)trial->differs);
    density->centres[density->n++] = (struct centre){.trial = trial, .weight = weight};
}

/* The observations of a context follow each other, best first. The best tenth of each context is good. */
static void divide(struct density *good, struct density *bad, const struct observed *list, size_t n)
{
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && list[end].trial->context == list[begin].trial->context; end++)
            continue;
        size_t n_good = (size_t)fmin(ceil(0.1 * (double)(end - begin)), TPE_GOOD_MAX);
        for (size_t i = begin; i < end; i++)
            add_centre(i < begin + n_good ? good : bad, list[i].trial);
    }
    const struct propose_problem *problem = bad->problem;
    for (size_t i = 0; i < problem->n_past; i++)
        if (problem->past[i].end == PROPOSE_FAILED || problem->past[i].end == PROPOSE_RUNNING)
            add_centre(bad, &problem->past[i]);
}

static int by_time(const void *a, const void *b)
{
    const struct propose_trial *x = ((const struct centre *)a)->trial, *y = ((const struct centre *)b)->trial;
    return (x > y) - (x < y);
}

/* The weight by age of trial i of n: 1 for the latest RECENT, and down to 1/n for the first. */
static double age_weight(size_t i, size_t n)
{
    if (n <= RECENT || i >= n - RECENT)
        return 1;
    size_t old = n - RECENT;
    return old > 1 ? 1 / (double)n + (1 - 1 / (double)n) * (double)i / (double)(old - 1) : 1 / (double)n;
}

static double middle_of(const struct propose_range *range)
{
    return 0.5 * (propose_scaled_low(range) + propose_scaled_high(range));
}

/* Centre and width of a kernel in a range of numbers. */
static void shape(double *mu, double *sigma, const struct density *density, const struct centre *centre, size_t r)
{
    const struct propose_range *range = &density->problem->ranges[r];
    *mu = centre->trial ? propose_scaled(range, centre->trial->x[r]) : middle_of(range);
    *sigma = centre->trial ? density->sigma[r] : propose_scaled_high(range) - propose_scaled_low(range);
}

static bool is_even(const struct density *density, const struct centre *centre, size_t r)
{
    return centre->trial && !propose_is_active(density->problem->ranges, centre->trial->x, r);
}

static void set_inside(struct density *density, struct centre *centre)
{
    for (size_t r = 0; r < density->problem->n_ranges; r++) {
        const struct propose_range *range = &density->problem->ranges[r];
        double mu, sigma;
        if (range->scale == PROPOSE_CHOICE)
            continue;
        shape(&mu, &sigma, density, centre, r);
        centre->inside[r] = propose_normal_cdf((propose_scaled_high(range) - mu) / sigma) -
                            propose_normal_cdf((propose_scaled_low(range) - mu) / sigma);
    }
}

/* Orders the centres by time, weighs them by age, and adds the kernel of the whole space. */
static void estimate(struct density *density)
{
    size_t n = density->n, d = density->problem->n_ranges;
    double shrink = 0.2 * propose_exp(-propose_log((double)n + 1) / ((double)d + 4));
    qsort(density->centres, n, sizeof *density->centres, by_time);
    for (size_t i = 0; i < n; i++)
        density->centres[i].weight *= age_weight(i, n);
    density->centres[density->n++] = (struct centre){.weight = 1};
    for (size_t r = 0; r < d; r++) {
        const struct propose_range *range = &density->problem->ranges[r];
        density->sigma[r] = shrink * (propose_scaled_high(range) - propose_scaled_low(range));
        density->astray[r] = range->scale == PROPOSE_CHOICE ? 1 / ((double)range->n_choices + (double)n + 1) : 0;
    }
    for (size_t i = 0; i < density->n; i++) {
        set_inside(density, &density->centres[i]);
        density->total += density->centres[i].weight;
    }
}

static const struct centre *draw_centre(const struct density *density, struct propose_stream *stream)
{
    double left = propose_uniform(stream) * density->total;
    size_t i = 0;
    while (i + 1 < density->n && (left -= density->centres[i].weight) >= 0)
        i++;
    return &density->centres[i];
}

static double draw_choice(const struct density *density, const struct centre *centre, size_t r, struct propose_stream *stream)
{
    double u = propose_uniform(stream), n = (double)density->problem->ranges[r].n_choices;
    double stray = density->astray[r] * n;
    if (centre->trial && !is_even(density, centre, r) && u >= stray)
        return centre->trial->x[r];
    return floor(propose_uniform(stream) * n);
}

/*
 * Draws a value, and draws again if it falls outside of the range. The centres of the kernels are inside, so a few
 * draws suffice.
 */
static double draw_number(const struct density *density, const struct centre *centre, size_t r, struct propose_stream *stream)
{
    const struct propose_range *range = &density->problem->ranges[r];
    double mu, sigma;
    if (is_even(density, centre, r))
        return propose_value(range, propose_uniform(stream));
    shape(&mu, &sigma, density, centre, r);
    for (int i = 0; i < 100; i++) {
        double x = mu + sigma * propose_normal(stream);
        if (x >= propose_scaled_low(range) && x <= propose_scaled_high(range))
            return propose_unscaled(range, x);
    }
    return propose_unscaled(range, mu);
}

static void draw(double *x, const struct density *density, struct propose_stream *stream)
{
    const struct centre *centre = draw_centre(density, stream);
    for (size_t r = 0; r < density->problem->n_ranges; r++)
        x[r] = density->problem->ranges[r].scale == PROPOSE_CHOICE ? draw_choice(density, centre, r, stream)
                                                                   : draw_number(density, centre, r, stream);
    propose_settle(density->problem, x);
}

/* Where x lies in a range, on its scale: for a whole number, both ends of the interval of length 1 around it. */
struct spot {
    bool active;
    double x, low, high;
};

static void find_spots(struct spot *spots, const struct propose_problem *problem, const double *x)
{
    for (size_t r = 0; r < problem->n_ranges; r++) {
        const struct propose_range *range = &problem->ranges[r];
        bool is_choice = range->scale == PROPOSE_CHOICE, whole = propose_is_whole(range);
        spots[r] = (struct spot){.active = propose_is_active(problem->ranges, x, r), .x = x[r]};
        if (is_choice || !spots[r].active)
            continue;
        spots[r].x = propose_scaled(range, x[r]);
        spots[r].low = whole ? propose_scaled(range, x[r] - 0.5) : 0;
        spots[r].high = whole ? propose_scaled(range, x[r] + 0.5) : 0;
    }
}

/* The kernel's density at a number; for a whole number, the kernel's mass in the interval of length 1 around it. */
static double number_at(const struct density *density, const struct centre *centre, size_t r, const struct spot *spot)
{
    const struct propose_range *range = &density->problem->ranges[r];
    double mu, sigma, width = propose_scaled_high(range) - propose_scaled_low(range);
    bool whole = propose_is_whole(range);
    if (is_even(density, centre, r))
        return (whole ? spot->high - spot->low : 1) / width;
    shape(&mu, &sigma, density, centre, r);
    if (whole)
        return (propose_normal_cdf((spot->high - mu) / sigma) - propose_normal_cdf((spot->low - mu) / sigma)) / centre->inside[r];
    double z = (spot->x - mu) / sigma;
    return 0.39894228040143268 * propose_exp(-0.5 * z * z) / (sigma * centre->inside[r]);
}

static double choice_at(const struct density *density, const struct centre *centre, size_t r, const struct spot *spot)
{
    double n = (double)density->problem->ranges[r].n_choices, stray = density->astray[r];
    if (!centre->trial || is_even(density, centre, r))
        return 1 / n;
    return stray + (centre->trial->x[r] == spot->x ? 1 - n * stray : 0);
}

static double log_density(const struct density *density, const struct spot *spots)
{
    double sum = 0;
    for (size_t i = 0; i < density->n; i++) {
        const struct centre *centre = &density->centres[i];
        double product = centre->weight / density->total;
        for (size_t r = 0; r < density->problem->n_ranges; r++)
            if (spots[r].active)
                product *= density->problem->ranges[r].scale == PROPOSE_CHOICE ? choice_at(density, centre, r, &spots[r])
                                                                               : number_at(density, centre, r, &spots[r]);
        sum += product;
    }
    return propose_log(fmax(sum, 1e-300));
}

struct candidate {
    double x[PROPOSE_RANGES_MAX], merit;
};

/* Equal merits are ordered by setting, because qsort does not define the order of equal elements. */
static int by_merit(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->merit != y->merit)
        return (x->merit < y->merit) - (x->merit > y->merit);
    for (size_t i = 0; i < PROPOSE_RANGES_MAX; i++)
        if (x->x[i] != y->x[i])
            return x->x[i] < y->x[i] ? -1 : 1;
    return 0;
}

static void draw_candidates(double (*candidates)[PROPOSE_RANGES_MAX], const struct density *good, const struct density *bad)
{
    const struct propose_problem *problem = good->problem;
    struct propose_stream stream = propose_stream_of(problem->seed, PROPOSE_TPE, problem->n_past + problem->n_unread);
    struct candidate drawn[TPE_CANDIDATES] = {{.merit = 0}};
    struct spot spots[PROPOSE_RANGES_MAX];
    for (size_t i = 0; i < TPE_CANDIDATES; i++) {
        draw(drawn[i].x, good, &stream);
        find_spots(spots, problem, drawn[i].x);
        drawn[i].merit = log_density(good, spots) - log_density(bad, spots);
    }
    qsort(drawn, TPE_CANDIDATES, sizeof *drawn, by_merit);
    for (size_t i = 0; i < TPE_CANDIDATES; i++)
        memcpy(candidates[i], drawn[i].x, sizeof drawn[i].x);
}

bool tpe_candidates(double (*candidates)[PROPOSE_RANGES_MAX], const struct propose_problem *problem)
{
    size_t n, room = problem->n_past + 1;
    struct observed *list = malloc(room * sizeof *list);
    struct centre *centres = malloc(2 * room * sizeof *centres);
    struct density good = {.problem = problem, .centres = centres};
    struct density bad = {.problem = problem, .centres = centres ? centres + room : NULL};
    bool made = list && centres;
    if (made) {
        observed_list(list, &n, problem);
        divide(&good, &bad, list, n);
        estimate(&good);
        estimate(&bad);
        draw_candidates(candidates, &good, &bad);
    }
    free(list);
    free(centres);
    return made;
}
