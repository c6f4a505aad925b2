/*
 * lineage/query.h: reading trials: by id, best, chain, tree, ranges, sweep coverage, SQL.
 *
 * Everything here reads the mirror, which is brought up to date with results.tsv first (only new bytes are read). If
 * bytes that were mirrored before have changed since, the answers are those of the current results.tsv, a notice
 * names the line, and lineage.db stays unchanged until lineage_rebuild. Readers never take the writers' lock. nan
 * never ranks and never matches a range.
 */
#ifndef LINEAGE_QUERY_H
#define LINEAGE_QUERY_H

#include <lineage/store.h>

/* Loads the trial named id. `exp_014` and `014` name the same trial: the id is looked up unchanged, then without a
 * leading exp_, then with one. Of rows with the same id, the last one counts. LINEAGE_ENOTFOUND if there is none.
 * Release the trial after use. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_find(struct lineage_store *store, const char *id,
                                                               struct lineage_trial *trial, struct lineage_error *err);

/* Like lineage_find, for an id that a person typed: where no trial has the id `best`, it names the trial of lineage_best, or of
 * lineage_best_kept if a new trial starts from it. An id that comes from a row is data; look it up with lineage_find. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_find_named(struct lineage_store *store, const char *id, bool start,
                                                                     struct lineage_trial *trial, struct lineage_error *err);

/* The label of the trial's own row, if it has another one now because of void trials; else its label. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_row_label(enum lineage_label *label, struct lineage_store *store,
                                                                    const struct lineage_trial *trial, struct lineage_error *err);

/*
 * Loads the best trial. If no trial ran more than once, that is the kept or baseline trial with the best finite score in the store's
 * direction; the first in the log wins a tie. Else it is the trial with the best expected value, kept or not
 * (lineage/evidence.h), as the row that is kept, else its first one, else, where that run diverged, the first that counts;
 * then this takes time in proportion to the rows of lineage_evidence_load_for, which does not read all of a long log.
 * LINEAGE_ENOTFOUND if no trial qualifies. Release the trial after use.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_best(struct lineage_store *store, struct lineage_trial *trial,
                                                               struct lineage_error *err);

/* Like lineage_best, but among kept and baseline trials only: what a new trial starts from and is compared with. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_best_kept(struct lineage_store *store, struct lineage_trial *trial,
                                                                    struct lineage_error *err);

struct lineage_cursor;

/* The chain of a trial: the trial and its kept or baseline ancestors, root first. Ancestors with another label are
 * skipped and counted. The walk ends at a root, at a parent that is not in the store, or at a trial that it has already
 * visited. */
enum lineage_chain_end { LINEAGE_CHAIN_ROOT, LINEAGE_CHAIN_MISSING, LINEAGE_CHAIN_CYCLE };

struct lineage_chain {
    struct lineage_trial *trials; /* [n], root first */
    size_t *passed_over;          /* [n]: trials passed over between this one and the next shown ABOVE it;
                                     for trials[0]: passed over above the top */
    size_t n;
    enum lineage_chain_end end;
    char *end_id; /* the missing or repeated id, "" for a root */
    size_t left_out; /* trials of the chain above trials[0] that were not loaded */
    size_t
        keeps; /* if no row of the log names a parent, but to void it: number of kept and baseline trials before this one, which
                        may not be its ancestors (lineage/report.h lists them); else 0 */
    void *memory;
};

LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_chain_load(struct lineage_store *store, const char *id,
                                                                     struct lineage_chain *chain, struct lineage_error *err);

/* Like lineage_chain_load, but loads only the last trials of the chain, at most `last` and at least one. It takes the same time
 * for a chain of any length. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_chain_load_last(struct lineage_store *store, const char *id,
                                                                          size_t last, struct lineage_chain *chain,
                                                                          struct lineage_error *err);
LINEAGE_API void lineage_chain_release(struct lineage_chain *chain);

/* A closed interval; an absent bound means no limit on that side. */
struct lineage_range {
    struct lineage_number low, high;
};

/* Reads "0.1:0.5", ":1.0", "1e-4:" or "0.3" (both bounds). Returns LINEAGE_EINVAL for any other text or if low >
 * high. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_range_parse(struct lineage_range *range, const char *text,
                                                                      struct lineage_error *err);

/*
 * A range of a parameter, a metric, a numeric column, an extra column that holds numbers, or ig_clip_scale_mean/_std.
 * If a parameter and a metric have the same name, the name means the parameter, and `metrics.NAME` means the metric.
 * With n_texts > 0, the value must equal one of the texts, and the name is a parameter, a text column or an extra
 * column; a single integer that parameters hold as a text (lineage_param_is_text) is also the number that it is rounded to. A range
 * without bounds and without texts holds for every trial that has the parameter, number or text. Asking
 * for texts of a parameter that has only numbers, or for a range of a parameter that has only texts, returns
 * LINEAGE_EINVAL, because an empty answer would look like "never tried".
 */
struct lineage_condition {
    const char *name;
    struct lineage_range range;
    const char *const *texts; /* [n_texts] */
    size_t n_texts;
};

struct lineage_query {
    unsigned labels; /* bit set of 1u << label; 0 = any */
    const char *specialist; /* exact; NULL = any */
    const char *since; /* timestamp >= since, a date of lineage/time.h; NULL = any. Rows whose timestamp is
                               no ISO 8601 date match neither this nor until */
    const char *until; /* timestamp < until */
    const struct lineage_condition *conditions; /* all must hold; `score` names the score column */
    size_t n_conditions;
    const char *sort; /* column, parameter, metric, extra column or score; leading `-` = descending; NULL = file order.
                         Rows without a value are left out; ties keep file order. `-seq`: newest first. "best" and "newest",
                         which no trial has as a name: the best score, or the newest, first. */
    uint64_t after; /* seq of a trial: only those that come behind it in the sorted list, none if it has no
                         value to sort by; 0 = from the front. Rows are never taken out, so a page that begins
                         behind a trial begins there for ever. */
    size_t limit; /* 0 = no limit; applied after all other conditions */
};

/* Counts the trials that a query finds, ignoring `after`, up to query->limit (0 = all). */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_query_count(size_t *n, struct lineage_store *store,
                                                                      const struct lineage_query *query,
                                                                      struct lineage_error *err);

struct lineage_cursor;

/* Runs a query. The list of trials is fixed by this call. An unknown name returns LINEAGE_EINVAL, with the known names
 * in the message. Close the cursor before its store. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_query_open(struct lineage_cursor **cursor, struct lineage_store *store,
                                                                     const struct lineage_query *query,
                                                                     struct lineage_error *err);

/* Like lineage_query_open, but a condition holds only for what rows declare: values that trials state in words
 * (lineage/settings.h) are not looked up, which may need the texts of all rows. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_query_open_declared(struct lineage_cursor **cursor,
                                                                              struct lineage_store *store,
                                                                              const struct lineage_query *query,
                                                                              struct lineage_error *err);

/* Loads the next trial, which is valid until the next call on the cursor. LINEAGE_ENOTFOUND at the end. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_cursor_next(struct lineage_cursor *cursor, struct lineage_trial *trial,
                                                                      struct lineage_error *err);
LINEAGE_API void lineage_cursor_close(struct lineage_cursor *cursor);

/* The settings of the cursor's store, valid until that is closed. */
LINEAGE_API const struct lineage_config *lineage_cursor_config(const struct lineage_cursor *cursor);

/* Visits all trials in tree order: roots (no parent, or an unknown one) and children in the order of the log, each
 * with its depth. Trials in a cycle come last, with depth 0 and in_cycle set. visit returns false to stop. */
struct lineage_tree_node {
    const struct lineage_trial *trial; /* valid during the visit */
    size_t depth;
    size_t n_children;
    bool parent_missing;
    bool in_cycle;
};
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_tree_walk(struct lineage_store *store,
                                                                    bool (*visit)(void *context,
                                                                                  const struct lineage_tree_node *node),
                                                                    void *context, struct lineage_error *err);

/* Coverage of one or two parameters, metrics or numeric extra columns: one cell per combination of values. */
struct lineage_sweep_cell {
    double x, y; /* y is 0 for a sweep of one parameter */
    const char *x_text, *y_text; /* the value if it is text (x or y is then nan), else NULL */
    size_t count; /* trials */
    size_t labels[LINEAGE_N_LABELS];
    struct lineage_number best; /* best score among keep, discard and baseline trials of the cell */
    char *best_id;
};

struct lineage_sweep {
    struct lineage_sweep_cell *cells; /* sorted by x, then y: numbers ascending, then texts by their bytes */
    size_t n_cells;
    double *xs, *ys; /* distinct values tried, in the same order; for one parameter, ys has the single entry 0 */
    const char **x_texts, **y_texts; /* [n_xs], [n_ys]: the value if it is text, else NULL */
    size_t n_xs, n_ys;
    size_t without; /* trials that lack one of the parameters */
    size_t aborted; /* harness_abort trials, which say nothing about the setting and are in no cell */
    bool measured; /* an axis was measured and not set, so a pair without a cell is not "untried" */
};

/* Loads the coverage; y is NULL for one axis. Returns LINEAGE_ENOTFOUND if no trial has all of the names. A
 * name that no trial has (except alpha, beta and gamma) returns LINEAGE_EINVAL, with the known names in the
 * message. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_sweep_load(struct lineage_store *store, const char *x, const char *y,
                                                                     struct lineage_sweep *sweep, struct lineage_error *err);
LINEAGE_API void lineage_sweep_release(struct lineage_sweep *sweep);

/* How far a value may be from the wanted one: that share of the wanted value, because learning rates differ by orders of
 * magnitude; if the wanted value is 0, the tolerance itself. The default makes 0.1 + 0.2 equal to 0.3. */
#define LINEAGE_TOLERANCE 1e-9
LINEAGE_API double lineage_slack(double tolerance, double wanted);

/* Answers whether a similar setting has been tried: opens a cursor over the trials whose parameters all lie within
 * tolerance of the wanted values, |value - wanted| <= lineage_slack(tolerance, wanted), or equal the wanted texts.
 * harness_abort and void trials are left out, because their setting counts as untried. A name that no trial has finds nothing;
 * lineage_query_count with a condition of that name refuses it. If no trial has them, those that have all of
 * them in one later environment ("env1.alpha") are found. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_tried(struct lineage_cursor **cursor, struct lineage_store *store,
                                                                const struct lineage_param *wanted, size_t n_wanted,
                                                                double tolerance, struct lineage_error *err);

/*
 * Answers what is known about a setting that no trial has as a whole: opens a cursor over at most `limit` trials that meet at
 * least one of the conditions. Trials that meet more conditions come first, among equals failures, then newer trials.
 * harness_abort trials are left out. Each condition is on what rows declare as a parameter of exactly that name, so another name
 * is met by no trial. More than LINEAGE_NEAREST_CONDITIONS conditions return LINEAGE_ELIMIT. It takes the same time for a log of
 * any length, unless the trials that meet a condition and those that failed alternate.
 */
enum { LINEAGE_NEAREST_CONDITIONS = 32 };
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_nearest(struct lineage_cursor **cursor, struct lineage_store *store,
                                                                  const struct lineage_condition *conditions, size_t n_conditions,
                                                                  size_t limit, struct lineage_error *err);

/* A row of an SQL result: texts[i] is NULL for SQL NULL. A number is an integer, or the shortest decimal that reads back
 * as the same double (lineage_number_format). The strings are valid during the call. Return false to stop. */
typedef bool lineage_sql_row(void *context, size_t n, const char *const *names, const char *const *texts);

/* Runs one read-only SQL statement on the mirror (see schema/), within the limits given at open. Returns LINEAGE_EINVAL
 * for a statement that could write, that reads a table outside the schema, or that calls a function with side
 * effects. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_sql(struct lineage_store *store, const char *statement,
                                                              lineage_sql_row *row, void *context, struct lineage_error *err);

/* Like lineage_sql_row: numbers[i] says whether texts[i] is a number. A result without rows is one call with texts NULL,
 * so that its names are known. */
typedef bool lineage_sql_typed_row(void *context, size_t n, const char *const *names, const char *const *texts,
                                   const bool *numbers);

/* Like lineage_sql, with types, and with the names of a result without rows. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_sql_typed(struct lineage_store *store, const char *statement,
                                                                    lineage_sql_typed_row *row, void *context,
                                                                    struct lineage_error *err);

#endif
