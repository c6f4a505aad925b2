/*
 * mirror.h: the mirror, a SQLite database built from the log, that answers every question about its trials.
 *
 * A command opens the store's mirror, brings it up to date with mirror_sync, and then asks: questions/questions.h has
 * the questions, verify/mirror_checks.h the checks of the database itself. No SQLite type appears in these headers.
 *
 * Invariants
 *   1. An answer is that of the log as of the last mirror_sync. When lineage.db cannot be used (read-only directory,
 *      full disk, locked for too long, a newer version, changed bytes in the log), this handle builds a mirror in
 *      memory from the log instead, with a notice.
 *   2. The mirror covers the terminated records of the log in [0, watermark). Watermark, line number, identity of the
 *      log and digests are written in the same transaction as the rows.
 *   3. A last record without a line end is mirrored as a provisional row, which the next sync removes and reads again.
 *   4. Each row keeps the digest of its bytes, so that a changed byte can be reported with its line.
 *   5. Nothing here writes to the log or takes its lock, so a reader never waits for a writer.
 *   6. A trial is identified by its seq, its position among the rows, from 1. A seq is valid until the next mirror_sync:
 *      the provisional row may be a different one then.
 */
#ifndef MIRROR_MIRROR_H
#define MIRROR_MIRROR_H

#include "../format/row.h"
#include "../internal.h"
#include "../log/log.h"

struct mirror;

/* Opens the mirror of a store whose log is open; the store must outlive it. Reads nothing of the log yet. */
enum lineage_status mirror_open(struct mirror **mirror, struct lineage_store *store, struct lineage_error *err);
void mirror_close(struct mirror *mirror); /* NULL is allowed */

/* The store that it was opened for. */
const struct lineage_store *mirror_store(const struct mirror *mirror);

/* ---- following the log ---- */

/* Brings the mirror up to date with the log; reads new bytes only. Every reader calls it before it asks. */
enum lineage_status mirror_sync(struct mirror *mirror, struct lineage_error *err);

/* Does the same for a writer, which waits for the log's lock only: if another process holds lineage.db, the mirror stays
 * behind, and mirror_position says how far it has read. */
enum lineage_status mirror_catch_up(struct mirror *mirror, struct lineage_error *err);

/* Does the same for a writer whose row is already safe in the log: a failure is only a notice, and the mirror stays where it
 * is instead of falling back to memory. */
void mirror_follow(struct mirror *mirror);

/* Throws lineage.db away and builds it anew. */
enum lineage_status mirror_rebuild(struct mirror *mirror, struct lineage_error *err);

/*
 * Calls ask(question), and calls it again if it failed because lineage.db is damaged: the mirror is built anew first, on
 * disk or in memory. ask must call mirror_sync if its answer should be up to date, and begin its answer from the start.
 * Use it around everything that is asked for a user; do not call it while an answer is being given item by item.
 */
typedef enum lineage_status mirror_question_fn(void *question, struct lineage_error *err);
enum lineage_status mirror_ask(struct mirror *mirror, mirror_question_fn *ask, void *question, struct lineage_error *err);

/* The part of mirror_ask behind a failure: returns true if lineage.db was damaged and the mirror has been built anew. */
bool mirror_mended(struct mirror *mirror);

/* Damage that was met is not to be mended: the caller checks the file itself. */
void mirror_forget_damage(struct mirror *mirror);

/* ---- what it is ---- */

/* Whether answers come from disk, not from memory. */
bool mirror_on_disk(const struct mirror *mirror);

/* Why this handle answers from memory although it should use the disk; NULL if it does not. */
const struct lineage_error *mirror_fallback(const struct mirror *mirror);

/* How far the mirror has read. */
struct mirror_position {
    struct log_state log; /* at the last sync */
    uint64_t watermark;   /* end of its last terminated record; bytes after it are an unterminated one */
    uint64_t line;        /* number of the line that begins there */
    uint64_t rows;        /* terminated ones */
    uint64_t next_id;     /* largest numeric exp_id + 1 */
    size_t id_width;      /* digits of the widest numeric exp_id */
};
const struct mirror_position *mirror_position(const struct mirror *mirror);

/* *ends: the last record that was read is still at its place in the log. Between a sync and a claim another writer may
 * have taken rows back (log_state.taken_back) and written others. */
enum lineage_status mirror_ends_in_log(struct mirror *mirror, bool *ends, struct lineage_error *err);

/* Layout of the log's header; NULL while the log has none. Valid until the next sync. */
const struct row_layout *mirror_layout(const struct mirror *mirror);

#endif
