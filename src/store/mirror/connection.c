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
    return sqlite3_exec(mirror->db, sql, NULL, NULL, NULL) == SQLITE_OK
               ? LINEAGE_OK
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

enum lineage_status mirror_step(struct mirror *mirror, sqlite3_stmt *stmt,
                                struct lineage_error *err)
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

enum lineage_status mirror_run(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err)
{
    enum lineage_status status = mirror_step(mirror, stmt, err);
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

void mirror_disconnect(struct mirror *mirror)
{
    for (size_t i = 0; i < mirror->n_statements; i++)
        sqlite3_finalize(mirror->statements[i].stmt);
    mirror->n_statements = 0;
    sqlite3_close_v2(mirror->db); /* an open cursor keeps what it needs */
    mirror->db = NULL;
    row_layout_release(&mirror->layout);
    mirror->has_layout = false;
    mirror->meta = mirror_meta_start();
    mirror->shared = mirror->loaded = false;
    mirror->header.length = 0;
}

static enum lineage_status read_version(struct mirror *mirror, int *version,
                                        struct lineage_error *err)
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

static enum lineage_status apply_migrations(struct mirror *mirror, int version,
                                            struct lineage_error *err)
{
    char pragma[64];
    enum lineage_status status = LINEAGE_OK;
    for (int i = version; status == LINEAGE_OK && i < N_MIGRATIONS; i++)
        status = mirror_exec(mirror, schema_migrations[i], err);
    snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", N_MIGRATIONS);
    return status == LINEAGE_OK ? mirror_exec(mirror, pragma, err) : status;
}

/* Each migration file takes the schema from version n-1 to n; all that are missing go in one
 * transaction. */
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
        status = store_fail(err, LINEAGE_EDB,
                            "lineage.db has schema version %d, this program knows up to %d",
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
    int code = sqlite3_open_v2(
        path, &mirror->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    sqlite3_free(path);
    if (code != SQLITE_OK)
        return mirror_fail(mirror, "cannot open", err);
    sqlite3_extended_result_codes(mirror->db, 0);
    sqlite3_busy_timeout(mirror->db,
                         store->options.busy_ms ? (int)store->options.busy_ms : DEFAULT_BUSY_MS);
    return LINEAGE_OK;
}

#define LARGE_FILE ((uint64_t)16 << 20)

/* Larger pages load a large file faster, and would make each sync of a small one write more. Settled when
 * lineage.db is made; a file that is there keeps its own. */
static enum lineage_status choose_page_size(struct mirror *mirror, struct lineage_error *err)
{
    struct log_stat stat;
    enum lineage_status status = log_stat(mirror->store->log, &stat, err);
    if (status != LINEAGE_OK || stat.size < LARGE_FILE)
        return status;
    return mirror_exec(mirror, "PRAGMA page_size = 16384", err);
}

static enum lineage_status set_up(struct mirror *mirror, struct lineage_error *err)
{
    enum lineage_status status = param_function_register(mirror, err);
    if (status == LINEAGE_OK)
        status = choose_page_size(mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(
            mirror,
            "PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF;"
            "PRAGMA cache_size = -8192;",
            err);
    return status == LINEAGE_OK ? migrate(mirror, err) : status;
}

/* Empty the file in place: others may have it open, so it must not be unlinked under them. */
static enum lineage_status make_empty(struct mirror *mirror, struct lineage_error *err)
{
    sqlite3_db_config(mirror->db, SQLITE_DBCONFIG_RESET_DATABASE, 1, NULL);
    enum lineage_status status = mirror_exec(mirror, "VACUUM", err);
    sqlite3_db_config(mirror->db, SQLITE_DBCONFIG_RESET_DATABASE, 0, NULL);
    return status;
}

static bool is_damaged(struct mirror *mirror)
{
    int code = sqlite3_errcode(mirror->db) & 0xff;
    return mirror->on_disk && (code == SQLITE_NOTADB || code == SQLITE_CORRUPT);
}

/* A damaged mirror is a cache lost: it is made anew at once, with a word about it. */
enum lineage_status mirror_connect(struct mirror *mirror, bool on_disk, struct lineage_error *err)
{
    struct lineage_error why = {0};
    mirror_disconnect(mirror);
    mirror->on_disk = on_disk;
    enum lineage_status status = open_file(mirror, on_disk, &why);
    if (status == LINEAGE_OK)
        status = set_up(mirror, &why);
    if (status != LINEAGE_OK && is_damaged(mirror)) {
        store_notice(mirror->store, 0, "%s; making it anew", why.text);
        status = mirror_connect_anew(mirror, &why);
    }
    if (status != LINEAGE_OK && err)
        *err = why;
    return status;
}

enum lineage_status mirror_connect_anew(struct mirror *mirror, struct lineage_error *err)
{
    mirror_disconnect(mirror);
    mirror->on_disk = true;
    enum lineage_status status = open_file(mirror, true, err);
    if (status == LINEAGE_OK)
        status = make_empty(mirror, err);
    return status == LINEAGE_OK ? set_up(mirror, err) : status;
}

/*
 * Many readers beside one writer need the write-ahead log; the first load goes faster without.
 * Failing only means that somebody else has the file open now: the next sync tries again.
 */
void mirror_share(struct mirror *mirror)
{
    sqlite3_stmt *stmt = NULL;
    if (mirror->shared || !mirror->on_disk)
        return;
    if (sqlite3_prepare_v2(mirror->db, "PRAGMA journal_mode = WAL", -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW)
        mirror->shared = strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0;
    sqlite3_finalize(stmt);
}

enum lineage_status mirror_make_indexes(struct mirror *mirror, struct lineage_error *err)
{
    return mirror_exec(mirror, schema_indexes, err);
}

/* Run the statements that a statement makes of the names in sqlite_schema. */
static enum lineage_status exec_generated(struct mirror *mirror, const char *generator,
                                          struct lineage_error *err)
{
    sqlite3_stmt *stmt = NULL;
    enum lineage_status status = LINEAGE_OK;
    struct buf sql = {0};
    if (sqlite3_prepare_v2(mirror->db, generator, -1, &stmt, NULL) != SQLITE_OK ||
        sqlite3_step(stmt) != SQLITE_ROW)
        status = mirror_fail(mirror, "cannot list what is there", err);
    else if (sqlite3_column_text(stmt, 0))
        buf_puts(&sql, (const char *)sqlite3_column_text(stmt, 0));
    sqlite3_finalize(stmt);
    if (status == LINEAGE_OK && sql.length)
        status = mirror_exec(mirror, sql.data, err);
    buf_release(&sql);
    return status;
}

enum lineage_status mirror_drop_indexes(struct mirror *mirror, struct lineage_error *err)
{
    return exec_generated(mirror,
                          "SELECT group_concat('DROP INDEX ' || name, ';') FROM sqlite_schema"
                          " WHERE type = 'index' AND sql IS NOT NULL",
                          err);
}

enum lineage_status mirror_start_anew(struct mirror *mirror, struct lineage_error *err)
{
    enum lineage_status status = exec_generated(
        mirror,
        "SELECT group_concat('DROP ' || type || ' \"' || name || '\"', ';') FROM sqlite_schema"
        " WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite%'",
        err);
    return status == LINEAGE_OK ? apply_migrations(mirror, 0, err) : status;
}

static enum lineage_status run_script(struct mirror *mirror, const char *sql, int64_t seq,
                                      struct lineage_error *err)
{
    while (*sql) {
        sqlite3_stmt *stmt = NULL;
        if (sqlite3_prepare_v2(mirror->db, sql, -1, &stmt, &sql) != SQLITE_OK)
            return mirror_fail(mirror, "cannot prepare", err);
        if (!stmt)
            return LINEAGE_OK;
        if (sqlite3_bind_parameter_count(stmt))
            sqlite3_bind_int64(stmt, 1, seq);
        int code = sqlite3_step(stmt);
        sqlite3_finalize(stmt);
        if (code != SQLITE_DONE)
            return mirror_fail(mirror, "cannot take the last record back", err);
    }
    return LINEAGE_OK;
}

enum lineage_status provisional_keep_sums(struct mirror *mirror, int64_t seq,
                                          struct lineage_error *err)
{
    return run_script(mirror, schema_before, seq, err);
}

enum lineage_status provisional_undo(struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    return run_script(mirror, schema_undo, seq, err);
}
