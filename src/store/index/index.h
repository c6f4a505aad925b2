/*
 * index.h: what can be asked about the trials of a log, without reading it again.
 *
 * The rules of an append, the reading commands and the rendered block stand on this header; how the answers are
 * kept is known to mirror/ alone, which implements every function here (SQLite, on disk or in memory). No type
 * of a database appears: numbers, texts and structs come out, lists through a function called per item.
 *
 * Invariants
 *   1. An answer is that of the log as of the last index_sync, never of anything else: an index that cannot be
 *      kept on disk (read-only directory, full disk, locked for too long, bytes changed under it) is replaced by
 *      one in memory for this handle, made from the log, with a notice.
 *   2. Nothing here writes to the log or takes its lock, so a reader never waits for a writer.
 *   3. A trial is named by its seq, its position among the rows from 1. A seq stays valid until the next
 *      index_sync: the row of a last record without line end may be another one then.
 *
 * To add a question: declare it here in terms of structs, implement it in a file of mirror/ named after the
 * subject, and let a caller above index_sync first.
 */
#ifndef INDEX_INDEX_H
#define INDEX_INDEX_H

#include <lineage/notes.h>
#include <lineage/query.h>
#include <lineage/report.h>
#include <lineage/verify.h>

#include "../format/row.h"
#include "../internal.h"
#include "../log/log.h"

struct index;

/* Open the index of a store whose log is open; its settings must outlive it. */
enum lineage_status index_open(struct index **index, struct lineage_store *store, struct lineage_error *err);
void index_close(struct index *index);

/* Bring the index up to date with the log: reads new bytes only. Every reader calls it first. */
enum lineage_status index_sync(struct index *index, struct lineage_error *err);

/* The same for a writer, who waits for the log alone: what others who use the index keep it from reading now is left
 * out, and index_position says how far it got. */
enum lineage_status index_catch_up(struct index *index, struct lineage_error *err);

/* The same for a writer that has its row safe in the log: never falls back to memory, failing costs a notice. */
void index_follow(struct index *index);

/*
 * After a question failed: whether that was because what is kept on disk turned out to be damaged, and the index has been
 * made anew since, so that the question can be asked again. Not while an answer is being given item by item. Everybody
 * who asks on a user's behalf does so in a loop: `do status = ask(); while (status != LINEAGE_OK && index_mended(index))`.
 */
bool index_mended(struct index *index);

/* Throw away what is kept on disk and make it anew. */
enum lineage_status index_rebuild(struct index *index, struct lineage_error *err);

/* Whether answers come from disk (not from memory). */
bool index_on_disk(const struct index *index);

/* Why this handle answers from memory although it was to use the disk; NULL if it does not. */
const struct lineage_error *index_fallback(const struct index *index);

/* How far the index has read. */
struct index_position {
    struct log_state log; /* at the last sync */
    uint64_t watermark; /* end of its last terminated record; bytes after it are an unterminated one */
    uint64_t line;      /* number of the line that begins there */
    uint64_t rows;      /* terminated ones */
    uint64_t next_id;   /* largest numeric exp_id + 1 */
    size_t id_width;    /* digits of the widest numeric exp_id */
};
const struct index_position *index_position(const struct index *index);

/* Whether the last record that was read is still where it was. Between a sync and a claim another writer may have taken
 * rows back (log_state.taken_back) and written others. */
enum lineage_status index_ends_in_log(struct index *index, bool *ends, struct lineage_error *err);

/* Layout of the log's header; NULL while there is none. Valid until the next sync. */
const struct row_layout *index_layout(const struct index *index);

/* ---- one trial ---- */

/* seq of the last row named id, resolving the exp_ prefix; LINEAGE_ENOTFOUND without message. */
enum lineage_status index_find(struct index *index, const char *id, int64_t *seq, struct lineage_error *err);

/* index_find without the exp_ rule. */
enum lineage_status index_find_exact(struct index *index, const char *id, int64_t *seq, struct lineage_error *err);

/* seq of the first row of that trial of a night, harness_abort apart; LINEAGE_ENOTFOUND without message. */
enum lineage_status index_find_night(struct index *index, const struct lineage_night_link *night, int64_t *seq,
                                     struct lineage_error *err);

/* seq and score of the best trial by the native rule (lineage_best); LINEAGE_ENOTFOUND without message. */
enum lineage_status index_best(struct index *index, int64_t *seq, double *score, struct lineage_error *err);

/* The row with that seq, its text in arena; LINEAGE_ENOTFOUND without message. */
enum lineage_status index_borrow(struct index *index, int64_t seq, struct lineage_trial *trial, struct arena *arena,
                                 struct lineage_error *err);

/* The same into memory of its own (lineage_trial_release). */
enum lineage_status index_load(struct index *index, int64_t seq, struct lineage_trial *trial,
                               struct lineage_error *err);

/* ---- parents ---- */

/* Whether some row names id (or exp_id) as its parent. */
enum lineage_status index_is_parent(struct index *index, const char *id, bool *found, struct lineage_error *err);

/* Whether walking up from the trial named `from` meets the id `ancestor`, which need not be there yet. */
enum lineage_status index_descends(struct index *index, const char *from, const char *ancestor, bool *descends,
                                   struct lineage_error *err);

enum index_chain_rule {
    INDEX_CHAIN_KEPT, /* kept and baseline ancestors, parents resolved with the exp_ rule: the native one */
    INDEX_CHAIN_ALL   /* every ancestor, parents by exact id: that of the tools the file is shared with */
};

/* The chain of the trial with that seq (lineage_chain_release). */
enum lineage_status index_chain(struct index *index, int64_t seq, enum index_chain_rule rule,
                                struct lineage_chain *chain, struct lineage_error *err);

/* The two ends of a chain, in an arena: its first trials and its last ones. */
struct index_chain_ends {
    struct lineage_trial *trials; /* [n], root first */
    size_t *passed_over;          /* [n] as in lineage_chain */
    size_t n, total;
    size_t first; /* total - n trials are missing behind this many */
    enum lineage_chain_end end;
    char *end_id;
};

/* index_chain without the middle: the `first` first and `last` last trials, all of a chain that is no longer. */
enum lineage_status index_chain_ends(struct index *index, int64_t seq, enum index_chain_rule rule, size_t first,
                                     size_t last, struct index_chain_ends *ends, struct arena *arena,
                                     struct lineage_error *err);

/* Every trial's parent_exp as written ("" for none), in the order of the log. each may ask the index. */
typedef enum lineage_status index_parent_fn(void *context, int64_t seq, const char *parent, struct lineage_error *err);
enum lineage_status index_each_parent(struct index *index, index_parent_fn *each, void *context,
                                      struct lineage_error *err);

/* The part of lineage_tree_walk that no root leads to: trials in a cycle, or below one. The others cost their links. As of the
 * last sync: it makes none. */
enum lineage_status index_each_in_cycle(struct lineage_store *store,
                                        bool (*visit)(void *context, const struct lineage_tree_node *node),
                                        void *context, struct lineage_error *err);

/* ---- many trials ---- */

/* Seqs that were found, in the order asked for. Zeroed: none; items are the caller's to free, also after a failure. */
struct index_seqs {
    int64_t *items;
    size_t n, capacity;
};

/* Trials by conditions (lineage_query_open). LINEAGE_EINVAL with the known names for an unknown one. */
enum lineage_status index_query(struct index *index, const struct lineage_query *query, struct index_seqs *found,
                                struct lineage_error *err);
enum lineage_status index_count(struct index *index, const struct lineage_query *query, size_t *n,
                                struct lineage_error *err);

/* Trials near the wanted values (lineage_tried). */
enum lineage_status index_tried(struct index *index, const struct lineage_param *wanted, size_t n_wanted,
                                double tolerance, struct index_seqs *found, struct lineage_error *err);

/* Coverage of one or two parameters (lineage_sweep_load); no cell is no failure here. */
enum lineage_status index_sweep(struct index *index, const char *x, const char *y, struct lineage_sweep *sweep,
                                struct lineage_error *err);

/* A user's read-only statement in the language of schema/001_mirror.sql (lineage_sql). */
enum lineage_status index_sql(struct index *index, const char *statement, lineage_sql_row *row, void *context,
                              struct lineage_error *err);

/* ---- what is wrong (lineage/verify.h) ---- */

/* What the sync found wrong with records, in the order of the log. */
enum lineage_status index_findings(struct index *index, lineage_finding_fn *report, void *context,
                                   struct lineage_error *err);

/* Ids that are empty or used twice, parents that are nowhere. */
enum lineage_status index_id_faults(struct index *index, lineage_finding_fn *report, void *context,
                                    struct lineage_error *err);

/*
 * Whether the index on disk covers the whole log and is what it should be, found out in little memory with the help of
 * another one, `apart`, in memory, which is empty afterwards. If so (*sound), it stands still until index_leave_sound and
 * can be asked instead of one made from the log; it is not to be synced meanwhile. If not, or if that cannot be told,
 * index_check says what is wrong. Writes nothing.
 */
enum lineage_status index_enter_sound(struct index *on_disk, struct index *apart, bool *sound, struct lineage_error *err);
void index_leave_sound(struct index *on_disk);

/* Whether the index on disk is what it should be: sound in itself, and the same, row by row, as one
 * just made in memory from the log (which may have grown since). Writes nothing. */
enum lineage_status index_check(struct index *on_disk, struct index *truth, lineage_finding_fn *report,
                                void *context, struct lineage_error *err);

/* Trials with a snapshot in the order of the log: line, exp_id and snapshot_path alone are filled in. */
enum lineage_status index_each_snapshot(struct index *index,
                                        void (*visit)(void *context, const struct lineage_trial *trial),
                                        void *context, struct lineage_error *err);

/* Whether some row names that snapshot. Reads all rows. */
enum lineage_status index_is_snapshot(struct index *index, const char *path, bool *found, struct lineage_error *err);

/* ---- what a report is made of; everything found goes to the arena ---- */

enum index_order {
    INDEX_BEST_KEPT,   /* keep with a finite score, best first, then as in the file */
    INDEX_BEST_KEPT_UNSCORED_INFINITE, /* keep, best first; no score counts as +inf, nan is left out */
    INDEX_BEST_SCORED, /* any label but harness_abort, with a score, best first, then as in the file */
    INDEX_FIRST_SCORED, /* the same with nan, as in the file */
    INDEX_FIRST,        /* as in the file */
    INDEX_NEWEST,       /* last in the file first */
    INDEX_NEWEST_INFORMATIVE /* the same without harness_abort */
};

#define INDEX_ALL ((size_t)-1)

/* At most `limit` trials in that order. */
enum lineage_status index_list(struct index *index, enum index_order order, size_t limit,
                               struct lineage_trial **trials, size_t *n, struct arena *arena,
                               struct lineage_error *err);

/* The newest `limit` trials with a label of failure (see lineage_report_failure). */
enum lineage_status index_newest_failed(struct index *index, enum lineage_label label, size_t limit,
                                        struct lineage_trial **trials, size_t *n, struct arena *arena,
                                        struct lineage_error *err);

/* How many trials of which specialist got which label: [n], by specialist, then label as text. */
struct index_label_count {
    const char *specialist;
    enum lineage_label label;
    uint64_t n;
};
enum lineage_status index_label_counts(struct index *index, struct index_label_count **counts, size_t *n,
                                       struct arena *arena, struct lineage_error *err);

/* Records that could not be read in full. */
enum lineage_status index_count_findings(struct index *index, uint64_t *n, struct lineage_error *err);

/* Names of all parameters but for the first LINEAGE_REPORT_PARAMS only counted in *more: alpha, beta, gamma, then
 * by name. */
enum lineage_status index_param_names(struct index *index, const char ***names, size_t *n, size_t *more,
                                      struct arena *arena, struct lineage_error *err);

/* The values of one parameter, ascending, at most LINEAGE_REPORT_VALUES; `constant` is not decided. */
enum lineage_status index_param_values(struct index *index, const char *name, struct lineage_report_param *param,
                                       struct arena *arena, struct lineage_error *err);

/*
 * Whether some trial, harness_abort apart, has both parameters at these values. Both lists of trials are walked
 * at once, each leaping to where the other one is; *steps is what that may cost, and is counted down: at 0 the
 * answer is INDEX_UNSETTLED.
 */
enum index_cell { INDEX_UNTRIED, INDEX_TRIED, INDEX_UNSETTLED };
enum lineage_status index_pair_tried(struct index *index, const struct lineage_param pair[2], size_t *steps,
                                     enum index_cell *cell, struct lineage_error *err);

/* Expected against happened, at most `limit` specialists, most trials first. */
enum lineage_status index_calibration(struct index *index, size_t limit, struct lineage_report_calibration **list,
                                      size_t *n, struct arena *arena, struct lineage_error *err);

/* The same by proposer; reads every trial that names one. lower: whether a lower score is better. */
enum lineage_status index_proposers(struct index *index, size_t limit, bool lower, struct lineage_report_proposer **list,
                                    size_t *n, struct arena *arena, struct lineage_error *err);

#endif
