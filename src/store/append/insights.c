/* insights.c: insights.jsonl, one insight per line. */
#include <lineage/insights.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lineage/query.h>
#include <lineage/text.h>
#include <lineage/time.h>

#include "../files/places.h"
#include "json_lines.h"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The text is limited in length, because every rendered block shows the insights that are in force. */
static enum lineage_status check(const struct lineage_insight *insight, struct lineage_error *err)
{
    const char *text = or_empty(insight->text), *author = or_empty(insight->author);
    if (!*text)
        return store_fail(err, LINEAGE_EINVAL, "an insight needs a text");
    if (!insight->n_evidence)
        return store_fail(err, LINEAGE_EINVAL, "an insight needs evidence: the exp_id of at least one trial");
    if (strlen(text) > LINEAGE_INSIGHT_MAX || strlen(author) > LINEAGE_NAME_MAX || insight->n_evidence > LINEAGE_EVIDENCE_MAX)
        return store_fail(err, LINEAGE_ELIMIT, "an insight has at most %d bytes, its author %d, and %d trials as evidence",
                          LINEAGE_INSIGHT_MAX, LINEAGE_NAME_MAX, LINEAGE_EVIDENCE_MAX);
    if (!lineage_text_is_utf8(text, strlen(text)) || !lineage_text_is_utf8(author, strlen(author)))
        return store_fail(err, LINEAGE_EINVAL, "an insight and its author must be UTF-8");
    return LINEAGE_OK;
}

struct looked_up {
    uint64_t number, superseded_by;
    bool found;
};

static bool look_up(void *context, const struct lineage_insight *insight)
{
    struct looked_up *wanted = context;
    if (insight->number != wanted->number)
        return true;
    wanted->found = true;
    wanted->superseded_by = insight->superseded_by;
    return false;
}

static enum lineage_status check_superseded(struct lineage_store *store, uint64_t number, struct lineage_error *err)
{
    struct looked_up wanted = {.number = number};
    enum lineage_status status = number ? lineage_insights_read(store, look_up, &wanted, err) : LINEAGE_OK;
    if (status != LINEAGE_OK || !number)
        return status;
    if (!wanted.found)
        return store_fail(err, LINEAGE_ENOTFOUND, "there is no insight %llu", (unsigned long long)number);
    if (wanted.superseded_by)
        return store_fail(err, LINEAGE_EINVAL, "insight %llu is superseded already, by insight %llu", (unsigned long long)number,
                          (unsigned long long)wanted.superseded_by);
    return LINEAGE_OK;
}

/* Replaces the ids by the store's spelling; otherwise evidence 014 would not be found for exp_014. */
static enum lineage_status find_evidence(json_t *evidence, struct lineage_store *store, const struct lineage_insight *insight,
                                         struct lineage_error *err)
{
    for (size_t i = 0; i < insight->n_evidence; i++) {
        struct lineage_trial trial = {0};
        enum lineage_status status = lineage_find(store, insight->evidence[i], &trial, err);
        if (status == LINEAGE_OK)
            json_array_append_new(evidence, json_string(trial.exp_id));
        lineage_trial_release(&trial);
        if (status != LINEAGE_OK)
            return status;
    }
    return LINEAGE_OK;
}

enum lineage_status lineage_insight_append(struct lineage_store *store, const struct lineage_insight *insight, uint64_t *number,
                                           struct lineage_error *err)
{
    static const struct lineage_query all = {0};
    char now[LINEAGE_TIME_MAX];
    const char *given = or_empty(insight->timestamp);
    json_t *evidence = json_array();
    size_t rows = 0;
    enum lineage_status status = check(insight, err);
    if (status == LINEAGE_OK)
        status = find_evidence(evidence, store, insight, err);
    if (status == LINEAGE_OK)
        status = check_superseded(store, insight->supersedes, err);
    if (status == LINEAGE_OK)
        status = lineage_query_count(&rows, store, &all, err);
    if (status != LINEAGE_OK) {
        json_decref(evidence);
        return status;
    }
    json_t *json =
        json_pack("{s:i, s:s, s:s, s:s, s:o, s:I, s:I}", "n", 0, "time", *given ? given : lineage_time_format(now, time(NULL)),
                  "author", or_empty(insight->author), "text", insight->text, "evidence", evidence, "supersedes",
                  (json_int_t)insight->supersedes, "rows", (json_int_t)rows);
    return json_lines_append(store, PLACE_INSIGHTS, json, "n", number, err);
}

/* ---- reading ---- */

/* All lines are read first, because a later line may supersede an insight. */
struct kept_lines {
    json_t *list;
    bool failed;
};

static bool keep_line(void *context, const json_t *object)
{
    struct kept_lines *kept = context;
    json_t *evidence = json_object_get(object, "evidence");
    const char *text = json_string_value(json_object_get(object, "text"));
    if (json_integer_value(json_object_get(object, "n")) > 0 && text && *text && strlen(text) <= LINEAGE_INSIGHT_MAX &&
        json_array_size(evidence) <= LINEAGE_EVIDENCE_MAX)
        kept->failed = kept->failed || json_array_append(kept->list, (json_t *)(uintptr_t)object) != 0;
    return true;
}

static uint64_t number_of(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));
    return n > 0 ? (uint64_t)n : 0;
}

/* A pair of insights, of which the first supersedes the second. The pairs are sorted by the superseded insight, so that
 * a long file does not take quadratic time. */
struct superseding {
    uint64_t old, number;
};

static int by_old(const void *a, const void *b)
{
    const struct superseding *x = a, *y = b;
    return x->old != y->old ? (x->old > y->old) - (x->old < y->old) : (x->number > y->number) - (x->number < y->number);
}

/* The first insight that supersedes this one; 0 for none. */
static uint64_t superseded_by(const struct superseding *all, size_t n, uint64_t number)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].old < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && all[low].old == number ? all[low].number : 0;
}

static bool visit_line(const json_t *list, size_t i, const struct superseding *all, size_t n,
                       bool (*visit)(void *context, const struct lineage_insight *insight), void *context)
{
    const char *ids[LINEAGE_EVIDENCE_MAX];
    const json_t *object = json_array_get(list, i), *evidence = json_object_get(object, "evidence");
    struct lineage_insight insight = {.number = number_of(object, "n"),
                                      .timestamp = or_empty(json_string_value(json_object_get(object, "time"))),
                                      .author = or_empty(json_string_value(json_object_get(object, "author"))),
                                      .text = json_string_value(json_object_get(object, "text")),
                                      .evidence = ids,
                                      .supersedes = number_of(object, "supersedes"),
                                      .rows = number_of(object, "rows")};
    for (size_t k = 0; k < json_array_size(evidence); k++)
        if (json_is_string(json_array_get(evidence, k)))
            ids[insight.n_evidence++] = json_string_value(json_array_get(evidence, k));
    insight.superseded_by = superseded_by(all, n, insight.number);
    return visit(context, &insight);
}

enum lineage_status lineage_insights_read(struct lineage_store *store,
                                          bool (*visit)(void *context, const struct lineage_insight *insight), void *context,
                                          struct lineage_error *err)
{
    struct kept_lines kept = {.list = json_array()};
    enum lineage_status status = kept.list ? json_lines_read(store, PLACE_INSIGHTS, keep_line, &kept, err) : store_no_memory(err);
    if (status == LINEAGE_OK && kept.failed)
        status = store_no_memory(err);
    size_t lines = json_array_size(kept.list), n = 0;
    struct superseding *all = calloc(lines + 1, sizeof *all);
    if (status == LINEAGE_OK && !all)
        status = store_no_memory(err);
    for (size_t i = 0; status == LINEAGE_OK && i < lines; i++) {
        const json_t *object = json_array_get(kept.list, i);
        const struct superseding one = {number_of(object, "supersedes"), number_of(object, "n")};
        if (one.old && one.old < one.number)
            all[n++] = one;
    }
    if (n)
        qsort(all, n, sizeof *all, by_old);
    bool more = true;
    for (size_t i = 0; status == LINEAGE_OK && more && i < lines; i++)
        more = visit_line(kept.list, i, all, n, visit, context);
    free(all);
    json_decref(kept.list);
    return status;
}
