/*
 * writers.c: 8 processes append 250 rows each to a new store, together with another program that appends in the same
 * format and locks the file with flock. Meanwhile writers are killed at random (SIGKILL) and restarted.
 *
 * Afterwards every acknowledged row exists exactly once, there is one header, ids are unique, the store verifies (the
 * mirror equals results.tsv), and the number of rows is at most acknowledged rows plus kills.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/verify.h>

#include "support/files.h"

enum { WRITERS = 8, ROWS = 250, KILLS = 40 };

static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* Each writer has a file of acknowledgements; each line of it is written with one write. */
static int open_acks(const char *dir, int writer)
{
    char name[32];
    snprintf(name, sizeof name, "acks-%d", writer);
    char *path = join(dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    free(path);
    if (fd < 0)
        die("acks");
    return fd;
}

static size_t count_lines(const char *dir, int writer)
{
    char name[32];
    size_t length, n = 0;
    snprintf(name, sizeof name, "acks-%d", writer);
    char *path = join(dir, name);
    char *text = file_exists(path) ? read_file(path, &length) : NULL;
    for (const char *c = text; c && (c = strchr(c, '\n')); c++)
        n++;
    free(text);
    free(path);
    return n;
}

static void acknowledge(int acks, const char *id)
{
    char line[300];
    int length = snprintf(line, sizeof line, "%s\n", id);
    if (write(acks, line, (size_t)length) != length)
        die("acknowledge");
}

static struct lineage_store *open_store(const char *dir)
{
    struct lineage_store *store;
    struct lineage_error err;
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK) {
        fprintf(stderr, "open: %s\n", err.text);
        exit(2);
    }
    return store;
}

/* Writers with odd numbers open the store for each row, like a shell script; the others keep their handle. */
static void run_writer(const char *dir, const char *log_dir, int writer)
{
    struct lineage_append_options options;
    struct lineage_error err;
    int acks = open_acks(log_dir, writer);
    struct lineage_store *store = open_store(dir);
    lineage_append_options_init(&options);
    options.no_sync = writer % 4 != 0;
    for (size_t done = count_lines(log_dir, writer); done < ROWS; done++) {
        struct lineage_trial row, trial = {.specialist = "ours",
                                           .hypothesis = "a\ttab, \"quotes\" and\nlines",
                                           .status = done % 3 ? LINEAGE_DISCARD : LINEAGE_KEEP,
                                           .core_metric = {true, 1.0 / (double)(done + 1)}};
        if (lineage_store_append(store, &trial, &options, &row, &err) != LINEAGE_OK) {
            fprintf(stderr, "append: %s\n", err.text);
            exit(2);
        }
        acknowledge(acks, row.exp_id);
        lineage_trial_release(&row);
        if (writer % 2) {
            lineage_store_close(store);
            store = open_store(dir);
        }
    }
    lineage_store_close(store);
    close(acks);
    exit(0);
}

/*
 * Appends as another program would: takes flock, writes the header if the file is empty, and writes each row with one
 * write.
 */
static void run_stranger(const char *dir, const char *log_dir)
{
    static const char header[] =
        "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\t"
        "core_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\n";
    int acks = open_acks(log_dir, WRITERS);
    char *path = join(dir, "results.tsv"), id[32], line[512];
    for (size_t done = count_lines(log_dir, WRITERS); done < ROWS; done++) {
        int fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0666);
        struct stat st, named;
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &st) != 0)
            die("stranger");
        /* the file was empty and has been removed since the open */
        if (stat(path, &named) != 0 || named.st_ino != st.st_ino) {
            close(fd);
            done--;
            continue;
        }
        snprintf(id, sizeof id, "stranger-%d-%zu", (int)getpid(), done);
        int length = snprintf(line, sizeof line, "%s%s\t2026-01-01T00:00:00Z\tstranger\t\t\t\tplain\t\tkeep\t0.5\t\t\t\t\t\t\t\n",
                              st.st_size ? "" : header, id);
        if (write(fd, line, (size_t)length) != length)
            die("stranger's write");
        close(fd);
        acknowledge(acks, id);
    }
    free(path);
    close(acks);
    exit(0);
}

static pid_t start(const char *dir, const char *log_dir, int writer)
{
    pid_t child = fork();
    if (child < 0)
        die("fork");
    if (child == 0 && writer == WRITERS)
        run_stranger(dir, log_dir);
    if (child == 0)
        run_writer(dir, log_dir, writer);
    return child;
}

static void sleep_ms(unsigned ms)
{
    struct timespec pause = {0, (long)ms * 1000000};
    nanosleep(&pause, NULL);
}

/*
 * Kills writers at random and restarts them. The other program is not killed, because it would leave torn rows that
 * it does not repair.
 */
static unsigned run_all(const char *dir, const char *log_dir)
{
    pid_t children[WRITERS + 1];
    unsigned seed = 12345, kills = 0;
    for (int i = 0; i <= WRITERS; i++)
        children[i] = start(dir, log_dir, i);
    for (int round = 0; round < KILLS; round++) {
        int i = rand_r(&seed) % WRITERS, state;
        sleep_ms(5 + (unsigned)rand_r(&seed) % 30);
        kill(children[i], SIGKILL);
        waitpid(children[i], &state, 0);
        kills += WIFSIGNALED(state);
        children[i] = start(dir, log_dir, i);
    }
    for (int i = 0; i <= WRITERS; i++) {
        int state;
        if (waitpid(children[i], &state, 0) != children[i] || !WIFEXITED(state) || WEXITSTATUS(state) != 0) {
            printf("FAIL writer %d ended with state %d\n", i, state);
            exit(1);
        }
    }
    return kills;
}

static unsigned check_acks(struct lineage_store *store, const char *log_dir, size_t *acknowledged)
{
    unsigned failures = 0;
    for (int i = 0; i <= WRITERS; i++) {
        char name[32];
        size_t length;
        snprintf(name, sizeof name, "acks-%d", i);
        char *path = join(log_dir, name), *text = read_file(path, &length), *save = NULL;
        for (char *id = strtok_r(text, "\n", &save); id; id = strtok_r(NULL, "\n", &save)) {
            struct lineage_trial trial;
            struct lineage_error err;
            ++*acknowledged;
            if (lineage_find(store, id, &trial, &err) != LINEAGE_OK) {
                printf("FAIL acknowledged row %s of writer %d is missing\n", id, i);
                failures++;
            }
            lineage_trial_release(&trial);
        }
        free(text);
        free(path);
    }
    return failures;
}

static size_t occurrences(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at += strlen(word))
        n++;
    return n;
}

static void print_finding(void *context, const struct lineage_finding *finding)
{
    (void)context;
    printf("FAIL verify: %s: line %llu: %s\n", finding->kind, (unsigned long long)finding->line, finding->text);
}

static bool take_count(void *context, size_t n, const char *const *names, const char *const *texts)
{
    (void)n, (void)names;
    *(size_t *)context = (size_t)strtoull(texts[0], NULL, 10);
    return true;
}

int main(void)
{
    char *dir = make_dir(), *log_dir = make_dir(), *results = join(dir, "results.tsv");
    unsigned kills = run_all(dir, log_dir), failures = 0;
    struct lineage_store *store = open_store(dir);
    struct lineage_error err;
    size_t acknowledged = 0, rows = 0, n_findings = 0, length;
    failures += check_acks(store, log_dir, &acknowledged);
    failures += lineage_verify(store, &n_findings, print_finding, NULL, &err) != LINEAGE_OK || n_findings;
    failures += lineage_sql(store, "SELECT count(*) FROM trials", take_count, &rows, &err) != LINEAGE_OK;
    char *text = read_file(results, &length);
    failures += occurrences(text, "exp_id\ttimestamp") != 1;
    failures += rows < acknowledged || rows > acknowledged + kills;
    failures += acknowledged != (WRITERS + 1) * ROWS;
    printf("%zu rows, %zu acknowledged, %u writers killed, %u failures\n", rows, acknowledged, kills, failures);
    lineage_store_close(store);
    free(text);
    free(results);
    remove_dir(dir);
    remove_dir(log_dir);
    return failures != 0;
}
