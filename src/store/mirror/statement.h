/* statement.h: SQL statements on the mirror's connection, for the modules that query or check the mirror. */
#pragma once

#include <sqlite3.h>

#include <lineage/voids.h>

#include "mirror.h"
#include "seqs.h"

/* The seqs of the rows that make a trial of the log void, or take that back (lineage_is_void_row). judged_with is empty if there are none. */
#define VOID_ROWS                                                                                                                \
    "(SELECT seq FROM trials WHERE seq IN (SELECT s.seq FROM judged_with CROSS JOIN trials s"                                    \
    " ON s.seq > first AND s.status = 'harness_abort') AND parent_exp <> '' AND job_name IN ('" LINEAGE_VOID_JOB                 \
    "', '" LINEAGE_UNVOID_JOB "'))"

/* Returns the connection, which is valid until the next sync. */
sqlite3 *mirror_db(struct mirror *mirror);

/* Runs SQL that returns no rows and takes no values. */
enum lineage_status mirror_exec(struct mirror *mirror, const char *sql, struct lineage_error *err);

/* Runs a script of schema/, with the number as ?1 of each statement, which sqlite3_exec cannot do. */
enum lineage_status mirror_run_script(struct mirror *mirror, const char *sql, int64_t number, struct lineage_error *err);

/* Begins a read transaction, unless one is open or SQLite cannot begin one; then each statement takes the lock of lineage.db by
 * itself, which gives the same answer more slowly. Returns whether it began one: pass that to mirror_end_reading before
 * the question returns. Call it after mirror_sync, which writes and cannot run inside. */
bool mirror_begin_reading(struct mirror *mirror);
void mirror_end_reading(struct mirror *mirror, bool began);

/* Sets *stmt to the cached statement of `sql`, reset and without bound values. sql must be a constant, because the
 * cache identifies it by its address. Do not finalize *stmt, because the mirror owns it. */
enum lineage_status mirror_prepare(struct mirror *mirror, sqlite3_stmt **stmt, const char *sql, struct lineage_error *err);

/* Steps to the next row. Returns LINEAGE_OK for a row, LINEAGE_ENOTFOUND without a message after the last row, and
 * otherwise the failure. */
enum lineage_status mirror_step(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err);

/*
 * Steps to the next row while *status is LINEAGE_OK: `while (mirror_next(&status, mirror, stmt, err))`. Returns false, with the statement
 * reset, after the last row or if *status is or becomes a failure. A loop that ends before that must reset the statement. The last row
 * and LINEAGE_ENOTFOUND look alike, so a status of LINEAGE_ENOTFOUND that the body of the loop sets becomes LINEAGE_OK.
 */
bool mirror_next(enum lineage_status *status, struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err);

/* Runs a statement that returns no rows, and resets it. Bind its values before the call. */
enum lineage_status mirror_run(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err);

/*
 * The following prepare `sql` as mirror_prepare does and bind the values behind `kinds`, whose letters say what they are, from ?1
 * on: i an int64_t, d a double, s a const char * (NULL: null), t a const char * and a size_t, its length, n a struct
 * lineage_number (not present: null), v a const struct lineage_param *, whose value is bound. Texts must live as long as the
 * statement uses them.
 *
 * mirror_rows leaves the rows to the caller, mirror_row steps to the first one (LINEAGE_ENOTFOUND: there is none). Reset the
 * statement when its row was read; *stmt is NULL, which may be reset, if it could not be prepared. mirror_do runs a statement
 * that returns no rows, mirror_has says whether there is a row, and mirror_integer reads the first column of the first row
 * (LINEAGE_ENOTFOUND: there is none, and *value stays).
 */
enum lineage_status mirror_rows(struct mirror *mirror, sqlite3_stmt **stmt, struct lineage_error *err, const char *sql,
                                const char *kinds, ...);
enum lineage_status mirror_row(struct mirror *mirror, sqlite3_stmt **stmt, struct lineage_error *err, const char *sql,
                               const char *kinds, ...);
enum lineage_status mirror_do(struct mirror *mirror, struct lineage_error *err, const char *sql, const char *kinds, ...);
enum lineage_status mirror_has(struct mirror *mirror, bool *found, struct lineage_error *err, const char *sql, const char *kinds,
                               ...);
enum lineage_status mirror_integer(struct mirror *mirror, int64_t *value, struct lineage_error *err, const char *sql,
                                   const char *kinds, ...);

/* Resets a statement after the last row that the caller needs. `status` is the result of the last step; returns
 * LINEAGE_OK for LINEAGE_ENOTFOUND, and any other status unchanged. */
enum lineage_status mirror_end_rows(sqlite3_stmt *stmt, enum lineage_status status);

/* Adds the seqs in the first column of all rows of a statement, and resets it. Bind its values before the call. After a failure the list
 * has some of them. */
enum lineage_status mirror_list_seqs(struct mirror_seqs *seqs, struct mirror *mirror, sqlite3_stmt *stmt,
                                     struct lineage_error *err);

/* Fills err from SQLite's last failure: LINEAGE_ELOCKED if the file is busy, LINEAGE_ENOMEM, LINEAGE_ECANCELLED, else
 * LINEAGE_EDB. Damage is recorded for mirror_mended. */
enum lineage_status mirror_fail(struct mirror *mirror, const char *doing, struct lineage_error *err);

/* Records that lineage.db is damaged, for a caller that found the damage by itself. Does nothing for a mirror in
 * memory. */
void mirror_note_damage(struct mirror *mirror);

/* Bind a value that may be absent: NULL, or without `present`. The text must live as long as the statement uses it. */
void mirror_bind_text(sqlite3_stmt *stmt, int at, const char *text);
void mirror_bind_number(sqlite3_stmt *stmt, int at, struct lineage_number number);

/* Returns the text of a column, or "" for NULL, which a file made by another program may contain. */
static inline const char *mirror_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? text : "";
}

/* Reads the label in a column. For a text that is not a label it returns LINEAGE_EDB and notes damage. */
enum lineage_status mirror_label(struct mirror *mirror, sqlite3_stmt *stmt, int column, enum lineage_label *label,
                                 struct lineage_error *err);

/* Bits of trials.special. Each number column has a bit, from 1 up, that is set if the number is nan, which SQLite
 * cannot store. That bit times this factor is set if the number is negative zero. */
#define MIRROR_NEGATIVE_ZERO 256
