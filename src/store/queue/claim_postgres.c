/*
 * claim_postgres.c: stores claims on a server, for workers on any machine.
 *
 * The functions of schema/postgresql/002_queue.sql make all decisions, each in a transaction of its own that ends
 * before the trial begins. A holder is identified by worker and attempt. If a connection breaks while a claim is made,
 * no worker knows that it holds the claim, which becomes free when its lease ends.
 *
 * The queue uses the connection of the log, which is never claimed at the same time. The connection listens only while
 * a caller waits; otherwise notifications would pile up during a trial of several hours.
 */
#include <inttypes.h>

#include "../format/arena.h"
#include "../postgres/log_postgres.h"
#include "../postgres/pg.h"
#include "queue_backend.h"

/* Timeout in seconds. It is short, because a process that renews its claim also watches a trial and must not neglect
 * it. */
#define SHORT_PATIENCE PG_SHORT

enum { NUMBER_MAX = 32, WINDOW = 256 };

struct queue_postgres {
    struct lineage_queue queue;
    unsigned listening; /* number of the connection that listens (pg_connections); 0: none */
};

static struct queue_postgres *postgres_of(struct lineage_queue *queue)
{
    return (struct queue_postgres *)queue; /* the queue is its first member */
}

static void end_listening(struct lineage_queue *queue);

/* If the connection has broken since the last statement, it is opened again, once, because the server may have
 * restarted. The statement may then run twice. This is safe: a second claim ends with its lease, and the other
 * statements may be repeated. */
static enum lineage_status ask(struct lineage_queue *queue, struct pg_result *result, double seconds, const char *sql, size_t n,
                               const char *const *params, struct lineage_error *err)
{
    struct pg *pg = log_postgres_pg(queue->store->log);
    bool was_connected = pg_is_connected(pg);
    *result = (struct pg_result){0};
    enum lineage_status status = pg_run(pg, result, seconds, sql, n, params, err);
    if (status == LINEAGE_EAWAY && was_connected)
        status = pg_run(pg, result, seconds, sql, n, params, err);
    return status;
}

static void write_keys(struct buf *out, const uint64_t *keys, size_t n)
{
    buf_puts(out, "{");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%" PRId64, i ? "," : "", (int64_t)keys[i]);
    buf_puts(out, "}");
}

static void take_claim(struct lineage_claim *claim, const struct lineage_claim_request *request, size_t which, int64_t attempt,
                       const char *worker)
{
    *claim =
        (struct lineage_claim){.key = request->keys[which], .attempt = (uint64_t)attempt, .left = request->lease, .hold = -1};
    snprintf(claim->worker, sizeof claim->worker, "%s", worker);
    snprintf(claim->night, sizeof claim->night, "%s", request->night);
}

/* Claims one of n keys. Returns LINEAGE_ENOTFOUND if all of them are held. */
static enum lineage_status claim_among(struct lineage_queue *queue, const struct lineage_claim_request *request, size_t from,
                                       size_t n, size_t *which, struct lineage_claim *claim, struct lineage_error *err)
{
    char store[LOG_POSTGRES_STORE], lease[NUMBER_MAX], at_most[NUMBER_MAX];
    SCOPED_RESULT result = {0};
    SCOPED_BUF keys = {0};
    snprintf(lease, sizeof lease, "%.3f", request->lease);
    snprintf(at_most, sizeof at_most, "%zu", request->at_most);
    write_keys(&keys, request->keys + from, n);
    TRY(keys.failed ? store_no_memory(err) : log_postgres_store(queue->store->log, store, err));
    const char *const params[] = {store, request->night, keys.data, queue->worker, lease, at_most};
    TRY(ask(queue, &result, PG_PATIENCE,
            "SELECT which, of_attempt FROM lineage.claim_trial($1::integer, $2, $3::bigint[], $4,"
            " $5::double precision, $6::bigint)",
            6, params, err));
    if (!pg_rows(&result))
        return LINEAGE_ENOTFOUND;
    *which = from + (size_t)pg_int(&result, 0, 0) - 1;
    take_claim(claim, request, *which, pg_int(&result, 0, 1), queue->worker);
    return LINEAGE_OK;
}

/* Keys that other workers hold are at the beginning of the list, because trials that have rows are not in the list. So
 * it is enough to try a window of keys, and then a larger window after it if there are more workers than keys in the
 * first. */
static enum lineage_status postgres_claim(struct lineage_queue *queue, const struct lineage_claim_request *request, size_t *which,
                                          struct lineage_claim *claim, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_ENOTFOUND;
    size_t from = 0, n;
    for (size_t window = WINDOW; status == LINEAGE_ENOTFOUND && from < request->n; from += n, window *= 2) {
        n = request->n - from < window ? request->n - from : window;
        status = claim_among(queue, request, from, n, which, claim, err);
    }
    if (status == LINEAGE_OK)
        end_listening(queue);
    return status;
}

/* A claim as parameters of a statement: its store, key, attempt and worker. */
struct name {
    char store[LOG_POSTGRES_STORE], key[NUMBER_MAX], attempt[NUMBER_MAX];
};

static enum lineage_status name_claim(struct name *name, struct lineage_queue *queue, const struct lineage_claim *claim,
                                      struct lineage_error *err)
{
    snprintf(name->key, sizeof name->key, "%" PRId64, (int64_t)claim->key);
    snprintf(name->attempt, sizeof name->attempt, "%" PRIu64, claim->attempt);
    return log_postgres_store(queue->store->log, name->store, err);
}

static enum lineage_status postgres_renew(struct lineage_queue *queue, struct lineage_claim *claim, double lease,
                                          const char *about, struct lineage_error *err)
{
    struct name name;
    char seconds[NUMBER_MAX];
    struct pg_result result = {0};
    snprintf(seconds, sizeof seconds, "%.3f", lease);
    enum lineage_status status = name_claim(&name, queue, claim, err);
    const char *const params[] = {name.store, name.key, name.attempt, claim->worker, queue->worker, seconds, about};
    if (status == LINEAGE_OK)
        status = ask(queue, &result, SHORT_PATIENCE,
                     "SELECT lineage.renew_trial($1::integer, $2::bigint, $3::bigint, $4, $5, $6::double precision, $7)", 7,
                     params, err);
    if (status == LINEAGE_OK && strcmp(pg_text(&result, 0, 0, NULL), "t") != 0)
        status = LINEAGE_ENOTFOUND;
    pg_clear(&result);
    TRY(status);
    memcpy(claim->worker, queue->worker, sizeof claim->worker);
    if (about)
        memcpy(claim->about, about, strlen(about) + 1);
    return LINEAGE_OK;
}

static enum lineage_status postgres_release(struct lineage_queue *queue, struct lineage_claim *claim, enum lineage_release why,
                                            struct lineage_error *err)
{
    struct name name;
    SCOPED_RESULT result = {0};
    TRY(name_claim(&name, queue, claim, err));
    const char *const params[] = {
        name.store, name.key, name.attempt, claim->worker, why == LINEAGE_CLAIM_DONE ? "t" : "f", claim->free ? "t" : "f"};
    return ask(queue, &result, PG_PATIENCE,
               "SELECT lineage.release_trial($1::integer, $2::bigint, $3::bigint, $4, $5::boolean, $6::boolean),"
               " pg_notify('lineage_claims_' || $1::text, $2::text)",
               6, params, err);
}

static void read_claim(struct lineage_claim *claim, const struct pg_result *result, size_t row)
{
    *claim = (struct lineage_claim){.key = (uint64_t)pg_int(result, row, 0),
                                    .attempt = (uint64_t)pg_int(result, row, 3),
                                    .left = strtod(pg_text(result, row, 4, NULL), NULL),
                                    .hold = -1};
    claim->free = claim->left <= 0;
    snprintf(claim->night, sizeof claim->night, "%s", pg_text(result, row, 1, NULL));
    snprintf(claim->worker, sizeof claim->worker, "%s", pg_text(result, row, 2, NULL));
    snprintf(claim->about, sizeof claim->about, "%s", pg_text(result, row, 5, NULL));
}

static enum lineage_status postgres_each(struct lineage_queue *queue, bool (*visit)(void *, const struct lineage_claim *),
                                         void *context, struct lineage_error *err)
{
    char store[LOG_POSTGRES_STORE];
    SCOPED_RESULT result = {0};
    struct lineage_claim claim;
    TRY(log_postgres_store(queue->store->log, store, err));
    const char *const params[] = {store};
    TRY(ask(queue, &result, PG_PATIENCE,
            "SELECT key, night, worker, attempt, extract(epoch FROM until - clock_timestamp()), about"
            " FROM lineage.trial_claim WHERE store = $1::integer AND attempt > 0 ORDER BY key",
            1, params, err));
    for (size_t row = 0; row < pg_rows(&result); row++) {
        read_claim(&claim, &result, row);
        if (!visit(context, &claim))
            break;
    }
    return LINEAGE_OK;
}

static enum lineage_status say_listen(struct lineage_queue *queue, const char *word, struct lineage_error *err)
{
    char store[LOG_POSTGRES_STORE], sql[128];
    enum lineage_status status = log_postgres_store(queue->store->log, store, err);
    snprintf(sql, sizeof sql, "%s lineage_%s; %s lineage_claims_%s", word, store, word, store);
    return status == LINEAGE_OK ? pg_query(log_postgres_pg(queue->store->log), NULL, SHORT_PATIENCE, sql, err) : status;
}

/* Stops listening, and discards notifications that came meanwhile. If the server does not answer, the connection is
 * lost and no longer listens anyway. */
static void end_listening(struct lineage_queue *queue)
{
    struct pg *pg = log_postgres_pg(queue->store->log);
    if (postgres_of(queue)->listening == pg_connections(pg) && pg_is_connected(pg) &&
        say_listen(queue, "UNLISTEN", NULL) == LINEAGE_OK)
        pg_take_notifies(pg);
    postgres_of(queue)->listening = 0;
}

/* A new connection must listen again. */
static enum lineage_status postgres_listen(struct lineage_queue *queue, bool *news, struct lineage_error *err)
{
    struct pg *pg = log_postgres_pg(queue->store->log);
    struct queue_postgres *q = postgres_of(queue);
    TRY(pg_connect(pg, NULL, err));
    if (q->listening == pg_connections(pg))
        return LINEAGE_OK;
    enum lineage_status status = say_listen(queue, "LISTEN", err);
    if (status == LINEAGE_OK)
        q->listening = pg_connections(pg);
    *news = status == LINEAGE_OK;
    return status;
}

/* Notifications may arrive together with the result of any statement, so they are read after the last statement. */
static enum lineage_status postgres_hear(struct lineage_queue *queue, bool *news, double *lease, struct lineage_error *err)
{
    char store[LOG_POSTGRES_STORE];
    struct pg *pg = log_postgres_pg(queue->store->log);
    struct pg_result result = {0};
    if ((*news = pg_take_notifies(pg)))
        return LINEAGE_OK;
    enum lineage_status status = log_postgres_store(queue->store->log, store, err);
    const char *const params[] = {store};
    if (status == LINEAGE_OK)
        status = pg_run(pg, &result, PG_PATIENCE,
                        "SELECT extract(epoch FROM min(until) - clock_timestamp()) FROM lineage.trial_claim"
                        " WHERE store = $1::integer AND until > clock_timestamp()",
                        1, params, err);
    if (status == LINEAGE_OK && pg_rows(&result) && !pg_is_null(&result, 0, 0))
        *lease = strtod(pg_text(&result, 0, 0, NULL), NULL);
    pg_clear(&result);
    *news = status == LINEAGE_OK && pg_take_notifies(pg);
    return status;
}

static int postgres_descriptor(struct lineage_queue *queue)
{
    return pg_socket(log_postgres_pg(queue->store->log));
}

static void postgres_close(struct lineage_queue *queue)
{
    end_listening(queue);
    free(queue);
}

static const struct queue_backend kind = {postgres_claim,  postgres_renew, postgres_release,    postgres_each,
                                          postgres_listen, postgres_hear,  postgres_descriptor, postgres_close};

enum lineage_status queue_postgres_open(struct lineage_queue **queue, struct lineage_store *store, struct lineage_error *err)
{
    struct queue_postgres *q = calloc(1, sizeof *q);
    if (!q)
        return store_no_memory(err);
    q->queue = (struct lineage_queue){.kind = &kind, .store = store};
    *queue = &q->queue;
    return LINEAGE_OK;
}
