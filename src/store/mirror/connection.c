/* connection.c: the SQLite connection: opening, schema and migrations, cached statements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../log/fs.h"
#include "internal.h"
#include "schema_sql.h"

#define N_MIGRATIONS ((int)(sizeof schema_migrations / sizeof *schema_migrations))
#define DEFAULT_BUSY_MS 5000
#define UNFINISHED (-1) /* user_version of a file that is being built */

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
    mirror->building = false;
    mirror->db = NULL;
    row_layout_release(&mirror->layout);
    mirror->has_layout = false;
    mirror->meta = (struct mirror_meta){.at = {.line = 1, .next_id = 0, .id_width = 3}};
    mirror->header.length = 0;
}

/* A pragma that gives one number. */
static enum lineage_status read_pragma(struct mirror *mirror, const char *sql, int *value, struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(mirror->db, sql, -1, &stmt, NULL) != SQLITE_OK || sqlite3_step(stmt) != SQLITE_ROW) {
        enum lineage_status status = mirror_fail(mirror, "cannot open", err);
        sqlite3_finalize(stmt);
        return status;
    }
    *value = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return LINEAGE_OK;
}

static enum lineage_status read_version(struct mirror *mirror, int *version, struct lineage_error *err)
{
    enum lineage_status status = read_pragma(mirror, "PRAGMA user_version", version, err);
    if (status == LINEAGE_OK && *version == UNFINISHED)
        status = store_fail(err, LINEAGE_EDB, "lineage.db is unfinished: a process that made it was stopped");
    if (status == LINEAGE_OK && *version > N_MIGRATIONS)
        status = store_fail(err, LINEAGE_EDB, "lineage.db has schema version %d, this program knows up to %d",
                            *version, N_MIGRATIONS);
    return status;
}

static enum lineage_status apply_migrations(struct mirror *mirror, int version, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (int i = version; status == LINEAGE_OK && i < N_MIGRATIONS; i++)
        status = mirror_exec(mirror, schema_migrations[i], err);
    return status;
}

static enum lineage_status set_version(struct mirror *mirror, int version, struct lineage_error *err)
{
    char pragma[64];
    snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", version);
    return mirror_exec(mirror, pragma, err);
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
    if (status == LINEAGE_OK)
        status = apply_migrations(mirror, version, err);
    if (status == LINEAGE_OK)
        status = set_version(mirror, N_MIGRATIONS, err);
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
    sqlite3_busy_timeout(mirror->db,
                         store->options.busy_ms ? (int)store->options.busy_ms : DEFAULT_BUSY_MS);
    return mirror_exec(mirror, "PRAGMA temp_store = MEMORY; PRAGMA mmap_size = 1073741824; PRAGMA trusted_schema = OFF", err);
}

/*
 * A new file is built without journal, under an exclusive lock and marked unfinished until all is in: a
 * journal would double the writing, and a file that a killed process left is made anew by the next one.
 */
static enum lineage_status begin_build(struct mirror *mirror, struct lineage_error *err)
{
    int schema = 0;
    enum lineage_status status = mirror_exec(mirror,
                                             "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF;"
                                             "PRAGMA synchronous = OFF; PRAGMA cache_size = -65536; BEGIN EXCLUSIVE",
                                             err);
    if (status == LINEAGE_OK)
        status = read_pragma(mirror, "PRAGMA schema_version", &schema, err);
    if (status != LINEAGE_OK)
        return status;
    if (schema) /* another process was faster */
        return mirror_exec(mirror, "ROLLBACK; PRAGMA locking_mode = NORMAL", err);
    mirror->building = true;
    status = set_version(mirror, UNFINISHED, err);
    return status == LINEAGE_OK ? apply_migrations(mirror, 0, err) : status;
}

enum lineage_status mirror_end_build(struct mirror *mirror, struct lineage_error *err)
{
    enum lineage_status status = set_version(mirror, N_MIGRATIONS, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(mirror, "COMMIT; PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL;"
                                     "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8192; SELECT 1 FROM meta", err);
    mirror->building = false;
    return status;
}

static enum lineage_status prepare_file(struct mirror *mirror, struct lineage_error *err)
{
    int schema = 0, version = 0;
    enum lineage_status status = read_pragma(mirror, "PRAGMA schema_version", &schema, err);
    if (status == LINEAGE_OK)
        status = read_version(mirror, &version, err);
    if (status == LINEAGE_OK && !schema)
        status = begin_build(mirror, err);
    if (status != LINEAGE_OK || mirror->building)
        return status;
    status = mirror_exec(mirror, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", err);
    return status == LINEAGE_OK ? migrate(mirror, err) : status;
}

void mirror_remove_files(struct mirror *mirror)
{
    static const char *const files[] = {"lineage.db", "lineage.db-wal", "lineage.db-shm"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        fs_unlink(mirror->store->dir_fd, files[i]);
}

/* Damaged or unfinished, and nobody is at work on it: it is a cache, so it is made anew. */
static bool is_beyond_use(struct mirror *mirror, const struct lineage_error *why)
{
    int code = mirror->db ? sqlite3_errcode(mirror->db) & 0xff : SQLITE_OK;
    return code == SQLITE_NOTADB || code == SQLITE_CORRUPT || strstr(why->text, "unfinished");
}

enum lineage_status mirror_connect(struct mirror *mirror, bool on_disk, struct lineage_error *err)
{
    struct lineage_error why = {0};
    mirror_disconnect(mirror);
    mirror->on_disk = on_disk;
    enum lineage_status status = open_file(mirror, on_disk, &why);
    if (status == LINEAGE_OK)
        status = on_disk ? prepare_file(mirror, &why) : migrate(mirror, &why);
    if (status != LINEAGE_OK && on_disk && is_beyond_use(mirror, &why)) {
        store_notice(mirror->store, 0, "%s; making it anew", why.text);
        mirror_disconnect(mirror);
        mirror_remove_files(mirror);
        status = open_file(mirror, on_disk, &why);
        if (status == LINEAGE_OK)
            status = prepare_file(mirror, &why);
    }
    if (status != LINEAGE_OK && err)
        *err = why;
    return status;
}

enum lineage_status mirror_make_indexes(struct mirror *mirror, struct lineage_error *err)
{
    return mirror_exec(mirror, schema_indexes, err);
}
