/* search.c: lineage_search: parses the words, asks the index, and selects the trials that count. */
#include <lineage/ideas.h>
#include <lineage/search.h>

#include <stdlib.h>

#include "../format/arena.h"
#include "../settings/ask_settings.h"
#include "search_index.h"
#include "search_words.h"

static bool selects_all(const struct lineage_query *q)
{
    return !q->labels && !q->specialist && !q->since && !q->until && !q->n_conditions && !q->sort && !q->after;
}

struct search_question {
    struct lineage_store *store;
    const char *expression; /* of FTS5 */
    const struct lineage_query *filter;
    struct mirror_seqs found;
};

/* Keeps the seqs of `list` that are in `sorted`, in the order of the list. */
static void keep_common(struct mirror_seqs *list, const struct mirror_seqs *sorted)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (mirror_seqs_has(sorted, list->items[i]))
            list->items[n++] = list->items[i];
    list->n = n;
}

/* Asks the filter without its limit, which applies to the trials that also match the words. */
static enum lineage_status find(void *question, struct lineage_error *err)
{
    struct search_question *q = question;
    struct mirror *mirror = q->store->mirror;
    struct lineage_query query = *q->filter;
    struct mirror_seqs counted = {0}, matches = {0};
    const bool all = selects_all(q->filter);
    query.limit = 0;
    free(q->found.items);
    q->found = (struct mirror_seqs){0};
    enum lineage_status status = mirror_sync(mirror, err);
    if (status == LINEAGE_OK && !q->store->settings_on)
        status = search_index_make_ready(mirror, err);
    if (status == LINEAGE_OK && !all)
        status = mirror_query(mirror, &query, &counted, err);
    if (status == LINEAGE_OK && !q->filter->sort) {
        status =
            search_index_find(mirror, q->store, q->expression, all ? NULL : &counted, true, q->filter->limit, &q->found, err);
    } else if (status == LINEAGE_OK) {
        status = search_index_find(mirror, q->store, q->expression, NULL, false, 0, &matches, err);
        mirror_seqs_sort(&matches);
        keep_common(&counted, &matches);
        q->found = counted;
        counted = (struct mirror_seqs){0};
    }
    free(matches.items);
    free(counted.items);
    if (q->filter->limit && q->found.n > q->filter->limit)
        q->found.n = q->filter->limit;
    return status;
}

enum lineage_status lineage_search(struct lineage_cursor **cursor, struct lineage_store *store, const char *words,
                                   const struct lineage_query *filter, struct lineage_error *err)
{
    static const struct lineage_query all = {0};
    struct search_words parsed;
    *cursor = NULL;
    enum lineage_status status = search_words_parse(&parsed, words, err);
    struct search_question q = {.store = store, .expression = parsed.expression.data, .filter = filter ? filter : &all};
    if (status == LINEAGE_OK)
        status = ask_settings_of_query(store, q.filter, find, &q, err);
    search_words_release(&parsed);
    if (status == LINEAGE_OK)
        return mirror_cursor_new(cursor, store->mirror, &q.found, err);
    free(q.found.items);
    return status;
}

struct alike_question {
    struct lineage_store *store;
    const char *text;
    size_t limit;
    struct mirror_seqs found;
};

static enum lineage_status find_alike(void *question, struct lineage_error *err)
{
    struct alike_question *q = question;
    q->found.n = 0;
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    if (status == LINEAGE_OK)
        status = search_index_make_ready(q->store->mirror, err);
    return status == LINEAGE_OK ? search_index_alike(q->store->mirror, q->store, q->text, q->limit, &q->found, err) : status;
}

/* The words of an id are those of its trial's hypothesis. */
static enum lineage_status add_alike(struct lineage_ideas *ideas, struct lineage_store *store, const char *what,
                                     struct lineage_error *err)
{
    struct lineage_trial trial = {0};
    uint64_t seqs[LINEAGE_IDEAS_NEAR_ALIKE];
    enum lineage_status status = lineage_find(store, what, &trial, err);
    const char *id = status == LINEAGE_OK ? what : NULL;
    struct alike_question q = {.store = store, .text = id ? trial.hypothesis : what, .limit = LINEAGE_IDEAS_NEAR_ALIKE};
    if (status == LINEAGE_OK || status == LINEAGE_ENOTFOUND)
        status = mirror_ask(store->mirror, find_alike, &q, err);
    for (size_t i = 0; i < q.found.n; i++)
        seqs[i] = (uint64_t)q.found.items[i];
    if (status == LINEAGE_OK)
        status = lineage_ideas_add_near(ideas, store, id, seqs, q.found.n, err);
    free(q.found.items);
    lineage_trial_release(&trial);
    return status;
}

enum lineage_status lineage_search_ideas(struct lineage_ideas *ideas, struct lineage_store *store, const char *what,
                                         struct lineage_error *err)
{
    const struct lineage_query some = {.limit = LINEAGE_IDEAS_NEAR_WHOLE};
    size_t rows;
    enum lineage_status status = lineage_query_count(&rows, store, &some, err);
    if (status != LINEAGE_OK)
        return status;
    return rows < LINEAGE_IDEAS_NEAR_WHOLE ? lineage_ideas_add_store(ideas, store, err) : add_alike(ideas, store, what, err);
}
