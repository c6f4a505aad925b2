/*
 * propose_bench.c: measures how close to the optimum the proposers come in a night of N trials (default 100), on
 * functions whose optimum is known.
 *
 *     propose_bench [--json] [--trials N] [--seeds N] [--store DIR]
 *
 * With --store it uses a measured table instead: the rows of a store whose sweep tried every combination of lr,
 * alpha and beta (fixtures/experiments/hop-grid). A proposal is a cell of the table, and its score is the measured
 * score of that cell. Distances are to the best cell, and a night has a third as many trials as the table has cells.
 *
 * Each line of the output is for one function and one method. It shows the quartiles, over the seeds (default 20), of
 * the best value minus the optimum, and the number of seeds for which the method beat random search with the same
 * seed. No times are measured, so the numbers are the same on every machine, up to the last bits of libm in the
 * functions.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/query.h>

#include "propose/propose.h"

enum { SEEDS_MAX = 1000, DIMENSIONS_MAX = 6 };

static const double pi = 3.14159265358979324;

/* The Branin function (Dixon and Szego 1978). */
static double branin(const double *x, size_t n)
{
    double a = x[0], b = x[1];
    (void)n;
    return pow(b - 5.1 / (4 * pi * pi) * a * a + 5 / pi * a - 6, 2) + 10 * (1 - 1 / (8 * pi)) * cos(a) + 10;
}

static double hartmann(const double *x, size_t n)
{
    static const double alpha[4] = {1, 1.2, 3, 3.2};
    static const double a[4][6] = {
        {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
    static const double p[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                   {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                   {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                   {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    double sum = 0;
    for (size_t i = 0; i < 4; i++) {
        double exponent = 0;
        for (size_t j = 0; j < n; j++)
            exponent += a[i][j] * pow(x[j] - p[i][j], 2);
        sum -= alpha[i] * exp(-exponent);
    }
    return sum;
}

static double rosenbrock(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i + 1 < n; i++)
        sum += 100 * pow(x[i + 1] - x[i] * x[i], 2) + pow(1 - x[i], 2);
    return sum;
}

static double ackley(const double *x, size_t n)
{
    double squares = 0, cosines = 0;
    for (size_t i = 0; i < n; i++) {
        squares += x[i] * x[i] / (double)n;
        cosines += cos(2 * pi * x[i]) / (double)n;
    }
    return -20 * exp(-0.2 * sqrt(squares)) - exp(cosines) + 20 + exp(1);
}

struct function {
    const char *name;
    double (*value)(const double *x, size_t n);
    size_t n;
    double low[2], high[2]; /* [0]: bounds of the first parameter; [1]: of all others */
    double optimum;
    const struct table *table; /* used in place of `value` if not NULL */
};

static const struct function functions[] = {
    {"Branin (2)", branin, 2, {-5, 0}, {10, 15}, 0.39788735772973816, NULL},
    {"Rosenbrock (4)", rosenbrock, 4, {-5, -5}, {10, 10}, 0, NULL},
    {"Ackley (5)", ackley, 5, {-32.768, -32.768}, {32.768, 32.768}, 0, NULL},
    {"Hartmann (6)", hartmann, 6, {0, 0}, {1, 1}, -3.32236801141551, NULL},
};
/* ---- a measured table ---- */

enum { TABLE_NAMES = 3, TABLE_VALUES = 32 };
static const char *const table_names[TABLE_NAMES] = {"lr", "alpha", "beta"};

struct table {
    double values[TABLE_NAMES][TABLE_VALUES]; /* values of each parameter, ascending */
    size_t n_values[TABLE_NAMES], n_cells;
    /* Negated scores, because the functions are minimised too; NaN: the cell has no row. */
    double score[TABLE_VALUES * TABLE_VALUES * TABLE_VALUES];
    double best;
};

static size_t cell(const struct table *table, const double *x)
{
    size_t at = 0;
    for (size_t i = 0; i < TABLE_NAMES; i++)
        at = at * table->n_values[i] + (size_t)x[i];
    return at;
}

static bool add_value(struct table *table, size_t name, double value)
{
    double *values = table->values[name];
    size_t n = table->n_values[name], i = 0;
    while (i < n && values[i] < value)
        i++;
    if (i < n && values[i] == value)
        return true;
    if (n == TABLE_VALUES)
        return false;
    memmove(&values[i + 1], &values[i], (n - i) * sizeof *values);
    values[i] = value;
    table->n_values[name]++;
    return true;
}

static bool take_values(struct table *table, const struct lineage_trial *trial)
{
    for (size_t i = 0; i < TABLE_NAMES; i++) {
        double value;
        if (!lineage_trial_param(&value, trial, table_names[i]) || !add_value(table, i, value))
            return false;
    }
    return true;
}

static bool take_score(struct table *table, const struct lineage_trial *trial)
{
    double x[TABLE_NAMES];
    for (size_t i = 0; i < TABLE_NAMES; i++) {
        double value;
        if (!lineage_trial_param(&value, trial, table_names[i]))
            return false;
        for (x[i] = 0; table->values[i][(size_t)x[i]] != value; x[i]++)
            continue;
    }
    if (!trial->score.present)
        return false;
    table->score[cell(table, x)] = -trial->score.value;
    table->best = fmin(table->best, -trial->score.value);
    table->n_cells++;
    return true;
}

/* Calls `take` for every row. load_table does this twice, because a row's cell is known only after all values are. */
static bool visit_rows(struct lineage_store *store, struct table *table,
                       bool (*take)(struct table *, const struct lineage_trial *), struct lineage_error *err)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    bool good = lineage_query_open(&cursor, store, &all, err) == LINEAGE_OK;
    while (good && lineage_cursor_next(cursor, &trial, err) == LINEAGE_OK)
        good = take(table, &trial);
    lineage_cursor_close(cursor);
    return good;
}

static bool load_table(struct table *table, const char *dir)
{
    struct lineage_store *store;
    struct lineage_error err = {.text = "a row lacks a parameter or its score"};
    const struct lineage_open_options options = {.no_mirror = true}; /* leaves the fixture unchanged */
    table->best = INFINITY;
    bool good = lineage_store_open(&store, dir, &options, &err) == LINEAGE_OK &&
                visit_rows(store, table, take_values, &err) && visit_rows(store, table, take_score, &err);
    size_t cells = table->n_values[0] * table->n_values[1] * table->n_values[2];
    lineage_store_close(store);
    if (!good || cells == 0 || table->n_cells != cells)
        fprintf(stderr, "%s: %s\n", dir, good ? "not one row for every combination" : err.text);
    return good && cells > 0 && table->n_cells == cells;
}

/* ---- nights ---- */

enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

static const enum propose_method methods[] = {PROPOSE_RANDOM, PROPOSE_SOBOL, PROPOSE_TPE};
enum { N_METHODS = sizeof methods / sizeof *methods };

/* Runs one night and returns its best value minus the optimum. */
static double night(const struct function *f, enum propose_method method, uint64_t seed, size_t n_trials)
{
    struct propose_range ranges[DIMENSIONS_MAX];
    struct propose_trial *past = calloc(n_trials, sizeof *past);
    struct propose_problem problem = {
        .ranges = ranges, .n_ranges = f->n, .past = past, .lower_is_better = true, .seed = seed};
    double best = INFINITY;
    for (size_t i = 0; i < f->n; i++)
        ranges[i] = f->table ? (struct propose_range){.name = table_names[i], .scale = PROPOSE_INTEGER,
                                                      .high = (double)f->table->n_values[i] - 1}
                             : (struct propose_range){.name = "x", .low = f->low[i > 0], .high = f->high[i > 0]};
    for (; past && problem.n_past < n_trials; problem.n_past++) {
        struct propose_trial *trial = &past[problem.n_past];
        if (propose_next(trial->x, &problem, method) != PROPOSE_OK)
            break;
        trial->score = f->table ? f->table->score[cell(f->table, trial->x)] : f->value(trial->x, f->n);
        best = fmin(best, trial->score - f->optimum);
    }
    free(past);
    return best;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(const double *sorted, size_t n, double q)
{
    double place = q * (double)(n - 1);
    size_t i = (size_t)place;
    return i + 1 < n ? sorted[i] + (place - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[i];
}

struct options {
    bool json;
    size_t trials, seeds;
    const char *store;
};

static void report(const struct options *o, const char *function, const char *method, const double *sorted, size_t better,
                   bool first)
{
    double q[3];
    for (int i = 0; i < 3; i++)
        q[i] = quantile(sorted, o->seeds, 0.25 * (i + 1));
    if (o->json)
        printf("%s\n {\"function\": \"%s\", \"method\": \"%s\", \"q1\": %.6g, \"median\": %.6g, \"q3\": %.6g, \"better\": %zu}",
               first ? "[" : ",", function, method, q[0], q[1], q[2], better);
    else
        printf("%-16s %-8s %10.4g %10.4g %10.4g   %zu of %zu\n", function, method, q[0], q[1], q[2], better, o->seeds);
}

static void run(const struct options *o, const struct function *f)
{
    static double chance[SEEDS_MAX], found[SEEDS_MAX];
    for (size_t m = 0; m < N_METHODS; m++) {
        size_t better = 0;
        for (size_t seed = 0; seed < o->seeds; seed++) {
            found[seed] = night(f, methods[m], seed, o->trials);
            chance[seed] = m == 0 ? found[seed] : chance[seed];
            better += found[seed] < chance[seed];
        }
        qsort(found, o->seeds, sizeof *found, ascending);
        report(o, f->name, propose_method_name(methods[m]), found, better, (f == functions || f->table) && m == 0);
    }
}

static bool read_options(struct options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        size_t *number = strcmp(argv[i], "--trials") == 0 ? &o->trials : strcmp(argv[i], "--seeds") == 0 ? &o->seeds : NULL;
        if (strcmp(argv[i], "--json") == 0)
            o->json = true;
        else if (strcmp(argv[i], "--store") == 0 && i + 1 < argc)
            o->store = argv[++i];
        else if (number && i + 1 < argc)
            *number = strtoul(argv[++i], NULL, 10);
        else
            return false;
    }
    return o->trials >= 1 && o->seeds >= 1 && o->seeds <= SEEDS_MAX;
}

static int run_table(struct options *o)
{
    static struct table table;
    if (!load_table(&table, o->store))
        return 1;
    const struct function f = {.name = "table", .n = TABLE_NAMES, .optimum = table.best, .table = &table};
    o->trials = table.n_cells / 3;
    run(o, &f);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {.trials = 100, .seeds = 20};
    if (!read_options(&o, argc, argv)) {
        fputs("usage: propose_bench [--json] [--trials N] [--seeds N] [--store DIR]\n", stderr);
        return 2;
    }
    if (!o.json)
        printf("%-16s %-8s %10s %10s %10s   %s\n", "function", "method", "quartile", "median", "quartile", "better than random");
    for (size_t i = 0; !o.store && i < N_FUNCTIONS; i++)
        run(&o, &functions[i]);
    int status = o.store ? run_table(&o) : 0;
    if (o.json)
        puts("\n]");
    return status;
}
