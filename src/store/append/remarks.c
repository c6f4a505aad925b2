/*
 * remarks.c: remarks.jsonl, one remark per line.
 *
 * Remarks are in a file of their own, because rows of the log never change and other tools share its columns. With one
 * JSON object per line an append is one write, and a torn last line does not affect the others.
 */
#include <lineage/remarks.h>

#include <jansson.h>
#include <string.h>
#include <time.h>

#include <lineage/query.h>
#include <lineage/text.h>
#include <lineage/time.h>

#include "../internal.h"
#include "../files/places.h"
#include "json_lines.h"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The text is limited in length, because a remark is shown together with its trial, also to models with a limited
 * context. */
static enum lineage_status check(const struct lineage_remark *remark, struct lineage_error *err)
{
    const char *author = or_empty(remark->author), *timestamp = or_empty(remark->timestamp);
    if (!remark->text || !*remark->text)
        return store_fail(err, LINEAGE_EINVAL, "a remark needs a text");
    if (strlen(remark->text) > LINEAGE_REMARK_MAX || strlen(author) > LINEAGE_NAME_MAX)
        return store_fail(err, LINEAGE_ELIMIT, "a remark has %d bytes at most, its author %d", LINEAGE_REMARK_MAX,
                          LINEAGE_NAME_MAX);
    if (!lineage_text_is_utf8(remark->text, strlen(remark->text)) || !lineage_text_is_utf8(author, strlen(author)) ||
        !lineage_text_is_utf8(timestamp, strlen(timestamp)))
        return store_fail(err, LINEAGE_EINVAL, "a remark, its author and its time must be UTF-8");
    return LINEAGE_OK;
}

/* The trial is looked up first and its id is written in the store's spelling; otherwise a remark on 014 would not be
 * found for exp_014. */
enum lineage_status lineage_remark_append(struct lineage_store *store, const struct lineage_remark *remark,
                                          struct lineage_error *err)
{
    char now[LINEAGE_TIME_MAX];
    const char *given = or_empty(remark->timestamp);
    struct lineage_trial trial = {0};
    enum lineage_status status = check(remark, err);
    if (status == LINEAGE_OK)
        status = lineage_find(store, or_empty(remark->exp_id), &trial, err);
    if (status != LINEAGE_OK)
        return status;
    /* An empty time is replaced by the current time in the format of row timestamps, so that remarks and rows can be
     * sorted together. */
    json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "time", *given ? given : lineage_time_format(now, time(NULL)), "exp_id",
                             trial.exp_id, "author", or_empty(remark->author), "text", remark->text);
    status = json_lines_append(store, PLACE_REMARKS, json, NULL, NULL, err);
    lineage_trial_release(&trial);
    return status;
}

static const char *text_of(const json_t *json, const char *key)
{
    return or_empty(json_string_value(json_object_get(json, key)));
}

struct reading {
    const char *exp_id;
    bool (*visit)(void *context, const struct lineage_remark *remark);
    void *context;
};

static bool visit_remark(void *context, const json_t *json)
{
    const struct reading *r = context;
    struct lineage_remark remark = {text_of(json, "time"), text_of(json, "exp_id"), text_of(json, "author"),
                                    text_of(json, "text")};
    bool wanted = remark.text[0] && (!r->exp_id || strcmp(r->exp_id, remark.exp_id) == 0);
    return !wanted || r->visit(r->context, &remark);
}

enum lineage_status lineage_remarks_read(struct lineage_store *store, const char *exp_id,
                                         bool (*visit)(void *context, const struct lineage_remark *remark), void *context,
                                         struct lineage_error *err)
{
    struct reading reading = {exp_id, visit, context};
    return json_lines_read(store, PLACE_REMARKS, visit_remark, &reading, err);
}
