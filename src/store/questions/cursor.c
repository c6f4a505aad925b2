/*
 * cursor.c: returns the trials that a query found, one after another. The list of seqs is complete when the cursor
 * opens, and rows are loaded one by one. So a slow caller holds no transaction open, and a large answer takes eight
 * bytes per row.
 */
#include <math.h>
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

/* Makes an empty cursor and brings the mirror up to date. */
static enum lineage_status begin(struct lineage_cursor **cursor, struct lineage_store *store,
                                 struct lineage_error *err)
{
    *cursor = calloc(1, sizeof **cursor);
    if (!*cursor)
        return store_no_memory(err);
    (*cursor)->mirror = store->mirror;
    return mirror_sync(store->mirror, err);
}

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

/* Frees the cursor if the question failed. */
static enum lineage_status finish(struct lineage_cursor **cursor, enum lineage_status status)
{
    if (status == LINEAGE_OK)
        return LINEAGE_OK;
    lineage_cursor_close(*cursor);
    *cursor = NULL;
    return status;
}

struct cursor_question {
    struct lineage_cursor *cursor;
    const struct lineage_query *query;
    const struct lineage_param *wanted;
    size_t n_wanted;
    double tolerance;
};

/* Drops seqs that were collected before damage was found; otherwise they would be in the list twice. */
static void forget_found(struct lineage_cursor *cursor)
{
    free(cursor->found.items);
    cursor->found = (struct mirror_seqs){0};
}

static enum lineage_status ask_query(void *question, struct lineage_error *err)
{
    const struct cursor_question *q = question;
    forget_found(q->cursor);
    return mirror_query(q->cursor->mirror, q->query, &q->cursor->found, err);
}

static enum lineage_status ask_tried(void *question, struct lineage_error *err)
{
    const struct cursor_question *q = question;
    forget_found(q->cursor);
    return mirror_tried(q->cursor->mirror, q->wanted, q->n_wanted, q->tolerance, &q->cursor->found, err);
}

/* The whole list is collected here, before any trial is returned, so that collecting can start again if lineage.db
 * turns out to be damaged. */
enum lineage_status lineage_query_open(struct lineage_cursor **cursor, struct lineage_store *store,
                                       const struct lineage_query *query, struct lineage_error *err)
{
    enum lineage_status status = begin(cursor, store, err);
    if (status == LINEAGE_OK)
        status = mirror_ask(store->mirror, ask_query, &(struct cursor_question){.cursor = *cursor, .query = query}, err);
    return finish(cursor, status);
}

/* If the last trial comes from a record that has no line end yet, it is left out. */
enum lineage_status lineage_new_trials(struct lineage_cursor **cursor, struct lineage_store *store, uint64_t after,
                                       uint64_t *rows, struct lineage_error *err)
{
    const struct lineage_query query = {.after = after};
    *rows = 0;
    enum lineage_status status = lineage_query_open(cursor, store, &query, err);
    if (status != LINEAGE_OK)
        return status;
    struct mirror_seqs *found = &(*cursor)->found;
    *rows = mirror_position(store->mirror)->rows;
    while (found->n && (uint64_t)found->items[found->n - 1] > *rows)
        found->n--;
    return LINEAGE_OK;
}

enum lineage_status lineage_tried(struct lineage_cursor **cursor, struct lineage_store *store,
                                  const struct lineage_param *wanted, size_t n_wanted, double tolerance,
                                  struct lineage_error *err)
{
    *cursor = NULL;
    if (!n_wanted || !(tolerance >= 0) || isinf(tolerance))
        return store_fail(err, LINEAGE_EINVAL,
                          n_wanted ? "tolerance must be a finite number from 0 on"
                                   : "name at least one parameter to look for");
    enum lineage_status status = begin(cursor, store, err);
    if (status == LINEAGE_OK)
        status = mirror_ask(store->mirror, ask_tried,
                            &(struct cursor_question){.cursor = *cursor, .wanted = wanted, .n_wanted = n_wanted,
                                                      .tolerance = tolerance}, err);
    return finish(cursor, status);
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
