/*
 * log_postgres_append.c: adds records to the log.
 *
 * An append is one function call. Its commit is sent in the same message, and the flush after that: the commit frees
 * the head without waiting for the server's disk, and the append has taken place when the flush is confirmed
 * (004_append.sql). If the connection breaks after sending, it is unknown whether the append took place. The append is
 * then looked up by its request number, which the caller chose before anything was sent. The look-up makes its own
 * claim, which waits until a transaction that is still running has ended.
 */
#include "log_postgres.h"

#include <sys/random.h>

#include "log_postgres_parts.h"
#include "../clock.h"
#include "../format/tsv.h"
#include "../files/places.h"

/* ---- moves an open end aside under the claim. Open ends come from importing a torn file ---- */

/* Only an open end is ever moved aside, because every record on the server is complete. The server keeps the bytes
 * too. */
static enum lineage_status mend(struct log_postgres *p, struct log_state *state, uint64_t from, uint64_t to,
                                struct lineage_error *err)
{
    struct pg_result result;
    enum lineage_status status =
        postgres_ask(p, &result, err, "SELECT seq, size, digest, open_end, open_ends FROM lineage.mend(%lld, %lld, %llu)",
                     (long long)p->store, (long long)p->seq, (unsigned long long)(to - from));
    if (status == LINEAGE_OK)
        status = postgres_take_state(p, state, &result, err);
    p->mended = p->mended || status == LINEAGE_OK;
    pg_clear(&result);
    return status;
}

enum lineage_status postgres_blank(struct log *log, struct log_state *state, uint64_t from, uint64_t to, char name[64],
                                   struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    if (p->claim != CLAIMED || from != p->size || to > state->size)
        return store_fail(err, LINEAGE_EIO, "%s: a record that does not end is not the last one", p->name.shown);
    TRY(torn_save(p->dir_fd, log->place, p->open_end.data, (size_t)(to - from), name, err));
    return mend(p, state, from, to, err);
}

enum lineage_status postgres_set_aside(struct log *log, struct log_state *state, uint64_t from, char name[64],
                                       struct lineage_error *err)
{
    return postgres_blank(log, state, from, state->size, name, err);
}

/* Nothing has to be undone here, because nobody sees a transaction that did not commit. */
enum lineage_status postgres_settle(struct log *log, struct lineage_error *err)
{
    (void)log;
    (void)err;
    return LINEAGE_OK;
}

/* ---- the head row of a store, locked in a transaction. The claim also returns the records that other
 * writers added since the last look.
 *
 * A writer that appends row after row need not claim: each append names the record that it follows, and the server
 * refuses it if other writers appended first (claim_unchanged).
 */

/* Notifies the user; a callback for pg_tell_waiting, with the log as its context. */
static void postgres_tell_waiting(void *context)
{
    struct log_postgres *p = context;
    char text[600];
    snprintf(text, sizeof text, "waiting for the claim of %s", p->name.shown);
    if (p->log.tell)
        p->log.tell(p->log.context, text);
}

/* Sends "COMMIT" or "ROLLBACK" if there is a connection, which ends the claim. */
static void postgres_end(struct log_postgres *p, const char *how)
{
    if (pg_is_connected(p->pg))
        pg_query(p->pg, NULL, PG_PATIENCE, how, NULL);
    p->claim = NO_CLAIM;
    p->mended = false;
}

static void make_request(struct log *log)
{
    static const unsigned char none[sizeof log->request];
    if (memcmp(log->request, none, sizeof none) == 0 && getrandom(log->request, sizeof log->request, 0) < 0)
        memset(log->request, 0, sizeof log->request); /* zeros make the server choose a number; getrandom cannot fail on Linux */
}

/* Waiting for the lock may take so long that the connection breaks meanwhile, so a broken connection is retried here
 * too. */
static enum lineage_status take_claim(struct log_postgres *p, struct pg_result *result, struct lineage_error *err)
{
    SCOPED_BUF sql = {0};
    bool was_connected = pg_is_connected(p->pg);
    buf_printf(&sql,
               "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT " POSTGRES_HEAD
               ", t.uuid, s.next_id, s.id_width, s.there, s.newer FROM lineage.store t, "
               "lineage.claim(%lld, ",
               (long long)p->store);
    postgres_add_request(&sql, &p->log);
    buf_printf(&sql, ", %lld) s WHERE t.id = %lld", p->session == pg_connections(p->pg) ? (long long)p->seq : -1LL,
               (long long)p->store);
    pg_tell_waiting(p->pg, postgres_tell_waiting, p);
    enum lineage_status status = sql.failed ? store_no_memory(err) : pg_query(p->pg, result, PG_PATIENCE, sql.data, err);
    if (status == LINEAGE_EAWAY && was_connected && !pg_is_connected(p->pg))
        status = pg_query(p->pg, result, PG_PATIENCE, sql.data, err);
    pg_tell_waiting(p->pg, NULL, NULL);
    if (status != LINEAGE_OK)
        postgres_end(p, "ROLLBACK");
    return postgres_explain(p, status, err);
}

enum { FOUND = HEAD_ID_WIDTH + 1, NEWER };

/* Called before the state is updated, because the old state gives the position from which records are new. State that
 * was read through an earlier connection may be out of date. */
static void take_newer(struct log_postgres *p, const struct pg_result *result)
{
    size_t length;
    const char *text = pg_text(result, 0, NEWER, &length);
    buf_reset(&p->newer);
    p->newer_from = p->size;
    p->has_newer = !pg_is_null(result, 0, NEWER) && p->session == pg_connections(p->pg);
    postgres_add_bytes(&p->newer, text, length);
}

/* A request that is already in the log adds nothing, but this may be reported only when its row is on disk. Whoever sent it was
 * killed, or lost the connection, before the answer came, so nothing may have noted yet that the server has acknowledged it. */
static enum lineage_status give_up_found(struct log_postgres *p, const struct log_state *state, struct lineage_error *err)
{
    enum lineage_status status = pg_query(p->pg, NULL, postgres_flush_seconds(p), "ROLLBACK; SELECT lineage.flush()", err);
    p->claim = NO_CLAIM;
    if (status == LINEAGE_OK)
        status = postgres_acknowledge_found(&p->log, state, err);
    return status == LINEAGE_OK ? status : LINEAGE_EAWAY;
}

enum lineage_status postgres_claim(struct log *log, struct log_state *state, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_RESULT result = {0};
    make_request(log);
    log->found = log->lost = false;
    log->appending = true;
    (void)postgres_flush_seconds(p);
    enum lineage_status status = postgres_find_store(p, err);
    if (status == LINEAGE_OK)
        status = take_claim(p, &result, err);
    if (status == LINEAGE_OK) {
        p->crowded = p->crowded && p->seq != pg_int(&result, 0, HEAD_SEQ);
        postgres_take_identity(state, pg_text(&result, 0, HEAD_UUID, NULL));
        take_newer(p, &result);
        status = postgres_take_ids(p, &result, HEAD_NEXT_ID, err);
    }
    if (status == LINEAGE_OK)
        status = postgres_take_state(p, state, &result, err);
    if (status == LINEAGE_OK) {
        p->has_newer = p->has_newer && !p->newer.failed && p->newer_from + p->newer.length == p->size;
        log->only_grew = p->has_newer && !p->open_end.length;
        log->found = pg_int(&result, 0, FOUND) > 0;
        p->claim = CLAIMED;
    } else if (pg_rows(&result)) {
        postgres_end(p, "ROLLBACK");
    }
    return log->found ? give_up_found(p, state, err) : status;
}

enum lineage_status postgres_skip_ids(struct log *log, uint64_t given, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_RESULT result = {0};
    TRY(postgres_find_store(p, err));
    if (!log->read_only && given <= INT64_MAX)
        TRY(postgres_ask(p, &result, err, "SELECT next_id, id_width FROM lineage.skip_ids(%lld, %llu)", (long long)p->store,
                         (unsigned long long)given));
    return pg_rows(&result) ? postgres_take_ids(p, &result, 0, err) : LINEAGE_OK;
}

/* Does not ask the server: the append names the record that it follows, and is refused if other writers were faster. */
bool postgres_claim_unchanged(struct log *log, struct log_state *state)
{
    struct log_postgres *p = postgres_of(log);
    if (p->crowded || !log->may_assume || !state->size || p->open_end.length || state->size != p->size ||
        !pg_is_connected(p->pg) || state->session != pg_connections(p->pg))
        return false;
    make_request(log);
    log->found = log->lost = false;
    p->claim = ASSUMED;
    return true;
}

/* An open end that was moved aside stays aside, whatever happened to the append. */
void postgres_release(struct log *log)
{
    struct log_postgres *p = postgres_of(log);
    if (p->claim == CLAIMED)
        postgres_end(p, p->mended ? "COMMIT" : "ROLLBACK");
    p->claim = NO_CLAIM;
    memset(log->request, 0, sizeof log->request);
    log->after = (struct log_after){0};
}

enum { BATCH_BYTES = 1 << 20 };

/* An append whose records are split into calls of lineage.append. */
struct appending {
    struct log_postgres *p;
    struct buf joined; /* the open end and the bytes to add */
    struct tsv_scanner scanner;
    int64_t seq, part;
    struct buf sql;
    double seconds; /* longest time that the server may take */
    bool committed; /* committed, but known to be on disk only if everything succeeded */
};

/* A CR as the very last byte may be half of CR LF, so its record may not have ended. */
static bool next_whole(struct appending *a, struct tsv_record *record)
{
    size_t at = a->scanner.position;
    if (tsv_scan(&a->scanner, record) && record->terminated &&
        !(a->scanner.position == a->scanner.length && record->bytes[record->length - 1] == '\r'))
        return true;
    a->scanner.position = at;
    return false;
}

/* Fills one call with as many records as the server accepts in one message; false when there are no more. The first
 * call includes the open end. Without a transaction, one call contains everything. */
static bool next_call(struct appending *a)
{
    struct tsv_record record;
    size_t taken = 0, n = 0, limit = a->p->claim == ASSUMED ? SIZE_MAX : BATCH_BYTES + a->p->open_end.length;
    int64_t after = a->seq, part = a->part;
    buf_printf(&a->sql, "SELECT seq, size, digest, '\\x'::bytea, open_ends FROM lineage.append(%lld, %lld, ",
               (long long)a->p->store, (long long)after);
    postgres_add_request(&a->sql, &a->p->log);
    buf_printf(&a->sql, ", %lld, ARRAY[", (long long)part);
    while (taken < limit && next_whole(a, &record)) {
        buf_puts(&a->sql, n++ ? ",'\\x" : "'\\x");
        buf_add_hex(&a->sql, record.bytes, record.length);
        buf_puts(&a->sql, "'");
        taken += record.length;
    }
    a->seq += (int64_t)n;
    a->part += (int64_t)n;
    buf_puts(&a->sql, "]::bytea[], '\\x");
    return taken >= limit;
}

/* Each call states the new open end: for the last call, the remaining bytes that do not form a record; for others,
 * none. */
static void end_call(struct appending *a, bool last)
{
    const struct log_after *after = &a->p->log.after;
    if (last)
        buf_add_hex(&a->sql, a->joined.data + a->scanner.position, a->joined.length - a->scanner.position);
    buf_puts(&a->sql, "'::bytea");
    if (last && after->next_id && after->next_id < INT64_MAX)
        buf_printf(&a->sql, ", %llu, %zu, %s", (unsigned long long)after->next_id, after->id_width,
                   after->kept ? "true" : "false");
    buf_puts(&a->sql, ")");
}

static const struct pg_part commit = {.sql = "COMMIT", .ends = true};

static struct pg_part flush_part(struct log_postgres *p)
{
    p->log.appending = true;
    return (struct pg_part){
        .sql = "SELECT lineage.flush()", .name = "lineage_flush", .ends = true, .seconds = postgres_flush_seconds(p)};
}

/* Without a transaction, this call is a transaction of its own. */
static enum lineage_status send_last(struct appending *a, struct pg_result *result, struct lineage_error *err)
{
    const bool begun = a->p->claim == CLAIMED;
    const struct pg_part call = {.sql = a->sql.data, .ends = !begun}, flush = flush_part(a->p);
    const struct pg_part parts[] = {call, begun ? commit : flush, flush};
    const size_t n = begun ? 3 : 2;
    size_t done;
    enum lineage_status status = pg_run_parts(a->p->pg, result, a->seconds, parts, n, &done, err);
    a->committed = done >= n - 1;
    return status;
}

enum { TELL_SECONDS = 5 };

/* Tells from time to time how far a long append is. */
static void tell_progress(const struct appending *a, double *told)
{
    char text[160];
    const struct log *log = &a->p->log;
    if (clock_now() - *told < TELL_SECONDS || !log->tell)
        return;
    snprintf(text, sizeof text, "%zu of %zu MB are sent", a->scanner.position / 1000000, a->joined.length / 1000000);
    log->tell(log->context, text);
    *told = clock_now();
}

/* Sends each call separately, except the last, which is sent together with the commit and the flush. */
static enum lineage_status send_calls(struct appending *a, struct pg_result *result, struct lineage_error *err)
{
    bool more = true;
    double told = clock_now();
    while (more) {
        tell_progress(a, &told);
        buf_reset(&a->sql);
        more = next_call(a);
        end_call(a, !more);
        if (a->sql.failed)
            return store_no_memory(err);
        pg_clear(result);
        TRY(more ? pg_query(a->p->pg, result, a->seconds, a->sql.data, err) : send_last(a, result, err));
    }
    return LINEAGE_OK;
}

/* Called after the connection was lost during an append. The claim waits for a transaction that is still running. If
 * the request is not found then, it will never be added: a statement of the dead connection that the server reads later
 * is refused because of its position or its request number. If the server does not answer, the caller keeps the row and
 * asks later. */
static enum lineage_status find_out(struct log_postgres *p, struct log_state *state, struct lineage_error *err)
{
    struct lineage_error why;
    unsigned char request[sizeof p->log.request];
    memcpy(request, p->log.request, sizeof request);
    p->claim = NO_CLAIM;
    enum lineage_status status = postgres_claim(&p->log, state, &why);
    if (status != LINEAGE_OK)
        return LINEAGE_EAWAY; /* keeps the message of the failure that led here */
    bool found = p->log.found;
    if (!found)
        postgres_end(p, "ROLLBACK");
    memcpy(p->log.request, request, sizeof request);
    p->log.lost = !found;
    return found ? LINEAGE_OK : store_fail(err, LINEAGE_EAWAY, "%s: the connection was lost before the append", p->name.shown);
}

/* LN001: other writers appended first, so the assumed claim was wrong. LN002, and 23505 for a row without a claim: this
 * request was already added. A commit whose flush the server refused (somebody ended the statement) is looked up like a
 * commit whose answer was lost. */
static enum lineage_status judge(struct appending *a, enum lineage_status status, struct log_state *state,
                                 struct lineage_error *err)
{
    struct log_postgres *p = a->p;
    const char *sqlstate = pg_sqlstate(p->pg);
    if (status == LINEAGE_ENOMEM)
        return status;
    if (!pg_is_connected(p->pg) || a->committed || strcmp(sqlstate, "LN002") == 0 || strcmp(sqlstate, "23505") == 0)
        return find_out(p, state, err);
    p->log.lost = strcmp(sqlstate, "LN001") == 0; /* read now, because the next statement clears the SQLSTATE */
    if (p->claim == CLAIMED)
        postgres_end(p, "ROLLBACK");
    p->claim = NO_CLAIM;
    p->crowded = p->log.lost;
    return p->log.lost ? LINEAGE_EAWAY : status;
}

/* Reports an append that the server has acknowledged. `result` has the columns of a head. */
static void acknowledge(struct log *log, const struct log_state *state, const struct pg_result *result, const char *bytes,
                        size_t length)
{
    struct log_ack ack = {.identity = {state->identity[0], state->identity[1]}, .bytes = bytes, .length = length};
    if (!log->acknowledged || !length)
        return;
    memcpy(ack.request, log->request, sizeof ack.request);
    ack.seq = pg_int(result, 0, HEAD_SEQ);
    snprintf(ack.digest, sizeof ack.digest, "%s", pg_digits(result, 0, HEAD_DIGEST));
    log->acknowledged(log->context, &ack);
}

static size_t count_records(const struct buf *bytes)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    size_t n = 0;
    tsv_scanner_init(&scanner, bytes->data, bytes->length, 0, 1);
    while (tsv_scan(&scanner, &record))
        n++;
    return n;
}

enum lineage_status postgres_acknowledge_found(struct log *log, const struct log_state *state, struct lineage_error *err)
{
    struct log_ack ack = {.identity = {state->identity[0], state->identity[1]}};
    SCOPED_BUF bytes = {0};
    if (log->acknowledged)
        TRY(postgres_find(log, &bytes, err));
    if (bytes.length)
        TRY(postgres_locate(log, log->request, count_records(&bytes), &ack.seq, ack.digest, err));
    if (bytes.length) {
        memcpy(ack.request, log->request, sizeof ack.request);
        ack.bytes = bytes.data;
        ack.length = bytes.length;
        log->acknowledged(log->context, &ack);
    }
    return LINEAGE_OK;
}

enum lineage_status postgres_append(struct log *log, struct log_state *state, const char *bytes, size_t length, bool sync,
                                    struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct appending a = {.p = p, .seq = p->seq, .seconds = PG_PATIENCE + (double)length / 1e5};
    struct pg_result result = {0};
    enum lineage_status status = LINEAGE_OK;
    (void)sync; /* the head is free before the row is on the server's disk, so waiting delays nobody else */
    if (p->claim == CLAIMED && !pg_is_connected(p->pg)) {
        log->lost = true;
        return store_fail(err, LINEAGE_EAWAY, "%s is away: the connection was lost under the claim", p->name.shown);
    }
    buf_add(&a.joined, p->open_end.data, p->open_end.length);
    buf_add(&a.joined, bytes, length);
    tsv_scanner_init(&a.scanner, a.joined.data, a.joined.length, 0, 1);
    status = a.joined.failed ? store_no_memory(err) : send_calls(&a, &result, err);
    if (status == LINEAGE_OK)
        status = postgres_take_state(p, state, &result, err);
    if (status == LINEAGE_OK) {
        acknowledge(log, state, &result, a.joined.data, a.scanner.position);
        buf_add(&p->open_end, a.joined.data + a.scanner.position, a.joined.length - a.scanner.position);
        state->size += p->open_end.length;
        state->exists = true;
        p->claim = NO_CLAIM;
        p->mended = false;
    } else {
        status = judge(&a, status, state, err);
    }
    pg_clear(&result);
    buf_release(&a.joined);
    buf_release(&a.sql);
    return status;
}

static enum lineage_status send_next(struct appending *a, struct pg_result *result, const struct log_state *state, bool kept,
                                     struct lineage_error *err)
{
    static const char sql[] = "SELECT * FROM lineage.append_next($1, $2, $3, $4, $5)";
    char store[LOG_POSTGRES_STORE], known[LOG_POSTGRES_STORE];
    const char *const params[] = {store, known, a->joined.data, a->sql.data, kept ? "t" : "f"};
    const struct pg_part parts[] = {{.sql = sql, .name = "lineage_next", .n = 5, .params = params, .ends = true},
                                    flush_part(a->p)};
    size_t done;
    snprintf(store, sizeof store, "%lld", (long long)a->p->store);
    snprintf(known, sizeof known, "%llu", (unsigned long long)state->records);
    enum lineage_status status = pg_run_parts(a->p->pg, result, PG_PATIENCE, parts, 2, &done, err);
    a->committed = done >= 1;
    return status;
}

enum { NEXT_ID = HEAD_OPEN_ENDS + 1 }; /* the column after the columns of a head */

/* If other writers appended in between, the caller's *state is unchanged and the row's offset is unknown. */
static void take_next(struct log_postgres *p, struct log_state *state, const struct pg_result *result, const char *rest,
                      size_t length, char id[LOG_ID_MAX])
{
    SCOPED_BUF record = {0};
    snprintf(id, LOG_ID_MAX, "%s", pg_text(result, 0, NEXT_ID, NULL));
    buf_puts(&record, id);
    buf_add(&record, rest, length);
    if (!record.failed)
        acknowledge(&p->log, state, result, record.data, record.length);
    if ((uint64_t)pg_int(result, 0, HEAD_SEQ) == state->records + 1)
        (void)postgres_take_state(p, state, result, NULL);
}

/* State that was read through an earlier connection may be out of date (postgres_claim finds out). */
enum lineage_status postgres_append_next(struct log *log, struct log_state *state, const char *rest, size_t length, bool kept,
                                         char id[LOG_ID_MAX], struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct appending a = {.p = p};
    struct pg_result result = {0};
    log->found = false;
    log->lost = !pg_is_connected(p->pg) || state->session != pg_connections(p->pg) || !state->size;
    if (log->lost)
        return LINEAGE_EAWAY;
    pg_tell_waiting(p->pg, postgres_tell_waiting, p);
    buf_puts(&a.sql, "\\x");
    buf_add_hex(&a.sql, rest, length);
    buf_add_hex(&a.joined, log->request, sizeof log->request);
    enum lineage_status status =
        a.sql.failed || a.joined.failed ? store_no_memory(err) : send_next(&a, &result, state, kept, err);
    pg_tell_waiting(p->pg, NULL, NULL);
    log->lost = status == LINEAGE_OK && pg_is_null(&result, 0, HEAD_SEQ);
    if (log->lost)
        status = LINEAGE_EAWAY;
    else if (status == LINEAGE_OK)
        take_next(p, state, &result, rest, length, id);
    else
        status = judge(&a, status, state, err);
    pg_clear(&result);
    buf_release(&a.joined);
    buf_release(&a.sql);
    return status;
}
