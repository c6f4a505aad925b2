/*
 * cursor.c: the trials that a query found, one after another. What is found is settled when the cursor opens, rows
 * are loaded one by one: a caller that takes its time holds no transaction open, and a large answer costs eight
 * bytes a row.
 */
#include <math.h>
#include <stdlib.h>

#include <lineage/move.h>

#include "questions.h"

/* What was found belongs to the cursor and not to the index, so that two cursors of one handle,
 * or a sync between two rows, do not disturb each other. */
struct lineage_cursor {
    struct mirror *mirror;
    struct mirror_seqs found;
    size_t next;
    struct arena arena; /* of the trial at hand */
};

/* A cursor with nothing in it, and an index that is up to date. */
static enum lineage_status begin(struct lineage_cursor **cursor, struct lineage_store *store,
                                 struct lineage_error *err)
{
    *cursor = calloc(1, sizeof **cursor);
    if (!*cursor)
        return store_no_memory(err);
    (*cursor)->mirror = store->mirror;
    return mirror_sync(store->mirror, err);
}

/* What was found before damage was met; the answer is given again from the beginning. A part
 * that was found before would be there twice. */
static enum lineage_status forget_found(struct lineage_cursor *cursor)
{
    free(cursor->found.items);
    cursor->found = (struct mirror_seqs){0};
    return LINEAGE_OK;
}

static enum lineage_status finish(struct lineage_cursor **cursor, enum lineage_status status)
{
    if (status == LINEAGE_OK)
        return LINEAGE_OK;
    lineage_cursor_close(*cursor);
    *cursor = NULL;
    return status;
}

/* Damage shows while the answer is collected, and nothing has been given out yet: so the
 * question can be asked again from the start, and the caller never knows. */
enum lineage_status lineage_query_open(struct lineage_cursor **cursor, struct lineage_store *store,
                                       const struct lineage_query *query, struct lineage_error *err)
{
    enum lineage_status status = begin(cursor, store, err);
    while (status == LINEAGE_OK) {
        status = mirror_query(store->mirror, query, &(*cursor)->found, err);
        if (status == LINEAGE_OK || !mirror_mended(store->mirror))
            break;
        status = forget_found(*cursor);
    }
    return finish(cursor, status);
}

/* The last one may be of a record that has no line end yet. */
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
    while (status == LINEAGE_OK) {
        status = mirror_tried(store->mirror, wanted, n_wanted, tolerance, &(*cursor)->found, err);
        if (status == LINEAGE_OK || !mirror_mended(store->mirror))
            break;
        status = forget_found(*cursor);
    }
    return finish(cursor, status);
}

/* One trial's memory is reused for the next, which is why a trial from a cursor is valid only
 * until then. */
enum lineage_status lineage_cursor_next(struct lineage_cursor *cursor, struct lineage_trial *trial,
                                        struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    while (cursor->next < cursor->found.n) {
        int64_t seq = cursor->found.items[cursor->next++];
        enum lineage_status status;
        do {
            arena_reset(&cursor->arena);
            status = mirror_borrow(cursor->mirror, seq, trial, &cursor->arena, err);
        } while (status != LINEAGE_OK && mirror_mended(cursor->mirror));
        if (status != LINEAGE_ENOTFOUND) /* gone: an unterminated last record was read again */
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
