/*
 * mirror.h: lineage.db, the SQLite mirror, and everything that is asked of it.
 *
 * Invariants
 *   1. The mirror covers the terminated records of results.tsv in [0, watermark); watermark, line number,
 *      file identity and digests are written in the same transaction as the rows.
 *   2. A torn or unterminated last record is mirrored as provisional rows, dropped at the next sync.
 *   3. Each row keeps the digest of its bytes, so that a changed byte is named by line.
 *   4. A mirror that cannot be opened or written (read-only directory, full disk, another version, another
 *      score column) is replaced by one in memory for this handle; nothing is ever lost with it.
 */
#ifndef MIRROR_MIRROR_H
#define MIRROR_MIRROR_H

#include <sqlite3.h>

#include "../internal.h"
#include "../log/log.h"

struct mirror;

enum lineage_status mirror_open(struct mirror **mirror, struct lineage_store *store, struct lineage_error *err);
void mirror_close(struct mirror *mirror);

/* Bring the mirror up to date with the log: reads new bytes only. Called by every reader and before append. */
enum lineage_status mirror_sync(struct mirror *mirror, struct lineage_error *err);

/* The connection, for prepared statements of the other files in mirror/ and render/. Valid until close. */
sqlite3 *mirror_db(struct mirror *mirror);

/* A cached prepared statement of constant text (compared by pointer); reset it when done, never finalize. */
enum lineage_status mirror_prepare(struct mirror *mirror, const char *sql, sqlite3_stmt **stmt,
                                   struct lineage_error *err);

/* Fill a trial from a statement that selects TRIAL_COLUMNS first; params, turns and extras are loaded too.
 * Members are owned by the trial (lineage_trial_release). */
#define TRIAL_COLUMNS "t.seq"
enum lineage_status mirror_trial(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_trial *trial,
                                 struct lineage_error *err);

/* Translate an SQLite failure: LINEAGE_ELOCKED for busy, else LINEAGE_EDB with sqlite3_errmsg. */
enum lineage_status mirror_fail(struct mirror *mirror, const char *doing, struct lineage_error *err);

/* What an append must know, valid while the log's lock is held and the mirror is in sync. */
struct mirror_facts {
    uint64_t end;       /* end of the last terminated record */
    uint64_t torn;      /* bytes after it */
    uint64_t next_id;   /* largest numeric exp_id + 1 */
    size_t id_width;    /* digits to write, at least 3 */
    bool has_best;
    double best_score;
    char best_id[256];
};
enum lineage_status mirror_facts(struct mirror *mirror, struct mirror_facts *facts, struct lineage_error *err);

/* Whether an exp_id is in the store (exactly as given). */
enum lineage_status mirror_has_id(struct mirror *mirror, const char *id, bool *found, struct lineage_error *err);

/* The header of the file as layout, for writers of files that are not in canonical column order; NULL if empty. */
struct row_layout;
const struct row_layout *mirror_layout(struct mirror *mirror);

#endif
