/* log_postgres_ask.c: asks the server about the store of a log, and reads its state from the answers. */
#include "log_postgres_parts.h"

#include <inttypes.h>
#include <stdarg.h>

#define UNDEFINED_FUNCTION "42883" /* an SQLSTATE */

enum { STATEMENT_MAX = 512 };

void postgres_add_bytes(struct buf *out, const char *text, size_t length)
{
    if (length < 2 || !buf_reserve(out, length / 2) || !hex_read(out->data + out->length, text + 2, length / 2 - 1))
        return;
    out->length += length / 2 - 1;
    out->data[out->length] = '\0';
}

void postgres_add_request(struct buf *out, const struct log *log)
{
    buf_puts(out, "'");
    buf_add_hex(out, log->request, sizeof log->request);
    buf_puts(out, "'::uuid");
}

enum lineage_status postgres_explain(struct log_postgres *p, enum lineage_status status, struct lineage_error *err)
{
    const char *state = pg_sqlstate(p->pg);
    if (status == LINEAGE_EIO && (strcmp(state, "42P01") == 0 || strcmp(state, "3F000") == 0))
        return store_fail(err, LINEAGE_EREFUSED, "%s: this database has no lineage; `lineage init %s` makes it", p->name.shown,
                          p->name.shown);
    return status;
}

enum lineage_status postgres_find_store(struct log_postgres *p, struct lineage_error *err)
{
    static const char sql[] = "SELECT (SELECT max(version) FROM lineage.version),"
                              " (SELECT id FROM lineage.store WHERE name = $1),"
                              " (SELECT bool_or(has_function_privilege(oid, 'EXECUTE')) FROM pg_proc"
                              " WHERE proname = 'append' AND pronamespace = 'lineage'::regnamespace)"
                              " AND coalesce((SELECT lineage.may(id, 'writer') FROM lineage.store WHERE name = $1), true)";
    const char *const params[] = {p->name.store};
    struct pg_result result;
    if (p->store)
        return LINEAGE_OK;
    enum lineage_status status = pg_run(p->pg, &result, PG_PATIENCE, sql, 1, params, err);
    if (status == LINEAGE_EIO && strcmp(pg_sqlstate(p->pg), UNDEFINED_FUNCTION) == 0) /* a schema without lineage.may */
        status = pg_run(p->pg, &result, PG_PATIENCE, "SELECT max(version) FROM lineage.version", 0, NULL, err);
    status = postgres_explain(p, status, err);
    if (status == LINEAGE_OK)
        status = postgres_check_version(p, pg_int(&result, 0, 0), err);
    if (status == LINEAGE_OK && pg_is_null(&result, 0, 1))
        status = store_fail(err, LINEAGE_EREFUSED,
                            "%s: the server has no store '%s', or none that you may read; `lineage init` creates it",
                            p->name.shown, p->name.store);
    if (status == LINEAGE_OK) {
        const char *may_append = pg_text(&result, 0, 2, NULL);
        p->store = pg_int(&result, 0, 1);
        p->log.read_only = may_append && *may_append == 'f';
    }
    pg_clear(&result);
    return status;
}

double postgres_flush_seconds(struct log_postgres *p)
{
    return pg_flush_seconds(p->pg, p->log.appending);
}

static enum lineage_status ask(struct log_postgres *p, struct pg_result *result, double seconds, const char *sql,
                               struct lineage_error *err)
{
    bool was_connected = pg_is_connected(p->pg);
    *result = (struct pg_result){0};
    if (p->claim == CLAIMED && !was_connected)
        return store_fail(err, LINEAGE_EAWAY, "%s is away: the connection was lost under the claim", p->name.shown);
    enum lineage_status status = pg_query(p->pg, result, seconds, sql, err);
    if (status == LINEAGE_EAWAY && was_connected && p->claim != CLAIMED)
        status = pg_query(p->pg, result, seconds, sql, err);
    return postgres_explain(p, status, err);
}

__attribute__((format(printf, 5, 0))) static enum lineage_status ask_formatted(struct log_postgres *p, struct pg_result *result,
                                                                               double seconds, struct lineage_error *err,
                                                                               const char *format, va_list args)
{
    char sql[STATEMENT_MAX];
    vsnprintf(sql, sizeof sql, format, args);
    return ask(p, result, seconds, sql, err);
}

enum lineage_status postgres_ask(struct log_postgres *p, struct pg_result *result, struct lineage_error *err, const char *format,
                                 ...)
{
    va_list args;
    va_start(args, format);
    enum lineage_status status = ask_formatted(p, result, PG_PATIENCE, err, format, args);
    va_end(args);
    return status;
}

enum lineage_status postgres_ask_flushed(struct log_postgres *p, struct pg_result *result, struct lineage_error *err,
                                         const char *format, ...)
{
    va_list args;
    va_start(args, format);
    enum lineage_status status = ask_formatted(p, result, postgres_flush_seconds(p), err, format, args);
    va_end(args);
    return status;
}

/* Reads eight bytes of hexadecimal digits and skips dashes. */
static uint64_t number_of(const char **digits)
{
    uint64_t n = 0;
    for (int i = 0; i < 16 && **digits; ++*digits)
        if (**digits != '-') {
            n = n << 4 | (unsigned)(**digits <= '9' ? **digits - '0' : **digits - 'a' + 10);
            i++;
        }
    return n;
}

/* Reads the cell of the first row once, so that the number that is checked is the number that is used. */
static bool read_number(const struct pg_result *result, size_t column, int64_t *number)
{
    char *end;
    const char *text = pg_text(result, 0, column, NULL);
    *number = strtoll(text, &end, 10);
    return end != text && !*end;
}

/* The digest of the last record covers everything before it: a log that was set back, for example by a restored copy,
 * has another digest at the same length. 64 bits of the digest are enough for this comparison. */
enum lineage_status postgres_take_state(struct log_postgres *p, struct log_state *state, const struct pg_result *result,
                                        struct lineage_error *err)
{
    size_t length;
    const char *open_end = pg_text(result, 0, HEAD_OPEN_END, &length), *digest = pg_digits(result, 0, HEAD_DIGEST);
    const uint64_t identity[2] = {state->identity[0], state->identity[1]};
    int64_t seq, size, open_ends;
    if (!read_number(result, HEAD_SEQ, &seq) || !read_number(result, HEAD_SIZE, &size) ||
        !read_number(result, HEAD_OPEN_ENDS, &open_ends))
        return store_fail(err, LINEAGE_EAWAY, "%s: an answer without the end of the log", p->name.shown);
    p->seq = seq;
    p->size = (uint64_t)size;
    p->session = pg_connections(p->pg);
    buf_reset(&p->open_end);
    postgres_add_bytes(&p->open_end, open_end, length);
    *state = (struct log_state){.size = p->size + p->open_end.length,
                                .identity = {identity[0], identity[1]},
                                .revision = (int64_t)(number_of(&digest) + (uint64_t)open_ends),
                                .records = (uint64_t)p->seq,
                                .session = p->session};
    state->exists = state->size > 0;
    return LINEAGE_OK;
}

enum lineage_status postgres_take_ids(struct log_postgres *p, const struct pg_result *result, size_t column,
                                      struct lineage_error *err)
{
    int64_t next_id, width;
    if (!read_number(result, column, &next_id) || !read_number(result, column + 1, &width) || next_id < 0 || width < 0)
        return store_fail(err, LINEAGE_EAWAY, "%s: an answer without the next id", p->name.shown);
    p->log.next_id = (uint64_t)next_id;
    p->log.id_width = (size_t)width;
    return LINEAGE_OK;
}

void postgres_take_identity(struct log_state *state, const char *uuid)
{
    state->identity[0] = number_of(&uuid);
    state->identity[1] = number_of(&uuid);
}

/* The query is followed by a flush, so that a crash of the server cannot undo anything that was returned. Under a claim
 * there is no flush, because the claim would end with the transaction. */
enum lineage_status postgres_look(struct log *log, struct log_state *state, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_RESULT result = {0};
    *state = (struct log_state){0};
    (void)postgres_flush_seconds(p); /* an append begins: what was late before is tried again */
    TRY(postgres_find_store(p, err));
    TRY(postgres_ask_flushed(p, &result, err,
                             "SELECT " POSTGRES_HEAD ", s.uuid, s.next_id, s.id_width%s FROM lineage.store s WHERE s.id = %lld",
                             p->claim == CLAIMED ? "" : ", lineage.flush()", (long long)p->store));
    if (!pg_rows(&result))
        return store_fail(err, LINEAGE_EREFUSED, "%s: the store is gone", p->name.shown);
    postgres_take_identity(state, pg_text(&result, 0, HEAD_UUID, NULL));
    TRY(postgres_take_ids(p, &result, HEAD_NEXT_ID, err));
    return postgres_take_state(p, state, &result, err);
}

/* Compares the digest of the record that ended at the earlier position. If the log ever had an open end, no record may
 * have ended there at that time, so the mirror's own comparison must be enough. */
enum lineage_status postgres_was(struct log *log, const struct log_state *before, bool *was, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_RESULT result = {0};
    enum lineage_status status = postgres_find_store(p, err);
    *was = true;
    if (status == LINEAGE_OK && before->size)
        status = postgres_ask(p, &result, err,
                              "SELECT r.position + octet_length(r.bytes), r.digest, s.open_ends FROM lineage.record r JOIN"
                              " lineage.store s ON s.id = r.store WHERE r.store = %lld AND r.position < %llu"
                              " ORDER BY r.position DESC LIMIT 1",
                              (long long)p->store, (unsigned long long)before->size);
    if (status == LINEAGE_OK && pg_rows(&result)) {
        const char *digest = pg_digits(&result, 0, 1);
        const bool torn = pg_int(&result, 0, 2) > 0, ended = (uint64_t)pg_int(&result, 0, 0) == before->size;
        *was = torn || (ended && (uint64_t)before->revision == number_of(&digest));
    }
    return status;
}
