/*
 * ideas_store.c: the trials of a store as a set of ideas.
 *
 * Where a trial's changes come from
 *   declared   its parameters, compared with its parent's (row_changes.c), or lineage_ideas_add_change
 *   measured   its program, compared with an ancestor's (src/store/measured), by lineage_ideas_add_change
 *   stated     its hypothesis (stated.c)
 * lineage_ideas_settle then orders them by trust and gives all names of one knob the same `knob`.
 *
 * A new source of changes that can be read from a store becomes a function like add_measured. It is called after all
 * trials were added, so that lineage_ideas_get and lineage_ideas_find reach every trial and its parent_exp. A trial
 * without such data is not a failure: the function adds nothing and returns LINEAGE_OK.
 */
#include "ideas_internal.h"
#include "ideas_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/query.h>

#include "../format/config.h"
#include "../internal.h"
#include "../measured/measured_cache.h"
#include "../mirror/statement.h"
#include "../questions/questions.h"

/* A trial whose program differs in more settings than this comes from another program. Its first settings are kept, and
 * there is room for what it states. */
enum { MEASURED_MAX = LINEAGE_IDEAS_CHANGES / 2, SHORT_NAME = 1 };

struct adding {
    struct lineage_ideas *ideas;
    size_t at; /* the next trial that may be visited */
};

/* A name like `x` says something only together with its function: "step x". */
static const char *whole_name(char out[LINEAGE_NAME_MAX], const struct lineage_measured_change *change)
{
    const char *dot = strrchr(change->scope, '.'), *function = dot ? dot + 1 : change->scope;
    if (strlen(change->name) > SHORT_NAME || !*function)
        return change->name;
    int n = snprintf(out, LINEAGE_NAME_MAX, "%s %s", function, change->name);
    return n > 0 && n < LINEAGE_NAME_MAX ? out : change->name;
}

static enum lineage_status add_trial(void *context, uint64_t seq, struct lineage_measured *measured, struct lineage_error *err)
{
    struct adding *a = context;
    enum lineage_status status = LINEAGE_OK;
    while (a->at < a->ideas->n && a->ideas->rows[a->at].idea.seq < seq)
        a->at++;
    if (a->at == a->ideas->n || a->ideas->rows[a->at].idea.seq != seq)
        return LINEAGE_OK;
    for (size_t i = 0; i < measured->n_changes && i < MEASURED_MAX && status == LINEAGE_OK; i++) {
        const struct lineage_measured_change *change = &measured->changes[i];
        char name[LINEAGE_NAME_MAX];
        status = lineage_ideas_add_change(a->ideas, a->at,
                                          &(struct lineage_change){.name = whole_name(name, change),
                                                                   .from = change->from,
                                                                   .to = change->to,
                                                                   .from_value = change->from_value,
                                                                   .to_value = change->to_value,
                                                                   .source = LINEAGE_CHANGE_MEASURED},
                                          err);
    }
    return status;
}

/* Adds what the programs of trials[first..) changed. */
static enum lineage_status add_measured(struct lineage_ideas *ideas, struct lineage_store *store, size_t first,
                                        struct lineage_error *err)
{
    struct adding adding = {ideas, first};
    if (first >= ideas->n)
        return LINEAGE_OK;
    return measured_each(store, ideas->rows[first].idea.seq, ideas->rows[ideas->n - 1].idea.seq, add_trial, &adding, err);
}

enum lineage_status ideas_add_measured(struct lineage_ideas *ideas, struct lineage_store *store, size_t first,
                                       const int64_t *seqs, size_t n, struct lineage_error *err)
{
    struct adding adding = {ideas, first};
    return measured_some(store, seqs, n, add_trial, &adding, err);
}

/* The ideas may be asked after the store is closed. */
static enum lineage_status copy_seeds(struct lineage_ideas *ideas, const char *const *seeds, struct lineage_error *err)
{
    size_t n = 0;
    while (seeds && seeds[n])
        n++;
    const char **copy = arena_alloc(&ideas->arena, n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = arena_text(&ideas->arena, seeds[i], strlen(seeds[i]))))
            copy = NULL;
    ideas->seeds = copy;
    return copy ? LINEAGE_OK : store_no_memory(err);
}

enum lineage_status ideas_add_rules_of(struct lineage_ideas *ideas, struct lineage_store *store, struct lineage_error *err)
{
    if (ideas->ruled_by == store)
        return LINEAGE_OK;
    ideas->ruled_by = store;
    enum lineage_status status = copy_seeds(ideas, lineage_store_seeds(store), err);
    if (status != LINEAGE_OK)
        return status;
    return lineage_ideas_add_rules(ideas, store->more->rules, store->more->n_rules, err);
}

struct rows_question {
    struct lineage_store *store;
    const struct lineage_query *query;
    struct mirror_seqs found;
};

static enum lineage_status ask_rows(void *question, struct lineage_error *err)
{
    struct rows_question *q = question;
    q->found.n = 0;
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    return status == LINEAGE_OK ? mirror_query(q->store->mirror, q->query, &q->found, err) : status;
}

enum lineage_status ideas_rows_open(struct lineage_cursor **cursor, struct lineage_store *store,
                                    const struct lineage_query *query, struct lineage_error *err)
{
    struct rows_question q = {.store = store, .query = query};
    enum lineage_status status = mirror_ask(store->mirror, ask_rows, &q, err);
    *cursor = NULL;
    if (status == LINEAGE_OK)
        return mirror_cursor_new(cursor, store->mirror, &q.found, err);
    free(q.found.items);
    return status;
}

enum lineage_status ideas_rows_add(struct lineage_ideas *ideas, struct lineage_store *store, struct lineage_cursor *cursor,
                                   struct lineage_error *err)
{
    size_t first = lineage_ideas_count(ideas);
    struct lineage_trial trial;
    enum lineage_status status = LINEAGE_OK;
    /* One transaction, because taking the lock of lineage.db for each row costs more than reading the row. If the mirror is opened
     * again meanwhile, because it was damaged, the rest is read without one. */
    bool together = mirror_exec(store->mirror, "BEGIN", NULL) == LINEAGE_OK;
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK)
        status = lineage_ideas_add(ideas, &trial, false, err);
    if (together)
        sqlite3_exec(mirror_db(store->mirror), "COMMIT", NULL, NULL, NULL);
    lineage_cursor_close(cursor);
    if (status == LINEAGE_ENOTFOUND) /* the end */
        status = ideas_add_rules_of(ideas, store, err);
    if (status == LINEAGE_OK)
        status = reading_cache_read(ideas, store, first, err);
    return status == LINEAGE_OK ? add_measured(ideas, store, first, err) : status;
}

enum lineage_status lineage_ideas_add_store(struct lineage_ideas *ideas, struct lineage_store *store, struct lineage_error *err)
{
    static const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    enum lineage_status status = ideas_rows_open(&cursor, store, &all, err);
    return status == LINEAGE_OK ? ideas_rows_add(ideas, store, cursor, err) : status;
}

enum lineage_status lineage_ideas_load(struct lineage_ideas **ideas, struct lineage_store *store, struct lineage_error *err)
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
