/*
 * statement.c: caches statements and turns SQLite's failures into this library's statuses.
 *
 * Statements are cached because preparing costs more than running most of them.
 */
#include "statement.h"

#include <stdarg.h>

#include "mirror_internal.h"

sqlite3 *mirror_db(struct mirror *mirror)
{
    return mirror->db;
}

void mirror_note_damage(struct mirror *mirror)
{
    mirror->damaged = mirror->damaged || mirror->on_disk;
}

/* Failures of the disk or of a file beside lineage.db, such as a lineage.db-wal that cannot be opened. Memory helps. */
static bool is_disk_failure(int code)
{
    return code == SQLITE_CANTOPEN || code == SQLITE_IOERR || code == SQLITE_FULL || code == SQLITE_READONLY ||
           code == SQLITE_PROTOCOL;
}

/* The statements are constants, so the tables of the file are not those that they name: another program has changed them. */
static bool is_other_schema(const struct mirror *mirror, int code)
{
    const char *text = code == SQLITE_ERROR ? sqlite3_errmsg(mirror->db) : "";
    return strncmp(text, "no such ", 8) == 0 || strstr(text, " has no column named ") || strstr(text, " columns but ");
}

/* The callers distinguish four kinds of failure. If the file is locked they wait or give up, if it is damaged they
 * rebuild it, if it cannot be used they answer from memory, and if the question was cancelled they just return. Damage
 * and unusable files are recorded in the handle, because the failing call may be deep inside a question that must return
 * first. */
enum lineage_status mirror_fail(struct mirror *mirror, const char *doing, struct lineage_error *err)
{
    int code = sqlite3_errcode(mirror->db) & 0xff;
    enum lineage_status status = LINEAGE_EDB;
    if (code == SQLITE_BUSY)
        status = LINEAGE_ELOCKED;
    else if (code == SQLITE_NOMEM)
        status = LINEAGE_ENOMEM;
    else if (code == SQLITE_INTERRUPT)
        return store_fail(err, LINEAGE_ECANCELLED, "cancelled");
    mirror->damaged = mirror->damaged ||
                      (mirror->on_disk && (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || is_other_schema(mirror, code)));
    mirror->unusable = mirror->unusable || (mirror->on_disk && is_disk_failure(code));
    return store_fail(err, status, "lineage.db: %s: %s", doing, sqlite3_errmsg(mirror->db));
}

enum lineage_status mirror_exec(struct mirror *mirror, const char *sql, struct lineage_error *err)
{
    return sqlite3_exec(mirror->db, sql, NULL, NULL, NULL) == SQLITE_OK ? LINEAGE_OK : mirror_fail(mirror, "cannot run", err);
}

enum lineage_status mirror_run_script(struct mirror *mirror, const char *sql, int64_t number, struct lineage_error *err)
{
    for (;;) {
        sqlite3_stmt *stmt = NULL;
        if (sqlite3_prepare_v2(mirror->db, sql, -1, &stmt, &sql) != SQLITE_OK)
            return mirror_fail(mirror, "cannot prepare", err);
        if (!stmt)
            return LINEAGE_OK;
        if (sqlite3_bind_parameter_count(stmt))
            sqlite3_bind_int64(stmt, 1, number);
        int code = sqlite3_step(stmt);
        sqlite3_finalize(stmt);
        if (code != SQLITE_DONE)
            return mirror_fail(mirror, "cannot run a script", err);
    }
}

bool mirror_begin_reading(struct mirror *mirror)
{
    return mirror->db && sqlite3_get_autocommit(mirror->db) && sqlite3_exec(mirror->db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK;
}

/* COMMIT instead of ROLLBACK, because ROLLBACK would end the statements that a caller still reads. */
void mirror_end_reading(struct mirror *mirror, bool began)
{
    if (began)
        sqlite3_exec(mirror->db, "COMMIT", NULL, NULL, NULL);
}

/* Statements are looked up by the address of their text, because each text is a constant, and comparing sixty pointers
 * is faster than hashing a text. A statement is reset before use, because a caller that returned early may have left it
 * in the middle. PERSISTENT tells SQLite not to use the small memory pool for short-lived statements. */
enum lineage_status mirror_prepare(struct mirror *mirror, sqlite3_stmt **stmt, const char *sql, struct lineage_error *err)
{
    for (size_t i = 0; i < mirror->n_statements; i++)
        if (mirror->statements[i].sql == sql) {
            *stmt = mirror->statements[i].stmt;
            sqlite3_reset(*stmt);
            sqlite3_clear_bindings(*stmt);
            return LINEAGE_OK;
        }
    *stmt = NULL;
    if (mirror->n_statements == MIRROR_STATEMENTS)
        return store_fail(err, LINEAGE_EDB, "lineage.db: too many cached statements");
    if (sqlite3_prepare_v3(mirror->db, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL) != SQLITE_OK)
        return mirror_fail(mirror, "cannot prepare", err);
    mirror->statements[mirror->n_statements].sql = sql;
    mirror->statements[mirror->n_statements++].stmt = *stmt;
    return LINEAGE_OK;
}

/* A statement that failed is reset at once, because otherwise it would keep its read transaction open. */
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

enum lineage_status mirror_end_rows(sqlite3_stmt *stmt, enum lineage_status status)
{
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

bool mirror_next(enum lineage_status *status, struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err)
{
    if (*status == LINEAGE_OK && (*status = mirror_step(mirror, stmt, err)) == LINEAGE_OK)
        return true;
    *status = mirror_end_rows(stmt, *status);
    return false;
}

enum lineage_status mirror_list_seqs(struct mirror_seqs *seqs, struct mirror *mirror, sqlite3_stmt *stmt,
                                     struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    while (mirror_next(&status, mirror, stmt, err))
        if (!mirror_seqs_add(seqs, sqlite3_column_int64(stmt, 0)))
            status = store_no_memory(err);
    return status;
}

/* The statement is reset before this returns, because SQLite cannot commit while a statement is still writing. */
enum lineage_status mirror_run(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err)
{
    return mirror_end_rows(stmt, mirror_step(mirror, stmt, err));
}

static void bind_param(sqlite3_stmt *stmt, int at, const struct lineage_param *param)
{
    if (param->text)
        sqlite3_bind_text(stmt, at, param->text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_double(stmt, at, param->value);
}

static enum lineage_status prepare_and_bind(struct mirror *mirror, sqlite3_stmt **stmt, struct lineage_error *err,
                                            const char *sql, const char *kinds, va_list values)
{
    TRY(mirror_prepare(mirror, stmt, sql, err));
    const char *text;
    for (int at = 1; kinds[at - 1]; at++)
        switch (kinds[at - 1]) {
        case 'i': sqlite3_bind_int64(*stmt, at, va_arg(values, int64_t)); break;
        case 'd': sqlite3_bind_double(*stmt, at, va_arg(values, double)); break;
        case 's': mirror_bind_text(*stmt, at, va_arg(values, const char *)); break;
        case 't':
            text = va_arg(values, const char *);
            sqlite3_bind_text(*stmt, at, text, (int)va_arg(values, size_t), SQLITE_STATIC);
            break;
        case 'n': mirror_bind_number(*stmt, at, va_arg(values, struct lineage_number)); break;
        default: bind_param(*stmt, at, va_arg(values, const struct lineage_param *)); break;
        }
    return LINEAGE_OK;
}

/* For a function with values behind `kinds`: prepares the statement, and declares the status of that. */
#define BIND_VALUES(stmt)                                                                                                        \
    va_list values;                                                                                                              \
    va_start(values, kinds);                                                                                                     \
    enum lineage_status status = prepare_and_bind(mirror, stmt, err, sql, kinds, values);                                        \
    va_end(values)

enum lineage_status mirror_rows(struct mirror *mirror, sqlite3_stmt **stmt, struct lineage_error *err, const char *sql,
                                const char *kinds, ...)
{
    BIND_VALUES(stmt);
    return status;
}

enum lineage_status mirror_row(struct mirror *mirror, sqlite3_stmt **stmt, struct lineage_error *err, const char *sql,
                               const char *kinds, ...)
{
    BIND_VALUES(stmt);
    return status == LINEAGE_OK ? mirror_step(mirror, *stmt, err) : status;
}

enum lineage_status mirror_do(struct mirror *mirror, struct lineage_error *err, const char *sql, const char *kinds, ...)
{
    sqlite3_stmt *stmt;
    BIND_VALUES(&stmt);
    return status == LINEAGE_OK ? mirror_run(mirror, stmt, err) : status;
}

enum lineage_status mirror_has(struct mirror *mirror, bool *found, struct lineage_error *err, const char *sql, const char *kinds,
                               ...)
{
    sqlite3_stmt *stmt;
    BIND_VALUES(&stmt);
    if (status == LINEAGE_OK)
        status = mirror_step(mirror, stmt, err);
    *found = status == LINEAGE_OK;
    return mirror_end_rows(stmt, status);
}

enum lineage_status mirror_integer(struct mirror *mirror, int64_t *value, struct lineage_error *err, const char *sql,
                                   const char *kinds, ...)
{
    sqlite3_stmt *stmt;
    BIND_VALUES(&stmt);
    if (status == LINEAGE_OK && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK)
        *value = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return status;
}

/* Labels are stored by name and each page has a digest, so an unknown label was written by a later version. Such a
 * mirror counts as damaged, because only part of it could be used, while the log can be read completely. */
enum lineage_status mirror_label(struct mirror *mirror, sqlite3_stmt *stmt, int at, enum lineage_label *label,
                                 struct lineage_error *err)
{
    const char *name = mirror_text(stmt, at);
    if (lineage_label_parse(label, name))
        return LINEAGE_OK;
    mirror_note_damage(mirror);
    return store_fail(err, LINEAGE_EDB, "lineage.db: '%.40s' is not a label", name);
}

void mirror_bind_text(sqlite3_stmt *stmt, int at, const char *text)
{
    if (text)
        sqlite3_bind_text(stmt, at, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(stmt, at);
}

void mirror_bind_number(sqlite3_stmt *stmt, int at, struct lineage_number number)
{
    if (number.present)
        sqlite3_bind_double(stmt, at, number.value);
    else
        sqlite3_bind_null(stmt, at);
}
