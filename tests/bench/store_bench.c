/*
 * store_bench.c: compares the speed of the store with the fastest simple program for the same job, in one run on one
 * machine.
 *
 *     store_bench [--json] [--deep] [--commands] [--rows N]... [--appends N]
 *
 * In a deep store, every tenth trial is kept and the others have the last kept trial as their parent: one chain through the
 * whole store. In a wide one, all trials have the first as their parent. In others, chains have about a dozen trials; --deep
 * makes these deep too.
 *
 *   append                 appends with one handle: without sync, against a bare write loop; with sync, against
 *                          write + fdatasync
 *   build                  builds the mirror of N rows, against `sqlite3 .import` of the same file
 *   open, render, query    with a warm mirror, at each N; the ratio is to the same case at the first N
 *   sweep, verify          read N rows, against the same .import; memory: a process's peak, against the file's size
 *   export                 writes every byte of N rows into a file, against a loop of read and write
 *   follow                 sees rows as another process appends them, against the appends alone
 *   lineage best           runs the command (the one of this build, or $LINEAGE) on a small store, against an empty
 *                          program
 *   deep, wide             the processor time of commands with a bounded answer on a deep and on a wide store of N rows,
 *                          against `best`, and their largest peak of memory, against 64 MiB; with --commands only these
 *
 * The output is a table on stdout, or with --json a list of {case, rows, per_s, seconds, ratio}.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lineage/move.h>
#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "support/files.h"

enum { MAX_SIZES = 8, REPEATS = 5 };

struct bench {
    bool json, any, deep, commands;
    size_t sizes[MAX_SIZES], n_sizes, appends;
    double first[4]; /* open, render and two queries at the first N */
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void report(struct bench *bench, const char *name, size_t rows, double count, double seconds, double ratio)
{
    if (bench->json)
        printf("%s\n {\"case\": \"%s\", \"rows\": %zu, \"per_s\": %.6g, \"seconds\": %.6g, \"ratio\": %.4g}",
               bench->any ? "," : "[", name, rows, count / seconds, seconds, ratio);
    else
        printf("%-44s %9zu %14.1f %12.6f %8.2f\n", name, rows, count / seconds, seconds, ratio);
    bench->any = true;
    fflush(stdout);
}

static struct lineage_store *open_store(const char *dir)
{
    struct lineage_store *store;
    struct lineage_error err;
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK) {
        fprintf(stderr, "store_bench: %s\n", err.text);
        exit(1);
    }
    return store;
}

/* ---- append ---- */

static const char hypothesis[] = "Raise the learning rate of the embedding and lower weight decay so that early steps "
                                 "adapt; keep the warm-up";

static double time_appends(const char *dir, size_t n, bool sync)
{
    struct lineage_append_options options;
    struct lineage_param params[] = {{"alpha", 0.3, NULL}, {"gamma", 1.0, NULL}};
    struct lineage_trial trial = {.specialist = "opt",
                                  .domain = "opt",
                                  .hypothesis = hypothesis,
                                  .expected_delta = "-0.0015",
                                  .status = LINEAGE_DISCARD,
                                  .core_metric = {true, 1.0712},
                                  .train_s = {true, 595.5},
                                  .params = params,
                                  .n_params = 2};
    struct lineage_store *store = open_store(dir);
    struct lineage_error err;
    lineage_append_options_init(&options);
    options.no_sync = !sync;
    options.no_mirror_sync = true; /* the mirror is a cache, and is measured separately */
    double start = now();
    for (size_t i = 0; i < n; i++)
        if (lineage_store_append(store, &trial, &options, NULL, &err) != LINEAGE_OK) {
            fprintf(stderr, "store_bench: %s\n", err.text);
            exit(1);
        }
    double seconds = now() - start;
    lineage_store_close(store);
    return seconds;
}

/* Appends all rows in one call and returns the time. */
static double time_batch(const char *dir, size_t n, bool sync)
{
    struct lineage_append_options options;
    struct lineage_param params[] = {{.name = "alpha", .value = 0.3}, {.name = "gamma", .value = 1.0}};
    struct lineage_trial *trials = calloc(n, sizeof *trials);
    struct lineage_store *store = open_store(dir);
    struct lineage_error err;
    if (!trials)
        exit(1);
    for (size_t i = 0; i < n; i++)
        trials[i] = (struct lineage_trial){.specialist = "opt",
                                           .domain = "opt",
                                           .hypothesis = hypothesis,
                                           .expected_delta = "-0.0015",
                                           .status = LINEAGE_DISCARD,
                                           .core_metric = {true, 1.0712},
                                           .train_s = {true, 595.5},
                                           .params = params,
                                           .n_params = 2};
    lineage_append_options_init(&options);
    options.no_sync = !sync;
    options.no_mirror_sync = true;
    double start = now();
    if (lineage_store_append_many(store, trials, n, NULL, &options, NULL, &err) != LINEAGE_OK) {
        fprintf(stderr, "store_bench: %s\n", err.text);
        exit(1);
    }
    double seconds = now() - start;
    lineage_store_close(store);
    free(trials);
    return seconds;
}

/* Writes the same bytes with one bare write per row. */
static double time_bare(const char *dir, size_t n, bool sync)
{
    char *path = join(dir, "bare.tsv"), row[400];
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    double start = now();
    for (size_t i = 0; i < n; i++) {
        int length = snprintf(row, sizeof row,
                              "%06zu\t2026-11-20T22:00:00Z\topt\t\t\topt\t%s\t-0.0015\tdiscard\t1.0712\t\t\t"
                              "595.5\t\t\t\talpha=0.3; gamma=1.0\n",
                              i, hypothesis);
        if (write(fd, row, (size_t)length) != length || (sync && fdatasync(fd) != 0))
            exit(1);
    }
    double seconds = now() - start;
    close(fd);
    unlink(path);
    free(path);
    return seconds;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * Alternates between our appends and the bare writes, and reports the median ratio, because other load on the machine
 * disturbs single rounds.
 */
static void bench_append(struct bench *bench, bool sync)
{
    size_t n = sync ? bench->appends / 50 + 1 : bench->appends;
    double ours[REPEATS], bare[REPEATS], ratio[REPEATS], batch[REPEATS], batch_ratio[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        char *dir = make_dir();
        bare[i] = time_bare(dir, n, sync);
        ours[i] = time_appends(dir, n, sync);
        ratio[i] = ours[i] / bare[i];
        remove_dir(dir);
        dir = make_dir();
        batch[i] = time_batch(dir, n, sync);
        batch_ratio[i] = batch[i] / bare[i];
        remove_dir(dir);
    }
    qsort(ours, REPEATS, sizeof *ours, by_value);
    qsort(bare, REPEATS, sizeof *bare, by_value);
    qsort(ratio, REPEATS, sizeof *ratio, by_value);
    qsort(batch, REPEATS, sizeof *batch, by_value);
    qsort(batch_ratio, REPEATS, sizeof *batch_ratio, by_value);
    report(bench, sync ? "bare write + fdatasync" : "bare write", n, (double)n, bare[REPEATS / 2], 1);
    report(bench, sync ? "append, synced / bare" : "append, not synced / bare", n, (double)n, ours[REPEATS / 2],
           ratio[REPEATS / 2]);
    report(bench, sync ? "append in one call, synced / bare" : "append in one call / bare", n, (double)n, batch[REPEATS / 2],
           batch_ratio[REPEATS / 2]);
}

/* ---- moving ---- */

static int open_copy(const char *dir)
{
    char *path = join(dir, "copy");
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    free(path);
    if (fd < 0)
        exit(1);
    return fd;
}

static bool write_piece(void *context, const void *bytes, size_t n)
{
    return write(*(const int *)context, bytes, n) == (ssize_t)n;
}

static double time_export(const char *dir)
{
    struct lineage_error err;
    struct lineage_store *store = open_store(dir);
    int fd = open_copy(dir);
    double start = now();
    if (lineage_export(store, write_piece, &fd, &err) != LINEAGE_OK)
        exit(1);
    double seconds = now() - start;
    close(fd);
    lineage_store_close(store);
    return seconds;
}

/* Copies the log with a loop of read and write, as cat does. */
static double time_copy(const char *dir)
{
    static char piece[128 << 10];
    char *path = join(dir, "results.tsv");
    int from = open(path, O_RDONLY), to = open_copy(dir);
    ssize_t n;
    double start = now();
    while ((n = read(from, piece, sizeof piece)) > 0)
        if (write(to, piece, (size_t)n) != n)
            exit(1);
    double seconds = now() - start;
    close(from);
    close(to);
    free(path);
    return seconds;
}

static void bench_export(struct bench *bench, const char *dir, size_t n)
{
    double ours[REPEATS], ratio[REPEATS];
    for (int i = 0; i < REPEATS; i++) {
        double copy = time_copy(dir);
        ours[i] = time_export(dir);
        ratio[i] = ours[i] / copy;
    }
    qsort(ours, REPEATS, sizeof *ours, by_value);
    qsort(ratio, REPEATS, sizeof *ratio, by_value);
    report(bench, "export / copy of the file", n, (double)n, ours[REPEATS / 2], ratio[REPEATS / 2]);
}

/* Follows an empty store until n rows have arrived. */
static void follow_rows(const char *dir, size_t n)
{
    struct lineage_store *store = open_store(dir);
    struct lineage_trial trial = {0};
    struct lineage_cursor *cursor;
    struct lineage_error err;
    uint64_t after = 0;
    size_t seen = 0;
    bool news;
    while (seen < n) {
        if (lineage_store_wait(store, 60, &news, &err) != LINEAGE_OK || !news ||
            lineage_new_trials(&cursor, store, after, &after, &err) != LINEAGE_OK)
            exit(1);
        while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK)
            seen++;
        lineage_cursor_close(cursor);
    }
    lineage_store_close(store);
}

static void bench_follow(struct bench *bench)
{
    size_t n = 5 * bench->appends;
    char *alone = make_dir(), *dir = make_dir();
    double appends = time_appends(alone, n, false), start = now();
    int state;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        time_appends(dir, n, false);
        _exit(0);
    }
    follow_rows(dir, n);
    double seconds = now() - start;
    if (child < 0 || waitpid(child, &state, 0) != child || state != 0)
        exit(1);
    report(bench, "follow / the appends alone", n, (double)n, seconds, seconds / appends);
    remove_dir(alone);
    remove_dir(dir);
}

/* ---- reading ---- */

enum shape { MIXED, DEEP, WIDE };

static void write_rows(const char *path, size_t n, enum shape shape)
{
    enum { CRASH = 4, ABORT = 6, N_LABELS };
    static const char *const labels[] = {
        "discard", "discard", "discard", "keep", [CRASH] = "crash", "discard", [ABORT] = "harness_abort"};
    static const char *const specialists[] = {"opt", "arch", "quant", "reg"};
    FILE *out = fopen(path, "wb");
    unsigned seed = 1;
    fputs("exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\t"
          "val_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n",
          out);
    for (size_t i = 0; i < n; i++) {
        size_t drawn = i ? (size_t)rand_r(&seed) % N_LABELS : 0;
        const char *label = i ? labels[drawn] : "baseline";
        double metric = 1 + 0.1 * (double)(rand_r(&seed) % 100000) / 100000;
        fprintf(out, "%03zu\t2026-05-12T00:00:00Z\t%s\t", i, specialists[(size_t)rand_r(&seed) % 4]);
        if (shape == DEEP)
            label = !i ? "baseline" : i % 10 ? "discard" : "keep";
        if (i && shape == DEEP)
            fprintf(out, "%03zu", (i - 1) / 10 * 10);
        else if (i && shape == WIDE)
            fputs("000", out);
        else if (i) /* the parent; this gives chains of about a dozen rows */
            fprintf(out, "%03zu", i - 1 - (size_t)rand_r(&seed) % (i < 12 ? i : i / 2 + 1));
        fprintf(out, "\t000\topt\t%s %zu\t-0.0015\t%s\t", hypothesis, i, label);
        if (shape == DEEP || (drawn != CRASH && drawn != ABORT))
            fprintf(out, "%.5f\t\t-0.00123", metric);
        else
            fputs("\t\t", out);
        fprintf(out, "\t595.5\t700.25\tjob-%zu\t\talpha=0.%zu; gamma=%s\n", i, i % 9 + 1, i / 9 % 3 ? "1.0" : "0.95");
    }
    fclose(out);
}

static void render_once(struct lineage_store *store)
{
    struct lineage_error err;
    char *text;
    size_t length;
    if (lineage_render(&text, &length, store, NULL, &err) != LINEAGE_OK)
        exit(1);
    lineage_free(text);
}

/* Queries the first ten trials with one value of alpha and a range of gamma. */
static void query_once(struct lineage_store *store)
{
    struct lineage_condition conditions[] = {{.name = "alpha", .range = {{true, 0.3}, {true, 0.3}}},
                                             {.name = "gamma", .range = {{false, 0}, {true, 0.95}}}};
    struct lineage_query query = {.conditions = conditions, .n_conditions = 2, .limit = 10};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    struct lineage_error err;
    if (lineage_query_open(&cursor, store, &query, &err) != LINEAGE_OK)
        exit(1);
    while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK)
        ;
    lineage_cursor_close(cursor);
}

/* Queries twenty trials with ranges of alpha and gamma that contain most trials. */
static void wide_query_once(struct lineage_store *store)
{
    struct lineage_condition conditions[] = {{.name = "alpha", .range = {{true, 0.2}, {true, 0.8}}},
                                             {.name = "gamma", .range = {{true, 0.5}, {true, 1}}}};
    struct lineage_query query = {.conditions = conditions, .n_conditions = 2, .limit = 20};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    struct lineage_error err;
    if (lineage_query_open(&cursor, store, &query, &err) != LINEAGE_OK)
        exit(1);
    while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK)
        ;
    lineage_cursor_close(cursor);
}

static double time_reading(const char *dir, int what)
{
    double best = 1e9;
    for (int i = 0; i < REPEATS; i++) {
        struct lineage_store *store = NULL;
        struct lineage_trial trial;
        struct lineage_error err;
        if (what)
            store = open_store(dir);
        if (what && lineage_best(store, &trial, &err) == LINEAGE_OK)
            lineage_trial_release(&trial);
        double start = now();
        if (!what) {
            store = open_store(dir);
            if (lineage_best(store, &trial, &err) == LINEAGE_OK)
                lineage_trial_release(&trial);
        } else if (what == 1) {
            render_once(store);
        } else if (what == 2) {
            query_once(store);
        } else {
            wide_query_once(store);
        }
        double seconds = now() - start;
        best = seconds < best ? seconds : best;
        lineage_store_close(store);
    }
    return best;
}

static double time_import(const char *dir)
{
    char command[1024];
    double start = now();
    snprintf(command, sizeof command, "cd '%s' && sqlite3 import.db '.mode tabs' '.import results.tsv trials' 2>/dev/null", dir);
    int status = system(command);
    double seconds = now() - start;
    snprintf(command, sizeof command, "rm -f '%s/import.db'", dir);
    return status == 0 && system(command) == 0 ? seconds : 0;
}

static void sweep_once(struct lineage_store *store)
{
    struct lineage_sweep sweep;
    struct lineage_error err;
    if (lineage_sweep_load(store, "alpha", "gamma", &sweep, &err) != LINEAGE_OK)
        exit(1);
    lineage_sweep_release(&sweep);
}

static void verify_once(struct lineage_store *store)
{
    struct lineage_error err;
    size_t n;
    if (lineage_verify(store, &n, NULL, NULL, &err) != LINEAGE_OK)
        exit(1);
}

/* Runs `work` in a child process, so that the child's peak memory can be measured. */
static double time_apart(const char *dir, void (*work)(struct lineage_store *), double *bytes)
{
    double start = now();
    struct rusage usage = {0};
    int state;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct lineage_store *store = open_store(dir);
        work(store);
        lineage_store_close(store);
        _exit(0);
    }
    if (child < 0 || wait4(child, &state, 0, &usage) != child || state != 0)
        exit(1);
    *bytes = (double)usage.ru_maxrss * 1024;
    return now() - start;
}

static void bench_apart(struct bench *bench, const char *name, const char *dir, size_t n, double import,
                        void (*work)(struct lineage_store *))
{
    char text[80], *path = join(dir, "results.tsv");
    struct stat st;
    double bytes, seconds = time_apart(dir, work, &bytes);
    if (stat(path, &st) != 0)
        exit(1);
    snprintf(text, sizeof text, "%s / .import", name);
    report(bench, text, n, (double)n, seconds, import > 0 ? seconds / import : 0);
    snprintf(text, sizeof text, "%s, memory / size of file", name);
    report(bench, text, n, (double)n, seconds, bytes / (double)st.st_size);
    free(path);
}

/* Returns the time of the fastest of many runs, because other load only makes a run slower. */
static double time_program(const char *command)
{
    double least = 1e9;
    for (int i = 0; i < 200; i++) {
        double start = now();
        pid_t child = fork();
        if (child == 0) {
            if (freopen("/dev/null", "w", stdout))
                execl("/bin/sh", "sh", "-c", command, (char *)NULL);
            _exit(127);
        }
        int state;
        if (child < 0 || waitpid(child, &state, 0) != child || state != 0)
            exit(1);
        double seconds = now() - start;
        least = seconds < least ? seconds : least;
    }
    return least;
}

static void bench_program(struct bench *bench, const char *dir, size_t n)
{
    char command[2048];
    const char *program = getenv("LINEAGE");
#ifdef LINEAGE_PROGRAM
    if (!program)
        program = LINEAGE_PROGRAM;
#endif
    if (!program)
        return;
    double empty = time_program("exec /bin/true");
    snprintf(command, sizeof command, "exec '%s' best -C '%s'", program, dir);
    double best = time_program(command);
    report(bench, "empty program", n, 1, empty, 1);
    report(bench, "lineage best / empty program", n, 1, best, best / empty);
}

static void bench_size(struct bench *bench, size_t i)
{
    static const char *const names[] = {"open and best / at first size", "render / at first size",
                                        "alpha-gamma query / at first size", "20 of two wide ranges / at first"};
    size_t n = bench->sizes[i];
    char *dir = make_dir(), *path = join(dir, "results.tsv");
    write_rows(path, n, bench->deep ? DEEP : MIXED);
    double import = time_import(dir), start = now();
    struct lineage_store *store = open_store(dir);
    render_once(store);
    lineage_store_close(store);
    double build = now() - start;
    if (import > 0)
        report(bench, "sqlite3 .import", n, (double)n, import, 1);
    report(bench, "mirror build / .import", n, (double)n, build, import > 0 ? build / import : 0);
    for (int what = 0; what < 4; what++) {
        double seconds = time_reading(dir, what);
        if (i == 0)
            bench->first[what] = seconds;
        report(bench, names[what], n, 1, seconds, seconds / bench->first[what]);
    }
    bench_apart(bench, "sweep", dir, n, import, sweep_once);
    bench_apart(bench, "verify", dir, n, import, verify_once);
    bench_export(bench, dir, n);
    if (i == 0)
        bench_program(bench, dir, n);
    free(path);
    remove_dir(dir);
}

/* ---- commands with a bounded answer ---- */

struct cost {
    double seconds; /* of the processor, user and system */
    double bytes;   /* peak of memory */
};

/* Returns the least time of several runs and the largest memory. A command may answer no. */
static struct cost cost_of(const char *command)
{
    struct cost cost = {.seconds = 1e9};
    for (int i = 0; i < 3 * REPEATS; i++) {
        struct rusage usage = {0};
        int state;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            if (freopen("/dev/null", "w", stdout))
                execl("/bin/sh", "sh", "-c", command, (char *)NULL);
            _exit(127);
        }
        if (child < 0 || wait4(child, &state, 0, &usage) != child || !WIFEXITED(state) || WEXITSTATUS(state) > 1) {
            fprintf(stderr, "store_bench: %s failed\n", command);
            exit(1);
        }
        double seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                         1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
        cost.seconds = seconds < cost.seconds ? seconds : cost.seconds;
        cost.bytes = (double)usage.ru_maxrss * 1024 > cost.bytes ? (double)usage.ru_maxrss * 1024 : cost.bytes;
    }
    return cost;
}

static void bench_commands(struct bench *bench, size_t n, enum shape shape)
{
    static const char *const commands[] = {"best",
                                           "render",
                                           "show MIDDLE",
                                           "show LAST --format json",
                                           "chain LAST --limit 10",
                                           "query --limit 5",
                                           "query --since 2099-01-01",
                                           "query --status train_budget_overrun",
                                           "query --sort -core_metric --limit 5",
                                           "tried --alpha 0.77",
                                           "tried --alpha 0.77 --gamma 1.0"};
    const char *program = getenv("LINEAGE"), *of = shape == DEEP ? "deep" : "wide";
    char *dir = make_dir(), *path = join(dir, "results.tsv");
    double best = 0, most = 0;
#ifdef LINEAGE_PROGRAM
    if (!program)
        program = LINEAGE_PROGRAM;
#endif
    write_rows(path, n, shape);
    for (size_t i = 0; program && i < sizeof commands / sizeof *commands; i++) {
        char command[2048], name[80], words[80], *at;
        snprintf(words, sizeof words, "%s", commands[i]);
        while ((at = strstr(words, "MIDDLE")) || (at = strstr(words, "LAST"))) {
            char id[24], rest[80];
            snprintf(rest, sizeof rest, "%s", at + (*at == 'M' ? 6 : 4));
            snprintf(id, sizeof id, "%03zu", *at == 'M' ? n / 2 : (n - 1) / 10 * 10);
            snprintf(at, sizeof words - (size_t)(at - words), "%s%s", id, rest);
        }
        snprintf(command, sizeof command, "exec '%s' %s -C '%s' 2>/dev/null", program, words, dir);
        if (i == 0)
            cost_of(command); /* makes the mirror */
        struct cost cost = cost_of(command);
        best = i ? best : cost.seconds;
        most = cost.bytes > most && i ? cost.bytes : most;
        snprintf(name, sizeof name, "%s: %s", of, commands[i]);
        report(bench, name, n, 1, cost.seconds, cost.seconds / best);
    }
    report(bench, shape == DEEP ? "deep: largest memory / 64 MiB" : "wide: largest memory / 64 MiB", n, 1, best,
           most / (64 << 20));
    free(path);
    remove_dir(dir);
}

static bool parse(struct bench *bench, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            bench->json = true;
        else if (strcmp(argv[i], "--deep") == 0)
            bench->deep = true;
        else if (strcmp(argv[i], "--commands") == 0)
            bench->commands = true;
        else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc && bench->n_sizes < MAX_SIZES)
            bench->sizes[bench->n_sizes++] = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--appends") == 0 && i + 1 < argc)
            bench->appends = strtoull(argv[++i], NULL, 10);
        else
            return false;
    }
    static const size_t usual[] = {1000, 100000, 1000000};
    bool given = bench->n_sizes > 0;
    for (size_t i = bench->commands; !given && i < 3; i++)
        bench->sizes[bench->n_sizes++] = usual[i];
    return true;
}

int main(int argc, char **argv)
{
    struct bench bench = {.appends = 20000};
    if (!parse(&bench, argc, argv)) {
        fputs("usage: store_bench [--json] [--deep] [--commands] [--rows N]... [--appends N]\n", stderr);
        return 2;
    }
    if (!bench.json)
        printf("%-44s %9s %14s %12s %8s\n", "case", "rows", "per second", "seconds", "ratio");
    if (!bench.commands) {
        bench_append(&bench, false);
        bench_append(&bench, true);
        bench_follow(&bench);
    }
    for (size_t i = 0; i < bench.n_sizes; i++) {
        if (!bench.commands)
            bench_size(&bench, i);
        bench_commands(&bench, bench.sizes[i], DEEP);
        bench_commands(&bench, bench.sizes[i], WIDE);
    }
    if (bench.json)
        puts("\n]");
    return 0;
}
