/*
 * questions.h: what can be asked about the trials of a store. Call mirror_sync first, because every answer is as of the
 * last sync.
 *
 * Answers are numbers, texts, structs, and lists given to a callback item by item; no SQLite type appears here. To add a
 * question, declare it here in terms of structs and implement it in a file of this folder named after its subject.
 */
#pragma once

#include <lineage/front.h>
#include <lineage/notes.h>
#include <lineage/query.h>
#include <lineage/report.h>
#include <lineage/voids.h>
#include <lineage/settings.h>

#include "../mirror/mirror.h"
#include "../mirror/seqs.h"

/* Replaces *text by the value of the name (a parameter, an extra column or a column) that is shown as *text is, if no trial has
 * *text itself: a value with a bar or a backquote is shown with a sign in its place, and copied from there. The new text is in
 * the arena. */
/* What is meant by an integer that parameters hold as a text (lineage_param_is_text): a number where the name holds only numbers, such as
 * a metric or rows of other tools; then the condition is a range, within the tolerance. If it holds both, the condition keeps the text and
 * the range of that one number, and either is enough. Removes the range of other texts. */
enum lineage_status query_mean_wide(struct lineage_condition *condition, struct mirror *mirror, double tolerance,
                                    struct lineage_error *err);

enum lineage_status name_exact_text(const char **text, struct mirror *mirror, const char *name, struct arena *arena,
                                    struct lineage_error *err);

/* ---- one trial ---- */

/* Finds the last row with that id, in either spelling (exp_); LINEAGE_ENOTFOUND without message. */
enum lineage_status mirror_find(struct mirror *mirror, const char *id, int64_t *seq, struct lineage_error *err);

/* Like mirror_find, but finds exactly this spelling of the id only. */
enum lineage_status mirror_find_exact(struct mirror *mirror, const char *id, int64_t *seq, struct lineage_error *err);

/* Finds the first row of that trial of a night, except harness_abort; LINEAGE_ENOTFOUND without message. */
enum lineage_status mirror_find_night(struct mirror *mirror, const struct lineage_night_link *night, int64_t *seq,
                                      struct lineage_error *err);

/* Loads the kept row with the best score of its own (mirror_best), as a public question: the answer of lineage_best if nothing ran
 * more than once. LINEAGE_ENOTFOUND with a message. Release the trial after use. */
enum lineage_status mirror_ask_top(struct lineage_store *store, struct lineage_trial *trial, struct lineage_error *err);

/* Whether some row is not the only run of its trial. false in a mirror that is a part. */
enum lineage_status mirror_ask_any_again(bool *any, struct lineage_store *store, struct lineage_error *err);

/* Finds the kept row with the best score of its own; LINEAGE_ENOTFOUND without message. */
enum lineage_status mirror_best(struct mirror *mirror, int64_t *seq, double *score, struct lineage_error *err);

/* The scatter of the newest measured scores before that seq (INT64_MAX: of all), at most 100, as far as the mirror has read the
 * log. */
enum lineage_status mirror_scatter(struct mirror *mirror, int64_t before, struct lineage_scatter *scatter,
                                   struct lineage_error *err);

/* Loads the row with that seq, with its text in arena; LINEAGE_ENOTFOUND without message. */
enum lineage_status mirror_borrow(struct mirror *mirror, int64_t seq, struct lineage_trial *trial, struct arena *arena,
                                  struct lineage_error *err);

/* Like mirror_borrow, but the trial owns its memory (lineage_trial_release). */
enum lineage_status mirror_load(struct mirror *mirror, int64_t seq, struct lineage_trial *trial, struct lineage_error *err);

/* ---- parents ---- */

/* Whether some row names id (or exp_id) as its parent. */
enum lineage_status mirror_is_parent(struct mirror *mirror, const char *id, bool *found, struct lineage_error *err);

/* Whether walking up from the trial `from` reaches the id `ancestor`, which need not be in the log yet. */
enum lineage_status mirror_descends(struct mirror *mirror, const char *from, const char *ancestor, bool *descends,
                                    struct lineage_error *err);

enum mirror_chain_rule {
    MIRROR_CHAIN_KEPT, /* kept and baseline ancestors, parents in either spelling: the native rule */
    MIRROR_CHAIN_ALL /* every ancestor, parents by exact id: the rule of the tools that share the file */
};

/* The chain of the trial with that seq by the native rule, without all but its `last` last trials; release it with
 * lineage_chain_release. */
enum lineage_status mirror_chain(struct mirror *mirror, int64_t seq, size_t last, struct lineage_chain *chain,
                                 struct lineage_error *err);

/* The first and last trials of a chain, in an arena. */
struct mirror_chain_ends {
    struct lineage_trial *trials; /* [n], root first */
    size_t *passed_over; /* [n] as in lineage_chain */
    size_t n, total;
    size_t first; /* number of trials before the gap, in which total - n trials are left out */
    enum lineage_chain_end end;
    char *end_id;
    bool by_keeps; /* no row of the log names a parent: these are the kept and baseline trials up to the given one */
};

/* Like mirror_chain, but loads the `first` first and the `last` last trials. A shorter chain is complete. By the native rule, a
 * chain of any length costs about as much as these trials, and a log without any parent is taken for one whose keeps go on from
 * each other. */
enum lineage_status mirror_chain_ends(struct mirror *mirror, int64_t seq, enum mirror_chain_rule rule, size_t first, size_t last,
                                      struct mirror_chain_ends *ends, struct arena *arena, struct lineage_error *err);

/* Calls `each` for every trial, in the order of the log, with its parent_exp as written ("" without a parent). `each`
 * may ask the mirror. */
typedef enum lineage_status mirror_parent_fn(void *context, int64_t seq, const char *parent, struct lineage_error *err);
enum lineage_status mirror_each_parent(struct mirror *mirror, mirror_parent_fn *each, void *context, struct lineage_error *err);

/* ---- many trials ---- */

/* Rows that are loaded together, because taking the lock of lineage.db costs more than reading a row. The trials are valid
 * until the next load. Zeroed: empty. Release the arena at the end. */
enum { MIRROR_ROWS = 256 };
struct mirror_rows {
    struct lineage_trial trials[MIRROR_ROWS];
    bool found[MIRROR_ROWS]; /* false: the row was the provisional one and has been read again since */
    size_t n;
    bool
        outcomes; /* set by the caller: of trials load only seq, specialist, status, score, and what notes and extra columns say */
    struct arena arena;
};

/* Loads the trials of seqs[n] in one transaction; at most MIRROR_ROWS, and fewer but at least one if their texts are long.
 * rows->n becomes the number of seqs that were looked up. If lineage.db is damaged, it is rebuilt and asked again. After a
 * failure rows->n is 0. */
enum lineage_status mirror_borrow_rows(struct mirror *mirror, const int64_t *seqs, size_t n, struct mirror_rows *rows,
                                       struct lineage_error *err);

/* Makes a cursor over these seqs and takes them over, also if it fails. Close it with lineage_cursor_close. */
enum lineage_status mirror_cursor_new(struct lineage_cursor **cursor, struct mirror *mirror, struct mirror_seqs *found,
                                      struct lineage_error *err);

/* Lists rows in the order of the log: all if they are at most 1000; else every row that runs a trial again or is the mean of several
 * runs, the rows with an id that such a row names or with `id` (NULL: none), in either spelling, the 100 best kept ones, and the
 * newest 100. Rows beside these may be listed too. Close the cursor with lineage_cursor_close. */
enum lineage_status mirror_runs_open(struct lineage_cursor **cursor, struct lineage_store *store, const char *id,
                                     struct lineage_error *err);

/* From the next batch on, the trials of the cursor have only the members that mirror_rows.outcomes names; texts are "". */
void cursor_load_outcomes(struct lineage_cursor *cursor);

/* Finds or counts the trials that meet the conditions (lineage_query_open). For an unknown name it returns
 * LINEAGE_EINVAL, and the message lists the known names. */
enum lineage_status mirror_query(struct mirror *mirror, const struct lineage_query *query, struct mirror_seqs *found,
                                 struct lineage_error *err);
enum lineage_status mirror_count(struct mirror *mirror, const struct lineage_query *query, size_t *n, struct lineage_error *err);

/* Finds the trials near the wanted values (lineage_tried). */
enum lineage_status mirror_tried(struct mirror *mirror, const struct lineage_param *wanted, size_t n_wanted, double tolerance,
                                 struct mirror_seqs *found, struct lineage_error *err);

/* Finds the trials that meet most of the conditions, nearest first (lineage_nearest). The caller frees found, also after a
 * failure. */
enum lineage_status mirror_nearest(struct mirror *mirror, const struct lineage_condition *conditions, size_t n, size_t limit,
                                   struct mirror_seqs *found, struct lineage_error *err);

/* What a name is: a column or extra column, a parameter that some trial declares, or none of them. */
enum mirror_name { MIRROR_NAME_UNKNOWN, MIRROR_NAME_PARAM, MIRROR_NAME_COLUMN };
enum lineage_status mirror_find_name(struct mirror *mirror, const char *name, enum mirror_name *kind, struct lineage_error *err);

/* Whether the trials are described in words: they declare fewer parameters than one for every second trial. Reads at most
 * 200 rows of sums. */
enum lineage_status mirror_is_in_words(struct mirror *mirror, bool *in_words, struct lineage_error *err);

/* Loads the coverage of one or two parameters (lineage_sweep_load). A table without cells is not a failure here. */
enum lineage_status mirror_sweep(struct mirror *mirror, const char *x, const char *y, struct lineage_sweep *sweep,
                                 struct lineage_error *err);

/* Runs a user's read-only statement on the tables of schema/mirror.sql (lineage_sql_typed). */
enum lineage_status mirror_sql(struct mirror *mirror, const char *statement, lineage_sql_typed_row *row, void *context,
                               struct lineage_error *err);

struct sqlite3; /* SQLite's header is included only where its functions are called */

/* Adds the functions of a user's statement (sql.c); the settings must outlive the connection. Returns a code of SQLite. */
int sql_add_functions(struct sqlite3 *db, const struct lineage_config *config);

/* Visits line, exp_id and notes of each row whose notes contain the text, in the order of the log. */
enum lineage_status mirror_each_note(struct mirror *mirror, const char *text,
                                     void (*visit)(void *context, const struct lineage_trial *trial), void *context,
                                     struct lineage_error *err);

/* Syncs, then runs the statement, again if lineage.db was damaged. It is lineage_sql without the tables of ideas. */
enum lineage_status mirror_ask_sql(struct lineage_store *store, const char *statement, lineage_sql_typed_row *row, void *context,
                                   struct lineage_error *err);

/* Visits the trials with a snapshot in the order of the log; only line, exp_id and snapshot_path are filled in. */
enum lineage_status mirror_each_snapshot(struct mirror *mirror, void (*visit)(void *context, const struct lineage_trial *trial),
                                         void *context, struct lineage_error *err);

/* Whether some row names that snapshot. Reads all rows. */
enum lineage_status mirror_is_snapshot(struct mirror *mirror, const char *path, bool *found, struct lineage_error *err);

/* Calls visit for each void trial behind *after in the order of the log, or for the one with that seq only (0: all), until visit
 * returns false. *after becomes the seq of the last one that was visited. */
enum lineage_status mirror_each_void(struct mirror *mirror, int64_t seq, int64_t *after,
                                     bool (*visit)(void *context, const struct lineage_void *entry), void *context,
                                     struct lineage_error *err);

/* ---- the parts of a report; everything that is found goes into the arena ---- */

enum mirror_order {
    MIRROR_BEST_KEPT, /* keep with a finite score, best first; ties in the order of the log */
    MIRROR_BEST_KEPT_UNSCORED_INFINITE, /* keep, best first; a missing score counts as +inf, nan is left out */
    MIRROR_BEST_SCORED, /* any label but harness_abort, with a score, best first; ties in the order of the log */
    MIRROR_FIRST_SCORED, /* the trials of MIRROR_BEST_SCORED and those with score nan, in the order of the log */
    MIRROR_FIRST, /* all trials, in the order of the log */
    MIRROR_NEWEST, /* all trials, newest first */
    MIRROR_NEWEST_INFORMATIVE /* all trials except harness_abort, newest first */
};

#define MIRROR_ALL ((size_t)-1)

/* Lists at most `limit` trials in that order. */
enum lineage_status mirror_list(struct mirror *mirror, enum mirror_order order, size_t limit, struct lineage_trial **trials,
                                size_t *n, struct arena *arena, struct lineage_error *err);

/* Lists the newest `limit` trials with a label that is a failure (see lineage_report_failure). */
enum lineage_status mirror_newest_failed(struct mirror *mirror, enum lineage_label label, size_t limit,
                                         struct lineage_trial **trials, size_t *n, struct arena *arena,
                                         struct lineage_error *err);

/* The measured quantity `name` (a number column or an extra column) over the trials with one label, and over the kept
 * trials. n is 0 if no trial has it. */
struct mirror_wall {
    uint64_t n, kept_n;
    double low, high, kept_high;
};
enum lineage_status mirror_wall_measure(struct mirror *mirror, enum lineage_label label, const char *name,
                                        struct mirror_wall *wall, struct lineage_error *err);

/* How many trials of a specialist have a label: [n], sorted by specialist, then by the label's name. */
struct mirror_label_count {
    const char *specialist;
    enum lineage_label label;
    uint64_t n;
};
enum lineage_status mirror_label_counts(struct mirror *mirror, struct mirror_label_count **counts, size_t *n, struct arena *arena,
                                        struct lineage_error *err);

/* Counts the void trials, and the rows that make a trial void or take that back. */
enum lineage_status mirror_count_voids(struct mirror *mirror, uint64_t *voids, uint64_t *void_rows, struct lineage_error *err);

/* Counts the records that could not be read in full. */
enum lineage_status mirror_count_findings(struct mirror *mirror, uint64_t *n, struct lineage_error *err);

/* Lists the first LINEAGE_REPORT_PARAMS parameter names (alpha, beta, gamma, then by name); *more counts the others. */
enum lineage_status mirror_param_names(struct mirror *mirror, const char ***names, size_t *n, size_t *more, struct arena *arena,
                                       struct lineage_error *err);

/* Lists the values of one parameter, ascending, at most LINEAGE_REPORT_VALUES. Does not fill in `constant`. */
enum lineage_status mirror_param_values(struct mirror *mirror, const char *name, struct lineage_report_param *param,
                                        struct arena *arena, struct lineage_error *err);

/* Tells whether some trial, except harness_abort, has both parameters at these values. It walks both lists of trials
 * together, and each list skips ahead to the position of the other. *steps limits the cost and is counted down: at 0
 * the answer is MIRROR_UNSETTLED. */
enum mirror_cell { MIRROR_UNTRIED, MIRROR_TRIED, MIRROR_UNSETTLED };
enum lineage_status mirror_pair_tried(struct mirror *mirror, const struct lineage_param pair[2], size_t *steps,
                                      enum mirror_cell *cell, struct lineage_error *err);

/* Compares expected with actual improvements, for at most `limit` specialists, those with the most trials first. */
enum lineage_status mirror_calibration(struct mirror *mirror, size_t limit, struct lineage_report_calibration **list, size_t *n,
                                       struct arena *arena, struct lineage_error *err);

/* Adds the sums against the parents' scores to each of the n items. Reads the newest 1,000 rows. */
enum lineage_status mirror_calibration_on_parents(struct mirror *mirror, struct lineage_report_calibration *items, size_t n,
                                                  struct lineage_error *err);

/* Lists the kept trials that have both scores of a store with a second one, in the order of the log. */
enum lineage_status mirror_two_scores(struct mirror *mirror, struct lineage_front_point **points, size_t *n, struct arena *arena,
                                      struct lineage_error *err);

/* Sorts such points, best first score first, and moves those that no other one dominates to the front. Returns how many
 * these are. */
size_t mirror_front(const struct lineage_config *config, struct lineage_front_point *points, size_t n);

/* Adds the verdicts on the predictions to each of the n items. Reads the newest 1,000 rows. */
enum lineage_status mirror_calibration_verdicts(struct mirror *mirror, double margin, struct lineage_report_calibration *items,
                                                size_t n, struct lineage_error *err);

/* The discarded trials with the best scores among the newest 1,000 rows that are nearly as good as the best score or better
 * than their parent: `slack` is how much worse both may be (the noise; 0: not at all). At most `limit`. */
enum lineage_status mirror_near_misses(struct mirror *mirror, double best, double slack, size_t limit,
                                       struct lineage_report_near_miss **list, size_t *n, struct arena *arena,
                                       struct lineage_error *err);

/* The median of total_s, or else train_s, of the measured trials among the newest 1,000 rows; absent without any. */
enum lineage_status mirror_median_seconds(struct mirror *mirror, struct lineage_number *seconds, struct lineage_error *err);

/* Summarises the trials of each proposer and their outcomes. Reads every trial that names a proposer. lower: a lower
 * score is better. */
enum lineage_status mirror_proposers(struct mirror *mirror, size_t limit, bool lower, struct lineage_report_proposer **list,
                                     size_t *n, struct arena *arena, struct lineage_error *err);
