/* propose.c: see propose.h. */
#include "propose/propose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "propose/propose_math.h"
#include "propose/propose_space.h"
#include "propose/sobol.h"
#include "propose/tpe.h"

/* After this many random draws that were all tried before, the space is searched in order for an untried setting. */
enum { DRAWS = 1000 };

static const char *const names[PROPOSE_N_METHODS] = {"sobol", "tpe", "random", "grid"};

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

/* ---- what was tried ---- */

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
    return bsearch(&x, tried->sorted, tried->problem->n_past, sizeof *tried->sorted, by_setting) != NULL;
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

/* ---- points of the methods ---- */

double propose_size(const struct propose_problem *problem, enum propose_method method)
{
    double size = 1;
    for (size_t i = 0; i < problem->n_ranges; i++) {
        const struct propose_range *range = &problem->ranges[i];
        size *= method == PROPOSE_GRID ? (double)propose_steps(range) : propose_values(range);
    }
    return size;
}

static void grid_point(double *x, const struct propose_problem *problem, size_t index)
{
    for (size_t i = problem->n_ranges; i-- > 0;) {
        size_t n = propose_steps(&problem->ranges[i]);
        x[i] = propose_step(&problem->ranges[i], index % n);
        index /= n;
    }
}

/*
 * Writes setting number `index` of a space of whole numbers and choices. Used when draws no longer find a new setting.
 */
static void nth_setting(double *x, const struct propose_problem *problem, double index)
{
    for (size_t i = problem->n_ranges; i-- > 0;) {
        double n = propose_values(&problem->ranges[i]);
        x[i] = problem->ranges[i].low + fmod(index, n);
        index = floor(index / n);
    }
}

static void sobol_setting(double *x, const struct propose_problem *problem, size_t index)
{
    for (size_t i = 0; i < problem->n_ranges; i++) {
        uint32_t point = sobol_scramble(sobol_point((uint32_t)index, i), i, problem->seed);
        x[i] = propose_value(&problem->ranges[i], ((double)point + 0.5) * 0x1p-32);
    }
}

static void random_setting(double *x, const struct propose_problem *problem, size_t draw)
{
    struct propose_stream stream =
        propose_stream_of(problem->seed, PROPOSE_RANDOM, problem->n_past * (DRAWS + 1) + draw);
    for (size_t i = 0; i < problem->n_ranges; i++)
        x[i] = propose_value(&problem->ranges[i], propose_uniform(&stream));
}

/* ---- methods ---- */

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

/*
 * Walks through a space that is nearly exhausted. The past holds at most n_past settings, so at least one of the first
 * n_past + 1 settings is new.
 */
static bool anything_new(double *x, const struct tried *tried)
{
    const struct propose_problem *problem = tried->problem;
    double size = propose_size(problem, PROPOSE_RANDOM);
    if (size == INFINITY)
        return false;
    for (double i = 0; i < size && i <= (double)problem->n_past; i++) {
        nth_setting(x, problem, i);
        if (!was_tried(tried, x))
            return true;
    }
    return false;
}

static bool next_sobol(double *x, const struct tried *tried)
{
    return first_new(x, tried, sobol_setting, tried->problem->n_past + DRAWS) || anything_new(x, tried);
}

static bool next_random(double *x, const struct tried *tried)
{
    return first_new(x, tried, random_setting, DRAWS) || anything_new(x, tried);
}

static bool next_grid(double *x, const struct tried *tried)
{
    double size = fmin(propose_size(tried->problem, PROPOSE_GRID), (double)tried->problem->n_past + 1);
    return first_new(x, tried, grid_point, (size_t)size);
}

static enum propose_answer next_tpe(double *x, const struct tried *tried)
{
    double candidates[TPE_CANDIDATES][PROPOSE_RANGES_MAX] = {{0}};
    if (!tpe_is_ready(tried->problem))
        return next_sobol(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
    if (!tpe_candidates(candidates, tried->problem))
        return PROPOSE_NO_MEMORY;
    for (size_t i = 0; i < TPE_CANDIDATES; i++)
        if (!was_tried(tried, candidates[i])) {
            memcpy(x, candidates[i], sizeof candidates[i]);
            return PROPOSE_OK;
        }
    return next_random(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
}

static enum propose_answer next(double *x, const struct tried *tried, enum propose_method method)
{
    switch (method) {
    case PROPOSE_SOBOL: return next_sobol(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
    case PROPOSE_RANDOM: return next_random(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
    case PROPOSE_GRID: return next_grid(x, tried) ? PROPOSE_OK : PROPOSE_EXHAUSTED;
    case PROPOSE_TPE: return next_tpe(x, tried);
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
