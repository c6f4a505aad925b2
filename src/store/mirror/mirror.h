/*
 * mirror.h: lineage.db, the SQLite mirror, and everything that is asked of it.
 *
 * Invariants
 *   1. The mirror covers the terminated records of results.tsv in [0, watermark); watermark, line
 * number, file identity and digests are written in the same transaction as the rows.
 *   2. A last record without line end is mirrored as a provisional row, dropped at the next sync.
 *   3. Each row keeps the digest of its bytes, so that a changed byte is named by line.
 *   4. A mirror on disk that cannot serve (read-only directory, full disk, locked for too long, a newer
 *      version, bytes of results.tsv changed under it) is replaced by one in memory for this handle, built
 *      from results.tsv as it is, with a notice. One that is damaged, or was made for another score column
 *      than the configured one, is made anew. Answers are always those of results.tsv.
 */
#ifndef MIRROR_MIRROR_H
#define MIRROR_MIRROR_H

#include <sqlite3.h>

#include "../format/row.h"
#include "../internal.h"
#include "../log/log.h"

struct mirror;

enum lineage_status mirror_open(struct mirror **mirror, struct lineage_store *store,
                                struct lineage_error *err);
void mirror_close(struct mirror *mirror);

/* Bring the mirror up to date with the log: reads new bytes only. Every reader calls it first. */
enum lineage_status mirror_sync(struct mirror *mirror, struct lineage_error *err);

/* The same for a writer that has the row safe on disk: never falls back to memory, failing costs a
 * notice. */
void mirror_follow(struct mirror *mirror);

/* Throw the mirror on disk away and build it anew. */
enum lineage_status mirror_rebuild(struct mirror *mirror, struct lineage_error *err);

/* Whether answers come from lineage.db (not from memory). */
bool mirror_on_disk(const struct mirror *mirror);

/* The connection, for statements of the other files. Valid until the next sync. */
sqlite3 *mirror_db(struct mirror *mirror);

/* The cached statement of a constant text (known by its pointer), reset, unbound, not to finalize. */
enum lineage_status mirror_prepare(struct mirror *mirror, sqlite3_stmt **stmt, const char *sql,
                                   struct lineage_error *err);

/* SQLITE_ROW is LINEAGE_OK, SQLITE_DONE LINEAGE_ENOTFOUND without message; the rest fails. */
enum lineage_status mirror_step(struct mirror *mirror, sqlite3_stmt *stmt,
                                struct lineage_error *err);

/* Translate an SQLite failure: LINEAGE_ELOCKED when busy, LINEAGE_ENOMEM, else LINEAGE_EDB. */
enum lineage_status mirror_fail(struct mirror *mirror, const char *doing,
                                struct lineage_error *err);

/* Columns that mirror_trial reads, from a `trials t`; they must come first in a SELECT. */
#define TRIAL_COLUMNS                                                                              \
    "t.seq, t.line, t.exp_id, t.timestamp, t.specialist, t.parent_exp, t.baseline_exp, t.domain, " \
    "t.hypothesis, t.expected_delta, t.status, t.core_metric, t.val_bpb, t.delta_vs_best, "        \
    "t.train_s, "                                                                                  \
    "t.total_s, t.job_name, t.snapshot_path, t.notes, t.score, t.special"
#define N_TRIAL_COLUMNS 21

/* Bits of trials.special: nan from 1 on, negative zero from here on. */
#define MIRROR_NEGATIVE_ZERO 256

/* Fill a trial from the current row; text goes to arena. Extra columns are loaded too. */
enum lineage_status mirror_trial(struct mirror *mirror, sqlite3_stmt *stmt,
                                 struct lineage_trial *trial, struct arena *arena,
                                 struct lineage_error *err);

/* The same into memory owned by the trial (lineage_trial_release). */
enum lineage_status mirror_own_trial(struct mirror *mirror, sqlite3_stmt *stmt,
                                     struct lineage_trial *trial, struct lineage_error *err);

/* The row with that seq, its text in arena; LINEAGE_ENOTFOUND without message. */
enum lineage_status mirror_borrow(struct mirror *mirror, int64_t seq, struct lineage_trial *trial,
                                  struct arena *arena, struct lineage_error *err);

/* The same into memory of its own (lineage_trial_release). */
enum lineage_status mirror_load(struct mirror *mirror, int64_t seq, struct lineage_trial *trial,
                                struct lineage_error *err);

/* seq of the last row named id, resolving the exp_ prefix; LINEAGE_ENOTFOUND without message. */
enum lineage_status mirror_find(struct mirror *mirror, const char *id, int64_t *seq,
                                struct lineage_error *err);

/* Sync first, and say so if there is no such trial: what a reader who was given an id calls. */
enum lineage_status mirror_resolve(struct mirror *mirror, const char *id, int64_t *seq,
                                   struct lineage_error *err);

/* mirror_find without the exp_ rule. */
enum lineage_status mirror_find_exact(struct mirror *mirror, const char *id, int64_t *seq,
                                      struct lineage_error *err);

/* Whether walking up from the trial named `from` meets the id `ancestor`, which need not be there
 * yet. */
enum lineage_status mirror_descends(struct mirror *mirror, const char *from, const char *ancestor,
                                    bool *descends, struct lineage_error *err);

/* seq of the best trial by the native rule; LINEAGE_ENOTFOUND without message. */
enum lineage_status mirror_best(struct mirror *mirror, int64_t *seq, double *score,
                                struct lineage_error *err);

/* The chain of the trial with that seq (lineage_chain_release). */
struct lineage_chain;
enum chain_rule {
    CHAIN_KEPT, /* kept and baseline ancestors, parents resolved with the exp_ rule: the native one
                 */
    CHAIN_ALL   /* every ancestor, parents by exact id: that of the tools the file is shared with */
};
enum lineage_status mirror_chain(struct mirror *mirror, int64_t seq, enum chain_rule rule,
                                 struct lineage_chain *chain, struct lineage_error *err);

/* How far the mirror has read. */
struct mirror_position {
    uint64_t device, inode;
    uint64_t watermark; /* end of the last terminated record */
    uint64_t line;
    uint64_t size; /* of the file at the last sync; bytes after the watermark are an unterminated
                      record */
    uint64_t rows;
    uint64_t next_id;
    size_t id_width;
};
const struct mirror_position *mirror_position(const struct mirror *mirror);

/* Layout of the file's header; NULL while there is none. Valid until the next sync. */
const struct row_layout *mirror_layout(const struct mirror *mirror);

/* Whether some row names id (or exp_id) as its parent. */
enum lineage_status mirror_is_parent(struct mirror *mirror, const char *id, bool *found,
                                     struct lineage_error *err);

/* Why this handle answers from memory although it was to use the disk; NULL if it does not. */
const struct lineage_error *mirror_fallback(const struct mirror *mirror);

/* XXH3 of a record's bytes as SQLite integer. */
int64_t mirror_digest(const char *bytes, size_t length);

#endif
