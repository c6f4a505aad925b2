/*
 * tpe.c: see tpe.h. Bergstra, Bardenet, Bengio, Kegl 2011, with the Parzen windows of Optuna's sampler: one kernel on
 * every trial, and one kernel in the middle of the range that is as wide as the range. The sigma of a kernel is the
 * distance to the farther neighbour, within bounds.
 *
 * Each range is estimated independently. A failed trial counts as bad because it is as good evidence as a bad score. A
 * running trial also counts as bad, because otherwise every worker that asks meanwhile would be proposed nearly the
 * same setting. Neither is counted in n, so failures cannot enlarge the set of good trials.
 */
#include "propose/tpe.h"

#include <math.h>
#include <stdlib.h>

#include "propose/propose_math.h"
#include "propose/propose_space.h"

enum { RECENT = 25 }; /* the latest trials have full weight; the weight of older trials falls linearly */

struct kernel {
    double mu, sigma, weight; /* sigma 0: not set yet */
    double inside;            /* the part of the kernel's mass that lies within the range */
};

/* A density over one range: kernels [n] on the scale of the range, or the weight of each value of a choice. */
struct density {
    const struct propose_range *range;
    struct kernel *kernels;
    size_t n;
    double low, high;
};

struct split {
    const struct propose_trial **good, **bad; /* in the order of the past */
    size_t n_good, n_bad;
};

/* ---- which trials are good ---- */

static size_t count_measured(const struct propose_problem *problem)
{
    size_t n = 0;
    for (size_t i = 0; i < problem->n_past; i++)
        n += problem->past[i].end == PROPOSE_MEASURED;
    return n;
}

bool tpe_is_ready(const struct propose_problem *problem)
{
    size_t over = 0;
    for (size_t i = 0; i < problem->n_past; i++)
        over += problem->past[i].end != PROPOSE_RUNNING;
    return over >= TPE_STARTUP && count_measured(problem) > 0;
}

static int by_score(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double loss(const struct propose_problem *problem, const struct propose_trial *trial)
{
    return problem->lower_is_better ? trial->score : -trial->score;
}

/* The loss of the worst of the good trials. */
static double threshold(const struct propose_problem *problem, double *losses, size_t n_good)
{
    size_t n = 0;
    for (size_t i = 0; i < problem->n_past; i++)
        if (problem->past[i].end == PROPOSE_MEASURED)
            losses[n++] = loss(problem, &problem->past[i]);
    qsort(losses, n, sizeof *losses, by_score);
    return losses[n_good - 1];
}

/* Among trials with equal scores the earlier trials count as good, so that the search can leave a plateau. */
static void divide(struct split *split, const struct propose_problem *problem, double *losses)
{
    size_t n = count_measured(problem);
    size_t n_good = (size_t)fmin(ceil(0.1 * (double)n), TPE_GOOD_MAX), below = 0;
    double worst = threshold(problem, losses, n_good);
    while (below < n_good && losses[below] < worst)
        below++;
    size_t equals = n_good - below;
    for (size_t i = 0; i < problem->n_past; i++) {
        const struct propose_trial *trial = &problem->past[i];
        bool measured = trial->end == PROPOSE_MEASURED;
        bool good = measured && loss(problem, trial) < worst;
        if (measured && loss(problem, trial) == worst && equals > 0) {
            good = true;
            equals--;
        }
        if (good)
            split->good[split->n_good++] = trial;
        else
            split->bad[split->n_bad++] = trial;
    }
}

/* ---- densities ---- */

static int by_mu(const void *a, const void *b)
{
    const struct kernel *x = a, *y = b;
    return (x->mu > y->mu) - (x->mu < y->mu);
}

/* The weight of trial i of n: 1 for the latest RECENT, and down to 1/n for the first. */
static double weight(size_t i, size_t n)
{
    if (n <= RECENT || i >= n - RECENT)
        return 1;
    size_t old = n - RECENT;
    return old > 1 ? 1 / (double)n + (1 - 1 / (double)n) * (double)i / (double)(old - 1) : 1 / (double)n;
}

/*
 * Sets sigma to the distance to the farther neighbour. The ends of the range do not count as neighbours, so a kernel
 * near an end may be narrow.
 */
static void set_sigmas(struct density *density)
{
    double width = density->high - density->low, least = width / fmin(100, 1 + (double)density->n);
    for (size_t i = 0; i < density->n; i++) {
        struct kernel *k = &density->kernels[i];
        double left = i > 0 ? k->mu - k[-1].mu : 0, right = i + 1 < density->n ? k[1].mu - k->mu : 0;
        if (k->sigma == 0)
            k->sigma = fmin(fmax(fmax(left, right), least), width);
    }
}

static void estimate(struct density *density, const struct propose_range *range, size_t r,
                     const struct propose_trial **trials, size_t n)
{
    density->range = range;
    density->low = propose_scaled_low(range);
    density->high = propose_scaled_high(range);
    density->n = n + 1;
    for (size_t i = 0; i < n; i++)
        density->kernels[i] = (struct kernel){.mu = propose_scaled(range, trials[i]->x[r]), .weight = weight(i, n)};
    density->kernels[n] = (struct kernel){
        .mu = 0.5 * (density->low + density->high), .sigma = density->high - density->low, .weight = 1};
    qsort(density->kernels, density->n, sizeof *density->kernels, by_mu);
    set_sigmas(density);
    for (size_t i = 0; i < density->n; i++) {
        struct kernel *k = &density->kernels[i];
        k->inside = propose_normal_cdf((density->high - k->mu) / k->sigma) -
                    propose_normal_cdf((density->low - k->mu) / k->sigma);
    }
}

/*
 * Estimates the density of a choice: the weight of each value is the sum of its trials' weights, plus a share of one
 * more kernel that is spread over all values.
 */
static void estimate_choice(struct density *density, const struct propose_range *range, size_t r,
                            const struct propose_trial **trials, size_t n)
{
    density->range = range;
    density->n = range->n_choices;
    for (size_t i = 0; i < range->n_choices; i++)
        density->kernels[i] = (struct kernel){.weight = (1.0 + (double)n / (double)(n + 1)) / (double)range->n_choices};
    for (size_t i = 0; i < n; i++)
        density->kernels[(size_t)trials[i]->x[r]].weight += weight(i, n);
}

static double total_weight(const struct density *density)
{
    double total = 0;
    for (size_t i = 0; i < density->n; i++)
        total += density->kernels[i].weight;
    return total;
}

static size_t draw_kernel(const struct density *density, struct propose_stream *stream)
{
    double left = propose_uniform(stream) * total_weight(density);
    size_t i = 0;
    while (i + 1 < density->n && (left -= density->kernels[i].weight) >= 0)
        i++;
    return i;
}

/*
 * Draws a value, and draws again if it falls outside of the range. The centres of the kernels are inside, so a few
 * draws suffice.
 */
static double draw(const struct density *density, struct propose_stream *stream)
{
    const struct kernel *k = &density->kernels[draw_kernel(density, stream)];
    if (density->range->scale == PROPOSE_CHOICE)
        return (double)(k - density->kernels);
    for (int i = 0; i < 100; i++) {
        double x = k->mu + k->sigma * propose_normal(stream);
        if (x >= density->low && x <= density->high)
            return propose_unscaled(density->range, x);
    }
    return propose_unscaled(density->range, k->mu);
}

/* The kernel's density at x; for a whole number, the kernel's mass in the interval of length 1 around it. */
static double kernel_at(const struct kernel *k, const struct propose_range *range, double x)
{
    if (!propose_is_whole(range)) {
        double z = (propose_scaled(range, x) - k->mu) / k->sigma;
        return propose_exp(-0.5 * z * z) / k->sigma;
    }
    return propose_normal_cdf((propose_scaled(range, x + 0.5) - k->mu) / k->sigma) -
           propose_normal_cdf((propose_scaled(range, x - 0.5) - k->mu) / k->sigma);
}

static double log_density(const struct density *density, double x)
{
    double sum = 0, total = total_weight(density);
    if (density->range->scale == PROPOSE_CHOICE)
        return propose_log(density->kernels[(size_t)x].weight / total);
    for (size_t i = 0; i < density->n; i++) {
        const struct kernel *k = &density->kernels[i];
        sum += k->weight / total * kernel_at(k, density->range, x) / k->inside;
    }
    return propose_log(fmax(sum, 1e-300));
}

/* ---- candidates ---- */

struct candidate {
    double value, merit;
};

/* Equal merits are ordered by value, because qsort does not define the order of equal elements. */
static int by_merit(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->merit != y->merit)
        return (x->merit < y->merit) - (x->merit > y->merit);
    return (x->value > y->value) - (x->value < y->value);
}

static void fill_range(double (*candidates)[PROPOSE_RANGES_MAX], const struct propose_problem *problem, size_t r,
                       const struct split *split, struct kernel *kernels)
{
    const struct propose_range *range = &problem->ranges[r];
    struct density good = {.kernels = kernels};
    struct density bad = {.kernels = kernels + problem->n_past + 1 + range->n_choices};
    struct propose_stream stream = propose_stream_of(problem->seed, PROPOSE_TPE + 16 * r, problem->n_past);
    struct candidate drawn[TPE_CANDIDATES];
    void (*fill)(struct density *, const struct propose_range *, size_t, const struct propose_trial **, size_t) =
        range->scale == PROPOSE_CHOICE ? estimate_choice : estimate;
    fill(&good, range, r, split->good, split->n_good);
    fill(&bad, range, r, split->bad, split->n_bad);
    for (size_t i = 0; i < TPE_CANDIDATES; i++) {
        double x = draw(&good, &stream);
        drawn[i] = (struct candidate){x, log_density(&good, x) - log_density(&bad, x)};
    }
    qsort(drawn, TPE_CANDIDATES, sizeof *drawn, by_merit);
    for (size_t i = 0; i < TPE_CANDIDATES; i++)
        candidates[i][r] = drawn[i].value;
}

static size_t most_choices(const struct propose_problem *problem)
{
    size_t most = 0;
    for (size_t r = 0; r < problem->n_ranges; r++)
        if (problem->ranges[r].n_choices > most)
            most = problem->ranges[r].n_choices;
    return most;
}

bool tpe_candidates(double (*candidates)[PROPOSE_RANGES_MAX], const struct propose_problem *problem)
{
    size_t n = problem->n_past;
    const struct propose_trial **pointers = malloc(2 * n * sizeof *pointers);
    double *losses = malloc(n * sizeof *losses);
    struct kernel *kernels = malloc(2 * (n + 1 + most_choices(problem)) * sizeof *kernels);
    struct split split = {.good = pointers, .bad = pointers ? pointers + n : NULL};
    bool made = pointers && losses && kernels;
    if (made) {
        divide(&split, problem, losses);
        for (size_t r = 0; r < problem->n_ranges; r++)
            fill_range(candidates, problem, r, &split, kernels);
    }
    free((void *)pointers);
    free(losses);
    free(kernels);
    return made;
}
