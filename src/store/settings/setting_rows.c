/*
 * setting_rows.c: the temporary table of settings in words, in the form of param_rows, so that the same statements find
 * both. It belongs to one question and lies beside lineage.db, which may be read-only.
 */
#include "../mirror/statement.h"
#include "ask_settings.h"

static const char drop_sql[] = "DROP TABLE IF EXISTS temp.setting_rows";
static const char insert_sql[] = "INSERT OR IGNORE INTO temp.setting_rows(key, value, seq) VALUES (?1, ?2, ?3)";

/* Adds the values that one trial gave to the name, or inherited. */
static enum lineage_status add_values(struct mirror *mirror, sqlite3_stmt *stmt, const struct lineage_settings *settings,
                                      uint64_t seq, size_t name, struct lineage_error *err)
{
    const struct lineage_setting *setting;
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && (setting = lineage_settings_get(settings, seq, name, i)); i++) {
        sqlite3_bind_text(stmt, 1, settings->names[name].name, -1, SQLITE_STATIC);
        if (setting->value.present)
            sqlite3_bind_double(stmt, 2, setting->value.value);
        else
            sqlite3_bind_text(stmt, 2, setting->text, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 3, (int64_t)seq);
        status = mirror_run(mirror, stmt, err);
    }
    return status;
}

static bool gave_any(const struct lineage_settings *settings, uint64_t seq)
{
    bool any = false;
    for (size_t i = 0; i < settings->n && !any; i++) {
        const struct lineage_setting *setting = lineage_settings_get(settings, seq, i, 0);
        any = setting && setting->own;
    }
    return any;
}

/* Adds the values that trials declare. */
static enum lineage_status add_declared(struct mirror *mirror, const char *name, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "INSERT OR IGNORE INTO temp.setting_rows(key, value, seq)"
                                                               " SELECT ?1, value, seq FROM param_rows WHERE key = ?2", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, lineage_param_canonical(name), -1, SQLITE_STATIC);
    return mirror_run(mirror, stmt, err);
}

/* Seqs are counted from 1, and the provisional row may add one more. */
static enum lineage_status add_all(struct mirror *mirror, const struct lineage_settings *settings, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    uint64_t last = mirror_position(mirror)->rows + 1;
    enum lineage_status status = mirror_prepare(mirror, &stmt, insert_sql, err);
    for (uint64_t seq = 1; seq <= last && status == LINEAGE_OK; seq++)
        for (size_t i = 0; gave_any(settings, seq) && i < settings->n && status == LINEAGE_OK; i++)
            status = add_values(mirror, stmt, settings, seq, i, err);
    for (size_t i = 0; i < settings->n && status == LINEAGE_OK; i++)
        status = add_declared(mirror, settings->names[i].name, err);
    return status;
}

/* One transaction, because each would cost more than its row. It ends with COMMIT instead of ROLLBACK, because a cursor
 * of the handle may be open. */
enum lineage_status mirror_settings_fill(struct mirror *mirror, const struct lineage_settings *settings,
                                         struct lineage_error *err)
{
    enum lineage_status status = mirror_exec(mirror, drop_sql, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(mirror, "CREATE TABLE temp.setting_rows (key TEXT NOT NULL, value NOT NULL, seq INTEGER NOT NULL,"
                                     " PRIMARY KEY (key, value, seq)) WITHOUT ROWID;"
                                     " CREATE INDEX temp.setting_rows_by_seq ON setting_rows(seq, key)", err);
    if (status == LINEAGE_OK)
        status = mirror_exec(mirror, "BEGIN", err);
    if (status != LINEAGE_OK)
        return status;
    status = add_all(mirror, settings, err);
    sqlite3_exec(mirror_db(mirror), "COMMIT", NULL, NULL, NULL);
    return status;
}

/* A table that cannot be dropped now is dropped by the next question that fills it. */
void mirror_settings_drop(struct mirror *mirror)
{
    sqlite3_exec(mirror_db(mirror), drop_sql, NULL, NULL, NULL);
}

enum lineage_status mirror_count_declared(struct mirror *mirror, const char *name, size_t *n, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    *n = 0;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "SELECT count(*) FROM param_rows WHERE key = ?1", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, lineage_param_canonical(name), -1, SQLITE_STATIC);
    status = mirror_step(mirror, stmt, err);
    if (status == LINEAGE_OK)
        *n = (size_t)sqlite3_column_int64(stmt, 0);
    return mirror_end_rows(stmt, status);
}
