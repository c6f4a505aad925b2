/*
 * statement_builder.c: runs a statement that was built from parts, with its values bound.
 *
 * A list of row numbers is collected completely before it is returned. It takes eight bytes per row, and no statement
 * stays open while the caller uses the list; an open statement would keep the write-ahead log from being emptied.
 */
#include "statement_builder.h"

#include <stdlib.h>

void builder_release(struct builder *b)
{
    buf_release(&b->sql);
    buf_release(&b->met);
}

void builder_bind_text(struct builder *b, const char *text)
{
    if (b->n < MAX_BOUND)
        b->bound[b->n++].text = text;
    else
        b->sql.failed = true;
}

void builder_bind_number(struct builder *b, double number)
{
    builder_bind_text(b, NULL);
    if (!b->sql.failed)
        b->bound[b->n - 1].number = number;
}

/* Values are bound and never printed into the statement, because names and texts come from users and agents. The values
 * are not copied: they live longer than the statement, and a copy for which memory runs out would become NULL. */
static void bind_all(sqlite3_stmt *stmt, const struct builder *b)
{
    for (int i = 0; i < b->n; i++) {
        if (b->bound[i].text)
            sqlite3_bind_text(stmt, i + 1, b->bound[i].text, -1, SQLITE_STATIC);
        else
            sqlite3_bind_double(stmt, i + 1, b->bound[i].number);
    }
}

/* Does not use the cache of statements, which identifies a statement by the address of a constant text, because this
 * text is different each time. */
enum lineage_status builder_collect(struct mirror_seqs *found, const struct builder *b, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(mirror_db(b->mirror), b->sql.data, -1, &stmt, NULL) != SQLITE_OK)
        return mirror_fail(b->mirror, "cannot prepare the query", err);
    bind_all(stmt, b);
    enum lineage_status status = mirror_list_seqs(found, b->mirror, stmt, err);
    sqlite3_finalize(stmt);
    return status;
}

enum lineage_status builder_count(size_t *n, const struct builder *b, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(mirror_db(b->mirror), b->sql.data, -1, &stmt, NULL) != SQLITE_OK)
        return mirror_fail(b->mirror, "cannot prepare the query", err);
    bind_all(stmt, b);
    enum lineage_status status = mirror_step(b->mirror, stmt, err);
    if (status == LINEAGE_OK)
        *n = (size_t)sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return status;
}
