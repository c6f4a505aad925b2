/*
 * operation_faults.c: runs every operation of the store while one of its allocations, file calls, file operations of
 * SQLite or SQL statements fails: first the first call, then a later one, and so on to the last.
 *
 * `operation_faults all` (sh tests/run.sh long, takes minutes) makes each call fail, and a dense sample where there are
 * thousands. Without `all`, a call fails if the place in this program that makes it made none of this kind before, in any
 * operation.
 *
 * After each fault: no crash and no leak (under sanitizers); the answer is right, or comes with a notice, or is an
 * error with a message; the store has its earlier rows, or the earlier and all added rows; and it answers the next
 * question correctly.
 */
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>
#include <xxhash.h>

#include <lineage/query.h>
#include <lineage/remarks.h>
#include <lineage/render.h>
#include <lineage/report.h>
#include <lineage/snapshot.h>
#include <lineage/verify.h>

#include "files/fs.h"
#include "format/arena.h"
#include "questions.h"
#include "sqlite_faults.h"
#include "statement_faults.h"
#include "support/files.h"
#include "support/scarce_memory.h"

enum mode { MEMORY, PIECES, CALLS, SQLITE_CALLS, SQLITE_FULL_DISK, SQLITE_MEMORY, STATEMENTS, STARTS, DAMAGE, N_MODES };
static const char *const mode_names[] = {"memory",        "pieces",     "calls",  "sqlite", "sqlite full",
                                         "sqlite memory", "statements", "starts", "damage"};

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static enum mode mode;
static unsigned countdown;
static bool hit, heard;

/* The ways to calls that were taken so far, as hashes, and for the operation that runs without a fault which of its calls has a
 * new one. */
enum { DEPTH = 64, WAYS = 1 << 18, CALLS_MAX = 20000 };
static uint64_t ways[WAYS];
static bool listing, is_new_way[CALLS_MAX];
static unsigned n_calls;

/* Hears of each call that could fail. */
static void note_way(void)
{
    extern char __executable_start, etext; /* of the linker: where the code of this program is */
    void *frames[DEPTH];
    if (!listing || n_calls + 1 >= CALLS_MAX)
        return;
    listing = false; /* backtrace may allocate */
    const int n = backtrace(frames, DEPTH);
    listing = true;
    uint64_t hash = (uint64_t)mode + 1;
    int place = 3; /* without this function and those that count */
    while (place < n && ((char *)frames[place] <= &__executable_start || (char *)frames[place] >= &etext))
        place++;
    if (place < n)
        hash = XXH3_64bits_withSeed(&frames[place], sizeof frames[place], hash);
    size_t at = hash % WAYS;
    while (ways[at] && ways[at] != hash)
        at = (at + 1) % WAYS;
    is_new_way[++n_calls] = !ways[at];
    ways[at] = hash;
}

static void note_file_call(void)
{
    if (mode == SQLITE_CALLS || mode == SQLITE_FULL_DISK)
        note_way();
}

static void note_statement(void)
{
    if (mode >= STATEMENTS)
        note_way();
}

static bool strikes(enum mode of)
{
    if (of != mode)
        return false;
    note_way();
    if (!countdown || --countdown)
        return false;
    return hit = true;
}

bool memory_strikes(void)
{
    return strikes(MEMORY);
}

bool piece_strikes(void)
{
    return strikes(PIECES);
}

/* SQLite's own allocator, which also fails on demand: for example, there may be no memory for a row's content. */
static sqlite3_mem_methods sqlite_memory;

static void *sqlite_malloc(int size)
{
    return strikes(SQLITE_MEMORY) ? NULL : sqlite_memory.xMalloc(size);
}

static void *sqlite_realloc(void *old, int size)
{
    return strikes(SQLITE_MEMORY) ? NULL : sqlite_memory.xRealloc(old, size);
}

/* Must be called before the first call of SQLite. Small allocations can fail too. */
static void install_sqlite_memory(void)
{
    sqlite3_mem_methods methods;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &sqlite_memory) != SQLITE_OK)
        abort();
    methods = sqlite_memory;
    methods.xMalloc = sqlite_malloc;
    methods.xRealloc = sqlite_realloc;
    if (sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) != SQLITE_OK || sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0) != SQLITE_OK)
        abort();
}

static int strike(void *context, const char *call)
{
    (void)context, (void)call;
    return strikes(CALLS) ? EIO : 0;
}

static void arm(enum mode m, unsigned n)
{
    mode = m;
    countdown = n;
    hit = false;
    sqlite_faults_arm(m == SQLITE_CALLS || m == SQLITE_FULL_DISK ? n : 0, m == SQLITE_FULL_DISK, false);
    statement_faults_arm(m >= STATEMENTS ? n : 0, m == DAMAGE ? SQLITE_CORRUPT : SQLITE_NOMEM, m == STARTS);
}

static bool was_hit(void)
{
    return hit = hit || sqlite_faults_hit() || statement_faults_hit();
}

static void disarm(void)
{
    countdown = 0;
    was_hit();
    sqlite_faults_arm(0, false, false);
    statement_faults_arm(0, SQLITE_OK, false);
}

static void hear_notice(void *context, const struct lineage_notice *notice)
{
    (void)context, (void)notice;
    heard = true;
}

/* ---- operations that write --------------------------------------------------------------------------------------- */

static const char *work, *import_file, *import_five;

static void count_finding(void *context, const struct lineage_finding *finding)
{
    (void)finding;
    ++*(size_t *)context;
}

static enum lineage_status do_append(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_append_options options;
    struct lineage_param params[] = {{.name = "alpha", .value = 0.25}, {.name = "lr", .value = 0.001}};
    struct lineage_trial row = {0}, trial = {.specialist = "opt",
                                             .parent_exp = "exp_003",
                                             .timestamp = "T",
                                             .params = params,
                                             .n_params = 2,
                                             .hypothesis = "added",
                                             .core_metric = {true, 1.0},
                                             .notes = "some notes; info_gain turn=0 mean=0.25 std=0.5 n=4"};
    lineage_append_options_init(&options);
    options.auto_status = true;
    options.snapshot_dir = work;
    options.telemetry = "{\"steps\": [{\"step\": 0, \"loss\": 1.5}]}";
    options.telemetry_length = strlen(options.telemetry);
    enum lineage_status status = lineage_store_append(store, &trial, &options, &row, err);
    if (status == LINEAGE_OK)
        print_trial(out, &row);
    lineage_trial_release(&row);
    return status;
}

static enum lineage_status do_import(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_import_stats stats;
    enum lineage_status status = lineage_import(store, import_file, NULL, &stats, NULL, NULL, err);
    if (status == LINEAGE_OK)
        fprintf(out, "%zu %zu\n", stats.n_rows, stats.n_left_out);
    return status;
}

/* Imports a log of five columns, with a repeated commit and lines that cannot be read. */
static enum lineage_status do_import_five(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_import_stats stats;
    enum lineage_status status = lineage_import(store, import_five, NULL, &stats, count_finding, &(size_t){0}, err);
    if (status == LINEAGE_OK)
        fprintf(out, "%zu %zu\n", stats.n_rows, stats.n_left_out);
    return status;
}

static enum lineage_status do_restore(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    size_t n;
    enum lineage_status status = lineage_restore(store, "results.tsv.torn-1", &n, err);
    if (status == LINEAGE_OK)
        fprintf(out, "%zu\n", n);
    return status;
}

static enum lineage_status do_rebuild(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    (void)out;
    return lineage_rebuild(store, err);
}

/* Runs verify. The fault may cause findings, so only a failure of verify itself is an error. */
static enum lineage_status do_verify(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    size_t n, counted = 0;
    enum lineage_status status = lineage_verify(store, &n, count_finding, &counted, err);
    heard = heard || n;
    fprintf(out, "%zu\n", counted);
    return status;
}

static enum lineage_status do_render_file(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_render_options options;
    char path[400]; /* on the stack, so that no allocation of the test itself can fail */
    (void)out;
    snprintf(path, sizeof path, "%s/KNOWLEDGE.md", lineage_store_dir(store));
    lineage_render_options_init(&options);
    return lineage_render_file(store, path, &options, err);
}

/*
 * Renders KNOWLEDGE.md and reads its insights. Then another program's file takes its place, and it is rendered again.
 */
static enum lineage_status do_render_again(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    char path[400], *insights = NULL;
    snprintf(path, sizeof path, "%s/KNOWLEDGE.md", lineage_store_dir(store));
    enum lineage_status status = do_render_file(store, out, err);
    if (status == LINEAGE_OK)
        status = lineage_render_insights(&insights, path, err);
    lineage_free(insights);
    int fd = status == LINEAGE_OK ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    if (fd >= 0 && (write(fd, "# Leaderboard\n*Auto-generated*\n", 31) != 31 || close(fd) != 0))
        abort();
    return status == LINEAGE_OK ? do_render_file(store, out, err) : status;
}

static enum lineage_status do_record(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    char *path = NULL;
    (void)out;
    enum lineage_status status = lineage_render_record(&path, store, "text", 4, "T", "me", err);
    lineage_free(path);
    return status;
}

static enum lineage_status do_blackboard(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    char to[400];
    (void)out;
    snprintf(to, sizeof to, "%s/board", lineage_store_dir(store));
    return lineage_render_blackboard(store, to, NULL, err);
}

static enum lineage_status do_report(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_report *report;
    enum lineage_status status = lineage_report_load(&report, store, NULL, err);
    (void)out;
    if (status == LINEAGE_OK)
        lineage_report_release(report);
    return status;
}

static enum lineage_status do_remark(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    const struct lineage_remark remark = {.timestamp = "T", .exp_id = "exp_003", .author = "me", .text = "a remark"};
    (void)out;
    return lineage_remark_append(store, &remark, err);
}

/* Appends while the mirror is stale and locked by another client, so the append must read the end of the log itself. */
static enum lineage_status do_append_behind(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    static const char rows[] = "exp_020\tT\topt\t006\t\t\tof another tool\t\tkeep\t1.1\t\t\t\t\t\t\t\n"
                               "021\tT\topt\texp_020\t\t\tno label\t\tnone\t1\t\t\t\t\t\t\t\n\n"
                               "022\tT\topt\tnowhere\t\t\tno parent\t\tcrash\t\t\t\t\t\t\t\t\n";
    char log[400], mirror[400];
    snprintf(log, sizeof log, "%s/results.tsv", lineage_store_dir(store));
    snprintf(mirror, sizeof mirror, "%s/lineage.db", lineage_store_dir(store));
    int fd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0 || write(fd, rows, sizeof rows - 1) != sizeof rows - 1 || close(fd) != 0)
        abort();
    unsigned armed = countdown;
    countdown = 0; /* the other client's allocations must not fail */
    sqlite3 *other = other_client_begin(mirror);
    countdown = armed;
    enum lineage_status status = do_append(store, out, err);
    armed = countdown;
    countdown = 0;
    other_client_end(other);
    countdown = armed;
    return status;
}

static enum lineage_status do_append_many(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    const struct lineage_param params[] = {{.name = "alpha", .value = 0.25}};
    const struct lineage_trial trials[] = {
        {.exp_id = "a", .parent_exp = "b", .timestamp = "T", .core_metric = {true, 1.0}},
        {.exp_id = "c", .parent_exp = "a", .timestamp = "T", .core_metric = {true, 0.5}, .params = params, .n_params = 1},
        {.parent_exp = "003", .timestamp = "T", .status = LINEAGE_CRASH}};
    const bool by_score[] = {false, true, false};
    struct lineage_append_options options;
    struct lineage_trial rows[3];
    lineage_append_options_init(&options);
    options.allow_missing_parent = true;
    enum lineage_status status = lineage_store_append_many(store, trials, 3, by_score, &options, rows, err);
    for (size_t i = 0; i < 3; i++) {
        if (status == LINEAGE_OK)
            print_trial(out, &rows[i]);
        lineage_trial_release(&rows[i]);
    }
    return status;
}

static void write_at(const struct lineage_store *store, const char *bytes, long at)
{
    char path[400];
    snprintf(path, sizeof path, "%s/results.tsv", lineage_store_dir(store));
    FILE *log = fopen(path, "r+");
    if (!log || fseek(log, at, at < 0 ? SEEK_END : SEEK_SET) != 0 || fputs(bytes, log) < 0 || fclose(log) != 0)
        abort();
}

/* Asks three questions. Line 2 of the log is changed for the second question and restored before the third. */
static enum lineage_status do_edit(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    enum { ID = 171 }; /* after the header */
    enum lineage_status status = questions[0].ask(store, out, err);
    for (int i = 0; status == LINEAGE_OK && i < 2; i++) {
        write_at(store, i ? "000" : "00x", ID);
        status = questions[0].ask(store, out, err);
    }
    write_at(store, "000", ID);
    return status;
}

/* Reads another program's record before it has a line end, and again after it has one. */
static enum lineage_status do_read_unended(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    static const char record[] =
        "900\tT\topt\t003\t\t\thalf\t+0.1\tkeep\t0.5\t\t0.2\t\t\t\t\talpha=0.3; info_gain turn=0 mean=1 std=0";
    long end;
    char path[400];
    struct stat st;
    snprintf(path, sizeof path, "%s/results.tsv", lineage_store_dir(store));
    if (stat(path, &st) != 0)
        abort();
    end = (long)st.st_size;
    write_at(store, record, end);
    enum lineage_status status = questions[0].ask(store, out, err);
    write_at(store, "\n", end + (long)sizeof record - 1);
    return status == LINEAGE_OK ? questions[0].ask(store, out, err) : status;
}

/* Sorts by an unknown name. The right answer is an error that lists the known names. */
static enum lineage_status do_ask_for_nothing(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_cursor *cursor;
    enum lineage_status status = lineage_query_open(&cursor, store, &(struct lineage_query){.sort = "nothing"}, err);
    if (status == LINEAGE_OK)
        lineage_cursor_close(cursor);
    if (status != LINEAGE_EINVAL)
        return status;
    fputs(err->text, out);
    return LINEAGE_OK;
}

/* Appends a row that an earlier row names as its parent, so the append checks the ancestors of the new row. */
static enum lineage_status do_append_awaited(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    static const char *const rows[][2] = {{"a", "b"}, {"b", "003"}};
    struct lineage_append_options options;
    enum lineage_status status = LINEAGE_OK;
    lineage_append_options_init(&options);
    options.allow_missing_parent = true;
    for (size_t i = 0; status == LINEAGE_OK && i < 2; i++) {
        const struct lineage_trial trial = {
            .exp_id = rows[i][0], .parent_exp = rows[i][1], .timestamp = "T", .status = LINEAGE_CRASH};
        status = lineage_store_append(store, &trial, &options, NULL, err);
    }
    return status == LINEAGE_OK ? questions[0].ask(store, out, err) : status;
}

static const struct question writing[] = {{"append awaited", do_append_awaited},
                                          {"edit", do_edit},
                                          {"read unended", do_read_unended},
                                          {"ask for nothing", do_ask_for_nothing},
                                          {"append", do_append},
                                          {"import", do_import},
                                          {"restore", do_restore},
                                          {"rebuild", do_rebuild},
                                          {"verify", do_verify},
                                          {"render file", do_render_file},
                                          {"render record", do_record},
                                          {"blackboard", do_blackboard},
                                          {"report", do_report},
                                          {"remark", do_remark},
                                          {"append many", do_append_many},
                                          {"append behind", do_append_behind},
                                          {"import five", do_import_five},
                                          {"render again", do_render_again}};

/* ---- one fault after the other -------------------------------------------------------------------------------------- */

struct outcome {
    enum lineage_status status;
    bool explained; /* there was a notice, or an error with its message */
    bool again;     /* the handle still answers after the fault */
    char *text;
};

static bool answers(struct lineage_store *store)
{
    struct lineage_error err;
    char *text;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    bool ok = questions[0].ask(store, out, &err) == LINEAGE_OK;
    fclose(out);
    free(text);
    return ok && length;
}

/*
 * Opens the store with the fault armed, so that opening is tested too, and asks the question. If neither reached the
 * fault, closing the store may.
 */
static struct outcome perform(const char *dir, const struct question *question, enum mode m, unsigned n)
{
    const struct lineage_open_options options = {.notice = hear_notice, .busy_ms = 1};
    struct lineage_error err = {0};
    struct lineage_store *store = NULL;
    struct outcome outcome = {.again = true};
    size_t length;
    FILE *out = open_memstream(&outcome.text, &length);
    heard = false;
    arm(m, n);
    outcome.status = lineage_store_open(&store, dir, &options, &err);
    if (outcome.status == LINEAGE_OK)
        outcome.status = question->ask(store, out, &err);
    outcome.explained = heard || (outcome.status != LINEAGE_OK && err.text[0] && err.status == outcome.status);
    if (was_hit()) { /* if the fault has not happened yet, closing gets it */
        disarm();
        outcome.again = !store || answers(store);
    }
    lineage_store_close(store);
    disarm();
    fclose(out);
    return outcome;
}

/* Asks the first question without a fault, which updates the mirror. */
static void ask_once(const char *dir)
{
    struct outcome outcome = perform(dir, &questions[0], MEMORY, 0);
    free(outcome.text);
}

/* A store on which an operation runs. */
struct subject {
    void (*make)(const char *dir);
    bool torn, with_mirror;
    bool writes; /* the operation changes the store, so each case gets a new one */
    bool first;  /* the first operation of its kind */
    bool large;  /* has too many faults to try each, and a mirror that is slow to build */
};

static char *make_store(const struct subject *subject)
{
    static const char record[] = "900\tT\topt\t003\t\t\tnobody ended this\t\tdiscard\t2.5\t\t\t\t\t\t\tn";
    char *dir = make_dir(), *aside = join(dir, "results.tsv.torn-1"), *mirror = join(dir, "lineage.db");
    subject->make(dir);
    if (subject->torn)
        write_file(aside, record, sizeof record - 1);
    if (!subject->with_mirror)
        unlink(mirror);
    else if (!file_exists(mirror))
        ask_once(dir);
    free(aside);
    free(mirror);
    return dir;
}

/* The store of the operations that read, which the next one of them finds as the last one left it. */
static struct {
    struct subject subject;
    char *dir;
    const char *left_by, *now; /* the operation that had it before, and the one that has it now */
} read_store;

static char *store_to_read(const struct subject *subject, const char *name)
{
    const struct subject *last = &read_store.subject;
    const bool made = !read_store.dir || last->make != subject->make || last->torn != subject->torn ||
                      last->with_mirror != subject->with_mirror;
    if (made || read_store.now != name)
        read_store.left_by = made ? NULL : read_store.now;
    read_store.now = name;
    if (read_store.dir && made)
        remove_dir(read_store.dir);
    if (made)
        read_store.dir = make_store(subject);
    read_store.subject = *subject;
    return read_store.dir;
}

static unsigned failures;

static void broken(const struct question *question, enum mode m, unsigned n, const char *what, const char *detail)
{
    printf("FAIL %s, %s, fault %u: %s: %.200s\n", question->name, mode_names[m], n, what, detail);
    if (read_store.now == question->name && read_store.left_by)
        printf("the store was left by %s\n", read_store.left_by);
    failures++;
}

/* Checks that the earlier rows are unchanged and that the next question is answered. */
static void check_after(const char *dir, const char *before, size_t length, const struct question *question, enum mode m,
                        unsigned n)
{
    size_t now_length;
    char *path = join(dir, "results.tsv"), *now = read_file(path, &now_length);
    if (now_length < length || memcmp(now, before, length) != 0)
        broken(question, m, n, "earlier bytes changed", "");
    if (now_length && now[now_length - 1] != '\n')
        broken(question, m, n, "a torn end", "");
    struct outcome outcome = perform(dir, &questions[0], m, 0);
    if (outcome.status != LINEAGE_OK || !outcome.text[0])
        broken(question, m, n, "the next question fails", outcome.text);
    free(outcome.text);
    free(now);
    free(path);
}

static bool all;

/* Returns the distance to the next fault. Even `all` only samples calls that come in thousands. The last step leads behind all
 * calls. */
static unsigned step_of(enum mode m, unsigned n, const struct subject *subject)
{
    unsigned step = 1;
    if (!all) {
        while (n + step <= n_calls && !is_new_way[n + step])
            step++;
    } else if (subject->large)
        step = m == MEMORY ? 1 : m == STARTS ? 1 + n / 32 : 1 + n / 8;
    else if (m == PIECES || m == SQLITE_MEMORY)
        step = 1 + n / 64;
    return step;
}

static unsigned run_all(const struct question *question, enum mode m, const struct subject *subject)
{
    bool fresh = subject->writes || !subject->with_mirror;
    char *dir = fresh ? make_store(subject) : store_to_read(subject, question->name), *path = join(dir, "results.tsv");
    size_t length;
    char *before = read_file(path, &length);
    n_calls = 0;
    listing = true;
    struct outcome sound = perform(dir, question, m, 0);
    listing = false;
    unsigned tried = 0;
    if (sound.status != LINEAGE_OK)
        broken(question, m, 0, "fails without a fault", sound.text);
    for (unsigned n = step_of(m, 0, subject); n < CALLS_MAX; n += step_of(m, n, subject)) {
        if (fresh) {
            remove_dir(dir);
            dir = make_store(subject);
            free(before);
            free(path);
            path = join(dir, "results.tsv");
            before = read_file(path, &length);
        }
        struct outcome outcome = perform(dir, question, m, n);
        bool over = !was_hit();
        if (outcome.status == LINEAGE_OK && !outcome.explained && strcmp(outcome.text, sound.text) != 0)
            broken(question, m, n, "another answer, and not a word", outcome.text);
        if (outcome.status != LINEAGE_OK && !outcome.explained)
            broken(question, m, n, "fails without a message", lineage_status_text(outcome.status));
        if (!outcome.again)
            broken(question, m, n, "the handle is of no use afterwards", outcome.text);
        free(outcome.text);
        check_after(dir, before, length, question, m, n);
        /* After a fault the mirror may have to be made again, by thousands of calls that the sound run did not make. */
        if (over || (!all && n > n_calls))
            break;
        tried++;
    }
    free(sound.text);
    free(before);
    free(path);
    if (fresh)
        remove_dir(dir);
    return tried;
}

static void run_modes(const struct question *question, struct subject subject, const char *only)
{
    if (only && strcmp(only, question->name) != 0)
        return;
    printf("%-14s", question->name);
    for (enum mode m = MEMORY; m < N_MODES; m++)
        /* on a small store, every start of a statement is already among the other statement faults */
        if (m != STARTS || subject.large)
            printf(" %s %u", mode_names[m], run_all(question, m, &subject));
    subject.with_mirror = false;
    /* without a mirror: the operation builds it first */
    for (enum mode m = MEMORY; !subject.writes && !subject.large && m <= CALLS; m++)
        if (m != PIECES || subject.first) /* building the mirror uses the same pieces for every operation */
            printf(", new %s %u", mode_names[m], run_all(question, m, &subject));
    putchar('\n');
    fflush(stdout);
}

/* usage: operation_faults [all] [OPERATION] */
int main(int argc, char **argv)
{
    static const char rows[] = "exp_id\tspecialist\thypothesis\tstatus\tcore_metric\tnotes\n"
                               "i1\topt\tfirst\tkeep\t3.5\talpha=2\ni2\topt\t\"sec\tond\"\tdiscard\t4\t\n";
    static const char five[] = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
                               "abc1234\t1.5\t10\tkeep\tfirst\nabc1234\t1.25\t10\tkeep\tagain\n\n"
                               "def5678\t0.000000\t0\tcrash\tdied\nbad\tmuch\t0\tkeep\tno number\n"
                               "late\tnan\t0\tdiscard\tnot a number either\n";
    all = argc > 1 && strcmp(argv[1], "all") == 0;
    const char *only = argc > 1 + all ? argv[1 + all] : NULL;
    char *work_dir = make_dir(), *file = join(work_dir, "train.py"), *beside = make_dir(), *foreign = join(beside, "x.tsv"),
         *log_of_five = join(beside, "five.tsv");
    write_file(file, "print(1)\n", 9);
    write_file(foreign, rows, sizeof rows - 1);
    write_file(log_of_five, five, sizeof five - 1);
    work = work_dir;
    import_five = log_of_five;
    import_file = foreign;
    install_sqlite_memory();
    sqlite_faults_install();
    fs_set_fault(strike, NULL);
    sqlite_faults_watch(note_file_call);
    statement_faults_watch(note_statement);
    for (size_t i = 0; i < sizeof writing / sizeof *writing; i++)
        run_modes(&writing[i],
                  (struct subject){.make = make_asked_store, .torn = true, .with_mirror = true, .writes = true, .first = i == 0},
                  only);
    for (size_t i = 0; i < n_questions; i++)
        run_modes(&questions[i], (struct subject){.make = make_asked_store, .with_mirror = true, .first = i == 0}, only);
    for (size_t i = 0; i < n_wide_questions; i++)
        run_modes(&wide_questions[i], (struct subject){.make = make_wide_store, .with_mirror = true, .first = i == 0}, only);
    for (size_t i = 0; i < n_large_questions; i++)
        run_modes(&large_questions[i], (struct subject){.make = make_large_store, .with_mirror = true, .large = true}, only);
    printf("%u failures\n", failures);
    free(file);
    free(foreign);
    free(log_of_five);
    if (read_store.dir)
        remove_dir(read_store.dir);
    remove_dir(work_dir);
    remove_dir(beside);
    return failures != 0;
}
