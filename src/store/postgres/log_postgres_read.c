/* log_postgres_read.c: reads the records in a range of the log, or of a request, as bytes. */
#include "log_postgres_parts.h"

#include <poll.h>
#include <stdarg.h>

#include "../clock.h"
#include "../log/digest_chain.h"

/* State of the comparison of records with the digests that the server computed when they were added, from the end of the verified chain on. */
struct comparing {
    struct log_digests *digests;
    struct digest_chain chain;
    uint64_t line;
    struct buf record;
};

static void __attribute__((format(printf, 2, 3))) say_broken(struct comparing *c, const char *format, ...)
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

/* After a changed record, digests continue from the stored one, so that each change is found separately. */
static void compare_record(struct comparing *c, const struct pg_result *result, size_t row)
{
    size_t length;
    const char *text = pg_text(result, row, 1, &length);
    const uint64_t position = (uint64_t)pg_int(result, row, 0);
    unsigned char kept[DIGEST_BYTES] = {0};
    buf_reset(&c->record);
    postgres_add_bytes(&c->record, text, length);
    const struct tsv_record record = {.bytes = c->record.data, .length = c->record.length};
    const bool follows = position == c->chain.position;
    digest_chain_add(&c->chain, &record);
    c->chain.position = position + record.length;
    if (!digest_read(kept, pg_digits(result, row, 2)) || !follows || memcmp(kept, c->chain.digest, DIGEST_BYTES) != 0) {
        say_broken(c,
                   "record %llu (bytes %llu to %llu): not the bytes that its digest on the server "
                   "was made of",
                   (unsigned long long)c->chain.records, (unsigned long long)position, (unsigned long long)c->chain.position);
        memcpy(c->chain.digest, kept, DIGEST_BYTES);
    }
    if (c->digests->passed)
        c->digests->passed(c->digests->context, &c->chain);
    for (size_t i = 0; i < record.length; i++)
        c->line += record.bytes[i] == '\n';
}

enum lineage_status postgres_check_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct comparing c = {.digests = digests, .line = 1};
    struct log_state state;
    struct pg_result result = {0};
    enum lineage_status status = postgres_look(log, &state, err);
    const uint64_t records = (uint64_t)p->seq, size = p->size;
    if (digests->passed)
        digests->passed(digests->context, &c.chain);
    bool more = true;
    while (status == LINEAGE_OK && c.chain.position < size && more) {
        status = postgres_ask(p, &result, err,
                              "SELECT position, bytes, digest FROM lineage.record WHERE store = "
                              "%lld AND position >= %llu"
                              " AND position < %llu ORDER BY seq",
                              (long long)p->store, (unsigned long long)c.chain.position,
                              (unsigned long long)c.chain.position + POSTGRES_READ_AT_ONCE);
        more = status == LINEAGE_OK && pg_rows(&result);
        for (size_t i = 0; more && i < pg_rows(&result); i++)
            compare_record(&c, &result, i);
        pg_clear(&result);
        if (c.record.failed)
            status = store_no_memory(err);
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

/* Always fails, because the server writes a digest only once, together with its record. */
enum lineage_status postgres_rebuild_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    (void)digests;
    return store_fail(err, LINEAGE_EINVAL, "%s: digests on a server are made with their records, and never again", log->place);
}

enum { LOOK_MS = 30000 }; /* only a query shows that a server disappeared silently */

/* Listens before the first look, so that a row that is added in between is noticed. A new connection must listen
 * again. */
static enum lineage_status listen_for_rows(struct log_postgres *p, bool *fresh, struct lineage_error *err)
{
    struct pg_result result = {0};
    enum lineage_status status = postgres_find_store(p, err);
    if (status == LINEAGE_OK)
        status = pg_connect(p->pg, NULL, err);
    *fresh = status == LINEAGE_OK && p->listening != pg_connections(p->pg);
    if (!*fresh)
        return status;
    status = postgres_ask(p, &result, err, "LISTEN lineage_%lld", (long long)p->store);
    pg_clear(&result);
    if (status == LINEAGE_OK)
        p->listening = pg_connections(p->pg);
    return status;
}

static enum lineage_status look_for_news(struct log_postgres *p, bool *news, struct lineage_error *err)
{
    struct log_state now;
    TRY(postgres_look(&p->log, &now, err));
    *news = now.size != p->seen.size || now.revision != p->seen.revision || !log_is_same(&now, &p->seen);
    p->seen = now;
    return LINEAGE_OK;
}

/* A NOTIFY only means that the log may have changed: it may come from a transaction that was already seen, and one
 * NOTIFY may stand for several transactions. */
enum lineage_status postgres_wait(struct log *log, int milliseconds, bool *news, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    const int64_t until = clock_now_ms() + milliseconds;
    const bool first = !p->listening;
    bool look = false, again = false;
    for (;;) {
        bool fresh;
        enum lineage_status status = listen_for_rows(p, &fresh, err);
        look = pg_take_notifies(p->pg) || look || fresh;
        if (status == LINEAGE_OK && look)
            status = look_for_news(p, news, err);
        *news = *news || (first && status == LINEAGE_OK);
        int64_t left = milliseconds < 0 ? LOOK_MS : until - clock_now_ms();
        if (status != LINEAGE_OK || *news)
            return status;
        if (!pg_is_connected(p->pg) && !again) { /* the server closed the connection and may be back */
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

/* Takes the part of the records in the answer that is in [from, to). */
static bool take_records(const struct pg_result *result, uint64_t from, uint64_t to, struct buf *out, struct buf *record)
{
    for (size_t i = 0; i < pg_rows(result); i++) {
        size_t length;
        const char *text = pg_text(result, i, 1, &length);
        uint64_t at = (uint64_t)pg_int(result, i, 0);
        buf_reset(record);
        postgres_add_bytes(record, text, length);
        uint64_t first = at < from ? from - at : 0, last = at + record->length > to ? to - at : record->length;
        if (first < last)
            buf_add(out, record->data + first, (size_t)(last - first));
    }
    return !out->failed && !record->failed;
}

/* Uses one statement, so that records and open end are from the same moment. */
static enum lineage_status read_piece(struct log_postgres *p, uint64_t from, uint64_t to, struct buf *out, struct buf *record,
                                      struct lineage_error *err)
{
    struct pg_result result;
    long long store = (long long)p->store, first = (long long)from, last = (long long)to;
    enum lineage_status status =
        postgres_ask(p, &result, err,
                     "SELECT position, bytes FROM lineage.record WHERE store = %lld AND position < %lld AND "
                     "position >= coalesce("
                     "(SELECT max(position) FROM lineage.record WHERE store = %lld AND position <= %lld), 0)"
                     " UNION ALL SELECT size, open_end FROM lineage.store WHERE id = %lld AND size < %lld ORDER "
                     "BY 1",
                     store, last, store, first, store, last);
    if (status == LINEAGE_OK && !take_records(&result, from, to, out, record))
        status = store_no_memory(err);
    pg_clear(&result);
    return status;
}

enum lineage_status postgres_read(struct log *log, uint64_t from, size_t length, struct buf *out, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_BUF record = {0};
    uint64_t to = from > INT64_MAX - length ? INT64_MAX : from + length;
    if (p->claim == CLAIMED && p->has_newer && from >= p->newer_from && to <= p->size) {
        buf_add(out, p->newer.data + (from - p->newer_from), length);
        return out->failed ? store_no_memory(err) : LINEAGE_OK;
    }
    enum lineage_status status = postgres_find_store(p, err);
    const uint64_t known = to < p->size ? to : p->size; /* records that the server never removes */
    bool more = true;
    while (status == LINEAGE_OK && from < to && more) {
        uint64_t end = to - from > POSTGRES_READ_AT_ONCE ? from + POSTGRES_READ_AT_ONCE : to;
        size_t before = out->length;
        status = read_piece(p, from, end, out, &record, err);
        more = out->length - before == end - from; /* otherwise the log ends */
        if (status == LINEAGE_OK && !more && from + (out->length - before) < known)
            status = store_fail(err, LINEAGE_EIO, "%s: the server gives %zu bytes behind %llu and has more", p->name.shown,
                                out->length - before, (unsigned long long)from);
        from = end;
    }
    return status;
}

enum lineage_status postgres_find(struct log *log, struct buf *bytes, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_RESULT result = {0};
    SCOPED_BUF sql = {0};
    buf_puts(&sql, "SELECT r.bytes FROM lineage.record f JOIN lineage.record r ON r.store = "
                   "f.store AND r.request = f.request"
                   " AND r.seq >= f.seq WHERE f.part = 0 AND f.request = ");
    postgres_add_request(&sql, log);
    buf_puts(&sql, " ORDER BY r.seq");
    TRY(sql.failed ? store_no_memory(err) : pg_query(p->pg, &result, PG_PATIENCE, sql.data, err));
    for (size_t i = 0; i < pg_rows(&result); i++) {
        size_t length;
        const char *text = pg_text(&result, i, 0, &length);
        postgres_add_bytes(bytes, text, length);
    }
    return bytes->failed ? store_no_memory(err) : LINEAGE_OK;
}

/* The flush waits for the synchronous standbys, so that everything that this statement sees is on them too. Asynchronous
 * ones are a witness if all of them have it already. A digest from a file goes into the statement only if it is hexadecimal. */
enum lineage_status postgres_confirm(struct log *log, int64_t seq, const char *digest, bool *there, bool *witnessed,
                                     struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_RESULT result = {0};
    enum lineage_status status = postgres_find_store(p, err);
    *there = *witnessed = false;
    if (status != LINEAGE_OK || strspn(digest, "0123456789abcdef") != LOG_DIGEST_TEXT - 1 || digest[LOG_DIGEST_TEXT - 1])
        return status;
    TRY(postgres_ask_flushed(p, &result, err,
                             "SELECT digest = '\\x%s'::bytea, lineage.is_copied(), lineage.flush()"
                             " FROM lineage.record WHERE store = %lld AND seq = %lld",
                             digest, (long long)p->store, (long long)seq));
    if (pg_rows(&result)) {
        *there = pg_text(&result, 0, 0, NULL)[0] == 't';
        *witnessed = *there && pg_text(&result, 0, 1, NULL)[0] == 't';
    }
    return LINEAGE_OK;
}

enum lineage_status postgres_locate(struct log *log, const unsigned char request[16], size_t n, int64_t *seq,
                                    char digest[LOG_DIGEST_TEXT], struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_RESULT result = {0};
    SCOPED_BUF number = {0};
    *seq = 0;
    *digest = '\0';
    buf_add_hex(&number, request, sizeof log->request);
    TRY(number.failed ? store_no_memory(err) : postgres_find_store(p, err));
    TRY(postgres_ask(p, &result, err,
                     "SELECT r.seq, r.digest FROM lineage.record f JOIN lineage.record r ON r.store = f.store"
                     " AND r.seq = f.seq + %zu AND r.request = f.request"
                     " WHERE f.part = 0 AND f.request = '%s'::uuid AND f.store = %lld",
                     n ? n - 1 : 0, number.data, (long long)p->store));
    if (pg_rows(&result)) {
        *seq = pg_int(&result, 0, 0);
        snprintf(digest, LOG_DIGEST_TEXT, "%s", pg_digits(&result, 0, 1));
    }
    return LINEAGE_OK;
}
