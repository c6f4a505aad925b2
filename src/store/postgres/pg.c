/*
 * pg.c: statements with a deadline.
 *
 * libpq's blocking calls wait as long as the server keeps the connection, and a stopped backend keeps it for ever. So
 * this file sends every statement and polls for its answer until the deadline. After the deadline the connection is
 * closed, because the answer may still arrive on it, and the next call opens a new connection.
 */
#include "pg.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <unistd.h>

#include "../clock.h"
#include "connect.h"

struct pg {
    struct libpq pq;
    PGconn *connection;
    char *uri, *shown;
    pid_t owner; /* of the connection */
    unsigned connections; /* number of connections so far */
    char sqlstate[6];
    const char *prepared[PG_PARTS_MAX]; /* statements prepared on this connection, by name */
    size_t n_prepared;
    bool unprepared; /* the server is behind a pooler that changes sessions, so statements are not prepared */
    double failed;   /* time and message of the last failure to connect, or of a statement without an answer */
    struct lineage_error why;
    double rest; /* seconds after `failed` in which nothing is tried */
    bool standbys, appending; /* the server has synchronous standbys; a caller appends (pg_flush_seconds) */
    double standby_wait;
    void (*waiting)(void *context);
    void *context;
};

enum lineage_status pg_open(struct pg **out, const char *uri, const char *shown, struct lineage_error *err)
{
    struct pg *pg = calloc(1, sizeof *pg);
    *out = NULL;
    if (!pg || !(pg->uri = strdup(uri)) || !(pg->shown = strdup(shown))) {
        pg_close(pg);
        return store_no_memory(err);
    }
    enum lineage_status status = libpq_load(&pg->pq, err);
    if (status == LINEAGE_OK)
        *out = pg;
    else
        pg_close(pg);
    return status;
}

/* In a forked child the connection belongs to the parent, and closing it would end the parent's session. So in a child
 * the descriptor is first redirected to /dev/null. */
void pg_disconnect(struct pg *pg)
{
    if (!pg->connection)
        return;
    int fd = pg->pq.socket(pg->connection), nowhere = pg->owner == getpid() ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0 && fd >= 0)
        dup2(nowhere, fd);
    if (nowhere >= 0)
        close(nowhere);
    pg->pq.finish(pg->connection);
    pg->connection = NULL;
    pg->n_prepared = 0;
}

void pg_close(struct pg *pg)
{
    if (!pg)
        return;
    pg_disconnect(pg);
    libpq_unload(&pg->pq);
    free(pg->uri);
    free(pg->shown);
    free(pg);
}

bool pg_is_connected(struct pg *pg)
{
    return pg->connection && pg->pq.status(pg->connection) == CONNECTION_OK;
}

static enum lineage_status away(struct pg *pg, const char *why, struct lineage_error *err)
{
    char text[320];
    connect_first_line(text, sizeof text, why);
    return store_fail(err, LINEAGE_EAWAY, "%s is away: %s", pg->shown, text);
}

/* After a server took a connection and did not answer, for example because its only synchronous standby is down, nothing is tried
 * for this long. Otherwise a command would wait PG_PATIENCE for each of its questions. */
#define SECONDS_SILENT 20.0

/* Ends a connection that is lost, or whose answer is late after `seconds`. Questions with a short limit are asked again soon. */
static enum lineage_status give_up(struct pg *pg, bool late, double seconds, struct lineage_error *err)
{
    struct lineage_error why;
    char text[80];
    const bool unconfirmed = late && pg->standbys && seconds > PG_SHORT && seconds < PG_PATIENCE;
    snprintf(text, sizeof text, "no synchronous standby has confirmed within %g s", seconds);
    const char *lost = late ? "it does not answer" : pg->pq.errorMessage(pg->connection);
    enum lineage_status status = away(pg, unconfirmed ? text : lost, &why);
    if (unconfirmed || (late && seconds >= PG_PATIENCE)) {
        pg->failed = clock_now();
        pg->rest = SECONDS_SILENT;
        pg->why = why;
        pg->why.status = status;
    }
    if (err)
        *err = why;
    return status;
}

static void say_nothing(void *context, const char *text)
{
    (void)context;
    (void)text;
}

/* Settings that the writers of one log must agree on, and must not inherit from a role or a service file: a commit is
 * confirmed only when it is on disk, waits for locks have a limit, a client that stops inside a transaction is
 * disconnected, and a statement is cancelled if its client is gone. Only some platforms support the last setting. */
static const char session[] =
    "SET search_path = pg_catalog; SET lock_timeout = '15s'; SET idle_in_transaction_session_timeout = '10s';"
    "SET default_transaction_isolation = 'read committed'; SET bytea_output = hex; SET DateStyle = ISO; SET statement_timeout = "
    "0;"
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';"
    "DO $$ BEGIN SET client_connection_check_interval = '5s'; EXCEPTION WHEN OTHERS THEN NULL; END $$;"
    "SELECT current_setting('synchronous_standby_names') <> ''";

double pg_flush_seconds(struct pg *pg, bool appending)
{
    if (appending && !pg->appending)
        pg->why.status = LINEAGE_OK;
    pg->appending = pg->appending || appending;
    return !pg->standbys ? PG_PATIENCE : pg->appending ? pg->standby_wait : PG_READ_WAIT;
}

void pg_set_standby_wait(struct pg *pg, double seconds)
{
    pg->standby_wait = seconds;
}

/* After a failed connection, further calls fail at once for this long: a command asks several questions, and each would
 * wait for a server that hangs. */
#define SECONDS_AWAY 1.0

enum lineage_status pg_connect(struct pg *pg, bool *fresh, struct lineage_error *err)
{
    if (fresh)
        *fresh = false;
    if (pg_is_connected(pg))
        return LINEAGE_OK;
    if (pg->why.status != LINEAGE_OK && clock_now() - pg->failed < pg->rest)
        return store_give(err, &pg->why);
    pg_disconnect(pg);
    pg->connection = connect_server(&pg->pq, pg->uri, pg->shown, &pg->why);
    pg->owner = getpid();
    if (!pg->connection) {
        pg->failed = clock_now();
        pg->rest = SECONDS_AWAY;
        return store_give(err, &pg->why);
    }
    pg->why.status = LINEAGE_OK;
    pg->pq.setNoticeProcessor(pg->connection, say_nothing, NULL);
    pg->pq.setnonblocking(pg->connection, 1);
    pg->connections++;
    if (fresh)
        *fresh = true;
    struct pg_result standbys;
    enum lineage_status status = pg_query(pg, &standbys, PG_PATIENCE, session, err);
    if (status != LINEAGE_OK) /* otherwise the next statement would run without these settings */
        pg_disconnect(pg);
    else
        pg->standbys = *pg_text(&standbys, 0, 0, NULL) == 't';
    pg_clear(&standbys);
    return status;
}

/* Waits until data can be read (or written, if `writing`), or a short time has passed. */
static void wait_a_moment(struct pg *pg, bool writing, double left)
{
    struct pollfd fd = {pg->pq.socket(pg->connection), (short)(POLLIN | (writing ? POLLOUT : 0)), 0};
    poll(&fd, 1, left > 1 ? 1000 : left > 0 ? (int)ceil(left * 1000) : 0);
}

/* Sends the rest of the message while answers arrive; otherwise client and server would wait for each other. Returns
 * false when the connection is lost, or at the deadline, which sets *late. */
static bool wait_for_answer(struct pg *pg, double start_time, double seconds, bool *told, bool *late)
{
    for (;;) {
        int writing = pg->pq.flush(pg->connection);
        if (writing < 0 || !pg->pq.consumeInput(pg->connection))
            return false;
        if (!writing && !pg->pq.isBusy(pg->connection))
            return true;
        double past = clock_now() - start_time;
        *late = past >= seconds;
        if (*late)
            return false;
        if (past >= 1 && !*told && pg->waiting) {
            *told = true;
            pg->waiting(pg->context);
        }
        wait_a_moment(pg, writing, seconds - past);
    }
}

static enum lineage_status refused(struct pg *pg, const PGresult *rows, struct lineage_error *err)
{
    const char *state = pg->pq.resultErrorField(rows, PG_DIAG_SQLSTATE);
    const char *primary = pg->pq.resultErrorField(rows, PG_DIAG_MESSAGE_PRIMARY);
    char text[320];
    snprintf(pg->sqlstate, sizeof pg->sqlstate, "%s", state ? state : "");
    if (!state || connect_is_passing(state))
        return away(pg, primary ? primary : pg->pq.resultErrorMessage(rows), err);
    connect_first_line(text, sizeof text, primary ? primary : "");
    if (strcmp(state, "55P03") == 0)
        return store_fail(err, LINEAGE_ELOCKED, "%s: another writer has held the log for too long", pg->shown);
    if (strcmp(state, "42501") == 0) /* insufficient_privilege */
        return store_fail(err, LINEAGE_EREFUSED, "%s: refused: %s", pg->shown, text);
    return store_fail(err, LINEAGE_EIO, "%s: %s", pg->shown, text);
}

/* Only the first failure counts, because later statements of the same message were not tried. */
static void keep(struct pg *pg, struct pg_result *kept, PGresult *rows, enum lineage_status *status, struct lineage_error *err)
{
    ExecStatusType kind = pg->pq.resultStatus(rows);
    bool has_rows = kind == PGRES_TUPLES_OK;
    if (!has_rows && kind != PGRES_COMMAND_OK && kind != PGRES_EMPTY_QUERY && *status == LINEAGE_OK)
        *status = refused(pg, rows, err);
    if (has_rows && *status == LINEAGE_OK) {
        pg_clear(kept);
        *kept = (struct pg_result){pg, rows};
    } else {
        pg->pq.clear(rows);
    }
}

/* If the connection ends together with a refusal, the server counts as unreachable (a server that is stopped sends the
 * reason first). The same holds if the connection is lost after a result, because the last statement of a message may
 * be the commit. */
static enum lineage_status collect(struct pg *pg, struct pg_result *out, double seconds, struct lineage_error *err)
{
    struct pg_result kept = {0};
    enum lineage_status status = LINEAGE_OK;
    double start_time = clock_now();
    bool told = false, late = false, ended = false;
    while (!ended && wait_for_answer(pg, start_time, seconds, &told, &late)) {
        PGresult *rows = pg->pq.getResult(pg->connection);
        ended = !rows;
        if (rows)
            keep(pg, &kept, rows, &status, err);
    }
    if (!ended || !pg_is_connected(pg)) {
        if (status == LINEAGE_OK || status != LINEAGE_EAWAY)
            status = give_up(pg, late, seconds, err);
        pg_disconnect(pg);
    }
    if (status == LINEAGE_OK && out)
        *out = kept;
    else
        pg_clear(&kept);
    return status;
}

/* Without values the text may hold several statements. */
static enum lineage_status send(struct pg *pg, struct pg_result *out, double seconds, const char *sql, int n,
                                const char *const *params, struct lineage_error *err)
{
    enum lineage_status status = pg_connect(pg, NULL, err);
    if (out)
        *out = (struct pg_result){0};
    TRY(status);
    pg->sqlstate[0] = '\0';
    if (n < 0 ? pg->pq.sendQuery(pg->connection, sql)
              : pg->pq.sendQueryParams(pg->connection, sql, n, NULL, params, NULL, NULL, 0))
        return collect(pg, out, seconds, err);
    status = away(pg, pg->pq.errorMessage(pg->connection), err);
    pg_disconnect(pg);
    return status;
}

enum lineage_status pg_query(struct pg *pg, struct pg_result *out, double seconds, const char *sql, struct lineage_error *err)
{
    return send(pg, out, seconds, sql, -1, NULL, err);
}

enum lineage_status pg_run(struct pg *pg, struct pg_result *out, double seconds, const char *sql, size_t n,
                           const char *const *params, struct lineage_error *err)
{
    return send(pg, out, seconds, sql, (int)n, params, err);
}

static bool is_prepared(const struct pg *pg, const struct pg_part *part)
{
    for (size_t i = 0; i < pg->n_prepared; i++)
        if (strcmp(pg->prepared[i], part->name) == 0)
            return true;
    return false;
}

/* Behind a pooler in transaction mode each transaction may run in another session, which lacks the statements prepared in the
 * last one, or has statements of other clients under the same names. */
static bool meets_pooler(const struct pg *pg)
{
    return strcmp(pg->sqlstate, "42P05") == 0 || strcmp(pg->sqlstate, "26000") == 0;
}

static bool send_part(struct pg *pg, const struct pg_part *part, bool prepare)
{
    const int n = (int)part->n;
    if (prepare && !pg->pq.sendPrepare(pg->connection, part->name, part->sql, n, NULL))
        return false;
    if (part->name && !pg->unprepared ? !pg->pq.sendQueryPrepared(pg->connection, part->name, n, part->params, NULL, NULL, 0)
                                      : !pg->pq.sendQueryParams(pg->connection, part->sql, n, NULL, part->params, NULL, NULL, 0))
        return false;
    return !part->ends || pg->pq.pipelineSync(pg->connection);
}

/* The answers that are still expected: next part `at`, or its preparation if `prepare` is set. */
struct answers {
    const struct pg_part *parts;
    size_t at, done;
    double seconds; /* limit for the next answer */
    bool prepare[PG_PARTS_MAX];
    struct pg_result rows; /* of the first part */
    enum lineage_status status;
};

/* A part that was skipped because an earlier part failed has no error of its own. */
static void take_answer(struct pg *pg, struct answers *a, PGresult *rows, struct lineage_error *err)
{
    ExecStatusType kind = pg->pq.resultStatus(rows);
    const bool failed = kind != PGRES_TUPLES_OK && kind != PGRES_COMMAND_OK && kind != PGRES_PIPELINE_SYNC;
    if (failed && a->status == LINEAGE_OK)
        a->status = refused(pg, rows, err);
    if (kind == PGRES_TUPLES_OK && a->at == 0)
        a->rows = (struct pg_result){pg, rows};
    else
        pg->pq.clear(rows);
}

static void end_part(struct answers *a)
{
    a->done += a->status == LINEAGE_OK;
    a->at++;
}

/* Parts are committed only at the end of their transaction in the pipeline (`ends`). */
static void end_answer(struct pg *pg, struct answers *a)
{
    const struct pg_part *part = &a->parts[a->at];
    const bool was_prepare = a->prepare[a->at];
    a->prepare[a->at] = false;
    if (was_prepare && a->status == LINEAGE_OK)
        pg->prepared[pg->n_prepared++] = part->name;
    if (!was_prepare && !part->ends)
        end_part(a);
}

/* libpq ends the answer to a statement with NULL, and a piece of the pipeline with a result that no NULL follows. */
static bool take_answers(struct pg *pg, struct answers *a, size_t n, double seconds, bool *late, struct lineage_error *err)
{
    double start_time = clock_now();
    bool told = false;
    size_t timed = 0; /* the part that start_time is for */
    while (a->at < n) {
        if (a->at != timed) {
            timed = a->at;
            start_time = clock_now();
        }
        a->seconds = a->parts[a->at].seconds > 0 ? a->parts[a->at].seconds : seconds;
        if (!wait_for_answer(pg, start_time, a->seconds, &told, late))
            return false;
        PGresult *rows = pg->pq.getResult(pg->connection);
        const bool piece = rows && pg->pq.resultStatus(rows) == PGRES_PIPELINE_SYNC;
        *late = !rows && clock_now() - start_time >= a->seconds; /* no result yet, and more must come */
        if (*late)
            return false;
        if (rows)
            take_answer(pg, a, rows, err);
        else
            end_answer(pg, a);
        if (piece)
            end_part(a);
    }
    return true;
}

static bool send_parts(struct pg *pg, struct answers *a, size_t n)
{
    bool sent = pg->pq.enterPipelineMode(pg->connection);
    for (size_t i = 0; sent && i < n; i++) {
        a->prepare[i] = a->parts[i].name && !pg->unprepared && !is_prepared(pg, &a->parts[i]);
        sent = send_part(pg, &a->parts[i], a->prepare[i]);
    }
    return sent;
}

/* Sends the parts once. */
static enum lineage_status run_parts_once(struct pg *pg, struct pg_result *out, double seconds, const struct pg_part *parts,
                                          size_t n, size_t *done, struct lineage_error *err)
{
    struct answers a = {.parts = parts, .status = pg_connect(pg, NULL, err)};
    bool late = false;
    *done = 0;
    if (out)
        *out = (struct pg_result){0};
    if (a.status != LINEAGE_OK)
        return a.status;
    pg->sqlstate[0] = '\0';
    const bool answered = send_parts(pg, &a, n) && take_answers(pg, &a, n, seconds, &late, err);
    if (!answered || !pg_is_connected(pg) || !pg->pq.exitPipelineMode(pg->connection)) {
        if (a.status != LINEAGE_EAWAY)
            a.status = give_up(pg, late, a.seconds, err);
        pg_disconnect(pg);
    }
    *done = a.done;
    if (a.status == LINEAGE_OK && out)
        *out = a.rows;
    else
        pg_clear(&a.rows);
    return a.status;
}

enum lineage_status pg_run_parts(struct pg *pg, struct pg_result *out, double seconds, const struct pg_part *parts, size_t n,
                                 size_t *done, struct lineage_error *err)
{
    enum lineage_status status = run_parts_once(pg, out, seconds, parts, n, done, err);
    if (status == LINEAGE_OK || pg->unprepared || !meets_pooler(pg))
        return status;
    pg->unprepared = true;
    return *done ? status : run_parts_once(pg, out, seconds, parts, n, done, err);
}

const char *pg_sqlstate(const struct pg *pg)
{
    return pg->sqlstate;
}

void pg_tell_waiting(struct pg *pg, void (*waiting)(void *context), void *context)
{
    pg->waiting = waiting;
    pg->context = context;
}

unsigned pg_connections(const struct pg *pg)
{
    return pg->connections;
}

int pg_socket(struct pg *pg)
{
    return pg_is_connected(pg) ? pg->pq.socket(pg->connection) : -1;
}

bool pg_take_notifies(struct pg *pg)
{
    PGnotify *notify;
    bool any = false;
    if (!pg_is_connected(pg) || !pg->pq.consumeInput(pg->connection))
        return false;
    while ((notify = pg->pq.notifies(pg->connection))) {
        any = true;
        pg->pq.freemem(notify);
    }
    return any;
}

size_t pg_rows(const struct pg_result *result)
{
    return result->rows ? (size_t)result->pg->pq.ntuples(result->rows) : 0;
}

bool pg_is_null(const struct pg_result *result, size_t row, size_t column)
{
    return !result->rows || result->pg->pq.getisnull(result->rows, (int)row, (int)column);
}

/* libpq returns NULL, with no length, for a cell that is not in the answer. */
const char *pg_text(const struct pg_result *result, size_t row, size_t column, size_t *length)
{
    if (length)
        *length = result->rows ? (size_t)result->pg->pq.getlength(result->rows, (int)row, (int)column) : 0;
    const char *text = result->rows ? result->pg->pq.getvalue(result->rows, (int)row, (int)column) : NULL;
    return text ? text : "";
}

const char *pg_digits(const struct pg_result *result, size_t row, size_t column)
{
    const char *text = pg_text(result, row, column, NULL);
    return strncmp(text, "\\x", 2) == 0 ? text + 2 : "";
}

int64_t pg_int(const struct pg_result *result, size_t row, size_t column)
{
    return strtoll(pg_text(result, row, column, NULL), NULL, 10);
}

void pg_clear(struct pg_result *result)
{
    if (result->rows)
        result->pg->pq.clear(result->rows);
    *result = (struct pg_result){0};
}
