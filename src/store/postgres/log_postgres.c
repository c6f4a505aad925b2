/*
 * log_postgres.c: the log as rows on a server, one for each record of results.tsv.
 *
 * The claim is the head row of the store, locked in a transaction, so that the order of the records is the order of the
 * commits. What the server ends (a client that stopped, a backend that was killed) ends the claim with it; the append that
 * follows is then refused and nothing is there.
 *
 * An append is one function call, and the commit goes with it in one message. When the connection breaks after it was sent,
 * nobody here knows whether it took place, so it is looked up by the request that the caller named before anything was sent:
 * under a claim of its own, which waits until a transaction that is still at work has ended one way or the other.
 *
 * A writer that appends row after row need not ask for the claim: the append says behind which record it belongs, and the
 * server refuses it if others came first (claim_unchanged).
 */
#include "log_postgres.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "../files/places.h"
#include "../files/torn.h"
#include "../format/tsv.h"
#include "pg.h"
#include "postgres_sql.h"
#include "server_name.h"

#define N_MIGRATIONS ((int)(sizeof schema_migrations / sizeof *schema_migrations))

enum claim { NO_CLAIM, ASSUMED, CLAIMED };

struct log_postgres {
    struct log log;
    int dir_fd; /* for what is moved aside */
    struct pg *pg;
    struct server_name name;
    int64_t store;   /* its number on the server; 0: not asked yet */
    int64_t seq;     /* of the last record that was looked at */
    uint64_t size;   /* bytes of the records, without the open end */
    struct buf open_end;
    struct buf newer; /* under a claim: the bytes from newer_from on that others added since the last look */
    uint64_t newer_from;
    bool has_newer;
    enum claim claim;
    bool mended;     /* under this claim, and not committed yet */
    unsigned listening; /* number of the connection that listens for rows; 0: none */
    struct log_state seen; /* by the last wait */
    bool crowded;    /* others appended since this handle did: assuming would cost more than asking */
};

static struct log_postgres *postgres_of(struct log *log)
{
    return (struct log_postgres *)log; /* its first member */
}

static enum lineage_status no_memory(struct lineage_error *err)
{
    return store_fail(err, LINEAGE_ENOMEM, "out of memory");
}

/* ---- bytes as hex ----------------------------------------------------------------------------------------------- */

static unsigned hex_digit(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

/* A bytea as the server prints it, \x and digits. */
static void add_bytes(struct buf *out, const char *text, size_t length)
{
    if (length < 2 || !buf_reserve(out, length / 2))
        return;
    for (size_t i = 2; i + 1 < length; i += 2)
        out->data[out->length++] = (char)(hex_digit(text[i]) << 4 | hex_digit(text[i + 1]));
    out->data[out->length] = '\0';
}

static void add_request(struct buf *out, const struct log *log)
{
    buf_puts(out, "'");
    buf_add_hex(out, log->request, sizeof log->request);
    buf_puts(out, "'::uuid");
}

/* ---- the store on the server ------------------------------------------------------------------------------------ */

/* What can be wrong before there is a store has its own words, for `lineage init` mends all of it. */
static enum lineage_status explain(struct log_postgres *p, enum lineage_status status, struct lineage_error *err)
{
    const char *state = pg_sqlstate(p->pg);
    if (status == LINEAGE_EIO && (strcmp(state, "42P01") == 0 || strcmp(state, "3F000") == 0))
        return store_fail(err, LINEAGE_ENOTFOUND, "%s: this database has no lineage; `lineage init %s` makes it",
                          p->name.shown, p->name.shown);
    return status;
}

static enum lineage_status check_version(struct log_postgres *p, int64_t version, struct lineage_error *err)
{
    if (version > N_MIGRATIONS)
        return store_fail(err, LINEAGE_EDB, "%s has schema version %lld, this program knows up to %d", p->name.shown,
                          (long long)version, N_MIGRATIONS);
    if (version < N_MIGRATIONS)
        return store_fail(err, LINEAGE_EDB, "%s has schema version %lld; its owner's `lineage init %s` brings it to %d",
                          p->name.shown, (long long)version, p->name.shown, N_MIGRATIONS);
    return LINEAGE_OK;
}

/* Once for a handle: the number of the store, and that the schema is the one that is known here. */
static enum lineage_status find_store(struct log_postgres *p, struct lineage_error *err)
{
    static const char sql[] = "SELECT (SELECT max(version) FROM lineage.version),"
                              " (SELECT id FROM lineage.store WHERE name = $1)";
    const char *const params[] = {p->name.store};
    struct pg_result result;
    if (p->store)
        return LINEAGE_OK;
    enum lineage_status status = explain(p, pg_run(p->pg, &result, PG_PATIENCE, sql, 1, params, err), err);
    if (status == LINEAGE_OK)
        status = check_version(p, pg_int(&result, 0, 0), err);
    if (status == LINEAGE_OK && pg_is_null(&result, 0, 1))
        status = store_fail(err, LINEAGE_ENOTFOUND, "%s: there is no store '%s'; `lineage init` makes it", p->name.shown,
                            p->name.store);
    if (status == LINEAGE_OK)
        p->store = pg_int(&result, 0, 1);
    pg_clear(&result);
    return status;
}

/*
 * The statement that `format` makes. Outside a claim a connection that broke since the last statement is made anew, once: a
 * server that was started again is there. Under one nothing can be asked again.
 */
static enum lineage_status ask(struct log_postgres *p, struct pg_result *result, struct lineage_error *err, const char *format,
                               ...) __attribute__((format(printf, 4, 5)));

static enum lineage_status ask(struct log_postgres *p, struct pg_result *result, struct lineage_error *err, const char *format,
                               ...)
{
    char sql[512];
    bool was_connected = pg_is_connected(p->pg);
    va_list args;
    va_start(args, format);
    vsnprintf(sql, sizeof sql, format, args);
    va_end(args);
    *result = (struct pg_result){0};
    if (p->claim == CLAIMED && !was_connected)
        return store_fail(err, LINEAGE_EAWAY, "%s is away: the connection was lost under the claim", p->name.shown);
    enum lineage_status status = pg_query(p->pg, result, PG_PATIENCE, sql, err);
    if (status == LINEAGE_EAWAY && was_connected && p->claim != CLAIMED)
        status = pg_query(p->pg, result, PG_PATIENCE, sql, err);
    return explain(p, status, err);
}

/* ---- state ------------------------------------------------------------------------------------------------------ */

/* seq, size, digest, open_end, open_ends, uuid: the columns of every statement that tells a state. */
#define HEAD "s.seq, s.size, s.digest, s.open_end, s.open_ends"
enum { SEQ, SIZE, DIGEST, OPEN_END, OPEN_ENDS, UUID };

/* Eight bytes of hexadecimal digits, dashes passed over. */
static uint64_t number_of(const char **digits)
{
    uint64_t n = 0;
    for (int i = 0; i < 16 && **digits; ++*digits)
        if (**digits != '-') {
            n = n << 4 | hex_digit(**digits);
            i++;
        }
    return n;
}

/*
 * The digest of the last record stands for everything before it: a log that was set back, by a restored copy for example,
 * has another one at the same length. 64 bits of it are enough to be the same or not.
 */
static void take_state(struct log_postgres *p, struct log_state *state, const struct pg_result *result)
{
    size_t length;
    const char *open_end = pg_text(result, 0, OPEN_END, &length), *digest = pg_text(result, 0, DIGEST, NULL) + 2;
    const uint64_t identity[2] = {state->identity[0], state->identity[1]};
    p->seq = pg_int(result, 0, SEQ);
    p->size = (uint64_t)pg_int(result, 0, SIZE);
    buf_reset(&p->open_end);
    add_bytes(&p->open_end, open_end, length);
    *state = (struct log_state){.size = p->size + p->open_end.length,
                                .identity = {identity[0], identity[1]},
                                .revision = (int64_t)(number_of(&digest) + (uint64_t)pg_int(result, 0, OPEN_ENDS))};
    state->exists = state->size > 0;
}

static void take_identity(struct log_state *state, const char *uuid)
{
    state->identity[0] = number_of(&uuid);
    state->identity[1] = number_of(&uuid);
}

static enum lineage_status postgres_look(struct log *log, struct log_state *state, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct pg_result result = {0};
    *state = (struct log_state){0};
    enum lineage_status status = find_store(p, err);
    if (status == LINEAGE_OK)
        status = ask(p, &result, err, "SELECT " HEAD ", s.uuid FROM lineage.store s WHERE s.id = %lld", (long long)p->store);
    if (status == LINEAGE_OK && !pg_rows(&result))
        status = store_fail(err, LINEAGE_ENOTFOUND, "%s: the store is gone", p->name.shown);
    if (status == LINEAGE_OK) {
        take_identity(state, pg_text(&result, 0, UUID, NULL));
        take_state(p, state, &result);
    }
    pg_clear(&result);
    return status;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

enum { READ_AT_ONCE = 8 << 20 }; /* bytes: an answer is in memory twice, once of it as hexadecimal digits */

/* Of the records in the answer what lies in [from, to). */
static bool take_records(const struct pg_result *result, uint64_t from, uint64_t to, struct buf *out, struct buf *record)
{
    for (size_t i = 0; i < pg_rows(result); i++) {
        size_t length;
        const char *text = pg_text(result, i, 1, &length);
        uint64_t at = (uint64_t)pg_int(result, i, 0);
        buf_reset(record);
        add_bytes(record, text, length);
        uint64_t first = at < from ? from - at : 0, last = at + record->length > to ? to - at : record->length;
        if (first < last)
            buf_add(out, record->data + first, (size_t)(last - first));
    }
    return !out->failed && !record->failed;
}

/* In one statement, so that records and open end are of one moment. */
static enum lineage_status read_piece(struct log_postgres *p, uint64_t from, uint64_t to, struct buf *out, struct buf *record,
                                      struct lineage_error *err)
{
    struct pg_result result;
    long long store = (long long)p->store, first = (long long)from, last = (long long)to;
    enum lineage_status status =
        ask(p, &result, err,
            "SELECT position, bytes FROM lineage.record WHERE store = %lld AND position < %lld AND position >= coalesce("
            "(SELECT max(position) FROM lineage.record WHERE store = %lld AND position <= %lld), 0)"
            " UNION ALL SELECT size, open_end FROM lineage.store WHERE id = %lld AND size < %lld ORDER BY 1",
            store, last, store, first, store, last);
    if (status == LINEAGE_OK && !take_records(&result, from, to, out, record))
        status = no_memory(err);
    pg_clear(&result);
    return status;
}

static enum lineage_status postgres_read(struct log *log, uint64_t from, size_t length, struct buf *out,
                                         struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct buf record = {0};
    uint64_t to = from > INT64_MAX - length ? INT64_MAX : from + length;
    if (p->claim == CLAIMED && p->has_newer && from >= p->newer_from && to <= p->size) {
        buf_add(out, p->newer.data + (from - p->newer_from), length);
        return out->failed ? no_memory(err) : LINEAGE_OK;
    }
    enum lineage_status status = find_store(p, err);
    bool more = true;
    while (status == LINEAGE_OK && from < to && more) {
        uint64_t end = to - from > READ_AT_ONCE ? from + READ_AT_ONCE : to;
        size_t before = out->length;
        status = read_piece(p, from, end, out, &record, err);
        more = out->length - before == end - from; /* else the log ends */
        from = end;
    }
    buf_release(&record);
    return status;
}

/* ---- the claim -------------------------------------------------------------------------------------------------- */

static void tell_waiting(void *context)
{
    struct log_postgres *p = context;
    char text[600];
    snprintf(text, sizeof text, "waiting for the claim of %s", p->name.shown);
    if (p->log.tell)
        p->log.tell(p->log.context, text);
}

static void end_transaction(struct log_postgres *p, const char *how)
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
        memset(log->request, 0, sizeof log->request); /* the server then makes none of it unique: it cannot fail on Linux */
}

/* The lock may be waited for longer than a lost connection takes to be noticed, so a broken one is tried again here too. */
static enum lineage_status take_claim(struct log_postgres *p, struct pg_result *result, struct lineage_error *err)
{
    struct buf sql = {0};
    bool was_connected = pg_is_connected(p->pg);
    buf_printf(&sql, "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT " HEAD ", t.uuid, s.there, s.newer FROM lineage.store t, lineage.claim(%lld, ", (long long)p->store);
    add_request(&sql, &p->log);
    buf_printf(&sql, ", %lld) s WHERE t.id = %lld", (long long)p->seq, (long long)p->store);
    pg_tell_waiting(p->pg, tell_waiting, p);
    enum lineage_status status = sql.failed ? no_memory(err) : pg_query(p->pg, result, PG_PATIENCE, sql.data, err);
    if (status == LINEAGE_EAWAY && was_connected && !pg_is_connected(p->pg))
        status = pg_query(p->pg, result, PG_PATIENCE, sql.data, err);
    pg_tell_waiting(p->pg, NULL, NULL);
    buf_release(&sql);
    if (status != LINEAGE_OK)
        end_transaction(p, "ROLLBACK");
    return explain(p, status, err);
}

enum { FOUND = UUID + 1, NEWER };

/* Before the state is taken, which tells from where on. */
static void take_newer(struct log_postgres *p, const struct pg_result *result)
{
    size_t length;
    const char *text = pg_text(result, 0, NEWER, &length);
    buf_reset(&p->newer);
    p->newer_from = p->size;
    p->has_newer = !pg_is_null(result, 0, NEWER);
    add_bytes(&p->newer, text, length);
}

static enum lineage_status postgres_claim(struct log *log, struct log_state *state, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct pg_result result = {0};
    make_request(log);
    log->found = log->lost = false;
    enum lineage_status status = find_store(p, err);
    if (status == LINEAGE_OK)
        status = take_claim(p, &result, err);
    if (status == LINEAGE_OK) {
        p->crowded = p->crowded && p->seq != pg_int(&result, 0, SEQ);
        take_identity(state, pg_text(&result, 0, UUID, NULL));
        take_newer(p, &result);
        take_state(p, state, &result);
        p->has_newer = p->has_newer && !p->newer.failed && p->newer_from + p->newer.length == p->size;
        log->only_grew = p->has_newer && !p->open_end.length;
        log->found = pg_int(&result, 0, FOUND) > 0;
        p->claim = CLAIMED;
    }
    pg_clear(&result);
    return status;
}

/* Not asked: the append says what it was to follow, and is refused if others were faster. */
static bool postgres_claim_unchanged(struct log *log, struct log_state *state)
{
    struct log_postgres *p = postgres_of(log);
    if (p->crowded || !log->may_assume || !state->size || p->open_end.length || state->size != p->size ||
        !pg_is_connected(p->pg))
        return false;
    make_request(log);
    log->found = log->lost = false;
    p->claim = ASSUMED;
    return true;
}

/* What was mended stays mended, whatever became of the append. */
static void postgres_release(struct log *log)
{
    struct log_postgres *p = postgres_of(log);
    if (p->claim == CLAIMED)
        end_transaction(p, p->mended ? "COMMIT" : "ROLLBACK");
    p->claim = NO_CLAIM;
    memset(log->request, 0, sizeof log->request);
}

/* ---- appending -------------------------------------------------------------------------------------------------- */

enum { BATCH_BYTES = 1 << 20 };

/* Records of an append on their way into calls of lineage.append. */
struct appending {
    struct log_postgres *p;
    struct buf joined; /* the open end and what is added */
    struct tsv_scanner scanner;
    int64_t seq, part;
    struct buf sql;
    double seconds; /* what the server may take */
};

/* A CR at the very end is perhaps half of CR LF, and then the record has not ended. */
static bool next_whole(struct appending *a, struct tsv_record *record)
{
    size_t at = a->scanner.position;
    if (tsv_scan(&a->scanner, record) && record->terminated &&
        !(a->scanner.position == a->scanner.length && record->bytes[record->length - 1] == '\r'))
        return true;
    a->scanner.position = at;
    return false;
}

/* One call with as many records as make a message of a size that the server takes at once; false when they are all. The
 * first one takes at least the open end; where no transaction was begun, one call is all. */
static bool next_call(struct appending *a)
{
    struct tsv_record record;
    size_t taken = 0, n = 0, limit = a->p->claim == ASSUMED ? SIZE_MAX : BATCH_BYTES + a->p->open_end.length;
    int64_t after = a->seq, part = a->part;
    buf_printf(&a->sql, "SELECT seq, size, digest, '\\x'::bytea, open_ends FROM lineage.append(%lld, %lld, ",
               (long long)a->p->store, (long long)after);
    add_request(&a->sql, &a->p->log);
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

/* The open end goes with each call as what is left: the rest of the bytes if no record is, else what was not sent yet. */
static void end_call(struct appending *a, bool last)
{
    if (last)
        buf_add_hex(&a->sql, a->joined.data + a->scanner.position, a->joined.length - a->scanner.position);
    buf_puts(&a->sql, "'::bytea)");
}

/* All calls but the last one by themselves; the last with its commit in one message. */
static enum lineage_status send_calls(struct appending *a, struct pg_result *result, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    bool more = true;
    while (status == LINEAGE_OK && more) {
        buf_reset(&a->sql);
        more = next_call(a);
        end_call(a, !more);
        if (!more && a->p->claim == CLAIMED)
            buf_puts(&a->sql, "; COMMIT");
        if (a->sql.failed)
            return no_memory(err);
        pg_clear(result);
        status = pg_query(a->p->pg, result, a->seconds, a->sql.data, err);
    }
    return status;
}

/*
 * After the connection was lost on the way. The claim waits for a transaction that is still at work; what it does not find
 * then is not there and will not come, for the statement of a dead connection that the server reads only now is refused by
 * the place it names, or by its request. Without an answer the caller keeps the row, and asks another time.
 */
static enum lineage_status find_out(struct log_postgres *p, struct log_state *state, struct lineage_error *err)
{
    struct lineage_error why;
    unsigned char request[sizeof p->log.request];
    memcpy(request, p->log.request, sizeof request);
    p->claim = NO_CLAIM;
    enum lineage_status status = postgres_claim(&p->log, state, &why);
    if (status != LINEAGE_OK)
        return LINEAGE_EAWAY; /* with the text of the failure that led here */
    bool found = p->log.found;
    end_transaction(p, "ROLLBACK");
    memcpy(p->log.request, request, sizeof request);
    p->log.lost = !found;
    return found ? LINEAGE_OK : store_fail(err, LINEAGE_EAWAY, "%s: the connection was lost before the append", p->name.shown);
}

/* LN001: others were faster than an assumed claim. LN002: this very request came through before. */
static enum lineage_status judge(struct log_postgres *p, enum lineage_status status, struct log_state *state,
                                 struct lineage_error *err)
{
    const char *sqlstate = pg_sqlstate(p->pg);
    if (status == LINEAGE_OK || status == LINEAGE_ENOMEM)
        return status;
    if (!pg_is_connected(p->pg) || strcmp(sqlstate, "LN002") == 0)
        return find_out(p, state, err);
    if (p->claim == CLAIMED)
        end_transaction(p, "ROLLBACK");
    p->claim = NO_CLAIM;
    p->log.lost = strcmp(sqlstate, "LN001") == 0;
    p->crowded = p->log.lost;
    return p->log.lost ? LINEAGE_EAWAY : status;
}

static enum lineage_status postgres_append(struct log *log, struct log_state *state, const char *bytes, size_t length,
                                           bool sync, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct appending a = {.p = p, .seq = p->seq, .seconds = PG_PATIENCE + (double)length / 1e5};
    struct pg_result result = {0};
    enum lineage_status status = LINEAGE_OK;
    (void)sync; /* a commit is on the server's disk */
    if (p->claim == CLAIMED && !pg_is_connected(p->pg)) {
        log->lost = true;
        return store_fail(err, LINEAGE_EAWAY, "%s is away: the connection was lost under the claim", p->name.shown);
    }
    buf_add(&a.joined, p->open_end.data, p->open_end.length);
    buf_add(&a.joined, bytes, length);
    tsv_scanner_init(&a.scanner, a.joined.data, a.joined.length, 0, 1);
    status = a.joined.failed ? no_memory(err) : send_calls(&a, &result, err);
    if (status == LINEAGE_OK) {
        take_state(p, state, &result);
        buf_add(&p->open_end, a.joined.data + a.scanner.position, a.joined.length - a.scanner.position);
        state->size += p->open_end.length;
        state->exists = true;
        p->claim = NO_CLAIM;
        p->mended = false;
    } else {
        status = judge(p, status, state, err);
    }
    pg_clear(&result);
    buf_release(&a.joined);
    buf_release(&a.sql);
    return status;
}

/* A transaction is all or nothing whatever is in it. */
static enum lineage_status postgres_append_many(struct log *log, struct log_state *state, const char *bytes, size_t length,
                                                bool sync, struct lineage_error *err)
{
    return postgres_append(log, state, bytes, length, sync, err);
}

/* ---- mending ---------------------------------------------------------------------------------------------------- */

/* Only an open end is ever mended: what is a record on the server has ended. The server keeps the bytes too. */
static enum lineage_status mend(struct log_postgres *p, struct log_state *state, uint64_t from, uint64_t to,
                                struct lineage_error *err)
{
    struct pg_result result;
    enum lineage_status status =
        ask(p, &result, err, "SELECT seq, size, digest, open_end, open_ends FROM lineage.mend(%lld, %lld, %llu)",
            (long long)p->store, (long long)p->seq, (unsigned long long)(to - from));
    if (status == LINEAGE_OK) {
        take_state(p, state, &result);
        p->mended = true;
    }
    pg_clear(&result);
    return status;
}

static enum lineage_status postgres_blank(struct log *log, struct log_state *state, uint64_t from, uint64_t to, char name[64],
                                          struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    if (p->claim != CLAIMED || from != p->size || to > state->size)
        return store_fail(err, LINEAGE_EIO, "%s: a record that does not end is not the last one", p->name.shown);
    enum lineage_status status = torn_save(p->dir_fd, log->place, p->open_end.data, (size_t)(to - from), name, err);
    return status == LINEAGE_OK ? mend(p, state, from, to, err) : status;
}

static enum lineage_status postgres_set_aside(struct log *log, struct log_state *state, uint64_t from, char name[64],
                                              struct lineage_error *err)
{
    return postgres_blank(log, state, from, state->size, name, err);
}

/* Nothing is ever taken back: a transaction that did not end was never seen. */
static enum lineage_status postgres_settle(struct log *log, struct lineage_error *err)
{
    (void)log;
    (void)err;
    return LINEAGE_OK;
}

static enum lineage_status postgres_find(struct log *log, struct buf *bytes, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct pg_result result = {0};
    struct buf sql = {0};
    buf_puts(&sql, "SELECT r.bytes FROM lineage.record f JOIN lineage.record r ON r.store = f.store AND r.request = f.request"
                   " AND r.seq >= f.seq WHERE f.part = 0 AND f.request = ");
    add_request(&sql, log);
    buf_puts(&sql, " ORDER BY r.seq");
    enum lineage_status status = sql.failed ? no_memory(err) : pg_query(p->pg, &result, PG_PATIENCE, sql.data, err);
    for (size_t i = 0; status == LINEAGE_OK && i < pg_rows(&result); i++) {
        size_t length;
        const char *text = pg_text(&result, i, 0, &length);
        add_bytes(bytes, text, length);
    }
    if (status == LINEAGE_OK && bytes->failed)
        status = no_memory(err);
    pg_clear(&result);
    buf_release(&sql);
    return status;
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

enum { LOOK_MS = 30000 }; /* a server that is gone without a word is noticed by asking it */

/* Before the first look, so that a row which comes in between is told. A new connection begins anew. */
static enum lineage_status listen_for_rows(struct log_postgres *p, bool *fresh, struct lineage_error *err)
{
    struct pg_result result = {0};
    enum lineage_status status = find_store(p, err);
    if (status == LINEAGE_OK)
        status = pg_connect(p->pg, NULL, err);
    *fresh = status == LINEAGE_OK && p->listening != pg_connections(p->pg);
    if (!*fresh)
        return status;
    status = ask(p, &result, err, "LISTEN lineage_%lld", (long long)p->store);
    pg_clear(&result);
    if (status == LINEAGE_OK)
        p->listening = pg_connections(p->pg);
    return status;
}

static enum lineage_status look_for_news(struct log_postgres *p, bool *news, struct lineage_error *err)
{
    struct log_state now;
    enum lineage_status status = postgres_look(&p->log, &now, err);
    if (status != LINEAGE_OK)
        return status;
    *news = now.size != p->seen.size || now.revision != p->seen.revision || !log_is_same(&now, &p->seen);
    p->seen = now;
    return LINEAGE_OK;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A NOTIFY only says that it is worth a look: it may be of a transaction that was looked at already, and two of them one. */
static enum lineage_status postgres_wait(struct log *log, int milliseconds, bool *news, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    const int64_t until = now_ms() + milliseconds;
    const bool first = !p->listening;
    bool look = false, again = false;
    for (;;) {
        bool fresh;
        enum lineage_status status = listen_for_rows(p, &fresh, err);
        look = pg_take_notifies(p->pg) || look || fresh;
        if (status == LINEAGE_OK && look)
            status = look_for_news(p, news, err);
        *news = *news || (first && status == LINEAGE_OK);
        int64_t left = milliseconds < 0 ? LOOK_MS : until - now_ms();
        if (status != LINEAGE_OK || *news)
            return status;
        if (!pg_is_connected(p->pg) && !again) { /* that was the server saying goodbye: it may be back */
            again = true;
            continue;
        }
        if (left <= 0)
            return LINEAGE_OK;
        again = false;
        struct pollfd fd = {pg_socket(p->pg), POLLIN, 0};
        look = poll(&fd, 1, left < LOOK_MS ? (int)left : LOOK_MS) == 0 && left >= LOOK_MS;
    }
}

/* ---- digests ---------------------------------------------------------------------------------------------------- */

/* The records from the chain on, beside the digests that the server made when they came. */
struct comparing {
    struct log_digests *digests;
    struct digest_chain chain;
    uint64_t line;
    struct buf record;
};

static void say_broken(struct comparing *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say_broken(struct comparing *c, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    c->digests->is_broken = true;
    if (c->digests->broken)
        c->digests->broken(c->digests->context, c->line, text);
}

/* Behind a record that was changed the digests go on from what was kept, so that each change is found by itself. */
static void compare_record(struct comparing *c, const struct pg_result *result, size_t row)
{
    size_t length;
    const char *text = pg_text(result, row, 1, &length);
    const uint64_t position = (uint64_t)pg_int(result, row, 0);
    unsigned char kept[DIGEST_BYTES] = {0};
    buf_reset(&c->record);
    add_bytes(&c->record, text, length);
    const struct tsv_record record = {.bytes = c->record.data, .length = c->record.length};
    const bool follows = position == c->chain.position;
    digest_chain_add(&c->chain, &record);
    c->chain.position = position + record.length;
    if (!digest_read(kept, pg_text(result, row, 2, NULL) + 2) || !follows || memcmp(kept, c->chain.digest, DIGEST_BYTES) != 0) {
        say_broken(c, "record %llu (bytes %llu to %llu): not the bytes that its digest on the server was made of",
                   (unsigned long long)c->chain.records, (unsigned long long)position, (unsigned long long)c->chain.position);
        memcpy(c->chain.digest, kept, DIGEST_BYTES);
    }
    c->digests->known_found = c->digests->known_found ||
                              (c->digests->known && memcmp(c->chain.digest, c->digests->known, DIGEST_BYTES) == 0);
    for (size_t i = 0; i < record.length; i++)
        c->line += record.bytes[i] == '\n';
}

static enum lineage_status postgres_check_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct comparing c = {.digests = digests, .line = 1};
    struct log_state state;
    struct pg_result result = {0};
    enum lineage_status status = postgres_look(log, &state, err);
    const uint64_t records = (uint64_t)p->seq, size = p->size;
    digests->known_found = digests->known && memcmp(c.chain.digest, digests->known, DIGEST_BYTES) == 0;
    bool more = true;
    while (status == LINEAGE_OK && c.chain.position < size && more) {
        status = ask(p, &result, err,
                     "SELECT position, bytes, digest FROM lineage.record WHERE store = %lld AND position >= %llu"
                     " AND position < %llu ORDER BY seq",
                     (long long)p->store, (unsigned long long)c.chain.position,
                     (unsigned long long)c.chain.position + READ_AT_ONCE);
        more = status == LINEAGE_OK && pg_rows(&result);
        for (size_t i = 0; more && i < pg_rows(&result); i++)
            compare_record(&c, &result, i);
        pg_clear(&result);
        if (c.record.failed)
            status = no_memory(err);
    }
    if (status == LINEAGE_OK && c.chain.position < size)
        say_broken(&c, "the store has %llu records in %llu bytes, of which those behind byte %llu are gone",
                   (unsigned long long)records, (unsigned long long)size, (unsigned long long)c.chain.position);
    buf_release(&c.record);
    digests->are_kept = true;
    digests->kept = c.chain.records;
    digests->head = c.chain;
    return status;
}

/* The server writes a digest once, with its record. */
static enum lineage_status postgres_rebuild_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    (void)digests;
    return store_fail(err, LINEAGE_EINVAL, "%s: digests on a server are made with their records, and never again", log->place);
}

static void postgres_close(struct log *log)
{
    struct log_postgres *p = postgres_of(log);
    pg_close(p->pg);
    server_name_release(&p->name);
    buf_release(&p->open_end);
    buf_release(&p->newer);
    free(p);
}

static const struct log_kind kind = {.look = postgres_look,
                                     .read = postgres_read,
                                     .claim = postgres_claim,
                                     .claim_unchanged = postgres_claim_unchanged,
                                     .append = postgres_append,
                                     .append_many = postgres_append_many,
                                     .set_aside = postgres_set_aside,
                                     .blank = postgres_blank,
                                     .settle = postgres_settle,
                                     .find = postgres_find,
                                     .check_digests = postgres_check_digests,
                                     .rebuild_digests = postgres_rebuild_digests,
                                     .wait = postgres_wait,
                                     .release = postgres_release,
                                     .close = postgres_close};

enum lineage_status log_postgres_open(struct log **log, int dir_fd, const char *name, struct lineage_error *err)
{
    struct log_postgres *p = calloc(1, sizeof *p);
    *log = NULL;
    if (!p)
        return no_memory(err);
    p->log.kind = &kind;
    p->dir_fd = dir_fd;
    enum lineage_status status = server_name_parse(&p->name, name, err);
    if (status == LINEAGE_OK)
        status = pg_open(&p->pg, p->name.uri, p->name.shown, err);
    p->log.name = PLACE_RESULTS;
    p->log.place = p->name.shown;
    if (status == LINEAGE_OK)
        *log = &p->log;
    else
        postgres_close(&p->log);
    return status;
}

struct pg *log_postgres_pg(struct log *log)
{
    return log->kind == &kind ? postgres_of(log)->pg : NULL;
}

enum lineage_status log_postgres_store(struct log *log, char number[LOG_POSTGRES_STORE], struct lineage_error *err)
{
    struct log_state state;
    enum lineage_status status = postgres_of(log)->store ? LINEAGE_OK : log_look(log, &state, err);
    snprintf(number, LOG_POSTGRES_STORE, "%" PRId64, postgres_of(log)->store);
    return status;
}

/* ---- settings --------------------------------------------------------------------------------------------------- */

enum lineage_status log_postgres_settings(struct log *log, struct buf *out, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct pg_result result = {0};
    enum lineage_status status = find_store(p, err);
    if (status == LINEAGE_OK)
        status = ask(p, &result, err, "SELECT settings FROM lineage.store WHERE id = %lld", (long long)p->store);
    if (status == LINEAGE_OK && pg_rows(&result))
        buf_puts(out, pg_text(&result, 0, 0, NULL));
    pg_clear(&result);
    return status == LINEAGE_OK && out->failed ? no_memory(err) : status;
}

enum lineage_status log_postgres_set_settings(struct log *log, const char *before, const char *after, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct pg_result result = {0};
    char store[32];
    const char *const params[] = {store, before, after};
    enum lineage_status status = find_store(p, err);
    snprintf(store, sizeof store, "%lld", (long long)p->store);
    if (status == LINEAGE_OK)
        status = pg_run(p->pg, &result, PG_PATIENCE, "SELECT lineage.set_settings($1, $2, $3)", 3, params, err);
    if (status == LINEAGE_OK && strcmp(pg_text(&result, 0, 0, NULL), "t") != 0)
        status = store_fail(err, LINEAGE_EEXIST, "%s: its settings have just been changed by somebody else", p->name.shown);
    pg_clear(&result);
    return status;
}

/* ---- making it -------------------------------------------------------------------------------------------------- */

/* -1 where there is no schema yet. */
static enum lineage_status read_version(struct pg *pg, int *version, struct lineage_error *err)
{
    struct pg_result result = {0};
    *version = 0;
    enum lineage_status status = pg_query(pg, &result, PG_PATIENCE, "SELECT to_regclass('lineage.version') IS NOT NULL", err);
    bool there = status == LINEAGE_OK && strcmp(pg_text(&result, 0, 0, NULL), "t") == 0;
    pg_clear(&result);
    if (there)
        status = pg_query(pg, &result, PG_PATIENCE, "SELECT coalesce(max(version), 0) FROM lineage.version", err);
    if (there && status == LINEAGE_OK)
        *version = (int)pg_int(&result, 0, 0);
    pg_clear(&result);
    return status;
}

/* All that are missing in one transaction; two inits at once go one after the other. */
static enum lineage_status migrate(struct pg *pg, struct lineage_error *err)
{
    int version = 0;
    struct buf sql = {0};
    enum lineage_status status =
        pg_query(pg, NULL, PG_PATIENCE, "BEGIN; SELECT pg_advisory_xact_lock(hashtext('lineage'))", err);
    if (status == LINEAGE_OK)
        status = read_version(pg, &version, err);
    for (int i = version; status == LINEAGE_OK && i < N_MIGRATIONS; i++) {
        buf_reset(&sql);
        buf_puts(&sql, schema_migrations[i]);
        buf_printf(&sql, "\nINSERT INTO lineage.version (version) VALUES (%d)", i + 1);
        status = sql.failed ? no_memory(err) : pg_query(pg, NULL, PG_PATIENCE, sql.data, err);
    }
    if (status == LINEAGE_OK)
        status = pg_query(pg, NULL, PG_PATIENCE, schema_grants, err);
    if (status == LINEAGE_OK)
        status = pg_query(pg, NULL, PG_PATIENCE, "COMMIT", err);
    else if (pg_is_connected(pg))
        pg_query(pg, NULL, PG_PATIENCE, "ROLLBACK", NULL);
    buf_release(&sql);
    return status;
}

/* Who does not own the schema can neither bring it up to date nor make a store in it, and may be told what is there. */
static enum lineage_status make_schema(struct pg *pg, struct lineage_error *err)
{
    struct pg_result result = {0};
    int version = 0;
    bool owner = true;
    enum lineage_status status = read_version(pg, &version, err);
    if (status == LINEAGE_OK && version)
        status = pg_query(pg, &result, PG_PATIENCE,
                          "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'lineage'", err);
    if (status == LINEAGE_OK && version)
        owner = strcmp(pg_text(&result, 0, 0, NULL), "t") == 0;
    pg_clear(&result);
    return status == LINEAGE_OK && owner ? migrate(pg, err) : status;
}

static enum lineage_status make_store(struct pg *pg, const struct server_name *name, const char *settings, char **there,
                                      struct lineage_error *err)
{
    const char *const params[] = {name->store, settings};
    struct pg_result result = {0};
    enum lineage_status status = pg_run(pg, &result, PG_PATIENCE, "SELECT settings FROM lineage.store WHERE name = $1", 1, params, err);
    if (status == LINEAGE_OK && !pg_rows(&result)) {
        pg_clear(&result);
        status = pg_run(pg, &result, PG_PATIENCE,
                        "WITH made AS (INSERT INTO lineage.store (name, settings) VALUES ($1, $2) ON CONFLICT DO NOTHING"
                        " RETURNING settings) SELECT settings FROM made UNION ALL"
                        " SELECT settings FROM lineage.store WHERE name = $1 LIMIT 1",
                        2, params, err);
    }
    if (status == LINEAGE_OK && (!pg_rows(&result) || !(*there = strdup(pg_text(&result, 0, 0, NULL)))))
        status = no_memory(err);
    pg_clear(&result);
    return status;
}

enum lineage_status log_postgres_create(const char *text, const char *settings, char **there, struct lineage_error *err)
{
    struct server_name name;
    struct pg *pg = NULL;
    *there = NULL;
    enum lineage_status status = server_name_parse(&name, text, err);
    if (status == LINEAGE_OK)
        status = pg_open(&pg, name.uri, name.shown, err);
    if (status == LINEAGE_OK)
        status = make_schema(pg, err);
    if (status == LINEAGE_OK)
        status = make_store(pg, &name, settings, there, err);
    pg_close(pg);
    server_name_release(&name);
    return status;
}
