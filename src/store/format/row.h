/*
 * row.h: converts a record's cells to a trial and back. Columns are found by header name. Three layouts are known: the
 * 17 columns, the blackboard's, and the five of karpathy/autoresearch.
 */
#pragma once

#include <lineage/store.h>

#include "arena.h"
#include "tsv.h"

enum row_shape { ROW_CANONICAL, ROW_BLACKBOARD, ROW_AUTORESEARCH };

struct row_layout {
    size_t n_cells; /* of the header */
    enum row_shape shape;
    int column[LINEAGE_N_COLUMNS]; /* cell index of each canonical column, -1 if the file lacks it */
    int score;                     /* cell index of the score column, -1 if there is none */
    char *metric;                  /* its name */
    char **names;                  /* [n_cells] header names, owned */
    size_t *by_name;               /* [n_cells] cells in the order of their names, equal names in the order of the file */
    size_t n_extras;               /* number of cells outside the 17 */
    bool identical;                /* exactly the 17 columns in order */
};

/* Reads the header record (a byte order mark is dropped). metric names the score column; for "" or NULL it is
 * core_metric, else val_bpb (but see row_layout_take_score). LINEAGE_ECORRUPT without an exp_id (or commit) column; LINEAGE_EINVAL if metric is
 * not a column. */
enum lineage_status row_layout_read(struct row_layout *layout, const struct tsv_cell *cells, size_t n, const char *metric,
                                    struct lineage_error *err);

/* In a log without core_metric, the column with the name of the store's score is the score. name: NULL if it has none. */
enum lineage_status row_layout_take_score(struct row_layout *layout, const char *name, struct lineage_error *err);
void row_layout_release(struct row_layout *layout);
#define SCOPED_LAYOUT RELEASED_BY(row_layout_release) struct row_layout

/* Whether the cell at that index is outside the 17 columns. */
bool row_is_extra(const struct row_layout *layout, size_t index);

/* The position among by_name of the first cell that has the name, or of the first one after it: a binary search, because
 * a received header may have thousands of columns. */
size_t row_layout_place(const struct row_layout *layout, const char *name);

/* The first cell that has the name; -1 if there is none. */
int row_layout_find(const struct row_layout *layout, const char *name);

/* What is wrong with a record. Rows with ROW_LONG or ROW_SHORT still count if they have a valid status. */
enum row_fault { ROW_SOUND, ROW_LONG, ROW_SHORT, ROW_BAD_STATUS, ROW_NOT_UTF8, ROW_HEADER_AGAIN, ROW_BAD_NUMBER };

/*
 * Makes a trial of a record's cells. All text is copied into arena; trial->memory stays NULL. Returns whether the
 * record is a row. *fault says what to report (also for rows that count), and reason[] is its text, such as "7 cells,
 * header has 17", "'kept' is not a status label", "not valid UTF-8", "header repeated". A malformed number is
 * reported (ROW_BAD_NUMBER) and read as absent, and the row counts. notes are parsed (params, clip scale, turns).
 * Only a lack of memory sets *status.
 */
bool row_read(struct lineage_trial *trial, const struct row_layout *layout, const struct tsv_cell *cells, size_t n,
              struct arena *arena, enum row_fault *fault, char reason[160], enum lineage_status *status);

/* Writes a row's record in the canonical 17-column form, or in the layout of an existing file. */
void row_write(struct buf *out, const struct lineage_trial *trial, const struct row_layout *layout);

/* Writes the canonical header record with LF. */
void row_write_header(struct buf *out);

/* Checks a trial for append: UTF-8, no NUL bytes, cell sizes, finite numbers, label, parameter names. The message
 * names the field. */
enum lineage_status row_check(const struct lineage_trial *trial, struct lineage_error *err);

/* Checks only the 17 cells. Texts that `checked` shares (the same pointers) were checked just before and are skipped;
 * with checked NULL, all texts are checked. */
enum lineage_status row_check_cells(const struct lineage_trial *trial, const struct lineage_trial *checked,
                                    struct lineage_error *err);

/*
 * Puts the trial's clip-scale statistics, parameters and turn statistics in front of its notes, in the grammar of
 * lineage/notes.h; parts that the notes have already are not repeated. `scratch` is overwritten, and *notes is a copy
 * in arena, or the trial's own notes if there is nothing to add. LINEAGE_EINVAL if the notes set a parameter to
 * another value than the trial does, or to a number that is too large for a double.
 */
enum lineage_status row_compose_notes(const char **notes, const struct lineage_trial *trial, struct buf *scratch,
                                      struct arena *arena, struct lineage_error *err);

/* The 17 columns, in their order. */
extern const struct lineage_column trial_columns[LINEAGE_N_COLUMNS];

/* Pointers to the members of a column, for functions that fill in a trial. */
const char **trial_text_member(struct lineage_trial *trial, size_t column);
struct lineage_number *trial_number_member(struct lineage_trial *trial, size_t column);

/* If the id is numeric, with or without exp_, raises *next to at least the id's number plus one, and *width to its
 * number of digits. */
void row_note_id(const char *id, uint64_t *next, size_t *width);

/* The arena that owns the trial's members, created on first use; NULL when out of memory. */
struct arena *trial_memory(struct lineage_trial *trial);

/* A cell as C string in arena, NUL bytes as C0 80; NULL when out of memory. */
const char *row_cell_text(struct arena *arena, const struct tsv_cell *cell);

/* The part of the notes that is neither settings nor statistics: whole pieces, joined by "; ". A piece with words
 * behind its settings stays whole. NULL when out of memory. */
const char *notes_remark(const char *notes, struct arena *arena);

/* Whether the notes give a setting a number that is too large for a double; such a number sets nothing. name becomes
 * the first such setting. */
bool notes_have_infinity(const char *notes, char name[LINEAGE_NAME_MAX]);

/* Like lineage_notes_parse, with the arrays in the given arena. */
enum lineage_status notes_parse(struct lineage_trial *trial, const char *notes, struct arena *arena, struct lineage_error *err);

/* The extra columns `params` and `metrics` repeat the settings and metrics of the notes as JSON, for tools that read
 * tables. A store has them if its header does. */
#define JSON_COLUMN_PARAMS "params"
#define JSON_COLUMN_METRICS "metrics"

/* Whether the column's cells are written by this library. */
bool json_column_is(const char *name);

/* Appends the cell's text: the settings or metrics of the notes as a JSON object; nothing if there are none. */
void json_column_write(struct buf *out, const char *name, const char *notes);

/*
 * Adds what these columns of the trial's extras say to trial->params and trial->metrics, which then are arrays in arena. A
 * column has precedence over the notes, because a tool that writes it may not know the notes. Cells that are not JSON
 * objects, names that notes do not allow and other values are ignored. Returns false when out of memory.
 */
bool json_columns_read(struct lineage_trial *trial, struct arena *arena);

/* Like json_columns_read, for one cell of the column `params`; text may be NULL. */
bool json_params_read(struct lineage_trial *trial, const char *text, struct arena *arena);
