/* statement.h: SQL statements on the mirror's connection, for the rooms that ask or check it. */
#ifndef MIRROR_STATEMENT_H
#define MIRROR_STATEMENT_H

#include <sqlite3.h>

#include "mirror.h"

/* The connection. Valid until the next sync. */
sqlite3 *mirror_db(struct mirror *mirror);

/* Runs SQL that returns no rows and takes no values. */
enum lineage_status mirror_exec(struct mirror *mirror, const char *sql, struct lineage_error *err);

/* Sets *stmt to the cached statement of `sql`, reset and without values. sql must be a constant, because the cache knows
 * it by its address; the mirror owns *stmt, so do not finalize it. */
enum lineage_status mirror_prepare(struct mirror *mirror, sqlite3_stmt **stmt, const char *sql, struct lineage_error *err);

/* LINEAGE_OK for a row; LINEAGE_ENOTFOUND without a message after the last one; otherwise the failure. */
enum lineage_status mirror_step(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err);

/* Runs a statement that returns no rows, with its values bound, and resets it. */
enum lineage_status mirror_run(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_error *err);

/* Resets a statement after its last wanted row. `status` is that of the last step; returns LINEAGE_OK for
 * LINEAGE_ENOTFOUND, and any other status unchanged. */
enum lineage_status mirror_end_rows(sqlite3_stmt *stmt, enum lineage_status status);

/* Fills err from SQLite's last failure: LINEAGE_ELOCKED if the file is busy, LINEAGE_ENOMEM, LINEAGE_ECANCELLED, else
 * LINEAGE_EDB. Damage is remembered for mirror_mended. */
enum lineage_status mirror_fail(struct mirror *mirror, const char *doing, struct lineage_error *err);

/* For a caller that found out by itself that lineage.db is damaged. Does nothing for a mirror in memory. */
void mirror_note_damage(struct mirror *mirror);

/* Text of a column, "" for NULL: anybody may have made the file. */
static inline const char *mirror_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? text : "";
}

/* Reads the label in a column. For a text that is not a label it returns LINEAGE_EDB and notes damage. */
enum lineage_status mirror_label(struct mirror *mirror, sqlite3_stmt *stmt, int column, enum lineage_label *label,
                                 struct lineage_error *err);

/* Bits of trials.special, one for each number column from 1 on: the number is nan (which SQLite cannot store); and
 * from this bit on: it is negative zero. */
#define MIRROR_NEGATIVE_ZERO 256

#endif
