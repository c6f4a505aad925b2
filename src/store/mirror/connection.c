/* connection.c: the SQLite connection: opening, schema and migrations, cached statements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "schema_sql.h"

#define N_MIGRATIONS ((int)(sizeof schema_migrations / sizeof *schema_migrations))
#define DEFAULT_BUSY_MS 5000

enum lineage_status mirror_fail(struct mirror *mirror, const char *doing, struct lineage_error *err)
{
    int code = sqlite3_errcode(mirror->db) & 0xff;
    enum lineage_status status = LINEAGE_EDB;
    if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
        status = LINEAGE_ELOCKED;
    else if (code == SQLITE_NOMEM)
        status = LINEAGE_ENOMEM;
    return store_fail(err, status, "lineage.db: %s: %s", doing, sqlite3_errmsg(mirror->db));
}

enum lineage_status mirror_exec(struct mirror *mirror, const char *sql, struct lineage_error *err)
{
    return sqlite3_exec(mirror->db, sql, NULL, NULL, NULL) == SQLITE_OK ? LINEAGE_OK
                                                                        : mirror_fail(mirror, "cannot run", err);
}

static sqlite3_stmt *find_statement(struct mirror *mirror, const char *sql)
{
    for (size_t i = 0; i < mirror->n_statements; i++)
        if (mirror->statements[i].sql == sql)
            return mirror->statements[i].stmt;
    return NULL;
}

enum lineage_status mirror_prepare(struct mirror *mirror, sqlite3_stmt **stmt, const char *sql,
                                   struct lineage_error *err)
{
    *stmt = find_statement(mirror, sql);
    if (*stmt) {
        sqlite3_reset(*stmt);
        sqlite3_clear_bindings(*stmt);
        return LINEAGE_OK;
    }
    if (mirror->n_statements == MIRROR_STATEMENTS)
        return store_fail(err, LINEAGE_EDB, "lineage.db: too many cached statements");
    if (sqlite3_prepare_v3(mirror->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) != SQLITE_OK)
        return mirror_fail(mirror, "cannot prepare", err);
    mirror->statements[mirror->n_statements].sql = sql;
    mirror->statements[mirror->n_statements++].stmt = *stmt;
    return LINEAGE_OK;
}

enum lineage_status mirror_step(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err)
{
    int code = sqlite3_step(stmt);
    if (code == SQLITE_ROW)
        return LINEAGE_OK;
    if (code == SQLITE_DONE)
        return LINEAGE_ENOTFOUND;
    enum lineage_status status = mirror_fail(mirror, "cannot read or write", err);
    sqlite3_reset(stmt);
    return status;
}

void mirror_disconnect(struct mirror *mirror)
{
    for (size_t i = 0; i < mirror->n_statements; i++)
        sqlite3_finalize(mirror->statements[i].stmt);
    mirror->n_statements = 0;
    sqlite3_close(mirror->db);
    mirror->db = NULL;
    row_layout_release(&mirror->layout);
    mirror->has_layout = false;
    mirror->meta = (struct mirror_meta){.at = {.line = 1, .next_id = 0, .id_width = 3}};
    mirror->header.length = 0;
}

static enum lineage_status read_version(struct mirror *mirror, int *version, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(mirror->db, "PRAGMA user_version", -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW) {
        sqlite3_finalize(stmt);
        return mirror_fail(mirror, "cannot open", err);
    }
    *version = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return LINEAGE_OK;
}

static enum lineage_status apply_migrations(struct mirror *mirror, int version, struct lineage_error *err)
{
    char pragma[64];
    enum lineage_status status = LINEAGE_OK;
    for (int i = version; status == LINEAGE_OK && i < N_MIGRATIONS; i++)
        status = mirror_exec(mirror, schema_migrations[i], err);
    snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", N_MIGRATIONS);
    return status == LINEAGE_OK ? mirror_exec(mirror, pragma, err) : status;
}

/* Each migration file takes the schema from version n-1 to n; all that are missing go in one transaction. */
static enum lineage_status migrate(struct mirror *mirror, struct lineage_error *err)
{
    int version = 0;
    enum lineage_status status = read_version(mirror, &version, err);
    if (status != LINEAGE_OK || version == N_MIGRATIONS)
        return status;
    status = mirror_exec(mirror, "BEGIN IMMEDIATE", err);
    if (status == LINEAGE_OK)
        status = read_version(mirror, &version, err); /* another process may have been first */
    if (status == LINEAGE_OK && version > N_MIGRATIONS)
        status = store_fail(err, LINEAGE_EDB, "lineage.db has schema version %d, this program knows up to %d",
                            version, N_MIGRATIONS);
    if (status == LINEAGE_OK)
        status = apply_migrations(mirror, version, err);
    if (status == LINEAGE_OK)
        return mirror_exec(mirror, "COMMIT", err);
    sqlite3_exec(mirror->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static enum lineage_status open_file(struct mirror *mirror, bool on_disk, struct lineage_error *err)
{
    const struct lineage_store *store = mirror->store;
    char *path = sqlite3_mprintf(on_disk ? "%s/lineage.db" : ":memory:", store->dir);
    if (!path)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    int code = sqlite3_open_v2(path, &mirror->db,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    sqlite3_free(path);
    if (code != SQLITE_OK)
        return mirror_fail(mirror, "cannot open", err);
    sqlite3_extended_result_codes(mirror->db, 0);
    sqlite3_busy_timeout(mirror->db,
                         store->options.busy_ms ? (int)store->options.busy_ms : DEFAULT_BUSY_MS);
    return LINEAGE_OK;
}

enum lineage_status mirror_connect(struct mirror *mirror, bool on_disk, struct lineage_error *err)
{
    mirror_disconnect(mirror);
    mirror->on_disk = on_disk;
    enum lineage_status status = open_file(mirror, on_disk, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(mirror,
                             "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY;"
                             "PRAGMA trusted_schema = OFF;",
                             err);
    return status == LINEAGE_OK ? migrate(mirror, err) : status;
}

enum lineage_status mirror_make_indexes(struct mirror *mirror, struct lineage_error *err)
{
    return mirror_exec(mirror, schema_indexes, err);
}

enum lineage_status mirror_add_sums(struct mirror *mirror, int64_t after, int64_t last, struct lineage_error *err)
{
    const char *sql = schema_sums;
    while (sql) {
        sqlite3_stmt *stmt = NULL;
        if (sqlite3_prepare_v2(mirror->db, sql, -1, &stmt, &sql) != SQLITE_OK)
            return mirror_fail(mirror, "cannot prepare the sums", err);
        if (!stmt)
            return LINEAGE_OK;
        sqlite3_bind_int64(stmt, 1, after);
        sqlite3_bind_int64(stmt, 2, last);
        int code = sqlite3_step(stmt);
        sqlite3_finalize(stmt);
        if (code != SQLITE_DONE)
            return mirror_fail(mirror, "cannot add to the sums", err);
    }
    return LINEAGE_OK;
}
