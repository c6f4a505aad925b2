/*
 * cursor.c: returns the trials that a query found, one after another. The list of seqs is complete when the cursor
 * opens, and rows are loaded in batches, each in a transaction of its own. So a slow caller holds no transaction open, and
 * a large answer takes eight bytes per row beside one batch.
 */
#include <math.h>

#include <lineage/move.h>
#include <lineage/rows.h>

#include "../format/arena.h"
#include "questions.h"

/* ---- trials as flat arrays (lineage/rows.h) ---- */

/* One struct lineage_row_values. */
struct flat_values {
    struct buf ends, names, texts, values, is_text;
};

/* The memory of a struct lineage_rows, one buffer per array. Zeroed: empty. */
struct flat_rows {
    struct buf texts, numbers, present, labels, seqs, lines, turn_ends, turns;
    struct flat_values params, metrics, extras;
};

/* Every buffer, so that emptying, checking and releasing need no list of their own. */
enum { N_BUFFERS = sizeof(struct flat_rows) / sizeof(struct buf) };

static struct buf *buffers(struct flat_rows *flat)
{
    return (struct buf *)flat;
}

/* Empties the buffers and keeps their memory. */
static void flat_rows_reset(struct flat_rows *flat)
{
    for (size_t i = 0; i < N_BUFFERS; i++)
        buf_reset(buffers(flat) + i);
}

static void flat_rows_release(struct flat_rows *flat)
{
    for (size_t i = 0; i < N_BUFFERS; i++)
        buf_release(buffers(flat) + i);
}

static void add_text(struct buf *texts, const char *text)
{
    buf_add(texts, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void add_number(struct buf *numbers, double number)
{
    buf_add(numbers, &number, sizeof number);
}

static void add_count(struct buf *counts, uint64_t count)
{
    buf_add(counts, &count, sizeof count);
}

static void add_flag(struct buf *flags, bool flag)
{
    buf_add(flags, &flag, sizeof flag);
}

static void add_value(struct flat_values *flat, const char *name, const char *text, double value)
{
    add_text(&flat->names, name);
    add_text(&flat->texts, text);
    add_number(&flat->values, value);
    add_flag(&flat->is_text, text != NULL);
}

static void end_row(struct flat_values *flat)
{
    add_count(&flat->ends, flat->is_text.length / sizeof(bool));
}

static void add_named(struct flat_values *flat, const struct lineage_param *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_value(flat, items[i].name, items[i].text, items[i].value);
    end_row(flat);
}

static void add_columns(struct flat_rows *flat, const struct lineage_trial *trial)
{
    const char *const texts[LINEAGE_ROW_TEXTS] = {
        trial->exp_id,     trial->timestamp,      trial->specialist, trial->parent_exp,    trial->baseline_exp, trial->domain,
        trial->hypothesis, trial->expected_delta, trial->job_name,   trial->snapshot_path, trial->notes,        trial->void_label,
    };
    const struct lineage_number numbers[LINEAGE_ROW_NUMBERS] = {
        trial->core_metric,        trial->val_bpb,           trial->delta_vs_best, trial->train_s, trial->total_s,
        trial->ig_clip_scale_mean, trial->ig_clip_scale_std, trial->score,
    };
    const uint8_t label = (uint8_t)trial->status;
    for (size_t i = 0; i < LINEAGE_ROW_TEXTS; i++)
        add_text(&flat->texts, texts[i]);
    for (size_t i = 0; i < LINEAGE_ROW_NUMBERS; i++) {
        add_number(&flat->numbers, numbers[i].present ? numbers[i].value : 0);
        add_flag(&flat->present, numbers[i].present);
    }
    buf_add(&flat->labels, &label, sizeof label);
    add_count(&flat->seqs, trial->seq);
    add_count(&flat->lines, trial->line);
}

/* Adds a trial. A failed allocation shows in flat_rows_view. */
static void flat_rows_add(struct flat_rows *flat, const struct lineage_trial *trial)
{
    add_columns(flat, trial);
    add_named(&flat->params, trial->params, trial->n_params);
    add_named(&flat->metrics, trial->metrics, trial->n_metrics);
    for (size_t i = 0; i < trial->n_extras; i++)
        add_value(&flat->extras, trial->extras[i].column, trial->extras[i].text ? trial->extras[i].text : "", (double)NAN);
    end_row(&flat->extras);
    if (trial->n_turns)
        buf_add(&flat->turns, trial->turns, trial->n_turns * sizeof *trial->turns);
    add_count(&flat->turn_ends, flat->turns.length / sizeof *trial->turns);
}

static struct lineage_row_texts texts_of(const struct buf *texts)
{
    return (struct lineage_row_texts){texts->data, texts->length};
}

static struct lineage_row_values values_of(const struct flat_values *flat)
{
    return (struct lineage_row_values){
        .ends = (const void *)flat->ends.data,
        .names = texts_of(&flat->names),
        .texts = texts_of(&flat->texts),
        .values = (const void *)flat->values.data,
        .is_text = (const void *)flat->is_text.data,
        .n = flat->is_text.length / sizeof(bool),
    };
}

/* The arrays of the n trials that were added, valid until the next change. Returns false if memory ran out. */
static bool flat_rows_view(const struct flat_rows *flat, size_t n, struct lineage_rows *rows)
{
    const struct buf *all = (const struct buf *)flat;
    for (size_t i = 0; i < N_BUFFERS; i++)
        if (all[i].failed)
            return false;
    *rows = (struct lineage_rows){
        .n = n,
        .texts = texts_of(&flat->texts),
        .numbers = (const void *)flat->numbers.data,
        .present = (const void *)flat->present.data,
        .labels = (const void *)flat->labels.data,
        .seqs = (const void *)flat->seqs.data,
        .lines = (const void *)flat->lines.data,
        .params = values_of(&flat->params),
        .metrics = values_of(&flat->metrics),
        .extras = values_of(&flat->extras),
        .turn_ends = (const void *)flat->turn_ends.data,
        .turns = (const void *)flat->turns.data,
    };
    return true;
}

/* ---- returns the trials that a query found, one after another ---- */

/* The list belongs to the cursor and not to the mirror, so that two cursors of one handle, or a sync between two
 * rows, do not disturb each other. */
struct lineage_cursor {
    struct mirror *mirror;
    struct mirror_seqs found;
    size_t next;  /* first seq that is not in the batch */
    size_t shown; /* trials of the batch that were passed to the caller */
    size_t batch; /* seqs to load next: 1, 2, 4, ..., so that a caller that wants one trial pays for one */
    struct mirror_rows rows;
    struct flat_rows flat; /* lineage_cursor_rows */
};

enum lineage_status mirror_cursor_new(struct lineage_cursor **cursor, struct mirror *mirror, struct mirror_seqs *found,
                                      struct lineage_error *err)
{
    *cursor = calloc(1, sizeof **cursor);
    if (!*cursor) {
        free(found->items);
        return store_no_memory(err);
    }
    (*cursor)->mirror = mirror;
    (*cursor)->found = *found;
    return LINEAGE_OK;
}

void cursor_load_outcomes(struct lineage_cursor *cursor)
{
    cursor->rows.outcomes = true;
}

const struct lineage_config *lineage_cursor_config(const struct lineage_cursor *cursor)
{
    return &mirror_store(cursor->mirror)->config;
}

struct new_question {
    struct lineage_store *store;
    uint64_t after;
    struct mirror_seqs found;
};

static enum lineage_status ask_new(void *question, struct lineage_error *err)
{
    struct new_question *q = question;
    const struct lineage_query query = {.after = q->after};
    free(q->found.items);
    q->found = (struct mirror_seqs){0};
    TRY(mirror_sync(q->store->mirror, err));
    return mirror_query(q->store->mirror, &query, &q->found, err);
}

static enum lineage_status find_new(struct mirror_seqs *found, struct lineage_store *store, uint64_t after,
                                    struct lineage_error *err)
{
    struct new_question q = {store, after, {0}};
    enum lineage_status status = mirror_ask(store->mirror, ask_new, &q, err);
    if (status == LINEAGE_OK)
        *found = q.found;
    else
        free(q.found.items);
    return status;
}

/* If the last trial comes from a record that has no line end yet, it is left out. */
enum lineage_status lineage_new_trials(struct lineage_cursor **cursor, struct lineage_store *store, uint64_t after,
                                       uint64_t *rows, struct lineage_error *err)
{
    struct mirror_seqs found;
    *rows = 0;
    *cursor = NULL;
    TRY(find_new(&found, store, after, err));
    *rows = mirror_position(store->mirror)->rows;
    while (found.n && (uint64_t)found.items[found.n - 1] > *rows)
        found.n--;
    return mirror_cursor_new(cursor, store->mirror, &found, err);
}

static enum lineage_status load_batch(struct lineage_cursor *cursor, struct lineage_error *err)
{
    size_t left = cursor->found.n - cursor->next;
    cursor->batch = cursor->batch ? cursor->batch * 2 : 1;
    if (cursor->batch > MIRROR_ROWS)
        cursor->batch = MIRROR_ROWS;
    cursor->shown = 0;
    enum lineage_status status = mirror_borrow_rows(cursor->mirror, cursor->found.items + cursor->next,
                                                    left < cursor->batch ? left : cursor->batch, &cursor->rows, err);
    cursor->next += cursor->rows.n;
    return status;
}

/* The memory of a batch is reused for the next, so a trial is valid only until the next call. */
enum lineage_status lineage_cursor_next(struct lineage_cursor *cursor, struct lineage_trial *trial, struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    while (cursor->shown < cursor->rows.n || cursor->next < cursor->found.n) {
        if (cursor->shown == cursor->rows.n) {
            TRY(load_batch(cursor, err));
        }
        size_t i = cursor->shown++;
        if (cursor->rows.found[i]) {
            *trial = cursor->rows.trials[i];
            return LINEAGE_OK;
        }
    }
    return LINEAGE_ENOTFOUND;
}

/* A batch of which lineage_cursor_next has returned a part is finished first. A batch without trials is not the end. */
enum lineage_status lineage_cursor_rows(struct lineage_cursor *cursor, struct lineage_rows *rows, struct lineage_error *err)
{
    size_t n = 0;
    flat_rows_reset(&cursor->flat);
    while (n == 0 && (cursor->shown < cursor->rows.n || cursor->next < cursor->found.n)) {
        cursor->batch = MIRROR_ROWS;
        TRY(cursor->shown == cursor->rows.n ? load_batch(cursor, err) : LINEAGE_OK);
        for (; cursor->shown < cursor->rows.n; cursor->shown++)
            if (cursor->rows.found[cursor->shown]) {
                flat_rows_add(&cursor->flat, &cursor->rows.trials[cursor->shown]);
                n++;
            }
    }
    return flat_rows_view(&cursor->flat, n, rows) ? LINEAGE_OK : store_no_memory(err);
}

void lineage_cursor_close(struct lineage_cursor *cursor)
{
    if (!cursor)
        return;
    free(cursor->found.items);
    arena_release(&cursor->rows.arena);
    flat_rows_release(&cursor->flat);
    free(cursor);
}
