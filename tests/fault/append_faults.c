/*
 * append_faults.c: in each case one system call of an append, or one file operation of SQLite during it, fails, does
 * half its work, or is the last call before the process is killed. The cases cover the first call, the second, and so
 * on to the last.
 *
 * The append has one row with all of its files, or several rows in one call. After each fault: earlier bytes are
 * unchanged; there is one header; the new row is in the file completely or not at all (several rows: all or none); an
 * acknowledged row is in the file; and the next append succeeds and leaves a store that verifies.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/verify.h>

#include "files/fs.h"
#include "sqlite_faults.h"
#include "support/files.h"
#include "support/last_words.h"

#define SENTINEL "the row under test"

enum mode { FAIL_EIO, FAIL_FULL, SHORT_WRITE, KILL, SQLITE_FAIL, SQLITE_DISK_FULL, SQLITE_KILL, N_MODES };
static const char *const mode_names[] = {"EIO", "ENOSPC", "short", "kill", "sqlite error", "sqlite full", "sqlite kill"};

struct fault {
    enum mode mode;
    unsigned countdown;
    bool hit;
};

/*
 * A full disk is simulated only in calls that create or extend a file, and half a write only in write. In other calls
 * these modes would only repeat the EIO case.
 */
static bool can_meet(enum mode mode, const char *call)
{
    static const char *const growing[] = {"open", "write", "mkdir", "symlink", "rename", "fdatasync", "fsync", "close"};
    if (mode == SHORT_WRITE)
        return strcmp(call, "write") == 0;
    for (size_t i = 0; i < sizeof growing / sizeof *growing; i++)
        if (mode != FAIL_FULL || strcmp(call, growing[i]) == 0)
            return true;
    return false;
}

static int strike(void *context, const char *call)
{
    struct fault *fault = context;
    if (!can_meet(fault->mode, call))
        return 0;
    if (!fault->countdown || --fault->countdown)
        return 0;
    fault->hit = true;
    if (fault->mode == KILL)
        kill_myself();
    if (fault->mode == SHORT_WRITE)
        return FS_FAULT_SHORT;
    return fault->mode == FAIL_FULL ? ENOSPC : EIO;
}

/* The store before the append: empty, with rows, or with rows and a torn record. */
enum start { FRESH, ROWS, TORN, N_STARTS };
static const char *const start_names[] = {"fresh", "rows", "torn"};

static enum lineage_status append_one(struct lineage_store *store, const char *hypothesis, const char *snapshot)
{
    struct lineage_append_options options;
    struct lineage_error err = {0};
    struct lineage_trial trial = {
        .hypothesis = hypothesis, .specialist = "s", .status = LINEAGE_KEEP, .core_metric = {true, 1.5}};
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

enum { BATCH_ROWS = 3 };

static enum lineage_status append_batch(struct lineage_store *store)
{
    struct lineage_error err = {0};
    struct lineage_trial trials[BATCH_ROWS] = {{.exp_id = "first", .status = LINEAGE_KEEP, .core_metric = {true, 1.4}},
                                               {.exp_id = "second", .parent_exp = "first", .status = LINEAGE_CRASH},
                                               {.parent_exp = "second", .status = LINEAGE_CRASH}};
    for (int i = 0; i < BATCH_ROWS; i++)
        trials[i].hypothesis = SENTINEL;
    return lineage_store_append_many(store, trials, BATCH_ROWS, NULL, NULL, NULL, &err);
}

/* Exit status of the child: 0 the append was acknowledged, 1 it was refused, 3 no fault was injected. */
static int run_child(const char *dir, const char *work, unsigned rows, struct fault fault)
{
    struct lineage_store *store = NULL;
    struct lineage_error err;
    bool sqlite = fault.mode >= SQLITE_FAIL;
    if (sqlite)
        sqlite_faults_arm(fault.countdown, fault.mode == SQLITE_DISK_FULL, fault.mode == SQLITE_KILL);
    else
        fs_set_fault(strike, &fault);
    bool done = lineage_store_open(&store, dir, NULL, &err) == LINEAGE_OK &&
                (rows > 1 ? append_batch(store) : append_one(store, SENTINEL, work)) == LINEAGE_OK;
    lineage_store_close(store);
    if (!(sqlite ? sqlite_faults_hit() : fault.hit))
        return done ? 3 : 2;
    return done ? 0 : 1;
}

static int run(const char *dir, const char *work, unsigned rows, struct fault fault)
{
    int state;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        leave(run_child(dir, work, rows, fault));
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
    /* Telemetry of an unwritten row may remain if the process was killed before it wrote the row. */
    if (strcmp(finding->kind, LINEAGE_NOTE) != 0) {
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

/* The work directory of the tested row: a file, a directory with a file in it, a symbolic link. */
static char *make_work(void)
{
    char *work = make_dir(), *file = join(work, "train.py"), *sub = join(work, "conf");
    char *inner = join(sub, "a.json"), *link = join(work, "latest");
    write_file(file, "print(1)\n", 9);
    if (mkdir(sub, 0755) != 0 || symlink("conf/a.json", link) != 0)
        exit(2);
    write_file(inner, "{}", 2);
    free(file);
    free(sub);
    free(inner);
    free(link);
    return work;
}

static bool is_whole_snapshot(const char *snapshot)
{
    char *inner = join(snapshot, "conf/a.json"), *link = join(snapshot, "latest"), target[32] = "";
    bool whole = file_exists(inner) && readlink(link, target, sizeof target - 1) > 0 && strcmp(target, "conf/a.json") == 0;
    free(inner);
    free(link);
    return whole;
}

/* A written row has its complete snapshot, and a refused row has none. After a kill, a snapshot may be left over. */
static bool snapshots_are_right(const char *dir, int outcome)
{
    char *snapshots = join(dir, "snapshots"), **names = list_dir(snapshots, "");
    bool whole = true;
    size_t n = 0;
    for (size_t i = 0; names && names[i]; i++) {
        if (strcmp(names[i], ".") == 0 || strcmp(names[i], "..") == 0)
            continue;
        char *one = join(snapshots, names[i]);
        whole = whole && is_whole_snapshot(one);
        free(one);
        n++;
    }
    if (names)
        free_list(names);
    free(snapshots);
    return outcome > 1 || (whole && n == (outcome == 0));
}

static const char *broken(const char *dir, const char *before, size_t good_length, unsigned rows, int outcome)
{
    char *path = join(dir, "results.tsv"), *now;
    const char *why = NULL;
    size_t length;
    if (rows == 1 && !snapshots_are_right(dir, outcome)) {
        free(path);
        return "the snapshot is not what it should be";
    }
    if (!next_append_works(dir)) {
        free(path);
        return "the next append fails";
    }
    now = read_file(path, &length);
    size_t there = occurrences(now, SENTINEL);
    if (length < good_length || memcmp(now, before, good_length) != 0)
        why = "earlier bytes changed";
    else if (occurrences(now, "exp_id\ttimestamp") != 1)
        why = "not one header";
    else if (there > rows)
        why = "a row is there twice";
    else if (there != 0 && there != rows)
        why = "some of the rows are there";
    else if (outcome == 0 && there != rows)
        why = "an acknowledged row is missing";
    else if (outcome == 1 && there != 0)
        why = "a refused row is there";
    else if (occurrences(now, "\tafter\t") != 1)
        why = "the next row is missing";
    else if (now[length - 1] != '\n')
        why = "no line end at the end";
    else if (!verifies(dir))
        why = "the store does not verify";
    free(now);
    free(path);
    return why;
}

/* Tries the fault at every call, or at a sample that is dense at the beginning, for one initial store and one mode. Returns the
 * number of calls. */
static unsigned run_all(enum start start, enum mode mode, const char *work, unsigned rows, bool all, unsigned *failures)
{
    for (unsigned n = 1; n < 2000; n += all ? 1 : 1 + n / 6) {
        char *dir = prepare(start), *path = join(dir, "results.tsv"), *before = NULL;
        size_t length = 0, good = 0;
        if (start != FRESH) {
            before = read_file(path, &length);
            for (good = length; good && before[good - 1] != '\n';)
                good--;
        }
        int outcome = run(dir, work, rows, (struct fault){.mode = mode, .countdown = n});
        const char *why = outcome == 2 ? "append fails without a fault" : broken(dir, before ? before : "", good, rows, outcome);
        if (why) {
            printf("FAIL %s store, %u rows, %s at call %u: %s\n", start_names[start], rows, mode_names[mode], n, why);
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

/* usage: append_faults [all] */
int main(int argc, char **argv)
{
    const bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    unsigned failures = 0;
    char *work = make_work();
    sqlite_faults_install();
    for (enum start start = FRESH; start < N_STARTS; start++)
        for (enum mode mode = FAIL_EIO; mode < N_MODES; mode++)
            for (unsigned rows = 1; rows <= (mode < SQLITE_FAIL ? BATCH_ROWS : 1); rows += BATCH_ROWS - 1)
                printf("%-5s %u rows %-12s %3u calls\n", start_names[start], rows, mode_names[mode],
                       run_all(start, mode, work, rows, all, &failures));
    remove_dir(work);
    printf("%u failures\n", failures);
    return failures != 0;
}
