/* log_postgres_history.c: reads the records of the past that matter to a night, which the server finds by its indexes. */
#include "log_postgres_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Records in one answer. They are in memory twice, once as hexadecimal digits. */
#define RECORDS_AT_ONCE "2000"

enum { COLUMN_SEQ, COLUMN_POSITION, COLUMN_BYTES, COLUMN_ALONE, COLUMN_NEXT_ID, COLUMN_ID_WIDTH };

/* Keys are unsigned here and signed on the server. */
static bool write_keys(struct buf *out, const uint64_t *keys, size_t n)
{
    buf_puts(out, "{");
    for (size_t i = 0; i < n; i++)
        buf_printf(out, "%s%" PRId64, i ? "," : "", (int64_t)keys[i]);
    buf_puts(out, "}");
    return !out->failed;
}

/* Takes row i of the answer. For the header, `alone` is about all records that the worker will read behind the history. */
static enum lineage_status take(struct log_postgres *p, struct log_past *past, const struct pg_result *result, size_t i,
                                struct buf *bytes, struct lineage_error *err)
{
    static const int numbers[] = {COLUMN_SEQ, COLUMN_POSITION, COLUMN_NEXT_ID, COLUMN_ID_WIDTH};
    size_t length;
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        if (!pg_is_int(result, i, (size_t)numbers[k]) || pg_int(result, i, (size_t)numbers[k]) < 0)
            return store_fail(err, LINEAGE_EAWAY, "%s: a record of the history without its numbers", p->name.shown);
    const char *text = pg_text(result, i, COLUMN_BYTES, &length);
    buf_reset(bytes);
    postgres_add_bytes(bytes, text, length);
    if (bytes->failed)
        return store_no_memory(err);
    const uint64_t before = past->seq;
    *past = (struct log_past){.seq = (uint64_t)pg_int(result, i, COLUMN_SEQ),
                              .position = (uint64_t)pg_int(result, i, COLUMN_POSITION),
                              .bytes = bytes->data,
                              .length = bytes->length,
                              .next_id = (uint64_t)pg_int(result, i, COLUMN_NEXT_ID),
                              .id_width = (size_t)pg_int(result, i, COLUMN_ID_WIDTH)};
    if (past->seq <= before || !past->length)
        return store_fail(err, LINEAGE_EREFUSED, "%s gives records of the history in another order", p->name.shown);
    if (strcmp(pg_text(result, i, COLUMN_ALONE, NULL), "t") != 0)
        return store_fail(err, LINEAGE_EREFUSED, "%s may have two records with one id (record %" PRIu64 ")", p->name.shown,
                          past->seq);
    return LINEAGE_OK;
}

static enum lineage_status read_some(struct log_postgres *p, const char *keys, uint64_t upto, struct log_past *past,
                                     struct buf *bytes, log_past_fn *each, void *context, struct lineage_error *err)
{
    char store[24], after[24], last[24];
    const char *const params[] = {store, keys, after, last};
    struct pg_result result = {0};
    snprintf(store, sizeof store, "%" PRId64, p->store);
    snprintf(after, sizeof after, "%" PRIu64, past->seq);
    snprintf(last, sizeof last, "%" PRIu64, upto);
    enum lineage_status status =
        pg_run(p->pg, &result, PG_PATIENCE, "SELECT * FROM lineage.history($1, $2, $3, $4, " RECORDS_AT_ONCE ")", 4, params, err);
    for (size_t i = 0; status == LINEAGE_OK && i < pg_rows(&result); i++) {
        status = take(p, past, &result, i, bytes, err);
        if (status == LINEAGE_OK && (past->seq > upto || (i == 0 && strcmp(after, "0") == 0 && past->seq != 1)))
            status = store_fail(err, LINEAGE_EREFUSED, "%s gives another history", p->name.shown);
        if (status == LINEAGE_OK)
            status = each(context, past, err);
    }
    if (status == LINEAGE_OK && !pg_rows(&result))
        status = store_fail(err, LINEAGE_EREFUSED, "%s has records that cannot be read one by one", p->name.shown);
    pg_clear(&result);
    return status;
}

/* Records never change, so the answers of several statements fit together. A server that was set back in between is found
 * out by the next sync, as everywhere (log_was). */
enum lineage_status postgres_history(struct log *log, const uint64_t *keys, size_t n, uint64_t upto, log_past_fn *each,
                                     void *context, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    struct log_past past = {0};
    struct buf list = {0}, bytes = {0};
    enum lineage_status status =
        p->claim == CLAIMED ? store_fail(err, LINEAGE_EREFUSED, "%s is claimed", p->name.shown) : postgres_find_store(p, err);
    if (status == LINEAGE_OK && !write_keys(&list, keys, n))
        status = store_no_memory(err);
    while (status == LINEAGE_OK && past.seq < upto)
        status = read_some(p, list.data, upto, &past, &bytes, each, context, err);
    buf_release(&list);
    buf_release(&bytes);
    return status;
}
