/*
 * cursor.c: returns the trials that a query found, one after another. The list of seqs is complete when the cursor
 * opens, and rows are loaded one by one. So a slow caller holds no transaction open, and a large answer takes eight
 * bytes per row.
 */
#include <stdlib.h>

#include <lineage/move.h>

#include "questions.h"

/* The list belongs to the cursor and not to the mirror, so that two cursors of one handle, or a sync between two
 * rows, do not disturb each other. */
struct lineage_cursor {
    struct mirror *mirror;
    struct mirror_seqs found;
    size_t next;
    struct arena arena; /* of the current trial */
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

/* If the last trial comes from a record that has no line end yet, it is left out. */
enum lineage_status lineage_new_trials(struct lineage_cursor **cursor, struct lineage_store *store, uint64_t after,
                                       uint64_t *rows, struct lineage_error *err)
{
    struct new_question q = {store, after, {0}};
    *rows = 0;
    *cursor = NULL;
    enum lineage_status status = mirror_ask(store->mirror, ask_new, &q, err);
    if (status != LINEAGE_OK) {
        free(q.found.items);
        return status;
    }
    *rows = mirror_position(store->mirror)->rows;
    while (q.found.n && (uint64_t)q.found.items[q.found.n - 1] > *rows)
        q.found.n--;
    return mirror_cursor_new(cursor, store->mirror, &q.found, err);
}

struct row_question {
    struct lineage_cursor *cursor;
    int64_t seq;
    struct lineage_trial *trial;
};

static enum lineage_status ask_row(void *question, struct lineage_error *err)
{
    const struct row_question *q = question;
    arena_reset(&q->cursor->arena);
    return mirror_borrow(q->cursor->mirror, q->seq, q->trial, &q->cursor->arena, err);
}

/* The memory of one trial is reused for the next, so a trial is valid only until the next call. */
enum lineage_status lineage_cursor_next(struct lineage_cursor *cursor, struct lineage_trial *trial,
                                        struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    while (cursor->next < cursor->found.n) {
        struct row_question question = {cursor, cursor->found.items[cursor->next++], trial};
        enum lineage_status status = mirror_ask(cursor->mirror, ask_row, &question, err);
        if (status != LINEAGE_ENOTFOUND) /* not found: the provisional row was read again since */
            return status;
    }
    return LINEAGE_ENOTFOUND;
}

void lineage_cursor_close(struct lineage_cursor *cursor)
{
    if (!cursor)
        return;
    free(cursor->found.items);
    arena_release(&cursor->arena);
    free(cursor);
}
