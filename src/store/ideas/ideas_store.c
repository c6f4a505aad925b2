/*
 * ideas_store.c: the trials of a store as a set of ideas.
 *
 * Where a trial's changes come from
 *   declared   its parameters, compared with its parent's (row_changes.c), or lineage_ideas_add_change
 *   measured   lineage_ideas_add_change, called by add_measured below for each trial of a store
 *   stated     its hypothesis (stated.c)
 * lineage_ideas_settle then orders them by trust and gives all names of one knob the same `knob`.
 *
 * A new source of changes that can be read from a store becomes a function like add_measured. It is called after all
 * trials were added, so that lineage_ideas_get and lineage_ideas_find reach every trial and its parent_exp. A trial
 * without such data is not a failure: the function adds nothing and returns LINEAGE_OK.
 */
#include "ideas_internal.h"

#include <lineage/query.h>

#include "../format/config.h"
#include "../internal.h"
#include "reading_cache.h"

/* Adds the measured changes of trials[first..). Nothing measures a trial yet. */
static enum lineage_status add_measured(struct lineage_ideas *ideas, struct lineage_store *store, size_t first,
                                        struct lineage_error *err)
{
    (void)ideas;
    (void)store;
    (void)first;
    (void)err;
    return LINEAGE_OK;
}

static enum lineage_status add_rows(struct lineage_ideas *ideas, struct lineage_store *store,
                                    const struct lineage_query *query, struct lineage_error *err)
{
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial trial;
    enum lineage_status status = lineage_query_open(&cursor, store, query, err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK)
        status = lineage_ideas_add(ideas, &trial, false, err);
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status; /* the end */
}

enum lineage_status lineage_ideas_add_query(struct lineage_ideas *ideas, struct lineage_store *store,
                                            const struct lineage_query *query, struct lineage_error *err)
{
    static const struct lineage_query all = {0};
    size_t first = lineage_ideas_count(ideas);
    if (query && query->sort)
        return store_fail(err, LINEAGE_EINVAL, "a set of ideas takes trials in the order of the log, not sorted by '%s'",
                          query->sort);
    enum lineage_status status = add_rows(ideas, store, query ? query : &all, err);
    if (status == LINEAGE_OK && ideas->ruled_by != store) {
        ideas->ruled_by = store;
        status = lineage_ideas_add_rules(ideas, store->more->rules, store->more->n_rules, err);
    }
    if (status == LINEAGE_OK)
        status = reading_cache_read(ideas, store, first, err);
    return status == LINEAGE_OK ? add_measured(ideas, store, first, err) : status;
}

enum lineage_status lineage_ideas_add_store(struct lineage_ideas *ideas, struct lineage_store *store,
                                            struct lineage_error *err)
{
    return lineage_ideas_add_query(ideas, store, NULL, err);
}

enum lineage_status lineage_ideas_load(struct lineage_ideas **ideas, struct lineage_store *store,
                                       struct lineage_error *err)
{
    enum lineage_status status = lineage_ideas_new(ideas, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_add_store(*ideas, store, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_settle(*ideas, err);
    if (status != LINEAGE_OK) {
        lineage_ideas_release(*ideas);
        *ideas = NULL;
    }
    return status;
}
