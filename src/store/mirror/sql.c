/* sql.c: a user's SELECT. Three locks: one statement only, SQLite's own read-only test, and an
 * authorizer. */
#include <lineage/query.h>

#include <stdlib.h>
#include <string.h>

#include "internal.h"

static int allow(void *context, int action, const char *a, const char *b, const char *c,
                 const char *d)
{
    (void)context, (void)a, (void)c, (void)d;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION: return b && strcmp(b, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default: return SQLITE_DENY;
    }
}

static bool is_only_blank(const char *text)
{
    return text[strspn(text, " \t\r\n;")] == '\0';
}

static enum lineage_status prepare(struct mirror *mirror, sqlite3_stmt **stmt,
                                   const char *statement, struct lineage_error *err)
{
    const char *rest = "";
    sqlite3_set_authorizer(mirror_db(mirror), allow, NULL);
    int code = sqlite3_prepare_v2(mirror_db(mirror), statement, -1, stmt, &rest);
    sqlite3_set_authorizer(mirror_db(mirror), NULL, NULL);
    if (code == SQLITE_AUTH)
        return store_fail(err, LINEAGE_EINVAL, "sql: only a SELECT is allowed");
    if (code != SQLITE_OK)
        return store_fail(err, LINEAGE_EINVAL, "sql: %s", sqlite3_errmsg(mirror_db(mirror)));
    if (!*stmt)
        return store_fail(err, LINEAGE_EINVAL, "sql: the statement is empty");
    if (!sqlite3_stmt_readonly(*stmt))
        return store_fail(err, LINEAGE_EINVAL, "sql: only a SELECT is allowed");
    if (!is_only_blank(rest))
        return store_fail(err, LINEAGE_EINVAL, "sql: one statement at a time");
    return LINEAGE_OK;
}

static enum lineage_status run(struct mirror *mirror, sqlite3_stmt *stmt, lineage_sql_row *row,
                               void *context, struct lineage_error *err)
{
    size_t n = (size_t)sqlite3_column_count(stmt);
    const char **names = calloc(n * 2 + 1, sizeof *names), **texts = names + n;
    enum lineage_status status = LINEAGE_OK;
    if (!names)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        names[i] = sqlite3_column_name(stmt, (int)i);
    while ((status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        for (size_t i = 0; i < n; i++)
            texts[i] = (const char *)sqlite3_column_text(stmt, (int)i);
        if (!row(context, n, names, texts))
            break;
    }
    free(names);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status lineage_sql(struct lineage_store *store, const char *statement,
                                lineage_sql_row *row, void *context, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = prepare(store->mirror, &stmt, statement, err);
    if (status == LINEAGE_OK)
        status = run(store->mirror, stmt, row, context, err);
    sqlite3_finalize(stmt);
    return status;
}
