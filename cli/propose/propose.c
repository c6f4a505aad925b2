#include "propose/propose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "propose/gp.h"
#include "propose/propose_math.h"
#include "propose/propose_space.h"

/* After this many random draws that were all tried before, the space is searched in order for an untried setting. */
enum { DRAWS = 1000 };

static const char *const names[PROPOSE_N_METHODS] = {"sobol", "tpe", "random", "grid", "auto", "gp"};

const char *propose_method_name(enum propose_method method)
{
    return method < PROPOSE_N_METHODS ? names[method] : NULL;
}

bool propose_method_parse(enum propose_method *method, const char *name)
{
    for (size_t i = 0; i < PROPOSE_N_METHODS; i++)
        if (strcmp(names[i], name) == 0) {
            *method = (enum propose_method)i;
            return true;
        }
    return false;
}

/* The past, sorted by setting for binary search, because some methods look up hundreds of points. */
struct tried {
    const struct propose_problem *problem;
    const double **sorted; /* [n_past] */
};

static int compare(const double *x, const double *y)
{
    for (size_t i = 0; i < PROPOSE_RANGES_MAX; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int by_setting(const void *a, const void *b)
{
    return compare(*(const double *const *)a, *(const double *const *)b);
}

/* Compares all elements of x; those after the last range are 0. */
static bool was_tried(const struct tried *tried, const double *x)
{
    const struct propose_problem *problem = tried->problem;
    return bsearch(&x, tried->sorted, problem->n_past, sizeof *tried->sorted, by_setting) != NULL ||
           (problem->was_tried && problem->was_tried(problem->context, x));
}

static size_t count_trials(const struct propose_problem *problem)
{
    return problem->n_past + problem->n_unread;
}

static bool sort_past(struct tried *tried, const struct propose_problem *problem)
{
    tried->problem = problem;
    tried->sorted = malloc((problem->n_past + 1) * sizeof *tried->sorted);
    if (!tried->sorted)
        return false;
    for (size_t i = 0; i < problem->n_past; i++)
        tried->sorted[i] = problem->past[i].x;
    qsort(tried->sorted, problem->n_past, sizeof *tried->sorted, by_setting);
    return true;
}

static void sobol_setting(double *x, const struct propose_problem *problem, size_t index)
{
    for (size_t i = 0; i < problem->n_ranges; i++) {
        uint32_t point = sobol_scramble(sobol_point((uint32_t)index, i), i, problem->seed);
        x[i] = propose_value(&problem->ranges[i], ((double)point + 0.5) * 0x1p-32);
    }
    propose_settle(problem, x);
}

static void random_setting(double *x, const struct propose_problem *problem, size_t draw)
{
    struct propose_stream stream = propose_stream_of(problem->seed, PROPOSE_RANDOM, count_trials(problem) * (DRAWS + 1) + draw);
    for (size_t i = 0; i < problem->n_ranges; i++)
        x[i] = propose_value(&problem->ranges[i], propose_uniform(&stream));
    propose_settle(problem, x);
}

/*
 * Counts through all settings of a grid (is_grid), or of the whole space, where a range of any number counts as enough points
 * to outnumber the past. Ranges come after the ranges that their conditions name, so the digits behind a digit can start from
 * 0 whenever it changes, and no setting comes twice. Otherwise the last range varies fastest.
 */
struct walk {
    const struct propose_problem *problem;
    bool is_grid;
    size_t order[PROPOSE_RANGES_MAX], digit[PROPOSE_RANGES_MAX]; /* digit: by range */
};

static size_t digits_of(const struct walk *walk, size_t r)
{
    const struct propose_range *range = &walk->problem->ranges[r];
    size_t enough = count_trials(walk->problem) + 2;
    return walk->is_grid ? propose_steps(range) : (size_t)fmin(propose_values(range), (double)enough);
}

static void setting_at(double *x, const struct walk *walk)
{
    for (size_t r = 0; r < walk->problem->n_ranges; r++) {
        const struct propose_range *range = &walk->problem->ranges[r];
        size_t digit = walk->digit[r];
        x[r] = walk->is_grid             ? propose_step(range, digit)
               : propose_is_whole(range) ? range->low + (double)digit
                                         : propose_value(range, ((double)digit + 0.5) / (double)digits_of(walk, r));
    }
    propose_settle(walk->problem, x);
}

static void begin_walk(struct walk *walk)
{
    bool taken[PROPOSE_RANGES_MAX] = {false};
    for (size_t n = 0; n < walk->problem->n_ranges; n++) {
        size_t r = 0;
        while (taken[r] || (walk->problem->ranges[r].condition.given && !taken[walk->problem->ranges[r].condition.of]))
            r++;
        walk->order[n] = r;
        taken[r] = true;
    }
}

/* Steps from the setting x to the next one. Returns false after the last one. */
static bool step(struct walk *walk, const double *x)
{
    for (size_t p = walk->problem->n_ranges; p-- > 0;) {
        size_t r = walk->order[p];
        if (propose_is_active(walk->problem->ranges, x, r) && walk->digit[r] + 1 < digits_of(walk, r)) {
            walk->digit[r]++;
            return true;
        }
        walk->digit[r] = 0;
    }
    return false;
}

/* The past holds at most n_past settings, so one of the first n_past + 1 settings is new, if there are as many. */
static bool first_on_walk(double *x, const struct tried *tried, bool is_grid)
{
    struct walk walk = {.problem = tried->problem, .is_grid = is_grid};
    begin_walk(&walk);
    do {
        setting_at(x, &walk);
        if (!was_tried(tried, x))
            return true;
    } while (step(&walk, x));
    return false;
}

typedef void point_fn(double *x, const struct propose_problem *problem, size_t index);

/* Finds the first of `count` points that was not tried. */
static bool first_new(double *x, const struct tried *tried, point_fn *point, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        point(x, tried->problem, i);
        if (!was_tried(tried, x))
            return true;
    }
    return false;
}

static bool next_sobol(double *x, const struct tried *tried)
{
    return first_new(x, tried, sobol_setting, count_trials(tried->problem) + DRAWS) || first_on_walk(x, tried, false);
}

static bool next_random(double *x, const struct tried *tried)
{
    return first_new(x, tried, random_setting, DRAWS) || first_on_walk(x, tried, false);
}

/* Returns the first of the candidates that was not tried, else a random setting. */
static enum propose_answer take_candidate(double *x, const struct tried *tried, double (*candidates)[PROPOSE_RANGES_MAX],
                                          size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!was_tried(tried, candidates[i])) {
            memcpy(x, candidates[i], sizeof candidates[i]);
            return PROPOSE_OK;
        }
    return next_random(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
}

static enum propose_answer next_tpe(double *x, const struct tried *tried)
{
    double candidates[TPE_CANDIDATES][PROPOSE_RANGES_MAX] = {{0}};
    if (!tpe_is_ready(tried->problem))
        return next_sobol(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
    return tpe_candidates(candidates, tried->problem) ? take_candidate(x, tried, candidates, TPE_CANDIDATES) : PROPOSE_NO_MEMORY;
}

static enum propose_answer next_gp(double *x, const struct tried *tried)
{
    double candidates[GP_CANDIDATES][PROPOSE_RANGES_MAX] = {{0}};
    if (!gp_is_ready(tried->problem))
        return next_sobol(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
    return gp_candidates(candidates, tried->problem) ? take_candidate(x, tried, candidates, GP_CANDIDATES) : PROPOSE_NO_MEMORY;
}

/* The work of a Gaussian process grows with the cube of the number of trials, that of TPE with the number. */
static enum propose_answer next_auto(double *x, const struct tried *tried)
{
    size_t measured = 0;
    for (size_t i = 0; i < tried->problem->n_past; i++)
        measured += tried->problem->past[i].end == PROPOSE_MEASURED;
    return measured <= PROPOSE_GP_MOST ? next_gp(x, tried) : next_tpe(x, tried);
}

static enum propose_answer next(double *x, const struct tried *tried, enum propose_method method)
{
    switch (method) {
    case PROPOSE_SOBOL: return next_sobol(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
    case PROPOSE_RANDOM: return next_random(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
    case PROPOSE_GRID: return first_on_walk(x, tried, true) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
    case PROPOSE_TPE: return next_tpe(x, tried);
    case PROPOSE_AUTO: return next_auto(x, tried);
    case PROPOSE_GP: return next_gp(x, tried);
    case PROPOSE_N_METHODS: break;
    }
    return PROPOSE_EXHAUSTED;
}

enum propose_answer propose_next(double *x, const struct propose_problem *problem, enum propose_method method)
{
    double found[PROPOSE_RANGES_MAX] = {0};
    struct tried tried;
    if (!sort_past(&tried, problem))
        return PROPOSE_NO_MEMORY;
    enum propose_answer answer = next(found, &tried, method);
    free((void *)tried.sorted);
    memcpy(x, found, problem->n_ranges * sizeof *x);
    return answer;
}
