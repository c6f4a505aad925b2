/*
 * named_questions.c: the public questions by name: query, count, tried, nearest and sweep. A name is a column, a parameter, an
 * extra column, or a setting in words.
 */
#include <math.h>

#include "../ideas/ideas_rows.h"
#include "ask_settings.h"

struct question {
    struct lineage_store *store;
    const struct lineage_query *query;
    size_t *n;
    const char *x, *y;
    struct lineage_sweep *sweep;
    const struct lineage_param *wanted;
    size_t n_wanted;
    double tolerance;
    const struct lineage_condition *conditions;
    size_t n_conditions, limit;
    struct mirror_seqs found;
    struct arena arena; /* of the texts that are meant */
};

/* Copies the conditions with the texts that are meant, if what was shown of a value was copied. */
static enum lineage_status mean_conditions(struct question *q, const struct lineage_condition **conditions, size_t n,
                                           struct lineage_error *err)
{
    struct lineage_condition *meant = arena_alloc(&q->arena, n + 1, sizeof *meant);
    enum lineage_status status = meant ? LINEAGE_OK : store_no_memory(err);
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++) {
        meant[i] = (*conditions)[i];
        const char **texts = arena_alloc(&q->arena, meant[i].n_texts + 1, sizeof *texts);
        if (!texts)
            return store_no_memory(err);
        for (size_t t = 0; t < meant[i].n_texts && status == LINEAGE_OK; t++) {
            texts[t] = meant[i].texts[t];
            status = name_exact_text(&texts[t], q->store->mirror, meant[i].name, &q->arena, err);
        }
        meant[i].texts = texts;
        if (status == LINEAGE_OK)
            status = query_mean_wide(&meant[i], q->store->mirror, 0, err);
    }
    *conditions = meant;
    return status;
}

static enum lineage_status mean_query(struct question *q, struct lineage_query *meant, struct lineage_error *err)
{
    *meant = *q->query;
    TRY(mean_conditions(q, &meant->conditions, meant->n_conditions, err));
    return meant->specialist ? name_exact_text(&meant->specialist, q->store->mirror, "specialist", &q->arena, err) : LINEAGE_OK;
}

/* Drops seqs that were collected before damage was found, or before settings in words were known; otherwise they would be
 * in the list twice. */
static enum lineage_status begin(struct question *q, struct lineage_error *err)
{
    free(q->found.items);
    q->found = (struct mirror_seqs){0};
    return mirror_sync(q->store->mirror, err);
}

/* Makes the answer of a question a cursor. */
static enum lineage_status give(struct lineage_cursor **cursor, struct question *q, enum lineage_status status,
                                struct lineage_error *err)
{
    arena_release(&q->arena);
    if (status == LINEAGE_OK)
        return mirror_cursor_new(cursor, q->store->mirror, &q->found, err);
    free(q->found.items);
    return status;
}

static enum lineage_status ask_query(void *question, struct lineage_error *err)
{
    struct question *q = question;
    struct lineage_query meant;
    TRY(begin(q, err));
    TRY(mean_query(q, &meant, err));
    return mirror_query(q->store->mirror, &meant, &q->found, err);
}

/* The whole list is collected here, before any trial is returned, so that collecting can start again if lineage.db
 * turns out to be damaged. */
enum lineage_status lineage_query_open(struct lineage_cursor **cursor, struct lineage_store *store,
                                       const struct lineage_query *query, struct lineage_error *err)
{
    struct question q = {.store = store, .query = query};
    *cursor = NULL;
    return give(cursor, &q, ask_settings_of_query(store, query, ask_query, &q, err), err);
}

enum lineage_status lineage_query_open_declared(struct lineage_cursor **cursor, struct lineage_store *store,
                                                const struct lineage_query *query, struct lineage_error *err)
{
    struct question q = {.store = store, .query = query};
    *cursor = NULL;
    return give(cursor, &q, mirror_ask(store->mirror, ask_query, &q, err), err);
}

enum lineage_status lineage_ideas_add_query(struct lineage_ideas *ideas, struct lineage_store *store,
                                            const struct lineage_query *query, struct lineage_error *err)
{
    struct lineage_cursor *cursor;
    if (!query)
        return lineage_ideas_add_store(ideas, store, err);
    if (query->sort)
        return store_fail(err, LINEAGE_EINVAL, "a set of ideas takes trials in the order of the log, not sorted by '%s'",
                          query->sort);
    TRY(lineage_query_open(&cursor, store, query, err));
    return ideas_rows_add(ideas, store, cursor, err);
}

static enum lineage_status ask_count(void *question, struct lineage_error *err)
{
    struct question *q = question;
    struct lineage_query meant;
    *q->n = 0;
    TRY(begin(q, err));
    TRY(mean_query(q, &meant, err));
    return mirror_count(q->store->mirror, &meant, q->n, err);
}

enum lineage_status lineage_query_count(size_t *n, struct lineage_store *store, const struct lineage_query *query,
                                        struct lineage_error *err)
{
    struct question q = {.store = store, .query = query, .n = n};
    enum lineage_status status = ask_settings_of_query(store, query, ask_count, &q, err);
    arena_release(&q.arena);
    return status;
}

static enum lineage_status ask_tried(void *question, struct lineage_error *err)
{
    struct question *q = question;
    struct lineage_param *meant = arena_alloc(&q->arena, q->n_wanted, sizeof *meant);
    TRY(meant ? begin(q, err) : store_no_memory(err));
    for (size_t i = 0; i < q->n_wanted; i++) {
        meant[i] = q->wanted[i];
        if (meant[i].text)
            TRY(name_exact_text(&meant[i].text, q->store->mirror, meant[i].name, &q->arena, err));
    }
    return mirror_tried(q->store->mirror, meant, q->n_wanted, q->tolerance, &q->found, err);
}

enum { ENVIRONMENTS = 4, TRIED_MAX = 64 }; /* environments of a run; names that are looked for in the later ones */

/* Looks for the wanted values in one environment of a run. Rows name the settings of the second one "env1.alpha"; texts do not, and
 * words that resemble such a name would be mistaken for it. */
static enum lineage_status ask_environment(struct question *q, size_t environment, const struct lineage_param *wanted,
                                           struct lineage_error *err)
{
    char texts[TRIED_MAX][LINEAGE_NAME_MAX];
    struct lineage_param own[TRIED_MAX];
    for (size_t i = 0; i < q->n_wanted; i++) {
        if (strchr(wanted[i].name, '.') ||
            snprintf(texts[i], sizeof texts[i], "env%zu.%s", environment, wanted[i].name) >= LINEAGE_NAME_MAX)
            return LINEAGE_OK;
        own[i] = wanted[i];
        own[i].name = texts[i];
    }
    q->wanted = own;
    enum lineage_status status = mirror_ask(q->store->mirror, ask_tried, q, err);
    q->wanted = wanted;
    return status;
}

enum lineage_status lineage_tried(struct lineage_cursor **cursor, struct lineage_store *store, const struct lineage_param *wanted,
                                  size_t n_wanted, double tolerance, struct lineage_error *err)
{
    struct question q = {.store = store, .wanted = wanted, .n_wanted = n_wanted, .tolerance = tolerance};
    struct named_question named = {.ask = ask_tried, .question = &q, .n = n_wanted, .untold = true};
    *cursor = NULL;
    if (!n_wanted || !(tolerance >= 0) || isinf(tolerance))
        return store_fail(err, LINEAGE_EINVAL,
                          n_wanted ? "tolerance must be a finite number from 0 on" : "name at least one parameter to look for");
    const char **names = calloc(n_wanted, sizeof *names);
    if (!names)
        return store_no_memory(err);
    for (size_t i = 0; i < n_wanted; i++)
        names[i] = wanted[i].name;
    named.names = names;
    enum lineage_status status = ask_settings(store, &named, err);
    free(names);
    for (size_t k = 1; status == LINEAGE_OK && !q.found.n && n_wanted <= TRIED_MAX && k < ENVIRONMENTS; k++)
        status = ask_environment(&q, k, wanted, err);
    return give(cursor, &q, status, err);
}

static enum lineage_status ask_nearest(void *question, struct lineage_error *err)
{
    struct question *q = question;
    const struct lineage_condition *meant = q->conditions;
    TRY(begin(q, err));
    TRY(mean_conditions(q, &meant, q->n_conditions, err));
    return mirror_nearest(q->store->mirror, meant, q->n_conditions, q->limit, &q->found, err);
}

enum lineage_status lineage_nearest(struct lineage_cursor **cursor, struct lineage_store *store,
                                    const struct lineage_condition *conditions, size_t n_conditions, size_t limit,
                                    struct lineage_error *err)
{
    struct question q = {.store = store, .conditions = conditions, .n_conditions = n_conditions, .limit = limit};
    *cursor = NULL;
    if (n_conditions > LINEAGE_NEAREST_CONDITIONS)
        return store_fail(err, LINEAGE_ELIMIT, "more than %d parameters to look for", LINEAGE_NEAREST_CONDITIONS);
    return give(cursor, &q, mirror_ask(store->mirror, ask_nearest, &q, err), err);
}

static enum lineage_status ask_sweep(void *question, struct lineage_error *err)
{
    struct question *q = question;
    lineage_sweep_release(q->sweep);
    TRY(begin(q, err));
    return mirror_sweep(q->store->mirror, q->x, q->y, q->sweep, err);
}

/* For the mirror a table without cells is not a failure, but for a user who asked for the table it is. */
enum lineage_status lineage_sweep_load(struct lineage_store *store, const char *x, const char *y, struct lineage_sweep *sweep,
                                       struct lineage_error *err)
{
    struct question q = {.store = store, .x = x, .y = y, .sweep = sweep};
    *sweep = (struct lineage_sweep){0};
    const char *const names[] = {x, y};
    const struct named_question named = {.ask = ask_sweep, .question = &q, .names = names, .n = y ? 2 : 1};
    TRY(ask_settings(store, &named, err));
    if (!sweep->n_cells) {
        lineage_sweep_release(sweep);
        return store_fail(err, LINEAGE_ENOTFOUND, "no trial has %s%s%s", x, y ? " and " : "", y ? y : "");
    }
    return LINEAGE_OK;
}
