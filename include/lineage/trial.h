/*
 * lineage/trial.h: one trial, one row.
 *
 * The 17 columns are in the order of results.tsv, which fieldkit.lineage and the Auto-Research-Recipes harness share.
 * Text is UTF-8; NULL and "" are the same (an empty cell). What the store reads from a row beyond the columns
 * (parameters, metrics, clip-scale statistics, information gain per turn) is on disk in `notes`, in the grammar of
 * lineage/notes.h, so that results.tsv alone is enough to rebuild everything.
 *
 * A NUL byte inside a cell, which other tools can write, reads as the two bytes C0 80 (modified UTF-8).
 *
 * Ownership
 *   To append, zero a struct lineage_trial and point its members at your own strings and arrays; they are borrowed for
 *   the call. A trial that the library filled in owns its memory through `memory`: release it with
 *   lineage_trial_release, or copy what must live longer (lineage_trial_copy).
 */
#ifndef LINEAGE_TRIAL_H
#define LINEAGE_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lineage/status.h>

/* Status labels, in the order in which they are listed. */
enum lineage_label {
    LINEAGE_KEEP,
    LINEAGE_DISCARD,
    LINEAGE_CRASH,
    LINEAGE_EVAL_BUDGET_OVERRUN,
    LINEAGE_TRAIN_BUDGET_OVERRUN,
    LINEAGE_SIZE_BLOCKED,
    LINEAGE_PREFLIGHT_CRASH,
    LINEAGE_HARNESS_ABORT,
    LINEAGE_DISQUALIFIED,
    LINEAGE_BASELINE,
    LINEAGE_N_LABELS
};

/* The label's name in the log, such as "eval_budget_overrun"; NULL if label is out of range. */
LINEAGE_API const char *lineage_label_name(enum lineage_label label);

/* Sets *label to the label with exactly this name (lower case, no blanks). Returns false if there is none. */
LINEAGE_API bool lineage_label_parse(enum lineage_label *label, const char *text);

/* Whether a trial with this label may be the best and part of a chain: keep and baseline. */
LINEAGE_API bool lineage_label_is_kept(enum lineage_label label);

/* Whether the score of a trial with this label counts: keep, discard and baseline. The score of a crash may be a
 * placeholder, and that of a disqualified trial is void. */
LINEAGE_API bool lineage_label_is_measured(enum lineage_label label);

/* Whether the setting was tried without a usable score: crash, preflight_crash, size_blocked, disqualified and the two
 * overruns. */
LINEAGE_API bool lineage_label_is_failure(enum lineage_label label);

/* Whether the trial says anything about its setting: every label but harness_abort, with which the setting counts as
 * untried. */
LINEAGE_API bool lineage_label_is_informational(enum lineage_label label);

/* An optional number. */
struct lineage_number {
    bool present;
    double value; /* may be nan or infinite in a row that was read; refused on append */
};

/* A named setting of the trial: alpha, beta, gamma, lr, seed, optimizer, ... (canonical ASCII name). Its value is a
 * number (text is NULL) or a text such as "adam" (value is nan, so that code that looks at numbers only ignores it). */
struct lineage_param {
    const char *name;
    double value;
    const char *text;
};

/* Information gain of one turn index over a batch. */
struct lineage_turn_stat {
    uint32_t turn; /* 0-based */
    double mean, std;
    uint64_t count; /* number of values that were averaged, 0 if not given */
};

/* A cell of a column outside the 17, as written. */
struct lineage_extra {
    const char *column;
    const char *text;
};

struct lineage_trial {
    /* The 17 columns. */
    const char *exp_id;
    const char *timestamp; /* YYYY-MM-DDTHH:MM:SSZ by custom */
    const char *specialist;
    const char *parent_exp;   /* exp_id of the parent, empty for a root */
    const char *baseline_exp; /* best trial at the time */
    const char *domain;
    const char *hypothesis;
    const char *expected_delta; /* text, by custom a signed number with a unit */
    enum lineage_label status;
    struct lineage_number core_metric;
    struct lineage_number val_bpb;
    struct lineage_number delta_vs_best; /* difference from the best trial at the time, not from the parent */
    struct lineage_number train_s;       /* seconds */
    struct lineage_number total_s;       /* seconds */
    const char *job_name;
    const char *snapshot_path; /* relative to the store */
    const char *notes;

    /* Parsed from notes (on append: written into notes). */
    struct lineage_number ig_clip_scale_mean;
    struct lineage_number ig_clip_scale_std;
    const struct lineage_param *params; /* sorted by name when read */
    size_t n_params;
    const struct lineage_turn_stat *turns; /* ascending turn */
    size_t n_turns;
    const struct lineage_param *metrics; /* what was measured beside the score; numbers, sorted by name when read */
    size_t n_metrics;

    /* Set when read. */
    const struct lineage_extra *extras; /* columns outside the 17, in file order */
    size_t n_extras;
    struct lineage_number score; /* value of the store's score column; absent for placeholders */
    uint64_t seq;                /* position among the rows of the file, from 1 */
    uint64_t line;               /* first physical line of the record, from 1 */
    const char *void_label;      /* what the own row of a void trial says, such as "keep"; NULL if the trial is not void */
    void *memory;                /* owns the strings and arrays above; NULL if they are borrowed */
};

/* The trial's status for people: its label, "void, was keep" of a void trial, or what a row that voids its parent does. */
#define LINEAGE_STATUS_MAX 40
LINEAGE_API const char *lineage_trial_status(char out[LINEAGE_STATUS_MAX], const struct lineage_trial *trial);

/* Free what the library allocated for the trial and zero it. NULL is allowed. */
LINEAGE_API void lineage_trial_release(struct lineage_trial *trial);

/* Copy a trial with all that it points to. The copy owns its memory: release it with lineage_trial_release. */
LINEAGE_API enum lineage_status lineage_trial_copy(struct lineage_trial *out, const struct lineage_trial *in,
                                                   struct lineage_error *err);

/* Reads the number of a parameter by its canonical name; false if the trial does not have it, or has a text. */
LINEAGE_API bool lineage_trial_param(double *value, const struct lineage_trial *trial, const char *name);

/* The parameter with that canonical name, number or text; NULL if the trial does not have it. */
LINEAGE_API const struct lineage_param *lineage_trial_find_param(const struct lineage_trial *trial, const char *name);

/* Reads a metric by its name; false if the trial does not have it. */
LINEAGE_API bool lineage_trial_metric(double *value, const struct lineage_trial *trial, const char *name);

/* The columns by position, for generic code (tables, JSON). The value of a column is a text, a label or a number. */
enum lineage_column_kind { LINEAGE_COLUMN_TEXT, LINEAGE_COLUMN_LABEL, LINEAGE_COLUMN_NUMBER };

struct lineage_column {
    const char *name;
    enum lineage_column_kind kind;
    size_t offset; /* offset of the member in struct lineage_trial */
};

#define LINEAGE_N_COLUMNS 17

/* Description of column i (0..16); NULL beyond. */
LINEAGE_API const struct lineage_column *lineage_column(size_t i);

/* Index of the column with that name, or -1. */
LINEAGE_API int lineage_column_find(const char *name);

/* The text in a column; NULL for columns that are not text. */
LINEAGE_API const char *lineage_trial_text(const struct lineage_trial *trial, size_t column);

#endif
