/*
 * lineage/rows.h: many trials at once, as flat arrays.
 *
 * For callers in other languages, where a call or the access to a member costs more than the row itself: the package for
 * Python reads 256 rows with one call and converts each array as a whole. C programs use lineage_cursor_next.
 */
#ifndef LINEAGE_ROWS_H
#define LINEAGE_ROWS_H

#include <lineage/query.h>

#define LINEAGE_ROW_TEXTS 12
#define LINEAGE_ROW_NUMBERS 8

/* Texts end to end, each with its final NUL. Texts themselves have no NUL byte (lineage/trial.h). */
struct lineage_row_texts {
    const char *bytes;
    size_t n_bytes;
};

/* Named values of the rows, end to end: entries [ends[i - 1], ends[i]) belong to row i, and the first row begins at 0. */
struct lineage_row_values {
    const uint64_t *ends;           /* [rows] */
    struct lineage_row_texts names; /* [n] */
    struct lineage_row_texts texts; /* [n], "" for a number */
    const double *values;           /* [n], nan for a text */
    const bool *is_text;            /* [n] */
    size_t n;
};

/* The arrays belong to the cursor. */
struct lineage_rows {
    size_t n;
    /* [n][LINEAGE_ROW_TEXTS]: the text columns in the order of struct lineage_trial, exp_id to notes, and void_label. */
    struct lineage_row_texts texts;
    /* [n][LINEAGE_ROW_NUMBERS]: core_metric, val_bpb, delta_vs_best, train_s, total_s, ig_clip_scale_mean,
     * ig_clip_scale_std, score; 0 where the row has none. */
    const double *numbers;
    const bool *present;                               /* [n][LINEAGE_ROW_NUMBERS] */
    const uint8_t *labels;                             /* [n], enum lineage_label */
    const uint64_t *seqs, *lines;                      /* [n] */
    struct lineage_row_values params, metrics, extras; /* extras are texts */
    const uint64_t *turn_ends; /* [n], like the ends of lineage_row_values */
    const struct lineage_turn_stat *turns;
};

/* Loads the next trials: at most 256, and fewer but at least one if their texts are long. rows->n is 0 at the end. The arrays
 * are valid until the next call on the cursor; a row is returned either by this function or by lineage_cursor_next. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_cursor_rows(struct lineage_cursor *cursor, struct lineage_rows *rows,
                                                                      struct lineage_error *err);

#endif
