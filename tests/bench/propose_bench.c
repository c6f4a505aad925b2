/*
 * propose_bench.c: runs nights of the proposers on the problems of propose_functions.h, in one process.
 *
 *     propose_bench [--set NAME] [--method NAME].. [--seeds N] [--trials N] [--json]
 *     propose_bench --list
 *     propose_bench --evaluate
 *
 * The first form prints, for each problem and method, the median over the seeds (default 20) of the regret after 10, 30, 60
 * and 100 trials, the median number of trials that failed, and the processor milliseconds of one proposal. The regret of a
 * night is the value without noise of the setting with the best score so far, minus the optimum. With --json it prints one object
 * for each night.
 *
 * --list prints the problems as JSON. --evaluate reads lines `PROBLEM SEED TRIAL X..` (the index of the problem, and a
 * value for each range; of a choice its index, of an inactive range its lower end) and answers each one with
 * `OBSERVED REGRET FAILED`. propose_optuna.py uses both, so that every sampler has the same problems and the same noise.
 *
 * No decision depends on time, so the regrets are the same on every machine, up to the last bits of libm in the functions.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "propose/propose.h"
#include "propose_functions.h"

enum { SEEDS_MAX = 1000, METHODS_MAX = 8, TRIALS_MAX = 1000, MARKS = 4 };

static const size_t marks[MARKS] = {10, 30, 60, 100};

struct options {
    const char *set;
    enum propose_method methods[METHODS_MAX];
    size_t n_methods, seeds, trials;
    bool json;
    enum { NIGHTS, LIST, EVALUATE } what;
};

struct night {
    double regret[MARKS]; /* NaN: the night is shorter */
    size_t failed;
    double seconds;
};

/* ---- nights ---- */

static double now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

static void run_night(struct night *night, const struct bench_problem *of, enum propose_method method, uint64_t seed, size_t n)
{
    struct propose_trial *past = calloc(n, sizeof *past);
    struct propose_problem problem = {
        .ranges = of->ranges, .n_ranges = of->n_ranges, .past = past, .lower_is_better = true, .seed = seed};
    double best = INFINITY, regret = INFINITY, begin = now();
    *night = (struct night){.regret = {NAN, NAN, NAN, NAN}};
    while (past && problem.n_past < n) {
        struct propose_trial *trial = &past[problem.n_past];
        if (propose_next(trial->x, &problem, method) != PROPOSE_OK)
            break;
        const struct bench_result result = bench_evaluate(of, trial->x, seed, problem.n_past++);
        trial->end = result.failed ? PROPOSE_FAILED : PROPOSE_MEASURED;
        trial->score = result.observed;
        night->failed += result.failed;
        if (!result.failed && result.observed < best) {
            best = result.observed;
            regret = result.regret;
        }
        for (size_t m = 0; m < MARKS; m++)
            if (problem.n_past == marks[m])
                night->regret[m] = regret;
    }
    night->seconds = now() - begin;
    free(past);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, ascending);
    return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

static void print_medians(const struct bench_problem *problem, const char *method, const struct night *nights,
                          const struct options *o)
{
    double values[SEEDS_MAX], seconds = 0;
    printf("%-24s %-7s", problem->name, method);
    for (size_t m = 0; m < MARKS; m++) {
        for (size_t i = 0; i < o->seeds; i++)
            values[i] = nights[i].regret[m];
        printf(" %10.4g", median(values, o->seeds));
    }
    for (size_t i = 0; i < o->seeds; i++) {
        values[i] = (double)nights[i].failed;
        seconds += nights[i].seconds;
    }
    printf(" %7.0f %9.3f\n", median(values, o->seeds), 1e3 * seconds / (double)(o->seeds * o->trials));
}

static void print_json(const struct bench_problem *problem, const char *method, const struct night *nights,
                       const struct options *o)
{
    for (size_t i = 0; i < o->seeds; i++) {
        printf("{\"problem\": \"%s\", \"method\": \"%s\", \"seed\": %zu, \"failed\": %zu, "
               "\"seconds\": %.6f, \"regret\": {",
               problem->name, method, i, nights[i].failed, nights[i].seconds);
        for (size_t m = 0; m < MARKS && marks[m] <= o->trials; m++)
            printf("%s\"%zu\": %.9g", m ? ", " : "", marks[m], nights[i].regret[m]);
        puts("}}");
    }
}

static void run_problem(const struct bench_problem *problem, const struct options *o)
{
    static struct night nights[SEEDS_MAX];
    for (size_t m = 0; m < o->n_methods; m++) {
        for (size_t seed = 0; seed < o->seeds; seed++)
            run_night(&nights[seed], problem, o->methods[m], seed, o->trials);
        (o->json ? print_json : print_medians)(problem, propose_method_name(o->methods[m]), nights, o);
        fflush(stdout);
    }
}

/* ---- the problems for other programs ---- */

static void print_range(const struct bench_problem *problem, const struct propose_range *range)
{
    static const char *const scales[] = {"linear", "log", "integer", "log-integer", "choice"};
    const struct propose_condition *condition = &range->condition;
    printf("{\"name\": \"%s\", \"scale\": \"%s\", \"low\": %.17g, \"high\": %.17g", range->name, scales[range->scale], range->low,
           range->high);
    if (condition->given) {
        printf(", \"if\": {\"name\": \"%s\", \"values\": [", problem->ranges[condition->of].name);
        for (size_t i = 0; i < condition->n; i++)
            printf("%s%.0f", i ? ", " : "", condition->values[i]);
        printf("]}");
    }
    putchar('}');
}

static void print_list(const struct bench_problem *problems, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        printf("{\"index\": %zu, \"name\": \"%s\", \"set\": \"%s\", \"floor\": %.9g, \"ranges\": [", i, problems[i].name,
               problems[i].set, bench_floor(&problems[i]));
        for (size_t r = 0; r < problems[i].n_ranges; r++) {
            printf(r ? ", " : "");
            print_range(&problems[i], &problems[i].ranges[r]);
        }
        puts("]}");
    }
}

static int evaluate_lines(const struct bench_problem *problems, size_t n)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        double x[PROPOSE_RANGES_MAX] = {0};
        char *at = line;
        size_t index = strtoul(at, &at, 10);
        uint64_t seed = strtoull(at, &at, 10);
        size_t trial = strtoul(at, &at, 10);
        if (index >= n)
            return fprintf(stderr, "there are %zu problems\n", n), 2;
        for (size_t i = 0; i < problems[index].n_ranges; i++)
            x[i] = strtod(at, &at);
        const struct bench_result result = bench_evaluate(&problems[index], x, seed, trial);
        printf("%.17g %.17g %d\n", result.observed, result.regret, result.failed);
        fflush(stdout);
    }
    return 0;
}

/* ---- options ---- */

static bool read_count(size_t *count, const char *text, size_t max)
{
    char *end;
    *count = strtoul(text, &end, 10);
    return *end == '\0' && *count >= 1 && *count <= max;
}

static bool read_options(struct options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool good = true, alone = true;
        if (strcmp(argv[i], "--json") == 0)
            o->json = true;
        else if (strcmp(argv[i], "--list") == 0)
            o->what = LIST;
        else if (strcmp(argv[i], "--evaluate") == 0)
            o->what = EVALUATE;
        else
            alone = false;
        if (!alone && !value)
            return false;
        if (!alone && strcmp(argv[i], "--set") == 0)
            o->set = value;
        else if (!alone && strcmp(argv[i], "--method") == 0)
            good = o->n_methods < METHODS_MAX && propose_method_parse(&o->methods[o->n_methods++], value);
        else if (!alone && strcmp(argv[i], "--seeds") == 0)
            good = read_count(&o->seeds, value, SEEDS_MAX);
        else if (!alone && strcmp(argv[i], "--trials") == 0)
            good = read_count(&o->trials, value, TRIALS_MAX);
        else
            good = alone;
        if (!good)
            return false;
        i += !alone;
    }
    for (int method = 0; !o->n_methods && method < PROPOSE_N_METHODS; method++)
        if (method != PROPOSE_GRID)
            o->methods[o->n_methods++] = (enum propose_method)method;
    return true;
}

int main(int argc, char **argv)
{
    struct options o = {.seeds = 20, .trials = 100};
    size_t n;
    if (!read_options(&o, argc, argv)) {
        fputs("usage: propose_bench [--set first|second|table|failing] [--method NAME].. [--seeds "
              "N] [--trials N] [--json]\n"
              "       propose_bench --list | --evaluate\n",
              stderr);
        return 2;
    }
    const struct bench_problem *problems = bench_problems(&n, EXPERIMENTS);
    if (!problems)
        return 1;
    if (o.what == LIST)
        return print_list(problems, n), 0;
    if (o.what == EVALUATE)
        return evaluate_lines(problems, n);
    if (!o.json)
        printf("%-24s %-7s %10s %10s %10s %10s %7s %9s\n", "problem", "method", "10 trials", "30", "60", "100", "failed",
               "ms each");
    for (size_t i = 0; i < n; i++)
        if (!o.set || strcmp(o.set, problems[i].set) == 0)
            run_problem(&problems[i], &o);
    return 0;
}
