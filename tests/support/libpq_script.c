/* libpq_script.c: see libpq_script.h. */
#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "libpq_script.h"
#include "postgres/libpq.h"

enum { ANSWERS_MAX = 64, PENDING_MAX = 32 };

/* What this library returns as a PGresult. */
struct reply {
    ExecStatusType kind;
    char state[6], text[200];
    const char *cells;
};

char script_asked[4096];
struct script_faults script_faults;
unsigned script_prepared, script_notifies;
bool script_notifies_again;
double script_seconds;
int script_pid_more;

static struct answer script[ANSWERS_MAX];
static size_t n_script, next_answer;
static unsigned open_connections, open_replies;
static char connection_itself[1];

/* The state of the connection. `pending` holds the results to return; a NULL ends an answer. */
static struct {
    struct reply *pending[PENDING_MAX];
    size_t first, n;
    bool bad, lost, silent, stuck, endless, cut, pipeline;
    int fd;
} wire;

void script_is(const struct answer *answers, size_t n)
{
    assert_true(n <= ANSWERS_MAX);
    memcpy(script, answers, n * sizeof *answers);
    n_script = n;
    next_answer = 0;
}

void script_begin(void)
{
    script_faults = (struct script_faults){0};
    script_prepared = script_notifies = 0;
    script_notifies_again = false;
    script_pid_more = 0;
    n_script = next_answer = open_connections = open_replies = 0;
}

void script_must_be_over(unsigned connections)
{
    if (next_answer != n_script)
        fail_msg("never asked: %s; last: %s", script[next_answer].asked, script_asked);
    assert_int_equal(open_connections, connections);
    assert_int_equal(open_replies, 0);
}

void script_break(void)
{
    wire.bad = true;
}

/* ---- results ---- */

static void push(struct reply *reply)
{
    assert_true(wire.n < PENDING_MAX);
    wire.pending[wire.n++] = reply;
}

static struct reply *reply_of(ExecStatusType kind, const char *cells)
{
    struct reply *reply = calloc(1, sizeof *reply);
    assert_non_null(reply);
    reply->kind = kind;
    reply->cells = cells;
    open_replies++;
    return reply;
}

static struct reply *refusal(const char *said)
{
    struct reply *reply = reply_of(PGRES_FATAL_ERROR, NULL);
    const char *text = strchr(said, ' ');
    snprintf(reply->state, sizeof reply->state, "%.*s", (int)strcspn(said, " "), said);
    snprintf(reply->text, sizeof reply->text, "%s", text ? text + 1 : "");
    return reply;
}

static bool answer_with(const struct answer *answer)
{
    switch (answer->how) {
    case ROWS: push(reply_of(PGRES_TUPLES_OK, answer->said)); break;
    case CUT: push(reply_of(PGRES_TUPLES_OK, answer->said)), wire.cut = true; break;
    case DONE: push(reply_of(PGRES_COMMAND_OK, NULL)); break;
    case NO: push(refusal(answer->said)); break;
    case NO_END: push(refusal(answer->said)), wire.cut = true; break;
    case MANY:
        push(reply_of(PGRES_EMPTY_QUERY, NULL));
        push(reply_of(PGRES_TUPLES_OK, "1")), push(reply_of(PGRES_TUPLES_OK, answer->said));
        push(refusal("22023 first")), push(reply_of(PGRES_TUPLES_OK, "2")), push(refusal("42502 second"));
        break;
    case LOST: wire.lost = true; return true;
    case SILENT: wire.silent = true; return true;
    case STUCK: wire.stuck = true; return true;
    case ENDLESS: wire.endless = true; return true;
    case UNSENT: return false;
    }
    push(NULL);
    return true;
}

static bool send(const char *sql)
{
    static const char beginning[] = "SET search_path";
    static const struct answer fine = {beginning, DONE, NULL};
    const bool is_beginning = strncmp(sql, beginning, sizeof beginning - 1) == 0;
    const struct answer *due = next_answer < n_script ? &script[next_answer] : NULL;
    if (is_beginning && !(due && strcmp(due->asked, beginning) == 0))
        return answer_with(&fine);
    if (!due || !strstr(sql, due->asked))
        fail_msg("asked: %.300s; expected: %s", sql, due ? due->asked : "nothing");
    next_answer++;
    return answer_with(due);
}

static void note(const char *sql, int n, const char *const *values)
{
    size_t length = (size_t)snprintf(script_asked, sizeof script_asked, "%.2000s", sql);
    for (int i = 0; i < n && length < sizeof script_asked; i++)
        length += (size_t)snprintf(script_asked + length, sizeof script_asked - length, "|%.400s", values[i] ? values[i] : "~");
}

/* ---- libpq's functions ---- */

static PGconn *begin(const char *const *keywords, const char *const *values, int expand)
{
    (void)keywords;
    (void)values;
    (void)expand;
    memset(&wire, 0, sizeof wire);
    wire.bad = script_faults.connect;
    wire.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    open_connections++;
    return (PGconn *)(void *)connection_itself;
}

static void finish(PGconn *c)
{
    (void)c;
    for (size_t i = wire.first; i < wire.n; i++)
        if (wire.pending[i]) {
            free(wire.pending[i]);
            open_replies--;
        }
    close(wire.fd);
    memset(&wire, 0, sizeof wire);
    open_connections--;
}

static ConnStatusType status(const PGconn *c)
{
    (void)c;
    return wire.bad ? CONNECTION_BAD : CONNECTION_OK;
}
static char *message(const PGconn *c)
{
    static char text[] = "connection to server at \"h\", port 1 failed: broken\n";
    (void)c;
    return text;
}
static void reset(PGconn *c)
{
    (void)c;
}
static PGVerbosity verbosity(PGconn *c, PGVerbosity how)
{
    (void)c;
    return how;
}
static PGPing ping(const char *const *k, const char *const *v, int e)
{
    (void)k, (void)v, (void)e;
    return PQPING_NO_RESPONSE;
}
static int version(const PGconn *c)
{
    (void)c;
    return 150000;
}
static int nonblocking(PGconn *c, int yes)
{
    (void)c;
    return yes ? 0 : -1;
}
static int socket_of(const PGconn *c)
{
    (void)c;
    return wire.fd;
}

static PQnoticeProcessor say_notices(PGconn *c, PQnoticeProcessor say, void *context)
{
    (void)c;
    say(context, "NOTICE: nobody hears this");
    return NULL;
}

static int send_query(PGconn *c, const char *sql)
{
    (void)c;
    note(sql, 0, NULL);
    return send(sql);
}

static int send_params(PGconn *c, const char *sql, int n, const Oid *types, const char *const *values, const int *lengths,
                       const int *formats, int format)
{
    (void)c, (void)types, (void)lengths, (void)formats, (void)format;
    note(sql, n, values);
    return send(sql);
}

static int prepare(PGconn *c, const char *name, const char *sql, int n, const Oid *types)
{
    (void)c, (void)sql, (void)n, (void)types;
    assert_true(strlen(name) > 0);
    if (script_faults.prepare)
        return 0;
    script_prepared++;
    push(reply_of(PGRES_COMMAND_OK, NULL)), push(NULL);
    return 1;
}

/*
 * Runs a prepared statement. The script identifies the statement by its name, because this call does not have its
 * text.
 */
static int send_prepared(PGconn *c, const char *name, int n, const char *const *values, const int *lengths, const int *formats,
                         int format)
{
    (void)c, (void)lengths, (void)formats, (void)format;
    note(name, n, values);
    return send(name);
}

static int enter(PGconn *c)
{
    (void)c;
    return !script_faults.enter;
}
static int leave(PGconn *c)
{
    (void)c;
    return !script_faults.leave;
}

static int sync_now(PGconn *c)
{
    (void)c;
    if (script_faults.sync)
        return 0;
    push(reply_of(PGRES_PIPELINE_SYNC, NULL));
    return 1;
}

static int flush(PGconn *c)
{
    (void)c;
    return wire.stuck ? -1 : wire.silent;
}

static int consume(PGconn *c)
{
    (void)c;
    wire.bad = wire.bad || wire.lost || script_faults.consume;
    return !wire.bad;
}

static int is_busy(PGconn *c)
{
    (void)c;
    return wire.silent;
}

static PGresult *result(PGconn *c)
{
    (void)c;
    if (wire.endless || wire.first == wire.n)
        return NULL;
    struct reply *reply = wire.pending[wire.first++];
    wire.bad = wire.bad || (wire.cut && !reply);
    if (wire.first == wire.n)
        wire.first = wire.n = 0;
    return (PGresult *)(void *)reply;
}

static const struct reply *of(const PGresult *r)
{
    return (const struct reply *)(const void *)r;
}
static ExecStatusType kind_of(const PGresult *r)
{
    return of(r)->kind;
}
static char *whole_message(const PGresult *r)
{
    (void)r;
    static char text[] = "ERROR: all of it\nDETAIL: more";
    return text;
}

static char *field(const PGresult *r, int which)
{
    const struct reply *reply = of(r);
    const char *text = which == PG_DIAG_SQLSTATE ? reply->state : reply->text;
    return *text ? (char *)(uintptr_t)text : NULL;
}

static void clear(PGresult *r)
{
    free((void *)r);
    open_replies--;
}

static int count_rows(const PGresult *r)
{
    const char *at = r ? of(r)->cells : NULL;
    int n = at && *at;
    for (; at && *at; at++)
        n += *at == ';';
    return n;
}

/*
 * Returns the beginning of a cell, or NULL if the result does not have it. *length is the distance to the next
 * separator.
 */
static const char *cell_at(const PGresult *r, int row, int column, size_t *length)
{
    const char *at = row < count_rows(r) ? of(r)->cells : NULL;
    *length = 0;
    for (int i = 0; at && i < row; i++)
        at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL;
    for (int i = 0; at && i < column; i++) {
        at += strcspn(at, "|;");
        at = *at == '|' ? at + 1 : NULL;
    }
    if (at)
        *length = strcspn(at, "|;");
    return at;
}

static int is_null(const PGresult *r, int row, int column)
{
    size_t length;
    const char *cell = cell_at(r, row, column, &length);
    return !cell || (length == 1 && *cell == '~');
}

static int length_of(const PGresult *r, int row, int column)
{
    size_t length;
    cell_at(r, row, column, &length);
    return is_null(r, row, column) ? 0 : (int)length;
}

/* Returns NULL, as libpq does, if the result does not have the cell. */
static char *value_of(const PGresult *r, int row, int column)
{
    static char cells[16][1 << 16];
    static unsigned turn;
    size_t length;
    const char *cell = cell_at(r, row, column, &length);
    char *out = cells[turn++ % 16];
    if (!cell)
        return NULL;
    assert_true(length < sizeof cells[0]);
    snprintf(out, sizeof cells[0], "%.*s", length == 1 && *cell == '~' ? 0 : (int)length, cell);
    return out;
}

static PGTransactionStatusType transaction(const PGconn *c)
{
    (void)c;
    return PQTRANS_IDLE;
}

static PGnotify *notification(PGconn *c)
{
    (void)c;
    return script_notifies ? script_notifies--, malloc(1) : NULL;
}

static int library_version(void)
{
    return 150000;
}

static const struct libpq table = {.connectdbParams = begin,
                                   .pingParams = ping,
                                   .reset = reset,
                                   .setErrorVerbosity = verbosity,
                                   .serverVersion = version,
                                   .status = status,
                                   .errorMessage = message,
                                   .finish = finish,
                                   .setnonblocking = nonblocking,
                                   .setNoticeProcessor = say_notices,
                                   .socket = socket_of,
                                   .sendQuery = send_query,
                                   .sendQueryParams = send_params,
                                   .flush = flush,
                                   .consumeInput = consume,
                                   .isBusy = is_busy,
                                   .getResult = result,
                                   .resultStatus = kind_of,
                                   .resultErrorField = field,
                                   .resultErrorMessage = whole_message,
                                   .clear = clear,
                                   .ntuples = count_rows,
                                   .getvalue = value_of,
                                   .getlength = length_of,
                                   .getisnull = is_null,
                                   .transactionStatus = transaction,
                                   .notifies = notification,
                                   .freemem = free,
                                   .enterPipelineMode = enter,
                                   .exitPipelineMode = leave,
                                   .pipelineSync = sync_now,
                                   .sendPrepare = prepare,
                                   .sendQueryPrepared = send_prepared,
                                   .libVersion = library_version};

/* ---- replacements of system calls, by --wrap ---- */

enum lineage_status __wrap_libpq_load(struct libpq *pq, struct lineage_error *err);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_poll(struct pollfd *fds, nfds_t n, int milliseconds);
pid_t __real_getpid(void);
pid_t __wrap_getpid(void);

enum lineage_status __wrap_libpq_load(struct libpq *pq, struct lineage_error *err)
{
    (void)err;
    *pq = table;
    return LINEAGE_OK;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    script_seconds += 0.001;
    t->tv_sec = (time_t)script_seconds;
    t->tv_nsec = (long)((script_seconds - (double)t->tv_sec) * 1e9);
    return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int milliseconds)
{
    (void)fds, (void)n;
    if (script_notifies_again) {
        script_notifies++;
        return 1;
    }
    script_seconds += milliseconds < 0 ? 3600 : milliseconds / 1e3;
    return 0;
}

pid_t __wrap_getpid(void)
{
    return __real_getpid() + script_pid_more;
}
