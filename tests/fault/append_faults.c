/*
 * append_faults.c: every system call of an append, and every file operation of SQLite under it, made to fail,
 * to do half its work, or to be the last thing the process does; one further each time until none is left.
 *
 * After each the invariant: earlier bytes are untouched, there is one header, the row is there whole or not at
 * all, an acknowledged row is there, and the next append succeeds and leaves a store that verifies.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/verify.h>

#include "log/fs.h"
#include "sqlite_faults.h"
#include "support/files.h"

#define SENTINEL "the row under test"

enum mode { FAIL_EIO, FAIL_FULL, SHORT_WRITE, KILL, SQLITE_FAIL, SQLITE_DISK_FULL, SQLITE_KILL, N_MODES };
static const char *const mode_names[] = {"EIO", "ENOSPC", "short", "kill", "sqlite error", "sqlite full", "sqlite kill"};

struct fault {
    enum mode mode;
    unsigned countdown;
    bool hit;
};

static int strike(void *context, const char *call)
{
    struct fault *fault = context;
    if (!fault->countdown || --fault->countdown)
        return 0;
    fault->hit = true;
    if (fault->mode == KILL)
        kill(getpid(), SIGKILL);
    if (fault->mode == SHORT_WRITE)
        return strcmp(call, "write") == 0 ? FS_FAULT_SHORT : ENOSPC;
    return fault->mode == FAIL_FULL ? ENOSPC : EIO;
}

/* The store before: nothing, rows, or rows and a torn end. */
enum start { FRESH, ROWS, TORN, N_STARTS };
static const char *const start_names[] = {"fresh", "rows", "torn"};

static enum lineage_status append_one(struct lineage_store *store, const char *hypothesis, const char *snapshot)
{
    struct lineage_append_options options;
    struct lineage_error err = {0};
    struct lineage_trial trial = {.hypothesis = hypothesis, .specialist = "s", .status = LINEAGE_KEEP,
                                  .core_metric = {true, 1.5}};
    lineage_append_options_init(&options);
    options.snapshot_dir = snapshot;
    options.telemetry = "{\"steps\": [{\"step\": 0, \"loss\": 1.5}]}";
    options.telemetry_length = strlen(options.telemetry);
    return lineage_store_append(store, &trial, &options, NULL, &err);
}

static char *prepare(enum start start)
{
    char *dir = make_dir(), *results = join(dir, "results.tsv");
    struct lineage_store *store;
    struct lineage_error err;
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
        exit(2);
    for (int i = 0; start != FRESH && i < 3; i++)
        if (append_one(store, "before", NULL) != LINEAGE_OK)
            exit(2);
    lineage_store_close(store);
    if (start == TORN) {
        FILE *out = fopen(results, "ab");
        fputs("003\t2026-01-01T00:00:00Z\ts\t002\tto", out);
        fclose(out);
    }
    free(results);
    return dir;
}

/* In a child: 0 acknowledged, 1 refused, 3 nothing was injected. */
static int run_child(const char *dir, const char *work, struct fault fault)
{
    struct lineage_store *store = NULL;
    struct lineage_error err;
    bool sqlite = fault.mode >= SQLITE_FAIL;
    if (sqlite)
        sqlite_faults_arm(fault.countdown, fault.mode == SQLITE_DISK_FULL, fault.mode == SQLITE_KILL);
    else
        fs_set_fault(strike, &fault);
    bool done = lineage_store_open(&store, dir, NULL, &err) == LINEAGE_OK && append_one(store, SENTINEL, work) == LINEAGE_OK;
    lineage_store_close(store);
    if (!(sqlite ? sqlite_faults_hit() : fault.hit))
        return done ? 3 : 2;
    return done ? 0 : 1;
}

static int run(const char *dir, const char *work, struct fault fault)
{
    int state;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(run_child(dir, work, fault));
    if (child < 0 || waitpid(child, &state, 0) != child)
        exit(2);
    return WIFEXITED(state) ? WEXITSTATUS(state) : 9;
}

static size_t occurrences(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        n++;
    return n;
}

static size_t findings_that_matter;

static void count_finding(void *context, const struct lineage_finding *finding)
{
    /* telemetry of a row that did not get in may stay behind when the process was killed before it */
    if (strcmp(finding->kind, "telemetry") != 0) {
        printf("  %s: %s\n", finding->kind, finding->text);
        ++*(size_t *)context;
    }
}

static bool verifies(const char *dir)
{
    struct lineage_store *store;
    struct lineage_error err;
    size_t n;
    findings_that_matter = 0;
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
        return false;
    bool ok = lineage_verify(store, &n, count_finding, &findings_that_matter, &err) == LINEAGE_OK;
    lineage_store_close(store);
    return ok && !findings_that_matter;
}

static bool next_append_works(const char *dir)
{
    struct lineage_store *store;
    struct lineage_error err;
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
        return false;
    bool ok = append_one(store, "after", NULL) == LINEAGE_OK;
    lineage_store_close(store);
    return ok;
}

static const char *broken(const char *dir, const char *before, size_t before_length, size_t good_length, int outcome)
{
    char *path = join(dir, "results.tsv"), *now;
    const char *why = NULL;
    size_t length;
    if (!next_append_works(dir)) {
        free(path);
        return "the next append fails";
    }
    now = read_file(path, &length);
    if (length < good_length || memcmp(now, before, good_length) != 0)
        why = "earlier bytes changed";
    else if (occurrences(now, "exp_id\ttimestamp") != 1)
        why = "not one header";
    else if (occurrences(now, SENTINEL) > 1)
        why = "the row is there twice";
    else if (outcome == 0 && occurrences(now, SENTINEL) != 1)
        why = "an acknowledged row is missing";
    else if (outcome == 1 && occurrences(now, SENTINEL) != 0)
        why = "a refused row is there";
    else if (occurrences(now, "\tafter\t") != 1)
        why = "the next row is missing";
    else if (now[length - 1] != '\n')
        why = "no line end at the end";
    else if (!verifies(dir))
        why = "the store does not verify";
    (void)before_length;
    free(now);
    free(path);
    return why;
}

/* One start and one mode, all calls. Returns how many were made to fail. */
static unsigned run_all(enum start start, enum mode mode, const char *work, unsigned *failures)
{
    for (unsigned n = 1; n < 2000; n++) {
        char *dir = prepare(start), *path = join(dir, "results.tsv"), *before = NULL;
        size_t length = 0, good = 0;
        if (start != FRESH) {
            before = read_file(path, &length);
            for (good = length; good && before[good - 1] != '\n';)
                good--;
        }
        int outcome = run(dir, work, (struct fault){.mode = mode, .countdown = n});
        const char *why = outcome == 2 ? "append fails without a fault" : broken(dir, before ? before : "", length, good, outcome);
        if (why) {
            printf("FAIL %s store, %s at call %u: %s\n", start_names[start], mode_names[mode], n, why);
            ++*failures;
        }
        free(before);
        free(path);
        remove_dir(dir);
        if (outcome == 3 || outcome == 2)
            return n - 1;
    }
    printf("FAIL %s store, %s: no end of calls\n", start_names[start], mode_names[mode]);
    ++*failures;
    return 0;
}

int main(void)
{
    unsigned failures = 0;
    char *work = make_dir(), *file = join(work, "train.py");
    write_file(file, "print(1)\n", 9);
    sqlite_faults_install();
    for (enum start start = FRESH; start < N_STARTS; start++)
        for (enum mode mode = FAIL_EIO; mode < N_MODES; mode++)
            printf("%-5s %-12s %3u calls\n", start_names[start], mode_names[mode], run_all(start, mode, work, &failures));
    free(file);
    remove_dir(work);
    printf("%u failures\n", failures);
    return failures != 0;
}
