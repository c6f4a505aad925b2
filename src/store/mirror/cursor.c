/* cursor.c: what a query found is fixed when it is opened; rows are loaded one by one, in no
 * transaction. */
#include "cursor.h"

#include <stdlib.h>

struct lineage_cursor {
    struct mirror *mirror;
    int64_t *seqs;
    size_t n, next, capacity;
    struct arena arena;
};

static void bind_all(sqlite3_stmt *stmt, const struct builder *b)
{
    for (int i = 0; i < b->n; i++) {
        if (b->bound[i].text)
            sqlite3_bind_text(stmt, i + 1, b->bound[i].text, -1, SQLITE_TRANSIENT);
        else
            sqlite3_bind_double(stmt, i + 1, b->bound[i].number);
    }
}

static bool add_seq(struct lineage_cursor *cursor, int64_t seq)
{
    if (cursor->n == cursor->capacity) {
        size_t capacity = cursor->capacity ? cursor->capacity * 2 : 64;
        int64_t *seqs = realloc(cursor->seqs, capacity * sizeof *seqs);
        if (!seqs)
            return false;
        cursor->seqs = seqs;
        cursor->capacity = capacity;
    }
    cursor->seqs[cursor->n++] = seq;
    return true;
}

static enum lineage_status collect(struct lineage_cursor *cursor, const struct builder *b,
                                   struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum lineage_status status = LINEAGE_OK;
    if (sqlite3_prepare_v2(mirror_db(b->mirror), b->sql.data, -1, &stmt, NULL) != SQLITE_OK)
        return mirror_fail(b->mirror, "cannot prepare the query", err);
    bind_all(stmt, b);
    while (status == LINEAGE_OK && (status = mirror_step(b->mirror, stmt, err)) == LINEAGE_OK)
        if (!add_seq(cursor, sqlite3_column_int64(stmt, 0)))
            status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    sqlite3_finalize(stmt);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status cursor_open(struct lineage_cursor **out, const struct builder *b,
                                struct lineage_error *err)
{
    struct lineage_cursor *cursor = calloc(1, sizeof *cursor);
    if (!cursor)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    cursor->mirror = b->mirror;
    enum lineage_status status = collect(cursor, b, err);
    if (status == LINEAGE_OK)
        *out = cursor;
    else
        lineage_cursor_close(cursor);
    return status;
}

enum lineage_status lineage_cursor_next(struct lineage_cursor *cursor, struct lineage_trial *trial,
                                        struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    while (cursor->next < cursor->n) {
        arena_reset(&cursor->arena);
        enum lineage_status status =
            mirror_borrow(cursor->mirror, cursor->seqs[cursor->next++], trial, &cursor->arena, err);
        if (status != LINEAGE_ENOTFOUND) /* gone: an unterminated last record was read again */
            return status;
    }
    return LINEAGE_ENOTFOUND;
}

void lineage_cursor_close(struct lineage_cursor *cursor)
{
    if (!cursor)
        return;
    free(cursor->seqs);
    arena_release(&cursor->arena);
    free(cursor);
}
