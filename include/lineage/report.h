/*
 * lineage/report.h: what a store tells the planner of the next trial, as one struct.
 *
 * lineage_render (lineage/render.h) prints it; a page, a server or your own program can print it in another way. All
 * parts are read at the same moment, so they agree with each other, and the cost does not grow with the number of
 * rows (except for LINEAGE_RULES_BOARD, which holds every row).
 *
 * Calling sequence
 *     struct lineage_report_options options;
 *     struct lineage_report *report;
 *     lineage_report_options_init(&options);
 *     if (lineage_report_load(&report, store, &options, &err) != LINEAGE_OK) ...
 *     for (size_t i = 0; i < report->n_leaders; i++) puts(report->leaders[i].exp_id);
 *     lineage_report_release(report);
 *
 * Ownership
 *   A report owns everything that it points to: it stays valid after later appends and after lineage_store_close, until
 *   it is released. Pointers are NULL if their count is 0. Texts are cells of the log, unchanged, and anybody may have
 *   written them: quote them before showing them to a person or a model (lineage_text_safe). Scores and deltas are in
 *   the unit of the store's score column.
 */
#ifndef LINEAGE_REPORT_H
#define LINEAGE_REPORT_H

#include <lineage/evidence.h>
#include <lineage/front.h>
#include <lineage/hypothesis.h>
#include <lineage/notes.h>
#include <lineage/query.h>

/* Whose rules decide which trials are shown. */
enum lineage_report_rules {
    LINEAGE_RULES_NATIVE,   /* this project's rules: best and chain of kept and baseline trials, no harness_abort */
    LINEAGE_RULES_FIELDKIT, /* fieldkit.lineage's rules: the best trial whatever its label, all ancestors, every row;
                             * recent = 0 and full = 0 mean all. Fills settings, best, chain, leaders, recent, full. */
    LINEAGE_RULES_BOARD     /* the blackboard's rules: fills settings and board only */
};

struct lineage_report_options {
    enum lineage_report_rules rules;
    size_t leaders;        /* kept trials of the leaderboard */
    size_t recent;         /* newest trials */
    size_t full;           /* number of newest trials that are shown with what they changed */
    size_t chain;          /* trials of the best trial's chain, taken from both of its ends (native rules) */
    const char *best_json; /* board: path of best.json; NULL = best.json in the store, which may be absent */
    unsigned without;      /* bits of parts that are left empty (native rules) */
};

/* Parts of a report that may be left out, because they take most of its time. */
enum lineage_report_part { LINEAGE_REPORT_FAILURES = 1, LINEAGE_REPORT_NEAR_MISSES = 2, LINEAGE_REPORT_CALIBRATION = 4 };

/* Sets the defaults: native rules, 20 leaders, 30 recent, 10 full, 30 of the chain. */
LINEAGE_API void lineage_report_options_init(struct lineage_report_options *options);

/* ---- parts ---- */

/* The best trial's chain as in lineage_chain, root first; the middle of a long chain is left out. by_keeps as in
 * lineage_chain. */
struct lineage_report_chain {
    const struct lineage_trial *trials; /* [n] */
    const size_t *passed_over;          /* [n] trials passed over above each, as in lineage_chain */
    size_t n;
    size_t total; /* number of trials in the whole chain */
    size_t first; /* trials[0..first) begin the chain, the others end it; total - n trials between them are left out */
    enum lineage_chain_end end;
    const char *end_id; /* the missing or repeated id, "" for a root */
    bool by_keeps;
};

/* A parameter whose value differs from its value in the compared trial. An absent number means that the parameter is
 * not set in that trial. */
struct lineage_report_change {
    const char *name;
    struct lineage_number before, after;  /* present for texts too */
    const char *before_text, *after_text; /* the value if it is text (the number is then nan), else NULL */
};

/* A trial and the parameters that it changed. */
struct lineage_report_full {
    struct lineage_trial trial;
    const char *compared_with; /* exp_id of its parent, else of the best trial at the time (baseline_exp), else "" */
    const struct lineage_report_change *changes; /* [n_changes] by name; without a trial to compare with, all parameters
                                                  * but the constant ones */
    size_t n_changes;
    struct lineage_number delta_vs_parent; /* its score minus the score of its parent; absent without one of them */
    const char *code;   /* what the trial changed in the code against compared_with: "+3 -1 in train.py: linear decay"; "":
                         * nothing, or not known */
    const char *remark; /* notes without the pieces that set parameters or statistics, "" if nothing is left */
};

/* A discarded trial that was better than its parent, or within the noise of it or of the best. */
struct lineage_report_near_miss {
    struct lineage_trial trial;
    struct lineage_number delta_vs_parent; /* as in lineage_report_full */
};

/* One value of a parameter, and how the trials with it ended; harness_abort is left out. */
struct lineage_report_value {
    double value;
    const char *text; /* the value if it is text (value is then nan), else NULL */
    uint64_t n; /* trials */
    uint64_t labels[LINEAGE_N_LABELS];
    struct lineage_number best; /* best finite score among its keep, discard and baseline trials */
};

#define LINEAGE_REPORT_VALUES 12 /* values listed for one parameter */
#define LINEAGE_REPORT_PARAMS 64 /* parameters listed */

struct lineage_report_param {
    const char *name;
    const struct lineage_report_value *values; /* [n_values], ascending, texts last; at most LINEAGE_REPORT_VALUES */
    size_t n_values;
    bool more;        /* there are larger values than those listed */
    double low, high; /* smallest and largest of all values */
    const char *low_text, *high_text; /* the same if they are text (the number is then nan), else NULL */
    bool constant;    /* every trial that was measured (keep, discard, baseline) has the same value */
};

/* Two parameters crossed: the combinations of their values that no trial has had. */
struct lineage_report_grid {
    const struct lineage_report_param *x, *y;
    const size_t (*untried)[2]; /* [n_untried] {i, j}: x->values[i] with y->values[j], ascending */
    size_t n_untried;
    size_t n_cells; /* number of values of x times number of values of y */
    bool linked;    /* each value of one came with only one value of the other: they were changed together */
};

/* Why trials failed, as stated in their notes. */
struct lineage_report_reason {
    const char *text;   /* "" if the notes do not say */
    const char *exp_id; /* the newest trial that gives this reason */
    uint64_t n;         /* number of trials with this reason, among those that were looked at */
    enum lineage_cause cause; /* of the newest of them (lineage/notes.h) */
};

struct lineage_report_count {
    const char *specialist;
    uint64_t n;
};

/* Trials that ended in neither keep, discard nor baseline; harness_abort is left out. */
struct lineage_report_failure {
    enum lineage_label label;
    uint64_t n;
    const struct lineage_report_count *specialists; /* [n_specialists], most failures first */
    size_t n_specialists;
    const struct lineage_report_reason *reasons; /* [n_reasons], most frequent first, then newest */
    size_t n_reasons;
    uint64_t looked_at; /* number of newest trials that the reasons were read from */
};

/* What a specialist expected (expected_delta) and what happened (delta_vs_best), over its keep and discard trials.
 * on_parent compares the same expectations with the difference to the parent's score, over those of the newest 1,000 rows
 * whose parents have a score: a trial that goes on from a worse one is predicted against that one. */
struct lineage_report_calibration {
    const char *specialist;
    uint64_t n, same_sign;
    double expected, happened, error; /* means; error is the mean of |expected - happened| */
    struct {
        uint64_t n, same_sign;
        double expected, happened, error;
    } on_parent;
    /* Verdicts of lineage/hypothesis.h over the newest 1,000 rows; 0 of all if the noise is unknown. covered: the interval
     * contains the expectation. */
    uint64_t verdicts[LINEAGE_N_VERDICTS], covered;
};

/* Who proposed trials (their parameter `proposer`), and how these trials ended; harness_abort is left out. expected,
 * happened and error are means over the n_expected keep and discard trials that state an expected improvement. */
struct lineage_report_proposer {
    const char *name;
    uint64_t n, kept, n_expected, same_sign;
    double expected, happened, error;
    struct lineage_number gain_per_hour; /* improvement of kept trials per hour of all trials; absent without hours */
};

/* A row as text, also if it is damaged; the blackboard's files are made of these. Texts are NULL only where noted. */
struct lineage_board_row {
    const char *id, *parent, *specialist, *hypothesis;
    const char *status; /* NULL if the row is too short to have one */
    const char *score, *delta;
    double key; /* score as a number, +inf if it is not a number */
};

#define LINEAGE_BOARD_NONE ((size_t)-1)

struct lineage_board {
    const struct lineage_board_row *rows; /* [n], file order */
    size_t n;
    const size_t *by_parent;  /* [n] rows sorted by their parent's row (roots last), then by id as text */
    const size_t *parent_row; /* [n] last row with the parent's id, LINEAGE_BOARD_NONE for a root */
    const size_t *last_row;   /* [n] last row with this row's id */
    struct {                  /* what best.json says */
        bool present;
        const char *id, *score, *specialist, *hypothesis, *snapshot;
    } best;
};

/* A setting by its runs (lineage/evidence.h). */
struct lineage_report_setting {
    const char *exp_id; /* of its first row */
    size_t runs;
    double mean, margin; /* margin: half of the 95 % interval of the mean, NAN if the noise is unknown */
};

/* ---- all of it ---- */

struct lineage_report {
    /* Settings of the store. */
    const char *metric; /* name of the score (lineage_store_score_name), else of its column */
    enum lineage_direction direction;
    double min_delta, noise_std;
    unsigned noise_seeds; /* at least 1 */
    double margin;        /* half of the 95 % interval of a difference of two scores (lineage/hypothesis.h); 0: unknown */
    unsigned night_trials; /* that the threshold is widened for, at least 1 */
    struct lineage_noise noise; /* the same noise with its interval */
    double needed;        /* an improvement larger than this is kept (lineage_threshold) */
    const char *claim;    /* what the verdict of the best trial is worth while the noise is unknown (lineage_claim_text); "" */
    const char *stopped;  /* the latest night that stopped at a target or a plateau: its last trial, and why; "": none has */

    bool in_words; /* trials of the lists may state settings in their hypotheses; one without a hypothesis and with parameters has
                      those that it changed for one */

    /* Sizes. */
    uint64_t rows; /* of the log */
    uint64_t trials; /* rows that count: neither void trials nor the rows that say so (lineage/voids.h) */
    uint64_t voids; /* void trials */
    uint64_t labels[LINEAGE_N_LABELS]; /* trials with each label */
    uint64_t findings; /* records that could not be read in full (lineage/verify.h) */

    const struct lineage_trial *best; /* NULL if no trial ranks */
    struct lineage_report_chain chain; /* the chain of the best trial */
    const struct lineage_trial *leaders; /* best first */
    size_t n_leaders;
    const struct lineage_trial *recent; /* newest first */
    const struct lineage_number *recent_vs_parent; /* [n_recent] as delta_vs_parent of lineage_report_full */
    size_t n_recent;
    const struct lineage_report_full *full; /* newest first */
    size_t n_full;
    const struct lineage_report_near_miss *near_misses; /* best first, of the newest 1,000 rows; at most 5 */
    size_t n_near_misses;
    struct lineage_number median_seconds; /* of the measured trials among the newest 1,000 rows */

    /* Coverage: alpha, beta, gamma, then the other parameters by name. */
    const struct lineage_report_param *params;
    size_t n_params;
    size_t more_params; /* parameters not listed */
    const struct lineage_report_grid *grids; /* pairs of parameters with few values and untried combinations */
    size_t n_grids;

    const struct lineage_report_failure *failures; /* most frequent first */
    size_t n_failures;
    const char *second; /* name of the second score; "" if the store has none */
    const struct lineage_front_point *front; /* [n_front] the kept trials that are best in both scores (lineage/front.h) */
    size_t n_front;
    const struct lineage_report_calibration *calibration; /* most trials first */
    size_t n_calibration;
    const struct lineage_report_proposer *proposers; /* most trials first */
    size_t n_proposers;

    const struct lineage_report_setting *settings; /* best first, at most 5; none if nothing ran more than once */
    size_t n_settings;
    double sure; /* probability that the first setting is the best; NAN without settings */
    bool proven; /* it is kept */
    bool same_scores; /* lineage_evidence_same_scores */
    const struct lineage_report_setting
        *held_back; /* it would be the first, had not more of its runs diverged than did not; NULL: none */

    const struct lineage_board *board; /* NULL except with LINEAGE_RULES_BOARD */

    void *memory; /* used by the library */
};

/* Loads a report of the store as results.tsv is now. options may be NULL. *report is NULL after a failure. The report
 * of an empty store has rows 0 and no best trial. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_report_load(struct lineage_report **report, struct lineage_store *store,
                                                                      const struct lineage_report_options *options,
                                                                      struct lineage_error *err);

/* Frees the report and everything that it points to. NULL is allowed. */
LINEAGE_API void lineage_report_release(struct lineage_report *report);

#define LINEAGE_REASON_MAX 512

/* Writes why a trial failed, as a report words it: the reason that its notes state, else what they remark; "" if they say nothing.
 * Returns out. */
LINEAGE_API const char *lineage_failure_reason(char out[LINEAGE_REASON_MAX], const struct lineage_trial *trial);

#endif
