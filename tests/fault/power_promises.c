/* power_promises.c: see power_promises.h. */
#include "power_promises.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/insights.h>
#include <lineage/query.h>
#include <lineage/queue.h>
#include <lineage/render.h>
#include <lineage/verify.h>

#include "append/outbox_file.h"
#include "format/tsv.h"
#include "power_acts.h"
#include "support/files.h"

enum { STEPS_MAX = 8, ANSWERS_MAX = 64, FILES_MAX = 16, RECORDS_MAX = 64 };

#define AFTER "the row after the power failure"

struct kept_file {
    char *path, *bytes; /* bytes NULL: the file is missing */
    size_t length;
};

/* The files of a store after a command. */
struct step {
    struct kept_file files[FILES_MAX]; /* results.tsv is the first one */
    size_t n_files;
    size_t answered_at; /* index of the change at which the command printed its result */
};

struct promises {
    const char *series;
    char *store;
    struct step steps[STEPS_MAX]; /* [0] is the beginning */
    size_t n_steps;
    size_t answers[ANSWERS_MAX], n_answers;
};

/* ---- what the commands left ---- */

static void keep_file(struct step *step, const char *store, const char *path)
{
    char *at = join(store, path);
    struct kept_file file = {.path = strdup(path)};
    if (file_exists(at))
        file.bytes = read_file(at, &file.length);
    free(at);
    if (step->n_files == FILES_MAX)
        exit(2);
    step->files[step->n_files++] = file;
}

static void keep_below(struct step *step, const char *store, const char *path)
{
    char *at = join(store, path), **names = list_dir(at, "");
    for (size_t i = 0; names && names[i]; i++) {
        char *below = join(path, names[i]), *full = join(store, below);
        struct stat st;
        if (names[i][0] != '.' && stat(full, &st) == 0) {
            if (S_ISDIR(st.st_mode))
                keep_below(step, store, below);
            else
                keep_file(step, store, below);
        }
        free(full);
        free(below);
    }
    if (names)
        free_list(names);
    free(at);
}

static struct step step_now(const char *store)
{
    struct step step = {0};
    keep_file(&step, store, "results.tsv");
    keep_file(&step, store, "lineage.json");
    keep_file(&step, store, "a/b/lineage.json");
    keep_file(&step, store, "KNOWLEDGE.md");
    keep_below(&step, store, "telemetry");
    keep_below(&step, store, "snapshots");
    return step;
}

struct promises *promises_new(const char *store, const char *series)
{
    struct promises *promises = calloc(1, sizeof *promises);
    if (!promises)
        exit(2);
    promises->series = series;
    promises->store = strdup(store);
    promises->steps[promises->n_steps++] = step_now(store);
    return promises;
}

void promises_free(struct promises *promises)
{
    for (size_t i = 0; i < promises->n_steps; i++)
        for (size_t k = 0; k < promises->steps[i].n_files; k++) {
            free(promises->steps[i].files[k].path);
            free(promises->steps[i].files[k].bytes);
        }
    free(promises->store);
    free(promises);
}

void promises_add(struct promises *promises, const struct disk *disk, size_t first)
{
    struct step step = step_now(promises->store);
    step.answered_at = SIZE_MAX;
    for (size_t i = first; i < disk_n_changes(disk); i++)
        if (disk_change(disk, i)->kind == CHANGE_ANSWER) {
            step.answered_at = step.answered_at == SIZE_MAX ? i : step.answered_at;
            if (promises->n_answers < ANSWERS_MAX)
                promises->answers[promises->n_answers++] = i;
        }
    if (promises->n_steps == STEPS_MAX)
        exit(2);
    promises->steps[promises->n_steps++] = step;
}

size_t promises_answered(const struct promises *promises, size_t end)
{
    size_t n = 0;
    while (n < promises->n_answers && promises->answers[n] < end)
        n++;
    return n;
}

/* ---- rows ---- */

struct records {
    struct {
        const char *bytes;
        size_t length;
    } at[RECORDS_MAX];
    size_t n;
};

/* A record without a line end was left by another tool, and is not an acknowledged row. */
static void read_records(struct records *records, const char *bytes, size_t length)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    records->n = 0;
    tsv_scanner_init(&scanner, bytes ? bytes : "", bytes ? length : 0, 0, 1);
    while (tsv_scan(&scanner, &record) && records->n < RECORDS_MAX)
        if (record.content && record.terminated) {
            records->at[records->n].bytes = record.bytes;
            records->at[records->n++].length = record.content;
        }
}

/* The number of leading records of `all` that are those of `some`. */
static size_t same_records(const struct records *all, size_t from, const struct records *some, size_t some_from)
{
    size_t n = 0;
    while (from + n < all->n && some_from + n < some->n && all->at[from + n].length == some->at[some_from + n].length &&
           memcmp(all->at[from + n].bytes, some->at[some_from + n].bytes, all->at[from + n].length) == 0)
        n++;
    return n;
}

static bool has(const char *bytes, size_t length, const char *text)
{
    return bytes && memmem(bytes, length, text, strlen(text)) != NULL;
}

/*
 * The log must have the records of step `done`, then all or none of those that step `done` + 1 added, and then the row
 * that was appended after the power failure.
 */
static bool rows_are_right(const struct promises *promises, size_t done, const char *log, size_t length, char why[PROMISE_TEXT])
{
    struct records now, before, after;
    const bool more = done + 1 < promises->n_steps;
    read_records(&now, log, length);
    read_records(&before, promises->steps[done].files[0].bytes, promises->steps[done].files[0].length);
    read_records(&after, more ? promises->steps[done + 1].files[0].bytes : NULL,
                 more ? promises->steps[done + 1].files[0].length : 0);
    size_t n = same_records(&now, 0, &before, 0);
    if (n < before.n) {
        snprintf(why, PROMISE_TEXT, "record %zu of %zu acknowledged ones is missing or changed", n + 1, before.n);
        return false;
    }
    size_t added = n < after.n ? same_records(&now, n, &after, n) : 0;
    bool header_only = before.n == 0 && added == 1;
    if (added && n + added < after.n && !header_only) {
        snprintf(why, PROMISE_TEXT, "%zu of %zu rows of one command are there", added, after.n - n);
        return false;
    }
    size_t rest = n + added + (n + added == 0); /* without any row, the row after the power failure brought the header */
    if (now.n != rest + 1 || !has(now.at[now.n - 1].bytes, now.at[now.n - 1].length, AFTER)) {
        snprintf(why, PROMISE_TEXT, "the log has %zu records instead of %zu", now.n, rest + 1);
        return false;
    }
    return true;
}

/* ---- files of the state itself ---- */

static const struct kept_file *file_of(const struct step *step, const char *path)
{
    for (size_t i = 0; i < step->n_files; i++)
        if (strcmp(step->files[i].path, path) == 0)
            return &step->files[i];
    return NULL;
}

static bool is_file(const struct disk_state *state, const struct kept_file *file)
{
    char path[512];
    size_t length = 0;
    snprintf(path, sizeof path, "store/%s", file->path);
    const char *bytes = disk_state_file(state, path, &length);
    return bytes ? file->bytes && length == file->length && memcmp(bytes, file->bytes, length) == 0 : !file->bytes;
}

/* Every file but results.tsv is the one of the step that is done, or the one of the step that was at work. */
static bool files_are_whole(const struct promises *promises, const struct disk_state *state, size_t done, char why[PROMISE_TEXT])
{
    const struct step *step = &promises->steps[done], *next = done + 1 < promises->n_steps ? step + 1 : NULL;
    for (size_t i = 1; i < step->n_files; i++) {
        const struct kept_file *old = &step->files[i], *new = next ? file_of(next, old->path) : NULL;
        bool noting = new && new->bytes &&has(new->bytes, new->length, POWER_NOTE) && old->bytes &&
                      !has(old->bytes, old->length, POWER_NOTE);
        if (is_file(state, old) || (new && is_file(state, new)) || noting)
            continue;
        snprintf(why, PROMISE_TEXT, "%s is neither the old nor the new file", old->path);
        return false;
    }
    return true;
}

/* A record that was moved aside is in a file or in the log, whatever happens to `restore`. */
static bool torn_is_there(const struct promises *promises, const struct disk_state *state, char why[PROMISE_TEXT])
{
    size_t length;
    const struct kept_file *first = &promises->steps[0].files[0];
    if (strcmp(promises->series, "restore") != 0 && !has(first->bytes, first->length, POWER_TORN))
        return true;
    const char *log = disk_state_file(state, "store/results.tsv", &length);
    if (has(log, log ? length : 0, POWER_TORN))
        return true;
    for (unsigned n = 1; n < 4; n++) {
        char path[64];
        snprintf(path, sizeof path, "store/results.tsv.torn-%u", n);
        const char *aside = disk_state_file(state, path, &length);
        if (has(aside, aside ? length : 0, POWER_TORN))
            return true;
    }
    snprintf(why, PROMISE_TEXT, "the record that was moved aside is lost");
    return false;
}

/* ---- what can be done with the store ---- */

struct findings {
    char *why;
    size_t n;
};

/* A note is about what a kill may leave too. */
static void take_finding(void *context, const struct lineage_finding *finding)
{
    struct findings *findings = context;
    if (strcmp(finding->kind, LINEAGE_NOTE) == 0)
        return;
    if (findings->why && !findings->n)
        snprintf(findings->why, PROMISE_TEXT, "verify finds %s: %.300s", finding->kind, finding->text);
    findings->n++;
}

static bool failed(char why[PROMISE_TEXT], const char *doing, const struct lineage_error *err)
{
    snprintf(why, PROMISE_TEXT, "%s fails: %.400s", doing, err->text);
    return false;
}

static bool can_read(const char *dir, char why[PROMISE_TEXT])
{
    struct lineage_store *store;
    struct lineage_error err;
    struct findings findings = {0};
    size_t n, length;
    char *text = NULL;
    const char *doing = NULL;
    const struct lineage_query query = {0};
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
        return failed(why, "open", &err);
    if (lineage_query_count(&n, store, &query, &err) != LINEAGE_OK)
        doing = "query";
    else if (lineage_render(&text, &length, store, NULL, &err) != LINEAGE_OK)
        doing = "render";
    else if (lineage_verify(store, &n, take_finding, &findings, &err) != LINEAGE_OK)
        doing = "verify";
    lineage_free(text);
    lineage_store_close(store);
    return !doing || failed(why, doing, &err);
}

static bool can_append(const char *dir, char why[PROMISE_TEXT])
{
    struct lineage_store *store;
    struct lineage_error err;
    const struct lineage_trial trial = {.hypothesis = AFTER, .status = LINEAGE_CRASH, .timestamp = "T"};
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
        return failed(why, "open", &err);
    bool done = lineage_store_append(store, &trial, NULL, NULL, &err) == LINEAGE_OK;
    lineage_store_close(store);
    return done || failed(why, "append", &err);
}

static bool verifies(const char *dir, char why[PROMISE_TEXT])
{
    struct lineage_store *store;
    struct lineage_error err;
    struct findings findings = {.why = why};
    size_t n;
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
        return failed(why, "open", &err);
    bool done = lineage_verify(store, &n, take_finding, &findings, &err) == LINEAGE_OK;
    lineage_store_close(store);
    return done ? findings.n == 0 : failed(why, "verify", &err);
}

/* The next claims, and the next insight. */
static bool can_go_on(const char *dir, char why[PROMISE_TEXT])
{
    struct lineage_store *store;
    struct lineage_queue *queue = NULL;
    struct lineage_error err;
    struct lineage_claim claim;
    uint64_t number;
    size_t which;
    const char *doing = NULL, *evidence[] = {"000"};
    const struct lineage_insight insight = {.text = "t", .author = "a", .evidence = evidence, .n_evidence = 1};
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
        return failed(why, "open", &err);
    if (lineage_queue_open(&queue, store, &err) != LINEAGE_OK)
        doing = "opening the queue";
    for (uint64_t key = 1; key < 3 && !doing; key++) {
        const struct lineage_claim_request request = {.night = "n", .keys = &key, .n = 1, .lease = 60};
        if (lineage_queue_claim(queue, &request, &which, &claim, &err) != LINEAGE_OK ||
            lineage_queue_release(queue, &claim, LINEAGE_CLAIM_DONE, &err) != LINEAGE_OK)
            doing = "claim";
    }
    enum lineage_status status = doing ? LINEAGE_OK : lineage_insight_append(store, &insight, &number, &err);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND) /* there may be no trial 000 */
        doing = "insight";
    lineage_queue_close(queue);
    lineage_store_close(store);
    return !doing || failed(why, doing, &err);
}

/* ---- the outbox ---- */

static bool note_request(void *context, struct outbox_file *file, json_t *request)
{
    char *seen = context;
    (void)file;
    const char *rows = json_string_value(json_object_get(request, "rows"));
    strncat(seen, rows ? rows : "damaged", 250 - strlen(seen));
    strcat(seen, "|");
    return true;
}

/* The act prints each request when it is acknowledged. All but the first one are delivered or refused right after their
 * answer. A request whose erasure is lost is found again, which the server's log then shows. */
static bool outbox_is_right(size_t answered, const char *dir, char why[PROMISE_TEXT])
{
    char seen[256] = "";
    size_t held;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct lineage_error err = {.text = "cannot open it"};
    bool read = fd >= 0 && outbox_each(fd, note_request, seen, &held, &err) == LINEAGE_OK;
    if (fd >= 0)
        close(fd);
    if (!read)
        return failed(why, "reading the outbox", &err);
    if ((answered && !strstr(seen, "first|")) || strstr(seen, "damaged")) {
        snprintf(why, PROMISE_TEXT, "after %zu answers the outbox has '%s'", answered, seen);
        return false;
    }
    return true;
}

/* ---- commands ---- */

static int run_command(const char *lineage, const char *dir, const char *const words[])
{
    const char *argv[8] = {lineage, "-C", dir};
    int state;
    for (size_t i = 0; words[i]; i++)
        argv[3 + i] = words[i];
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execv(lineage, (char **)(uintptr_t)argv);
        _exit(127);
    }
    return child > 0 && waitpid(child, &state, 0) == child && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static bool commands_work(const char *lineage, const char *dir, char why[PROMISE_TEXT])
{
    static const char *const commands[][5] = {
        {"best"}, {"query"}, {"status"}, {"render"}, {"verify"}, {"rebuild"}, {"append", "--create", "--status", "crash"},
        {"best"}, {"verify"}};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        int status = run_command(lineage, dir, commands[i]);
        if (status == 0 || status == 1)
            continue;
        snprintf(why, PROMISE_TEXT, "lineage %s exits with %d", commands[i][0], status);
        return false;
    }
    return true;
}

/* ---- a state ---- */

static bool check_store(const struct promises *promises, size_t done, size_t answered, const char *dir, const char *lineage,
                        char why[PROMISE_TEXT])
{
    size_t length = 0;
    const bool is_outbox = strcmp(promises->series, "outbox") == 0;
    if (is_outbox && file_exists(dir) && !outbox_is_right(answered, dir, why))
        return false;
    if (!file_exists(dir) && mkdir(dir, 0755) != 0)
        return false;
    if (lineage && !commands_work(lineage, dir, why))
        return false;
    if (lineage)
        return true; /* the commands have added rows */
    if (!can_read(dir, why) || !can_append(dir, why))
        return false;
    char *path = join(dir, "results.tsv"), *log = read_file(path, &length);
    bool right = rows_are_right(promises, done, log, length, why);
    free(log);
    free(path);
    return right && can_go_on(dir, why) && verifies(dir, why);
}

bool promises_hold(const struct promises *promises, const struct disk_state *state, size_t end, const char *lineage,
                   char why[PROMISE_TEXT])
{
    char text[PROMISE_TEXT] = "";
    size_t done = 0, answered = promises_answered(promises, end);
    while (done + 1 < promises->n_steps && promises->steps[done + 1].answered_at < end)
        done++;
    bool hold = files_are_whole(promises, state, done, text) && torn_is_there(promises, state, text);
    if (hold) {
        /* Each state has records of its own: else it would be the store of another state that was moved here and lost rows. */
        char *dir = make_dir(), *store = join(dir, "store"), *records = join(dir, "records"),
             *usual = strdup(getenv("XDG_STATE_HOME"));
        setenv("XDG_STATE_HOME", records, 1);
        disk_state_write(state, dir);
        hold = check_store(promises, done, answered, store, lineage, text);
        setenv("XDG_STATE_HOME", usual, 1);
        free(usual);
        free(records);
        free(store);
        remove_dir(dir);
    }
    snprintf(why, PROMISE_TEXT, "%s, before change %zu, %zu commands done: %.300s", promises->series, end, done, text);
    return hold;
}
