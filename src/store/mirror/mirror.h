/*
 * mirror.h: lineage.db, the SQLite mirror: what statements of this directory share. index/index.h says what can
 * be asked of it.
 *
 * Invariants
 *   1. The mirror covers the terminated records of the log in [0, watermark); watermark, line number, identity
 *      of the log and digests are written in the same transaction as the rows.
 *   2. A last record without line end is mirrored as a provisional row, dropped at the next sync.
 *   3. Each row keeps the digest of its bytes, so that a changed byte is named by line.
 *   4. A mirror on disk that cannot serve (read-only directory, full disk, locked for too long, a newer
 *      version, bytes of the log changed under it) is replaced by one in memory for this handle, built from the
 *      log as it is, with a notice. One that is damaged, or was made for another score column than the
 *      configured one, is made anew.
 */
#ifndef MIRROR_MIRROR_H
#define MIRROR_MIRROR_H

#include <sqlite3.h>

#include "../index/index.h"
#include "../log/log.h"

/* The connection, for statements of the other files. Valid until the next sync. */
sqlite3 *mirror_db(struct index *mirror);

/* The cached statement of a constant text (known by its pointer), reset, unbound, not to finalize. */
enum lineage_status mirror_prepare(struct index *mirror, sqlite3_stmt **stmt, const char *sql,
                                   struct lineage_error *err);

/* SQLITE_ROW is LINEAGE_OK, SQLITE_DONE LINEAGE_ENOTFOUND without message; the rest fails. */
enum lineage_status mirror_step(struct index *mirror, sqlite3_stmt *stmt, struct lineage_error *err);

/* Behind the last row that was wanted: reset, and what the walk ended with, where no further row is no failure. */
enum lineage_status mirror_end_rows(sqlite3_stmt *stmt, enum lineage_status status);

/* Translate an SQLite failure: LINEAGE_ELOCKED when busy, LINEAGE_ENOMEM, else LINEAGE_EDB. */
enum lineage_status mirror_fail(struct index *mirror, const char *doing, struct lineage_error *err);

/* Text of a column, "" for NULL: the file may have been made by anybody. */
static inline const char *mirror_text(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return text ? text : "";
}

/* The label in a column; LINEAGE_EDB, and the mirror counts as damaged, if it is none. */
enum lineage_status mirror_label(struct index *mirror, sqlite3_stmt *stmt, int at, enum lineage_label *label,
                                 struct lineage_error *err);

/* Columns that mirror_trial reads, from a `trials t`; they must come first in a SELECT. */
#define TRIAL_COLUMNS                                                                              \
    "t.seq, t.line, t.exp_id, t.timestamp, t.specialist, t.parent_exp, t.baseline_exp, t.domain, " \
    "t.hypothesis, t.expected_delta, t.status, t.core_metric, t.val_bpb, t.delta_vs_best, "        \
    "t.train_s, t.total_s, t.job_name, t.snapshot_path, t.notes, t.score, t.special"
#define N_TRIAL_COLUMNS 21

/* Bits of trials.special: nan from 1 on, negative zero from here on. */
#define MIRROR_NEGATIVE_ZERO 256

/* Fill a trial from the current row; text goes to arena. Extra columns are loaded too. */
enum lineage_status mirror_trial(struct index *mirror, sqlite3_stmt *stmt, struct lineage_trial *trial,
                                 struct arena *arena, struct lineage_error *err);

/* XXH3 of a record's bytes as SQLite integer. */
int64_t mirror_digest(const char *bytes, size_t length);

#endif
