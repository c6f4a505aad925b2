/*
 * cursor.c: returns the trials that a query found, one after another. The list of seqs is complete when the cursor
 * opens, and rows are loaded in batches, each in a transaction of its own. So a slow caller holds no transaction open, and
 * a large answer takes eight bytes per row beside one batch.
 */
#include <stdlib.h>

#include <lineage/move.h>

#include "flat_rows.h"
#include "questions.h"

/* The list belongs to the cursor and not to the mirror, so that two cursors of one handle, or a sync between two
 * rows, do not disturb each other. */
struct lineage_cursor {
    struct mirror *mirror;
    unsigned generation; /* of the seqs */
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
    (*cursor)->generation = mirror_generation(mirror);
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
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    return status == LINEAGE_OK ? mirror_query(q->store->mirror, &query, &q->found, err) : status;
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
    enum lineage_status status = find_new(&found, store, after, err);
    if (status != LINEAGE_OK)
        return status;
    *rows = mirror_position(store->mirror)->rows;
    while (found.n && (uint64_t)found.items[found.n - 1] > *rows)
        found.n--;
    return mirror_cursor_new(cursor, store->mirror, &found, err);
}

/* A part has all rows of the night and all voids. */
enum lineage_status lineage_night_trials(struct lineage_cursor **cursor, struct lineage_store *store, uint64_t after,
                                         struct lineage_error *err)
{
    struct mirror_seqs found;
    *cursor = NULL;
    mirror_part_begin(store->mirror);
    enum lineage_status status = find_new(&found, store, after, err);
    mirror_part_end(store->mirror);
    return status == LINEAGE_OK ? mirror_cursor_new(cursor, store->mirror, &found, err) : status;
}

static enum lineage_status load_batch(struct lineage_cursor *cursor, struct lineage_error *err)
{
    size_t left = cursor->found.n - cursor->next;
    if (cursor->generation != mirror_generation(cursor->mirror))
        return store_fail(err, LINEAGE_EDB, "%s was read anew while its rows were listed; list them again",
                          mirror_store(cursor->mirror)->log->place);
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
            enum lineage_status status = load_batch(cursor, err);
            if (status != LINEAGE_OK)
                return status;
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
        enum lineage_status status = cursor->shown == cursor->rows.n ? load_batch(cursor, err) : LINEAGE_OK;
        if (status != LINEAGE_OK)
            return status;
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
