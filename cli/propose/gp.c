/*
 * Expected improvement (Mockus 1978; Jones, Schonlau, Welch 1998) over the best mean among the settings that were tried,
 * times what one noisy run can say about a setting (Huang et al. 2006, "Global optimization of stochastic black-box systems"),
 * times the probability that a trial does not fail (Gardner et al. 2014, "Bayesian optimization with inequality
 * constraints"), which a second process learns from which trials failed. Running trials count as if they had ended with the
 * mean that is expected of them (Ginsbourger, Le Riche, Carraro 2010, the kriging believer), so that workers that ask at the
 * same time are proposed different settings.
 *
 * Scores are transformed by log(1 + (loss - least) / c), which keeps their order, with the c that makes them most like normal
 * draws (the profile likelihood of Box and Cox 1964); c = infinity leaves them unchanged. Whole numbers and choices are
 * rounded before the process sees them (Garrido-Merchan and Hernandez-Lobato 2020), and an inactive range counts as the
 * middle of its range.
 */
#include "propose/gp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "propose/gaussian.h"
#include "propose/propose_math.h"
#include "propose/propose_space.h"

enum { STARTUP_LEAST = 4, STARTUP_MOST = 10 };

/* What the search works with. */
struct search {
    const struct propose_problem *problem;
    bool is_choice[PROPOSE_RANGES_MAX];
    struct gaussian_point *points; /* [n] measured trials, one for each setting, then [n_ended] failures for `failing` */
    size_t n;
    struct gaussian value, failure;
    bool can_fail;                         /* `failure` was learned */
    double (*running)[PROPOSE_RANGES_MAX]; /* [n_running] */
    size_t n_running;
    double best; /* the least mean of a setting that was tried */
    double scale; /* of the scores that the process sees, by that of the better scores */
    struct propose_stream stream;
};

bool gp_is_ready(const struct propose_problem *problem)
{
    size_t ended = 0, measured = 0, wanted = problem->n_ranges + 3;
    for (size_t i = 0; i < problem->n_past; i++) {
        ended += problem->past[i].end == PROPOSE_MEASURED || problem->past[i].end == PROPOSE_FAILED;
        measured += problem->past[i].end == PROPOSE_MEASURED;
    }
    wanted = wanted < STARTUP_LEAST ? STARTUP_LEAST : wanted > STARTUP_MOST ? STARTUP_MOST : wanted;
    return ended >= wanted && measured > 0;
}

/* ---- points ---- */

static void place(double *z, const struct propose_problem *problem, const double *x)
{
    for (size_t r = 0; r < problem->n_ranges; r++) {
        bool active = propose_is_active(problem->ranges, x, r);
        bool is_choice = problem->ranges[r].scale == PROPOSE_CHOICE;
        z[r] = active ? propose_unit_of(&problem->ranges[r], x[r]) : is_choice ? -1 : 0.5;
    }
}

static double loss_of(const struct propose_problem *problem, const struct propose_trial *trial)
{
    return problem->lower_is_better ? trial->score : -trial->score;
}

static struct gaussian_point point_of(const struct propose_problem *problem, const struct propose_trial *trial)
{
    struct gaussian_point point = {.y = loss_of(problem, trial),
                                   .seeds = trial->seeds ? (double)trial->seeds : 1,
                                   .relation = propose_exp(-0.3 * (double)trial->differs),
                                   .context = trial->context};
    place(point.z, problem, trial->x);
    return point;
}

/* Trials with equal settings are one point, with the mean of their scores. */
static void add_point(struct search *search, const struct gaussian_point *point)
{
    for (size_t i = 0; i < search->n; i++) {
        struct gaussian_point *old = &search->points[i];
        if (old->context != point->context || memcmp(old->z, point->z, sizeof old->z) != 0)
            continue;
        old->y = (old->y * old->seeds + point->y * point->seeds) / (old->seeds + point->seeds);
        old->seeds += point->seeds;
        return;
    }
    search->points[search->n++] = *point;
}

static int by_y(const void *a, const void *b)
{
    double x = ((const struct gaussian_point *)a)->y, y = ((const struct gaussian_point *)b)->y;
    return (x > y) - (x < y);
}

/* ---- scores ---- */

static double transformed(double y, double least, double c)
{
    return c == INFINITY ? y : propose_log(1 + (y - least) / c);
}

/* The logarithm of the likelihood of the scores, were their transforms normal draws. */
static double likelihood_of(const struct gaussian_point *points, size_t n, double least, double c)
{
    double mean = 0, square = 0, slopes = 0;
    for (size_t i = 0; i < n; i++) {
        double t = transformed(points[i].y, least, c);
        mean += t / (double)n;
        slopes -= c == INFINITY ? 0 : propose_log(c + points[i].y - least);
    }
    for (size_t i = 0; i < n; i++) {
        double t = transformed(points[i].y, least, c) - mean;
        square += t * t / (double)n;
    }
    return square > 0 ? slopes - 0.5 * (double)n * propose_log(square) : -INFINITY;
}

/* Transforms and standardises y of all points, by the first n, which are sorted by y. Returns how much noise of 1 becomes among the better scores. */
static double standardise(struct gaussian_point *points, size_t n, size_t all)
{
    static const double shares[] = {INFINITY, 3, 1, 0.3, 0.1, 0.03, 0.01};
    double least = points[0].y, middle = points[n / 2].y - least, c = INFINITY, top = -INFINITY, mean = 0, square = 0;
    if (!(middle > 0))
        middle = points[n - 1].y - least;
    for (size_t i = 0; middle > 0 && i < sizeof shares / sizeof *shares; i++) {
        double likelihood = likelihood_of(points, n, least, shares[i] * middle);
        if (likelihood > top) {
            top = likelihood;
            c = shares[i] * middle;
        }
    }
    double slope = c == INFINITY ? 1 : 1 / (c + points[n / 4].y - least);
    for (size_t i = 0; i < all; i++) {
        points[i].y = transformed(points[i].y, least, c);
        mean += i < n ? points[i].y / (double)n : 0;
    }
    for (size_t i = 0; i < n; i++)
        square += (points[i].y - mean) * (points[i].y - mean) / (double)n;
    double deviation = square > 0 ? sqrt(square) : 1;
    for (size_t i = 0; i < all; i++)
        points[i].y = (points[i].y - mean) / deviation;
    return slope / deviation;
}

/* ---- runs that diverged ---- */

/* A score may be of a run that diverged by chance if it is worse than the middle by this many spreads of the better half, and by this
 * many times the distance of the worst fifth. */
#define FAR_OUTSIDE 7.0
#define FAR_SHARE 3.0
#define IMPOSSIBLE 5.0 /* deviations from what the others say */
enum { NEAREST = 3 };

/* How many of the points, sorted by y, are not far outside of the others. */
static size_t count_usual(const struct search *search)
{
    const struct gaussian_point *points = search->points;
    size_t n = search->n;
    double squares = 0, middle = points[n / 2].y;
    for (size_t i = 0; i < n / 2; i++)
        squares += (middle - points[i].y) * (middle - points[i].y);
    const double far = fmax(FAR_OUTSIDE * sqrt(squares / (double)(n / 2 + 1)), FAR_SHARE * (points[(n - 1) * 4 / 5].y - middle));
    while (far > 0 && points[n - 1].y - middle > far)
        n--;
    return n;
}

static double square_between(const struct search *search, const double *a, const double *b)
{
    double square = 0;
    for (size_t r = 0; r < search->problem->n_ranges; r++)
        square += search->is_choice[r] ? a[r] != b[r] : (a[r] - b[r]) * (a[r] - b[r]);
    return square;
}

/* Whether most of the points nearest to point i are usual ones, so that its setting is hardly the cause of its score. Points of another
 * context may be far outside by their offset. */
static bool is_stray(const struct search *search, size_t i, size_t usual)
{
    size_t nearest[NEAREST], far = 0;
    for (size_t n = 0; n < NEAREST; n++) {
        double least = INFINITY;
        nearest[n] = i;
        for (size_t k = 0; k < search->n; k++) {
            bool taken = k == i || search->points[k].context != search->points[i].context;
            for (size_t before = 0; before < n; before++)
                taken = taken || nearest[before] == k;
            const double square = taken ? INFINITY : square_between(search, search->points[i].z, search->points[k].z);
            nearest[n] = square < least ? k : nearest[n];
            least = fmin(least, square);
        }
        far += nearest[n] >= usual;
    }
    return 2 * far < NEAREST;
}

/* Moves strays behind the other points, which are sorted by y, and returns how many the others are. */
static size_t part_strays(struct search *search)
{
    const size_t usual = count_usual(search);
    size_t n = usual;
    for (size_t i = usual; i < search->n; i++)
        if (!is_stray(search, i, usual)) {
            const struct gaussian_point point = search->points[i];
            search->points[i] = search->points[n];
            search->points[n++] = point;
        }
    return n;
}

/* Whether the process, which did not learn from the point, finds its score impossible. */
static bool is_impossible(struct search *search, const struct gaussian_point *point)
{
    double mean, deviation, noise = search->value.noise * search->value.variance / point->seeds;
    gaussian_predict(&mean, &deviation, &search->value, point->z);
    return point->y - mean > IMPOSSIBLE * sqrt(deviation * deviation + noise);
}

/* ---- the two processes ---- */

/* Puts points first that tell most about lengths: every other one is of the best, the rest are spread over all. */
static bool learn_values(struct search *search)
{
    const struct propose_problem *problem = search->problem;
    for (size_t i = 0; i < problem->n_past; i++)
        if (problem->past[i].end == PROPOSE_MEASURED) {
            struct gaussian_point point = point_of(problem, &problem->past[i]);
            add_point(search, &point);
        }
    qsort(search->points, search->n, sizeof *search->points, by_y);
    if (search->n > GP_POINTS_MAX)
        search->n = GP_POINTS_MAX;
    const size_t all = search->n, n = search->n = part_strays(search);
    const double scale = search->scale = standardise(search->points, n, all);
    struct gaussian_prior prior = {.noise = 1e-3, .spread = 2};
    if (problem->noise > 0)
        prior = (struct gaussian_prior){fmin(fmax(pow(problem->noise * scale, 2), 1e-6), 1), 0.5};
    bool good = gaussian_fit(&search->value, search->points, n, search->is_choice, problem->n_ranges, &prior);
    for (size_t i = n; good && i < all; i++)
        if (!is_impossible(search, &search->points[i]))
            search->points[search->n++] = search->points[i];
    if (search->n == n)
        return good;
    gaussian_release(&search->value);
    return gaussian_fit(&search->value, search->points, search->n, search->is_choice, problem->n_ranges, &prior);
}

static bool learn_failures(struct search *search)
{
    static const struct gaussian_prior prior = {.noise = 1e-2, .spread = 1};
    const struct propose_problem *problem = search->problem;
    size_t n = 0;
    for (size_t i = 0; i < problem->n_past; i++) {
        const struct propose_trial *trial = &problem->past[i];
        if (trial->end != PROPOSE_MEASURED && trial->end != PROPOSE_FAILED)
            continue;
        struct gaussian_point point = point_of(problem, trial);
        point.y = trial->end == PROPOSE_FAILED ? 2 * (trial->weight > 0 ? trial->weight : 1) - 1 : -1;
        point.seeds = 1;
        point.context = 0;
        search->can_fail = search->can_fail || trial->end == PROPOSE_FAILED;
        search->points[n++] = point;
    }
    if (n > GP_POINTS_MAX) {
        memmove(search->points, search->points + n - GP_POINTS_MAX, GP_POINTS_MAX * sizeof *search->points);
        n = GP_POINTS_MAX;
    }
    return !search->can_fail || gaussian_fit(&search->failure, search->points, n, search->is_choice, problem->n_ranges, &prior);
}

static bool believe_running(struct search *search, size_t room)
{
    const struct propose_problem *problem = search->problem;
    search->running = calloc(problem->n_past + room, sizeof *search->running);
    for (size_t i = 0; search->running && i < problem->n_past; i++)
        if (problem->past[i].end == PROPOSE_RUNNING) {
            double *z = search->running[search->n_running++];
            place(z, problem, problem->past[i].x);
            search->best = fmin(search->best, gaussian_mean(&search->value, z));
        }
    return search->running &&
           gaussian_believe(&search->value, (const double(*)[PROPOSE_RANGES_MAX])search->running, search->n_running);
}

/* ---- the search ---- */

struct candidate {
    double x[PROPOSE_RANGES_MAX], z[PROPOSE_RANGES_MAX], merit;
};

/* The logarithm of z cdf(z) + pdf(z), also where the sum would be 0. The tail is Mills' ratio to its second term. */
static double log_improvement(double z)
{
    double log_density = -0.5 * z * z - 0.91893853320467274;
    if (z < -6)
        return log_density - 2 * propose_log(-z) + propose_log(1 - 3 / (z * z));
    return propose_log(z * propose_normal_cdf(z) + propose_exp(log_density));
}

/*
 * How far a setting is from the running trials, from 0 to 1: near one of them there is little to learn, even where the
 * process is certain that the best setting is there (Gonzalez et al. 2016, "Batch Bayesian optimization via local
 * penalization").
 */
static double log_room(const struct search *search, const double *z)
{
    static const double width = 0.05; /* of a range */
    double sum = 0;
    for (size_t i = 0; i < search->n_running; i++) {
        double square = square_between(search, search->running[i], z);
        sum += propose_log(fmax(1 - propose_exp(-square / (2 * width * width)), 1e-12));
    }
    return sum;
}

/*
 * The logarithm of the expected improvement, and of what keeps proposals away from failures. A failure costs a trial, so where
 * some fail the chance not to fail counts with a power above 1, and improvements that are small against the spread of the
 * scores are not worth a risk.
 */
static double merit_of(struct search *search, const double *z)
{
    static const double caution = 4, small = 0.03;
    double mean, deviation, merit, noise = search->value.noise * search->value.variance;
    gaussian_predict(&mean, &deviation, &search->value, z);
    merit = log_improvement((search->best - mean) / deviation) + propose_log(deviation);
    merit += propose_log(fmax(1 - sqrt(noise / (noise + deviation * deviation)), 1e-12));
    if (search->can_fail) {
        gaussian_predict(&mean, &deviation, &search->failure, z);
        double chance = propose_normal_cdf(-mean / sqrt(deviation * deviation + 0.01));
        merit = propose_log(propose_exp(fmax(merit, -700)) + small) + caution * propose_log(fmax(chance, 1e-12));
    }
    return merit + log_room(search, z);
}

static void settle(struct candidate *candidate, struct search *search)
{
    const struct propose_problem *problem = search->problem;
    for (size_t r = 0; r < problem->n_ranges; r++)
        candidate->x[r] = propose_of_unit(&problem->ranges[r], candidate->z[r]);
    propose_settle(problem, candidate->x);
    place(candidate->z, problem, candidate->x);
    candidate->merit = merit_of(search, candidate->z);
}

static double any_unit(const struct propose_range *range, struct propose_stream *stream)
{
    double u = propose_uniform(stream);
    return range->scale == PROPOSE_CHOICE ? floor(u * (double)range->n_choices) : u;
}

static void draw_anywhere(struct candidate *candidate, struct search *search)
{
    for (size_t r = 0; r < search->problem->n_ranges; r++)
        candidate->z[r] = any_unit(&search->problem->ranges[r], &search->stream);
    settle(candidate, search);
}

/* Moves some of the coordinates by normal draws of this width, as a share of each range. */
static void draw_near(struct candidate *candidate, const double *from, struct search *search, double width)
{
    size_t n = search->problem->n_ranges;
    double chance = fmax(0.3, 1.5 / (double)n);
    bool moved = false;
    while (!moved)
        for (size_t r = 0; r < n; r++) {
            const struct propose_range *range = &search->problem->ranges[r];
            bool is_choice = range->scale == PROPOSE_CHOICE;
            bool moves = propose_uniform(&search->stream) < chance;
            double whole = propose_values(range), step = fmax(width, whole < INFINITY ? 1 / whole : 0);
            moved = moved || moves;
            candidate->z[r] = from[r] < 0 ? 0 : from[r];
            if (moves && is_choice)
                candidate->z[r] = any_unit(range, &search->stream);
            else if (moves)
                candidate->z[r] = fmin(fmax(from[r] + step * propose_normal(&search->stream), 0), 1);
        }
    settle(candidate, search);
}

enum { ANYWHERE = 200, NEAR_BEST = 200, STARTS = 4, CLIMBS = 3, STEPS = 60 };
enum { ALL = ANYWHERE + NEAR_BEST + CLIMBS };

static int by_merit(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->merit != y->merit)
        return (x->merit < y->merit) - (x->merit > y->merit);
    return memcmp(x->x, y->x, sizeof x->x); /* qsort does not define the order of equal elements */
}

/* A step that finds more makes the next one longer, and other steps make it shorter (Rechenberg's rule of one fifth). */
static struct candidate climb(const struct candidate *from, struct search *search)
{
    struct candidate best = *from;
    double width = 0.1;
    for (int i = 0; i < STEPS; i++) {
        struct candidate next = {.merit = 0};
        draw_near(&next, best.z, search, width);
        width *= next.merit > best.merit ? 1.5 : 0.88;
        if (next.merit > best.merit)
            best = next;
    }
    return best;
}

static void find(struct candidate *all, struct search *search)
{
    static const double widths[] = {0.2, 0.05, 0.0125};
    size_t n = 0, starts = search->n < STARTS ? search->n : STARTS;
    while (n < ANYWHERE)
        draw_anywhere(&all[n++], search);
    for (; n < ANYWHERE + NEAR_BEST; n++)
        draw_near(&all[n], search->value.points[n % starts].z, search, widths[n / starts % 3]);
    qsort(all, n, sizeof *all, by_merit);
    for (size_t i = 0; i < CLIMBS; i++)
        all[n++] = climb(&all[i], search);
    qsort(all, n, sizeof *all, by_merit);
}

/* Learns from the past, and believes that running trials bring what is expected. room: of further trials that are believed. */
static bool learn(struct search *search, const struct propose_problem *problem, size_t room)
{
    *search = (struct search){.problem = problem,
                              .stream = propose_stream_of(problem->seed, PROPOSE_GP, problem->n_past),
                              .points = malloc(problem->n_past * sizeof *search->points),
                              .best = INFINITY};
    for (size_t r = 0; r < problem->n_ranges; r++)
        search->is_choice[r] = problem->ranges[r].scale == PROPOSE_CHOICE;
    if (!search->points || !learn_values(search))
        return false;
    for (size_t i = 0; i < search->n; i++) {
        bool own = search->points[i].context == 0;
        double mean = own ? gaussian_mean_at(&search->value, i) : gaussian_mean(&search->value, search->points[i].z);
        search->best = fmin(search->best, mean);
    }
    return believe_running(search, room) && learn_failures(search);
}

static void release(struct search *search)
{
    gaussian_release(&search->value);
    gaussian_release(&search->failure);
    free(search->running);
    free(search->points);
}

bool gp_candidates(double (*candidates)[PROPOSE_RANGES_MAX], const struct propose_problem *problem)
{
    struct search search;
    struct candidate *all = calloc(ALL, sizeof *all);
    bool good = learn(&search, problem, 0) && all;
    if (good)
        find(all, &search);
    for (size_t i = 0; good && i < GP_CANDIDATES; i++)
        memcpy(candidates[i], all[i].x, sizeof all[i].x);
    free(all);
    release(&search);
    return good;
}

/* Adds the gain of the next trial, and believes it. */
static bool add_step(struct gp_gain *gain, struct search *search, struct candidate *all)
{
    double mean, deviation, step, variance;
    find(all, search);
    gaussian_predict(&mean, &deviation, &search->value, all[0].z);
    propose_gain(&step, &variance, mean - search->best, deviation);
    gain->mean += step / search->scale;
    gain->variance += variance / (search->scale * search->scale);
    search->best = fmin(search->best, mean);
    memcpy(search->running[search->n_running++], all[0].z, sizeof all[0].z);
    return gaussian_believe(&search->value, (const double(*)[PROPOSE_RANGES_MAX])all[0].z, 1);
}

bool gp_expect_gain(struct gp_gain *gain, size_t n, const struct propose_problem *problem)
{
    struct search search;
    struct candidate *all = calloc(ALL, sizeof *all);
    double first = 0, last = 0;
    *gain = (struct gp_gain){0};
    bool good = learn(&search, problem, GP_STEPS) && all;
    if (good)
        gain->noise = sqrt(search.value.noise * search.value.variance) / search.scale;
    for (size_t i = 0; good && i < n && i < GP_STEPS; i++) {
        last = gain->mean;
        good = add_step(gain, &search, all);
        last = gain->mean - last;
        first = i ? first : last;
    }
    if (n > GP_STEPS && last > 0) { /* a geometric series */
        const double ratio = fmin(pow(last / first, 1.0 / (GP_STEPS - 1)), 0.99), further = (double)(n - GP_STEPS);
        const double rest = last * ratio * (1 - pow(ratio, further)) / (1 - ratio);
        gain->variance *= 1 + rest / gain->mean;
        gain->mean += rest;
    }
    free(all);
    release(&search);
    return good;
}
