/*
 * spin_bench.c: measures what waiting threads of OpenMP cost while other programs need the processors.
 *
 *     spin_bench [--json] [--busy N]
 *
 * An idle thread of libgomp looks at its flag in a loop before it sleeps, by default 300,000 times. If another process has the
 * processor of a thread that is awaited, the awaiting ones spend their own share of time in that loop, and the scheduler takes
 * it from them later. The bench starts N processes that only compute (default: one for each processor), runs short parallel
 * regions like those of the kernels, and prints the milliseconds of a region: with libgomp's default, with the bound that
 * `lineage` sets for lineage-train (cli/support/blas_env.h), and with threads that sleep at once. The rounds of the three take turns.
 * The first line of each is measured without busy processes. `ratio` compares with the default.
 */
#define _DEFAULT_SOURCE
#include <omp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/blas_env.h"

enum { REGIONS = 400, ROUNDS = 5, NUMBERS = 1 << 15, POLICIES = 3, MAX_BUSY = 64 };

struct policy {
    const char *name, *spins;
};

static const struct policy policies[POLICIES] = {
    {"libgomp's default", NULL}, {"lineage's bound", BLAS_ENV_SPINS}, {"no spinning", "0"}};

struct times {
    double median, mean;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- in a child, whose libgomp has read its environment ------------------------------------ */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Prints the median and the mean time of a region, in milliseconds. */
static int measure(void)
{
    static float x[NUMBERS];
    static double ms[REGIONS];
    double sum = 0;
    omp_set_num_threads(2);
    for (int i = 0; i < REGIONS; i++) {
        double begin = now();
#pragma omp parallel for schedule(static)
        for (int j = 0; j < NUMBERS; j++)
            x[j] = 0.5f * x[j] + 1;
        ms[i] = 1e3 * (now() - begin);
        sum += ms[i];
    }
    qsort(ms, REGIONS, sizeof *ms, by_value);
    printf("%.6f %.6f\n", ms[REGIONS / 2], sum / REGIONS);
    return 0;
}

/* ---- the table ----------------------------------------------------------------------------- */

static pid_t busy_process(void)
{
    pid_t child = fork();
    if (child != 0)
        return child;
    for (volatile unsigned i = 0;; i++)
        ;
}

static bool run_child(const char *self, const struct policy *policy, struct times *times)
{
    char command[512];
    unsetenv("OMP_WAIT_POLICY");
    if (policy->spins)
        setenv("GOMP_SPINCOUNT", policy->spins, 1);
    else
        unsetenv("GOMP_SPINCOUNT");
    snprintf(command, sizeof command, "'%s' --measure", self);
    FILE *out = popen(command, "r");
    bool read = out && fscanf(out, "%lf %lf", &times->median, &times->mean) == 2;
    return (out && pclose(out) == 0) && read;
}

/* Adds the rounds of all policies; those of the three take turns, because the load of the machine changes. */
static bool run_rounds(const char *self, struct times total[POLICIES])
{
    for (int round = 0; round < ROUNDS; round++)
        for (int p = 0; p < POLICIES; p++) {
            struct times times;
            if (!run_child(self, &policies[p], &times))
                return fprintf(stderr, "spin_bench: cannot run %s\n", self), false;
            total[p].median += times.median / ROUNDS;
            total[p].mean += times.mean / ROUNDS;
        }
    return true;
}

static void print_rows(bool json, int busy, const struct times times[POLICIES])
{
    for (int p = 0; p < POLICIES; p++) {
        double ratio = times[p].mean / times[0].mean;
        if (json)
            printf("%s{\"waiting\": \"%s\", \"busy\": %d, \"median_ms\": %.6f, \"mean_ms\": %.6f, "
                   "\"ratio\": %.4f}",
                   busy == 0 && p == 0 ? "[" : ",\n ", policies[p].name, busy, times[p].median, times[p].mean, ratio);
        else
            printf("%-20s %4d %12.4f %12.4f %8.2f\n", policies[p].name, busy, times[p].median, times[p].mean, ratio);
    }
}

static int run(const char *self, bool json, int busy)
{
    pid_t child[MAX_BUSY];
    struct times idle[POLICIES] = {{0}}, crowded[POLICIES] = {{0}};
    bool ran = run_rounds(self, idle);
    for (int i = 0; i < busy; i++)
        child[i] = busy_process();
    ran = ran && run_rounds(self, crowded);
    for (int i = 0; i < busy; i++)
        if (child[i] > 0) {
            kill(child[i], SIGKILL);
            waitpid(child[i], NULL, 0);
        }
    if (!ran)
        return 1;
    if (!json)
        printf("%-20s %4s %12s %12s %8s\n", "waiting threads", "busy", "median ms", "mean ms", "ratio");
    print_rows(json, 0, idle);
    print_rows(json, busy, crowded);
    if (json)
        printf("]\n");
    return 0;
}

int main(int argc, char **argv)
{
    bool json = false;
    int busy = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--measure") == 0)
            return measure();
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--busy") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
            busy = atoi(argv[++i]);
        else
            return fprintf(stderr, "usage: spin_bench [--json] [--busy N]\n"), 2;
    }
    return run(argv[0], json, busy < MAX_BUSY ? busy : MAX_BUSY);
}
