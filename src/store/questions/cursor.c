/*
 * cursor.c: returns the trials that a query found, one after another. The list of seqs is complete when the cursor
 * opens, and rows are loaded in batches, each in one read transaction, because SQLite locks and looks at its files for
 * every transaction. A slow caller holds no transaction open, and a large answer takes eight bytes per row. The first
 * batch is a single row and the next ones double, so that a caller that stops early has not loaded much.
 */
#include <stdlib.h>

#include <lineage/move.h>

#include "../mirror/statement.h"
#include "questions.h"

enum { BATCH_MAX = 32 };

/* The list belongs to the cursor and not to the mirror, so that two cursors of one handle, or a sync between two
 * rows, do not disturb each other. */
struct lineage_cursor {
    struct mirror *mirror;
    struct mirror_seqs found;
    size_t next; /* index in found of the first trial behind the batch */
    struct lineage_trial batch[BATCH_MAX];
    size_t n, given;    /* trials in the batch, and how many of them the caller has received */
    size_t wanted;      /* size of the next batch */
    struct arena arena; /* of the trials in the batch */
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
    (*cursor)->wanted = 1;
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

/* A seq without a row belonged to the provisional row, which was read again since. A failure behind the first trial is left to
 * the next batch, which begins with it. */
static enum lineage_status ask_batch(void *question, struct lineage_error *err)
{
    struct lineage_cursor *c = question;
    enum lineage_status status = LINEAGE_OK;
    size_t at = c->next;
    arena_reset(&c->arena);
    c->n = c->given = 0;
    bool together = c->wanted > 1 && mirror_exec(c->mirror, "BEGIN", NULL) == LINEAGE_OK;
    while (c->n < c->wanted && at < c->found.n) {
        c->batch[c->n] = (struct lineage_trial){0};
        status = mirror_borrow(c->mirror, c->found.items[at], &c->batch[c->n], &c->arena, c->n ? NULL : err);
        if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
            break;
        c->n += status == LINEAGE_OK;
        at++;
    }
    if (together)
        (void)mirror_exec(c->mirror, "COMMIT", NULL);
    if (!c->n && status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        return status;
    c->next = at;
    c->wanted = c->wanted * 2 < BATCH_MAX ? c->wanted * 2 : BATCH_MAX;
    return LINEAGE_OK;
}

/* The memory of a batch is reused for the next, so a trial is valid only until the next call. */
enum lineage_status lineage_cursor_next(struct lineage_cursor *cursor, struct lineage_trial *trial,
                                        struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    while (cursor->given == cursor->n && cursor->next < cursor->found.n) {
        enum lineage_status status = mirror_ask(cursor->mirror, ask_batch, cursor, err);
        if (status != LINEAGE_OK)
            return status;
    }
    if (cursor->given == cursor->n)
        return LINEAGE_ENOTFOUND;
    *trial = cursor->batch[cursor->given++];
    return LINEAGE_OK;
}

void lineage_cursor_close(struct lineage_cursor *cursor)
{
    if (!cursor)
        return;
    free(cursor->found.items);
    arena_release(&cursor->arena);
    free(cursor);
}
