/*
 * load.c: loads rows of the mirror as trials.
 *
 * Parameters, clip scale and turns are parsed from notes instead of being joined from their tables. So only one place
 * interprets notes, and a row costs one lookup.
 */
#include <math.h>

#include "load.h"

/* Position of the label in TRIAL_COLUMNS. */
enum { LABEL_AT = 10 };

/* Copies the text, because SQLite's text is gone at the next step of the statement. */
static const char *text_at(sqlite3_stmt *stmt, int at, struct arena *arena, bool *ok)
{
    const char *text = mirror_text(stmt, at);
    if (!*text)
        return "";
    const char *out = arena_text(arena, text, (size_t)sqlite3_column_bytes(stmt, at));
    *ok = *ok && out;
    return out;
}

/* `special` records values that the column cannot hold (see bind_number). Without it a nan would be loaded as an absent
 * number. */
static struct lineage_number number_at(sqlite3_stmt *stmt, int at, int special)
{
    if (special & 1)
        return (struct lineage_number){true, (double)NAN};
    if (special & MIRROR_NEGATIVE_ZERO)
        return (struct lineage_number){true, -0.0};
    if (sqlite3_column_type(stmt, at) == SQLITE_NULL)
        return (struct lineage_number){0};
    return (struct lineage_number){true, sqlite3_column_double(stmt, at)};
}

/* Loads everything except the label. The bits of `special` are in the order of the number columns, so they are
 * shifted along. */
static void load_columns(sqlite3_stmt *stmt, struct lineage_trial *trial, struct arena *arena, bool *ok)
{
    int special = sqlite3_column_int(stmt, N_TRIAL_COLUMNS - 2), at = 2;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++, at++) {
        const struct lineage_column *column = lineage_column(i);
        if (column->kind == LINEAGE_COLUMN_TEXT) {
            *trial_text_member(trial, i) = text_at(stmt, at, arena, ok);
        } else if (column->kind == LINEAGE_COLUMN_NUMBER) {
            *trial_number_member(trial, i) = number_at(stmt, at, special);
            special >>= 1;
        }
    }
    trial->score = number_at(stmt, at, special);
}

/* Lists the extra columns (those outside the 17) in the order of the file, still empty. Empty ones are listed too,
 * because printers align the columns. */
static struct lineage_extra *name_extras(const struct row_layout *layout, struct arena *arena)
{
    struct lineage_extra *extras = arena_alloc(arena, layout->n_extras, sizeof *extras);
    size_t n = 0;
    for (size_t i = 0; extras && i < layout->n_cells && n < layout->n_extras; i++)
        if (row_is_extra(layout, i)) {
            const char *name = arena_text(arena, layout->names[i], strlen(layout->names[i]));
            if (!name)
                return NULL;
            extras[n++] = (struct lineage_extra){name, ""};
        }
    return extras;
}

/* The position of an extra cell among the extras: the cells before it that are not one of the 17 columns. */
static size_t extra_at(const struct row_layout *layout, size_t cell)
{
    size_t at = cell;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        at -= layout->column[i] >= 0 && (size_t)layout->column[i] < cell;
    return at;
}

/* Two extra columns with the same name share one row of the table, so both get its text. */
static bool fill_extra(struct lineage_extra *extras, const struct row_layout *layout, sqlite3_stmt *stmt, struct arena *arena)
{
    bool ok = true;
    const char *name = mirror_text(stmt, 0), *text = text_at(stmt, 1, arena, &ok);
    for (size_t i = row_layout_place(layout, name); i < layout->n_cells; i++) {
        size_t cell = layout->by_name[i];
        if (strcmp(layout->names[cell], name) != 0)
            break;
        if (row_is_extra(layout, cell))
            extras[extra_at(layout, cell)].text = text;
    }
    return ok;
}

/* Most stores have no extra columns, and this costs them nothing. */
static enum lineage_status load_extras(struct mirror *mirror, struct lineage_trial *trial, struct arena *arena,
                                       struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    const struct row_layout *layout = mirror_layout(mirror);
    if (!layout || !layout->n_extras)
        return LINEAGE_OK;
    struct lineage_extra *extras = name_extras(layout, arena);
    bool ok = extras != NULL;
    enum lineage_status status =
        mirror_rows(mirror, &stmt, err, "SELECT name, value FROM extras WHERE seq = ?", "i", (int64_t)trial->seq);
    while (ok && mirror_next(&status, mirror, stmt, err))
        ok = fill_extra(extras, layout, stmt, arena);
    sqlite3_reset(stmt);
    trial->extras = extras;
    trial->n_extras = extras ? layout->n_extras : 0;
    return ok ? status : store_no_memory(err);
}

/* What the notes and extra columns of a trial say. Needs its seq and notes. */
static enum lineage_status load_notes(struct mirror *mirror, struct lineage_trial *trial, struct arena *arena,
                                      struct lineage_error *err)
{
    enum lineage_status status = notes_parse(trial, trial->notes, arena, err);
    if (status == LINEAGE_OK)
        status = load_extras(mirror, trial, arena, err);
    return status == LINEAGE_OK && !json_columns_read(trial, arena) ? store_no_memory(err) : status;
}

/* `memory` is kept when the trial is zeroed, because the trial may own the arena that is being filled. */
enum lineage_status load_trial(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_trial *trial, struct arena *arena,
                               struct lineage_error *err)
{
    void *memory = trial->memory;
    bool ok = true;
    *trial = (struct lineage_trial){.memory = memory};
    trial->seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    trial->line = (uint64_t)sqlite3_column_int64(stmt, 1);
    load_columns(stmt, trial, arena, &ok);
    if (!ok)
        return store_no_memory(err);
    TRY(mirror_label(mirror, stmt, LABEL_AT, &trial->status, err));
    enum lineage_label own;
    if (lineage_label_parse(&own, mirror_text(stmt, N_TRIAL_COLUMNS - 1)))
        trial->void_label = lineage_label_name(own);
    return load_notes(mirror, trial, arena, err);
}

/* Allocates from the caller's arena, so that all rows of a list share its blocks. */
enum lineage_status mirror_borrow(struct mirror *mirror, int64_t seq, struct lineage_trial *trial, struct arena *arena,
                                  struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_row(mirror, &stmt, err, "SELECT " TRIAL_COLUMNS " FROM trials t WHERE t.seq = ?", "i", seq);
    if (status == LINEAGE_OK)
        status = load_trial(mirror, stmt, trial, arena, err);
    sqlite3_reset(stmt);
    return status;
}

/* The seq came from this handle's mirror, so if its row is missing, it was the provisional row and has been read
 * again. */
enum lineage_status mirror_load(struct mirror *mirror, int64_t seq, struct lineage_trial *trial, struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    struct arena *arena = trial_memory(trial);
    enum lineage_status status = arena ? mirror_borrow(mirror, seq, trial, arena, err) : store_no_memory(err);
    if (status != LINEAGE_OK)
        lineage_trial_release(trial);
    return status;
}

enum { TEXT_OF_ROWS = 1 << 20 }; /* bytes; keeps the memory of a cursor small where rows are wide */

/* Rows in the order of the log: stepping to the next row costs a fifth of looking it up. */
static const char rows_sql[] = "SELECT " TRIAL_COLUMNS " FROM trials t WHERE t.seq >= ? ORDER BY t.seq";
static const char outcomes_sql[] = "SELECT t.seq, t.specialist, t.status, t.notes, t.score, t.special FROM trials t"
                                   " WHERE t.seq >= ? ORDER BY t.seq";
enum { SCORE_SPECIAL = 5 }; /* position of the score's bit in `special` */

/* Fills a trial from a row of outcomes_sql. Its other members stay empty. */
static enum lineage_status load_outcome(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_trial *trial,
                                        struct arena *arena, struct lineage_error *err)
{
    static const char *const none = "";
    bool ok = true;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        if (lineage_column(i)->kind == LINEAGE_COLUMN_TEXT)
            *trial_text_member(trial, i) = none;
    trial->seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    trial->specialist = text_at(stmt, 1, arena, &ok);
    trial->notes = text_at(stmt, 3, arena, &ok);
    trial->score = number_at(stmt, 4, sqlite3_column_int(stmt, 5) >> SCORE_SPECIAL);
    if (!ok)
        return store_no_memory(err);
    TRY(mirror_label(mirror, stmt, 2, &trial->status, err));
    return load_notes(mirror, trial, arena, err);
}

struct rows_question {
    struct mirror *mirror;
    const int64_t *seqs;
    size_t n;
    struct mirror_rows *rows;
};

/* Moves the statement from row *at to the row of seq, or to the next one if seq has none: by stepping if it is near. */
static enum lineage_status go_to(struct mirror *mirror, sqlite3_stmt *stmt, int64_t seq, int64_t *at, struct lineage_error *err)
{
    enum { NEAR = 4 };
    enum lineage_status status = LINEAGE_OK;
    if (!*at || *at > seq || seq - *at > NEAR) {
        sqlite3_reset(stmt);
        sqlite3_bind_int64(stmt, 1, seq);
        *at = 0;
    }
    while (status == LINEAGE_OK && *at < seq) {
        status = mirror_step(mirror, stmt, err);
        *at = status == LINEAGE_OK ? sqlite3_column_int64(stmt, 0) : 0;
    }
    return status == LINEAGE_OK && *at != seq ? LINEAGE_ENOTFOUND : status;
}

static size_t text_of(const struct lineage_trial *trial)
{
    size_t bytes = strlen(trial->hypothesis) + strlen(trial->notes);
    for (size_t i = 0; i < trial->n_extras; i++)
        bytes += strlen(trial->extras[i].text);
    return bytes;
}

static enum lineage_status load_rows(const struct rows_question *q, sqlite3_stmt *stmt, struct lineage_error *err)
{
    struct mirror_rows *rows = q->rows;
    enum lineage_status status = LINEAGE_OK;
    size_t bytes = 0;
    int64_t at = 0;
    while (status == LINEAGE_OK && rows->n < q->n && rows->n < MIRROR_ROWS && bytes < TEXT_OF_ROWS) {
        struct lineage_trial *trial = &rows->trials[rows->n];
        *trial = (struct lineage_trial){0};
        status = go_to(q->mirror, stmt, q->seqs[rows->n], &at, err);
        if (status == LINEAGE_OK)
            status = (rows->outcomes ? load_outcome : load_trial)(q->mirror, stmt, trial, &rows->arena, err);
        rows->found[rows->n] = status == LINEAGE_OK;
        if (status == LINEAGE_OK)
            bytes += text_of(trial);
        else if (status == LINEAGE_ENOTFOUND)
            status = LINEAGE_OK;
        rows->n++;
    }
    return status;
}

/* Starts from the first seq each time, because mirror_ask may ask again after a failure. */
static enum lineage_status ask_rows(void *question, struct lineage_error *err)
{
    const struct rows_question *q = question;
    sqlite3_stmt *stmt;
    bool began = mirror_begin_reading(q->mirror);
    arena_reset(&q->rows->arena);
    q->rows->n = 0;
    enum lineage_status status = mirror_prepare(q->mirror, &stmt, q->rows->outcomes ? outcomes_sql : rows_sql, err);
    if (status == LINEAGE_OK) {
        status = load_rows(q, stmt, err);
        sqlite3_reset(stmt);
    }
    mirror_end_reading(q->mirror, began);
    if (status != LINEAGE_OK)
        q->rows->n = 0;
    return status;
}

enum lineage_status mirror_borrow_rows(struct mirror *mirror, const int64_t *seqs, size_t n, struct mirror_rows *rows,
                                       struct lineage_error *err)
{
    struct rows_question question = {mirror, seqs, n, rows};
    return mirror_ask(mirror, ask_rows, &question, err);
}

enum lineage_status load_missing_row(struct mirror *mirror, struct lineage_error *err)
{
    mirror_note_damage(mirror);
    return store_fail(err, LINEAGE_EDB, "lineage.db: a parameter is of no row");
}
