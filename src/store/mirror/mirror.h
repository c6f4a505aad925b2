/*
 * mirror.h: the mirror, an SQLite database that is built from the log and answers every question about its trials.
 *
 * A command opens the store's mirror, brings it up to date with mirror_sync, and then asks: questions/questions.h has
 * the questions, verify/mirror_checks.h the checks of the database itself. No SQLite type appears in these headers.
 *
 * Invariants
 *   1. An answer reflects the log as of the last mirror_sync. When lineage.db cannot be used (read-only directory, full
 *      disk, locked for too long, a newer version, changed bytes in the log), this handle builds a mirror in memory
 *      from the log instead, with a notice.
 *   2. The mirror covers the terminated records of the log in [0, watermark). Watermark, line number, identity of the
 *      log and digests are written in the same transaction as the rows.
 *   3. A last record without a line end is mirrored as a provisional row, which the next sync removes and reads again.
 *   4. Each row keeps the digest of its bytes, so that a changed byte can be reported with its line.
 *   5. Nothing here writes to the log or takes its lock, so a reader never waits for a writer.
 *   6. A trial is identified by its seq, its position among the rows, counted from 1. A seq is valid until the next
 *      mirror_sync, because the provisional row may be a different row then.
 */
#pragma once

#include "../format/row.h"
#include "../internal.h"
#include "../log/log.h"

struct mirror;

/*
 * Judges trials again that were compared with a trial that is void now, or is not void any more: calls mirror_judge_row for each
 * that changes. seqs are the measured trials before the last row that voids a trial or takes it back, those before `first` only if
 * they are kept. The rules of verdicts are above the mirror, so its owner passes this function.
 */
struct mirror_seqs;
typedef enum lineage_status mirror_judge_fn(struct lineage_store *store, const struct mirror_seqs *seqs, int64_t first,
                                            int64_t last, struct lineage_error *err);

/* Opens the mirror of a store whose log is open. The store must outlive the mirror. This does not read the log yet. */
enum lineage_status mirror_open(struct mirror **mirror, struct lineage_store *store, mirror_judge_fn *judge,
                                struct lineage_error *err);

/* For mirror_judge_fn: gives the trial another label, difference and baseline_exp, and remembers its own. */
enum lineage_status mirror_judge_row(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err);

/* For mirror_judge_fn: whether the trial with that id was ever void, or has got another label. */
enum lineage_status mirror_is_moved(struct mirror *mirror, const char *exp_id, bool *moved, struct lineage_error *err);

/* Whether some void trial is a baseline by its own row. */
enum lineage_status mirror_has_void_baseline(struct mirror *mirror, bool *found, struct lineage_error *err);
void mirror_close(struct mirror *mirror); /* NULL is allowed */

/* The store for which the mirror was opened. */
const struct lineage_store *mirror_store(const struct mirror *mirror);

/* ---- following the log ---- */

/* Brings the mirror up to date with the log; reads new bytes only. Every reader calls this function before it asks a
 * question. */
enum lineage_status mirror_sync(struct mirror *mirror, struct lineage_error *err);

/* Like mirror_sync, but for a writer, which must not wait for lineage.db: if another process holds lineage.db, the
 * mirror stays behind, and mirror_position tells how far it has read. */
enum lineage_status mirror_catch_up(struct mirror *mirror, struct lineage_error *err);

/* Like mirror_catch_up, but for a writer that reads the last rows of the log itself: leaves the mirror behind by up to MIRROR_LAG
 * bytes, which the next question reads too. */
enum { MIRROR_LAG = 8192 };
enum lineage_status mirror_meet(struct mirror *mirror, const struct log_state *log, struct lineage_error *err);

/* Like mirror_follow, but does nothing if the mirror lags by up to MIRROR_LAG bytes. */
void mirror_follow_far(struct mirror *mirror);

/* Like mirror_catch_up, but for a writer whose row is already safe in the log: a failure only causes a notice, and the
 * mirror stays behind instead of falling back to memory. */
void mirror_follow(struct mirror *mirror);

/* Makes the mirror a new one beside lineage.db: in memory, or in a temporary file that is removed with it if the log is large. For a
 * caller that compares the two. */
enum lineage_status mirror_use_file(struct mirror *mirror, struct lineage_error *err);

/* Discards the contents of lineage.db and rebuilds it from the log. */
enum lineage_status mirror_rebuild(struct mirror *mirror, struct lineage_error *err);

/* Like mirror_rebuild, for a user who asks for it: also replaces a lineage.db that this user's commands did not make. */
enum lineage_status mirror_replace(struct mirror *mirror, struct lineage_error *err);

/*
 * Calls ask(question). If that fails because lineage.db is damaged or cannot be used, the mirror is rebuilt on disk or in
 * memory, and ask is called again. ask must start its answer from the beginning each time, and must call mirror_sync if the answer
 * should be up to date. Use mirror_ask for every question of a user, but do not call it while an answer is being
 * returned item by item.
 */
typedef enum lineage_status mirror_question_fn(void *question, struct lineage_error *err);
enum lineage_status mirror_ask(struct mirror *mirror, mirror_question_fn *ask, void *question, struct lineage_error *err);

/* Opens the file for writing if it is read without locks and could be written, so no statement of the handle may run, and
 * temporary tables are gone. If that is impossible, the handle answers from memory. Returns LINEAGE_OK also for a file that
 * cannot be written. */
enum lineage_status mirror_open_to_write(struct mirror *mirror, struct lineage_error *err);

/* Does that, and returns whether what a question found out may be kept in lineage.db for later ones. */
bool mirror_may_write(struct mirror *mirror);

/* The step of mirror_ask after a failure: returns true if lineage.db was damaged or could not be used, and the mirror has
 * been rebuilt. */
bool mirror_mended(struct mirror *mirror);

/* Makes mirror_mended ignore faults of the file that were found so far. For a caller that checks the file itself. */
void mirror_forget_damage(struct mirror *mirror);

/* ---- what it is ---- */

/* Whether answers come from lineage.db on disk instead of memory. */
bool mirror_on_disk(const struct mirror *mirror);

/* The reason why this handle answers from memory although it should use the disk, or NULL. */
const struct lineage_error *mirror_fallback(const struct mirror *mirror);

/* How far the mirror has read. */
struct mirror_position {
    struct log_state log; /* at the last sync */
    uint64_t watermark; /* end of the last terminated record that was read */
    uint64_t line; /* number of the line that begins there */
    uint64_t rows; /* number of rows, without the provisional one */
    uint64_t next_id; /* largest numeric exp_id + 1 */
    size_t id_width; /* digits of the widest numeric exp_id */
    int64_t names; /* of the parameters of the trials: as in schema/mirror.sql */
    int64_t twice; /* seq of the first row whose exp_id an earlier row has, 0: none */
};
const struct mirror_position *mirror_position(const struct mirror *mirror);

/* *ends is true if the last record that was read is still at its place in the log. Between a sync and a claim another
 * writer may have taken rows back (log_state.taken_back) and written other rows. */
enum lineage_status mirror_ends_in_log(struct mirror *mirror, bool *ends, struct lineage_error *err);

/* Layout of the log's header; NULL while the log has none. Valid until the next sync. */
const struct row_layout *mirror_layout(const struct mirror *mirror);
