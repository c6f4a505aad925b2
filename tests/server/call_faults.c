/*
 * call_faults.c: runs all operations on a store on a server while something fails: a call of libpq fails, once or from
 * then on; the connection is lost at a call; an answer is short, empty or null; an allocation fails; a file call fails.
 * In every case an accepted append has exactly one row, a refused one has none, and no trial is left waiting.
 *
 * usage: call_faults DIR NAME STEP [OPERATION]
 *
 * DIR is a store directory on the server NAME (postgres://..); the last part of NAME may be any store. STEP is 1 to
 * fail every call, 2 for every second one. The program is linked with --wrap of libpq_load and of the allocating
 * functions.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include <lineage/blobs.h>
#include <lineage/move.h>
#include <lineage/query.h>
#include <lineage/queue.h>
#include <lineage/verify.h>

#include "files/fs.h"
#include "postgres/libpq.h"
#include "support/rows.h"
#include "support/scarce_memory.h"

/* ---- the fault ---------------------------------------------------------------------------------------------------- */

enum fault { CALL, CALLS_FROM, LOST, LOST_FROM, NO_ROWS, BLANK, MEMORY, FILES, N_FAULTS };
static const char *const fault_names[N_FAULTS] = {"call",    "calls from", "lost",   "lost from",
                                                  "no rows", "blank",      "memory", "files"};

static struct {
    enum fault fault;
    long left; /* number of calls until the fault; 0: no fault */
    bool struck;
} state;

static bool strikes(enum fault fault)
{
    if (state.fault != fault || !state.left)
        return false;
    bool again = (fault == CALLS_FROM || fault == LOST_FROM) && state.struck;
    if (!again && --state.left > 0)
        return false;
    state.left = fault == CALLS_FROM || fault == LOST_FROM ? 1 : 0;
    return state.struck = true;
}

static bool call_strikes(void)
{
    return strikes(CALL) || strikes(CALLS_FROM);
}

/* ---- libpq -------------------------------------------------------------------------------------------------------- */

static struct libpq real;
static bool counted, blank; /* counted: a cell's length was just read, and its text gets the same answer */

static void lose(PGconn *connection)
{
    if (strikes(LOST) || strikes(LOST_FROM))
        shutdown(real.socket(connection), SHUT_RDWR);
}

static PGconn *connect_or_not(const char *const *keywords, const char *const *values, int expand)
{
    const char *const nowhere[] = {"dbname", NULL}, *const name[] = {"postgresql://127.0.0.1:1/nowhere", NULL};
    if (call_strikes())
        return NULL;
    return strikes(LOST) || strikes(LOST_FROM) ? real.connectdbParams(nowhere, name, 1)
                                               : real.connectdbParams(keywords, values, expand);
}

static int send_or_not(PGconn *connection, const char *sql)
{
    lose(connection);
    return call_strikes() ? 0 : real.sendQuery(connection, sql);
}

static int send_params_or_not(PGconn *connection, const char *sql, int n, const Oid *types, const char *const *values,
                              const int *lengths, const int *formats, int format)
{
    lose(connection);
    return call_strikes() ? 0 : real.sendQueryParams(connection, sql, n, types, values, lengths, formats, format);
}

static int prepare_or_not(PGconn *connection, const char *name, const char *sql, int n, const Oid *types)
{
    lose(connection);
    return call_strikes() ? 0 : real.sendPrepare(connection, name, sql, n, types);
}

static int send_prepared_or_not(PGconn *connection, const char *name, int n, const char *const *values, const int *lengths,
                                const int *formats, int format)
{
    lose(connection);
    return call_strikes() ? 0 : real.sendQueryPrepared(connection, name, n, values, lengths, formats, format);
}

static int enter_or_not(PGconn *connection)
{
    return call_strikes() ? 0 : real.enterPipelineMode(connection);
}

static int exit_or_not(PGconn *connection)
{
    return call_strikes() ? 0 : real.exitPipelineMode(connection);
}

static int end_piece_or_not(PGconn *connection)
{
    lose(connection);
    return call_strikes() ? 0 : real.pipelineSync(connection);
}

static int flush_or_not(PGconn *connection)
{
    lose(connection);
    return call_strikes() ? -1 : real.flush(connection);
}

static int consume_or_not(PGconn *connection)
{
    lose(connection);
    return call_strikes() ? 0 : real.consumeInput(connection);
}

/* Replaces a result by a failure without details from the server: no SQLSTATE, no text. */
static PGresult *result_or_not(PGconn *connection)
{
    PGresult *(*make)(PGconn *, ExecStatusType);
    void *found = dlsym(real.library, "PQmakeEmptyPGresult");
    PGresult *result = real.getResult(connection);
    lose(connection);
    if (!result || real.resultStatus(result) == PGRES_PIPELINE_SYNC || !call_strikes())
        return result;
    memcpy(&make, &found, sizeof make);
    real.clear(result);
    return make(connection, PGRES_FATAL_ERROR);
}

static int rows_or_none(const PGresult *result)
{
    return strikes(NO_ROWS) ? 0 : real.ntuples(result);
}

static int null_or_not(const PGresult *result, int row, int column)
{
    return strikes(NO_ROWS) ? 1 : real.getisnull(result, row, column);
}

static int length_or_none(const PGresult *result, int row, int column)
{
    counted = true;
    blank = strikes(BLANK);
    return blank ? 0 : real.getlength(result, row, column);
}

static char *text_or_none(const PGresult *result, int row, int column)
{
    static char nothing[1];
    bool none = counted ? blank : strikes(BLANK);
    counted = blank = false;
    return none ? nothing : real.getvalue(result, row, column);
}

enum lineage_status __real_libpq_load(struct libpq *pq, struct lineage_error *err);
enum lineage_status __wrap_libpq_load(struct libpq *pq, struct lineage_error *err);

enum lineage_status __wrap_libpq_load(struct libpq *pq, struct lineage_error *err)
{
    enum lineage_status status = __real_libpq_load(pq, err);
    real = *pq;
    pq->connectdbParams = connect_or_not;
    pq->sendQuery = send_or_not;
    pq->sendQueryParams = send_params_or_not;
    pq->sendPrepare = prepare_or_not;
    pq->sendQueryPrepared = send_prepared_or_not;
    pq->enterPipelineMode = enter_or_not;
    pq->exitPipelineMode = exit_or_not;
    pq->pipelineSync = end_piece_or_not;
    pq->flush = flush_or_not;
    pq->consumeInput = consume_or_not;
    pq->getResult = result_or_not;
    pq->ntuples = rows_or_none;
    pq->getisnull = null_or_not;
    pq->getlength = length_or_none;
    pq->getvalue = text_or_none;
    if (status == LINEAGE_OK && call_strikes())
        return store_fail(err, LINEAGE_EIO, "no libpq");
    return status;
}

/* ---- memory and files --------------------------------------------------------------------------------------------- */

bool memory_strikes(void)
{
    return strikes(MEMORY);
}

bool piece_strikes(void)
{
    return strikes(MEMORY);
}

static void *jansson_malloc(size_t size)
{
    return strikes(MEMORY) ? NULL : __real_malloc(size);
}

static int file_strikes(void *context, const char *call)
{
    (void)context;
    (void)call;
    return strikes(FILES) ? ENOSPC : 0;
}

/* ---- the operations ----------------------------------------------------------------------------------------------- */

struct test {
    const char *dir, *server;
    char name[64];  /* used as hypothesis, store and file name of this case */
    bool taken;     /* the operation reported success */
    bool failed;    /* the operation reported partial success */
    bool set_aside; /* a waiting trial was refused by the rules */
    char notice[600]; /* the latest notice */
    struct lineage_error err;
    unsigned long cases, failures;
};

static const char telemetry[] = "{\"steps\": [{\"step\": 1, \"loss\": 0.5}]}";

static void fail(struct test *t, const char *what, const char *text)
{
    printf("FAIL %s: %s: %s (%s; %s)\n", t->name, what, text, t->err.text, t->notice);
    t->failures++;
}

static void keep_notice(void *context, const struct lineage_notice *notice)
{
    struct test *t = context;
    snprintf(t->notice, sizeof t->notice, "%s", notice->text);
    t->set_aside = t->set_aside || strstr(notice->text, ".refused");
}

static struct lineage_store *open_as(struct test *t, const char *place)
{
    struct lineage_store *store = NULL;
    const struct lineage_open_options options = {.notice = keep_notice, .context = t};
    return lineage_store_open(&store, place, &options, &t->err) == LINEAGE_OK ? store : NULL;
}

static void path_of(const struct test *t, char path[512], const char *name)
{
    snprintf(path, 512, "%s/%s", t->dir, name);
}

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    if (!out || fputs(text, out) < 0 || fclose(out) != 0)
        exit(3);
}

static bool append_one(struct test *t, struct lineage_store *store, bool with_files)
{
    const struct lineage_extra extra = {"team", "red"};
    struct lineage_append_options options;
    struct lineage_trial trial = {.hypothesis = t->name,
                                  .specialist = "opt",
                                  .core_metric = {true, 1.0},
                                  .status = LINEAGE_KEEP,
                                  .extras = &extra,
                                  .n_extras = 1},
                         row = {0};
    char work[512];
    path_of(t, work, "work");
    lineage_append_options_init(&options);
    options.auto_status = !with_files;
    if (with_files) {
        options.telemetry = telemetry;
        options.telemetry_length = sizeof telemetry - 1;
        options.snapshot_dir = work;
    }
    bool done = lineage_store_append(store, &trial, &options, &row, &t->err) == LINEAGE_OK;
    lineage_trial_release(&row);
    return done;
}

static void run_append(struct test *t)
{
    struct lineage_store *store = open_as(t, t->dir);
    t->taken = store && append_one(t, store, true);
    lineage_store_close(store);
}

static struct lineage_store *warm;

/* Prepares a handle that has appended before, which therefore need not ask for the claim again. */
static void prepare_second(struct test *t)
{
    char name[sizeof t->name];
    strcpy(name, t->name);
    warm = open_as(t, t->dir);
    snprintf(t->name, sizeof t->name, "before %.50s", name);
    if (!warm || !append_one(t, warm, false))
        fail(t, "the append before", t->err.text);
    strcpy(t->name, name);
}

static void run_second(struct test *t)
{
    t->taken = warm && append_one(t, warm, false);
}

static void run_many(struct test *t)
{
    const struct lineage_extra extra = {"team", "blue"};
    struct lineage_trial trials[3], rows[3] = {{0}};
    const bool by_score[3] = {false, true, true};
    struct lineage_store *store = open_as(t, t->dir);
    for (int i = 0; i < 3; i++)
        trials[i] = (struct lineage_trial){.hypothesis = i ? "another" : t->name,
                                           .core_metric = {true, 1.0 + i},
                                           .status = LINEAGE_KEEP,
                                           .extras = &extra,
                                           .n_extras = (size_t)(i == 1)};
    t->taken = store && lineage_store_append_many(store, trials, 3, by_score, NULL, rows, &t->err) == LINEAGE_OK;
    for (int i = 0; i < 3; i++)
        lineage_trial_release(&rows[i]);
    lineage_store_close(store);
}

/* Checks that an accepted append has exactly one row, and that no trial is left to deliver. */
static void check_rows(struct test *t)
{
    char sql[256];
    struct lineage_sync_stats stats = {0};
    if (warm)
        lineage_store_close(warm);
    warm = NULL;
    struct lineage_store *store = open_as(t, t->dir);
    if (!store || lineage_sync(store, &stats, &t->err) != LINEAGE_OK || stats.n_waiting || stats.n_refused)
        fail(t, "sync", t->err.text);
    if (!store)
        return;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM trials WHERE hypothesis = '%s'", t->name);
    long n = atol(sql_value(store, sql));
    /* If memory runs out, Jansson reports that a text is not JSON; then the trial is set aside with a notice. */
    const bool lost = t->taken && n == 0 && !(state.fault == MEMORY && t->set_aside);
    if (n > 1 || lost)
        fail(t, t->taken ? "taken, and rows" : "refused, and rows", sql_value(store, sql));
    lineage_store_close(store);
}

/* Prepares a trial that waits in the outbox with its snapshot. */
static void prepare_waiting(struct test *t)
{
    struct lineage_store *store = open_as(t, t->dir);
    state.fault = LOST_FROM;
    state.left = 1;
    state.struck = false;
    t->taken = store && append_one(t, store, true);
    state.left = 0;
    lineage_store_close(store);
    if (!t->taken)
        fail(t, "an append that waits", t->err.text);
}

static void run_deliver(struct test *t)
{
    struct lineage_store *store = open_as(t, t->dir);
    t->failed = store && lineage_sync(store, NULL, &t->err) != LINEAGE_OK;
    lineage_store_close(store);
}

static void prepare_waiting_many(struct test *t)
{
    state.fault = LOST_FROM;
    state.left = 60; /* far enough that the store is open, and the claim has not been taken */
    state.struck = false;
    run_many(t);
    state.left = 0;
}

/* ---- stores and their bytes ---- */

static void name_store(const struct test *t, char name[600])
{
    snprintf(name, 600, "%s/%s", t->server, t->name);
    for (char *c = name; *c; c++)
        *c = *c == ' ' ? '-' : *c;
}

static void run_create(struct test *t)
{
    char name[600];
    name_store(t, name);
    t->taken = lineage_store_create(name, &(struct lineage_config){.direction = LINEAGE_HIGHER}, &t->err) == LINEAGE_OK;
}

static void check_create(struct test *t)
{
    char name[600];
    name_store(t, name);
    if (lineage_store_create(name, &(struct lineage_config){.direction = LINEAGE_HIGHER}, &t->err) != LINEAGE_OK)
        fail(t, "create", t->err.text);
    struct lineage_store *store = open_as(t, name);
    if (!store)
        fail(t, "open", t->err.text);
    lineage_store_close(store);
}

static const char bytes_of_log[] =
    "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\tval_bpb\t"
    "delta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\tteam\n"
    "001\t2026-05-01T00:00:00Z\t\t\t\t\tfirst\t\tkeep\t1\t\t\t\t\t\t\t\tred\nshort\trow\r\n\n\"torn";

static void prepare_import(struct test *t)
{
    char path[512];
    run_create(t);
    path_of(t, path, "bytes.tsv");
    write_text(path, bytes_of_log);
}

static void run_import(struct test *t)
{
    char name[600], path[512];
    uint64_t n;
    name_store(t, name);
    path_of(t, path, "bytes.tsv");
    struct lineage_store *store = open_as(t, name);
    t->taken = store && lineage_import_exact(store, path, &n, &t->err) == LINEAGE_OK;
    lineage_store_close(store);
}

static bool collect(void *context, const void *bytes, size_t n)
{
    char *out = context;
    size_t length = strlen(out);
    if (length + n > sizeof bytes_of_log)
        return false;
    memcpy(out + length, bytes, n);
    out[length + n] = '\0';
    return true;
}

static void check_import(struct test *t)
{
    char name[600], out[2 * sizeof bytes_of_log] = "";
    name_store(t, name);
    struct lineage_store *store = open_as(t, name);
    if (!store || lineage_export(store, collect, out, &t->err) != LINEAGE_OK)
        fail(t, "export", t->err.text);
    lineage_store_close(store);
    if (strcmp(out, t->taken ? bytes_of_log : "") != 0 && strcmp(out, bytes_of_log) != 0)
        fail(t, "bytes", out);
    run_import(t);
    if (!t->taken)
        fail(t, "import again", t->err.text);
}

/*
 * Imports a log whose last record is unfinished. The append completes the record, and reports one that it cannot
 * complete.
 */
static void prepare_mend(struct test *t)
{
    prepare_import(t);
    run_import(t);
}

static void run_mend(struct test *t)
{
    char name[600];
    name_store(t, name);
    struct lineage_store *store = open_as(t, name);
    t->taken = store && append_one(t, store, false);
    lineage_store_close(store);
}

static void check_mend(struct test *t)
{
    char name[600];
    const char *dir = t->dir;
    name_store(t, name);
    t->dir = name;
    check_rows(t);
    t->dir = dir;
}

/* ---- questions ---- */

static void ignore_finding(void *context, const struct lineage_finding *finding)
{
    (void)context;
    (void)finding;
}

static bool ignore_bytes(void *context, const void *bytes, size_t n)
{
    (void)context;
    (void)bytes;
    return n > 0;
}

static void run_read(struct test *t)
{
    size_t n;
    bool news;
    char path[512], name[600];
    name_store(t, name);
    struct lineage_store *store = open_as(t, name);
    path_of(t, path, "out.tsv");
    t->taken = store && lineage_verify(store, &n, ignore_finding, NULL, &t->err) == LINEAGE_OK &&
               lineage_export(store, ignore_bytes, NULL, &t->err) == LINEAGE_OK &&
               lineage_export_file(store, path, &t->err) == LINEAGE_OK &&
               lineage_store_wait(store, 0, &news, &t->err) == LINEAGE_OK &&
               lineage_store_wait(store, 0.01, &news, &t->err) == LINEAGE_OK;
    lineage_store_close(store);
}

static void run_settings(struct test *t)
{
    char name[600];
    name_store(t, name);
    struct lineage_store *store = open_as(t, name);
    t->taken = store && lineage_store_set_noise(store, 0.01, 3, &t->err) == LINEAGE_OK;
    lineage_store_close(store);
}

static void check_settings(struct test *t)
{
    char name[600];
    name_store(t, name);
    struct lineage_store *store = open_as(t, name);
    if (!store || (t->taken && lineage_store_config(store)->noise_seeds != 3))
        fail(t, "the noise that was set", t->err.text);
    lineage_store_close(store);
}

static bool count_claim(void *context, const struct lineage_claim *claim)
{
    *(unsigned *)context += claim->key == 7;
    return true;
}

static void run_queue(struct test *t)
{
    const uint64_t keys[] = {7, 8};
    const struct lineage_claim_request request = {.night = t->name, .keys = keys, .n = 2, .lease = 60};
    struct lineage_queue *queue = NULL;
    struct lineage_claim claim = {.hold = -1};
    size_t which;
    unsigned n = 0;
    struct lineage_store *store = open_as(t, t->dir);
    bool open = store && lineage_queue_open(&queue, store, &t->err) == LINEAGE_OK;
    if (open && lineage_queue_claim(queue, &request, &which, &claim, &t->err) == LINEAGE_OK)
        t->taken = lineage_queue_renew(queue, &claim, 60, "about", &t->err) == LINEAGE_OK &&
                   lineage_queue_each(queue, count_claim, &n, &t->err) == LINEAGE_OK &&
                   lineage_queue_release(queue, &claim, LINEAGE_CLAIM_DONE, &t->err) == LINEAGE_OK;
    lineage_queue_leave(&claim);
    lineage_queue_close(queue);
    lineage_store_close(store);
}

static bool release_claim(void *context, const struct lineage_claim *claim)
{
    struct lineage_claim mine = *claim;
    struct lineage_error err;
    return lineage_queue_release(context, &mine, LINEAGE_CLAIM_DONE, &err) == LINEAGE_OK;
}

/*
 * Removes claims. If the answer to a claim was lost, the claim remains, and other workers could take it only after
 * its lease.
 */
static void check_queue(struct test *t)
{
    struct lineage_queue *queue = NULL;
    struct lineage_store *store = open_as(t, t->dir);
    if (!store || lineage_queue_open(&queue, store, &t->err) != LINEAGE_OK ||
        lineage_queue_each(queue, release_claim, queue, &t->err) != LINEAGE_OK)
        fail(t, "claims", t->err.text);
    lineage_queue_close(queue);
    lineage_store_close(store);
}

static void make_blob(struct test *t)
{
    char path[512];
    path_of(t, path, "checkpoints");
    mkdir(path, 0777);
    path_of(t, path, "checkpoints/blob");
    mkdir(path, 0777);
    path_of(t, path, "checkpoints/blob/sub");
    mkdir(path, 0777);
    path_of(t, path, "checkpoints/blob/sub/file");
    write_text(path, t->name);
    path_of(t, path, "checkpoints/blob/link");
    if (symlink("sub/file", path) != 0 && errno != EEXIST)
        exit(3);
}

static void drop_blob(struct test *t)
{
    char command[600];
    snprintf(command, sizeof command, "rm -rf '%s/checkpoints/blob'", t->dir);
    if (system(command) != 0)
        exit(3);
}

static void run_put(struct test *t)
{
    struct lineage_store *store = open_as(t, t->dir);
    t->taken = store && lineage_blob_put(store, "checkpoints/blob", &t->err) == LINEAGE_OK;
    lineage_store_close(store);
}

static void run_get(struct test *t)
{
    struct lineage_blob_stats stats;
    struct lineage_store *store = open_as(t, t->dir);
    t->taken = store && lineage_blob_get(store, "checkpoints/blob", &t->err) == LINEAGE_OK;
    if (t->taken)
        (void)!lineage_blobs_clean(store, 30, &stats, &t->err);
    lineage_store_close(store);
}

static void check_blob(struct test *t)
{
    char path[512], text[64] = "";
    run_put(t);
    drop_blob(t);
    run_get(t);
    path_of(t, path, "checkpoints/blob/link");
    FILE *in = fopen(path, "r");
    if (!in || !fgets(text, sizeof text, in) || strcmp(text, t->name) != 0)
        fail(t, "what was brought", t->err.text);
    if (in)
        fclose(in);
}

static void prepare_get(struct test *t)
{
    make_blob(t);
    run_put(t);
    drop_blob(t);
}

static void check_get(struct test *t)
{
    drop_blob(t);
    make_blob(t);
    check_blob(t);
}

static const struct operation {
    const char *name;
    void (*prepare)(struct test *), (*run)(struct test *), (*check)(struct test *);
} operations[] = {{"append", NULL, run_append, check_rows},
                  {"second", prepare_second, run_second, check_rows},
                  {"many", NULL, run_many, check_rows},
                  {"deliver", prepare_waiting, run_deliver, check_rows},
                  {"deliver-many", prepare_waiting_many, run_deliver, check_rows},
                  {"create", NULL, run_create, check_create},
                  {"import", prepare_import, run_import, check_import},
                  {"mend", prepare_mend, run_mend, check_mend},
                  {"read", prepare_mend, run_read, NULL},
                  {"settings", run_create, run_settings, check_settings},
                  {"queue", NULL, run_queue, check_queue},
                  {"put", make_blob, run_put, check_blob},
                  {"get", prepare_get, run_get, check_get}};

/*
 * ---- all faults
 * ----------------------------------------------------------------------------------------------------
 */

/*
 * Runs one case, with the fault at call `at`. Returns false if there were fewer calls, so all faults have been tried.
 */
static bool run_case(struct test *t, const struct operation *operation, enum fault fault, long at)
{
    snprintf(t->name, sizeof t->name, "%s %s %ld of %ld", operation->name, fault_names[fault], at, (long)getpid());
    t->taken = t->failed = t->set_aside = false;
    t->err.text[0] = t->notice[0] = '\0';
    state.left = 0;
    if (operation->prepare)
        operation->prepare(t);
    state.fault = fault;
    state.struck = counted = blank = false;
    state.left = at;
    operation->run(t);
    bool struck = state.struck;
    state.left = 0;
    if (operation->check)
        operation->check(t);
    t->cases++;
    if (getenv("CALL_FAULTS_TIMES"))
        printf("%s: %s: %s\n", t->name, t->taken ? "taken" : "refused", t->err.text);
    return struck;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    struct test t = {.dir = argv[1], .server = argv[2]};
    long step = atol(argv[3]);
    json_set_alloc_funcs(jansson_malloc, free);
    fs_set_fault(file_strikes, NULL);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        unsigned long before = t.cases;
        if (argc > 4 && strcmp(argv[4], operations[i].name) != 0)
            continue;
        for (int fault = 0; fault < N_FAULTS && t.failures < 20; fault++)
            for (long at = 1; t.failures < 20 && run_case(&t, &operations[i], (enum fault)fault, at); at += step)
                ;
        printf("%s: %lu cases\n", operations[i].name, t.cases - before);
        fflush(stdout);
    }
    printf("%lu cases, %lu failures\n", t.cases, t.failures);
    return t.failures || !t.cases;
}
