/* insights.c: insights.jsonl and remarks.jsonl, one object per line. */
#include <lineage/insights.h>
#include <lineage/query.h>
#include <lineage/remarks.h>
#include <lineage/text.h>
#include <lineage/time.h>

#include <fcntl.h>
#include <jansson.h>
#include <time.h>
#include <unistd.h>

#include "../files/places.h"
#include "../internal.h"
#include "../files/fs.h"
#include "../format/json_text.h"

/* ---- files beside the log that hold one JSON object per line and only grow: remarks and insights.
 *
 * An append is one write under an exclusive flock on the file, then a sync. A torn last line does not affect the
 * others: readers skip lines that are not JSON, and the next append starts a new line.
 */

/* A last line without a line end is parsed too: it is complete if it is valid JSON. */
static enum lineage_status read_objects(const struct buf *file, const char *place,
                                        bool (*visit)(void *context, const json_t *object), void *context,
                                        struct lineage_error *err)
{
    bool more = true;
    for (size_t i = 0; more && i < file->length;) {
        const char *end = memchr(file->data + i, '\n', file->length - i);
        size_t n = end ? (size_t)(end - file->data) - i : file->length - i;
        struct lineage_error why;
        json_t *json = NULL;
        if (n && json_text_parse(&json, place, LINEAGE_ECORRUPT, file->data + i, n, 0, &why) == LINEAGE_ENOMEM)
            return store_give(err, &why);
        if (json_is_object(json))
            more = visit(context, json);
        json_decref(json);
        i += n + 1;
    }
    return LINEAGE_OK;
}

/* Calls visit for each object, oldest first, until visit returns false. A missing file counts as empty. */
static enum lineage_status json_lines_read(struct lineage_store *store, const char *place,
                                           bool (*visit)(void *context, const json_t *object), void *context,
                                           struct lineage_error *err)
{
    SCOPED_BUF file = {0};
    enum lineage_status status = fs_read_file(store->dir_fd, place, &file, err);
    if (status == LINEAGE_OK)
        status = read_objects(&file, place, visit, context, err);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

struct largest_number {
    const char *key;
    uint64_t number;
};

static bool note_number(void *context, const json_t *object)
{
    struct largest_number *largest = context;
    json_int_t n = json_integer_value(json_object_get(object, largest->key));
    if (n > 0 && (uint64_t)n > largest->number)
        largest->number = (uint64_t)n;
    return true;
}

/* Call it under the lock. A write that fails half-way is truncated again. If the file ends in half a line, an LF is
 * written first, so that the new line does not become part of it. */
static enum lineage_status write_line(int fd, const char *place, const char *text, struct lineage_error *err)
{
    char last = '\n';
    SCOPED_BUF out = {0};
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (size > 0 && fs_read_at(fd, &last, 1, (uint64_t)size - 1) != 1))
        return store_fail_errno(err, LINEAGE_EIO, "cannot read %s", place);
    buf_printf(&out, "%s%s\n", last == '\n' ? "" : "\n", text);
    enum lineage_status status = out.failed ? store_no_memory(err) : LINEAGE_OK;
    if (status == LINEAGE_OK && (fs_write_once(fd, out.data, out.length) != (ssize_t)out.length || fs_sync_data(fd) != 0)) {
        status = store_fail_errno(err, LINEAGE_EIO, "cannot write %s", place);
        (void)!fs_truncate(fd, (uint64_t)size); /* if this fails, readers skip the half line */
    }
    return status;
}

/* Appends the object and takes over the caller's reference. A NULL object counts as out of memory. With number_key, the
 * object gets the next number under that key (one more than the largest in the file, from 1), which is stored in
 * *number.
 * Readers take no lock; they skip a line that is incomplete. */
static enum lineage_status json_lines_append(struct lineage_store *store, const char *place, json_t *object,
                                             const char *number_key, uint64_t *number, struct lineage_error *err)
{
    struct largest_number largest = {.key = number_key};
    enum lineage_status status = LINEAGE_OK;
    SCOPED_FREE char *text = NULL;
    SCOPED_FD fd = object ? fs_open(store->dir_fd, place, O_RDWR | O_APPEND | O_CREAT, 0666) : -1;
    if (!object)
        return store_no_memory(err);
    if (fd < 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot open %s", place);
    else if (fs_lock(fd, true) != 0)
        status = store_fail_errno(err, LINEAGE_ELOCKED, "cannot lock %s", place);
    if (status == LINEAGE_OK && number_key) {
        status = json_lines_read(store, place, note_number, &largest, err);
        *number = largest.number + 1;
        json_object_set_new(object, number_key, json_integer((json_int_t)*number));
    }
    if (status == LINEAGE_OK && !(text = json_dumps(object, JSON_COMPACT)))
        status = store_no_memory(err);
    if (status == LINEAGE_OK)
        status = write_line(fd, place, text, err);
    json_decref(object);
    return status;
}

/* ---- remarks.jsonl, one remark per line.
 *
 * Remarks are in a file of their own, because rows of the log never change and other tools share its columns. With one
 * JSON object per line an append is one write, and a torn last line does not affect the others.
 */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The text is limited in length, because a remark is shown together with its trial, also to models with a limited
 * context. */
static enum lineage_status check_remark(const struct lineage_remark *remark, struct lineage_error *err)
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
    SCOPED_TRIAL trial = {0};
    TRY(check_remark(remark, err));
    TRY(lineage_find(store, or_empty(remark->exp_id), &trial, err));
    /* An empty time is replaced by the current time in the format of row timestamps, so that remarks and rows can be
     * sorted together. */
    json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "time", *given ? given : lineage_time_format(now, time(NULL)), "exp_id",
                             trial.exp_id, "author", or_empty(remark->author), "text", remark->text);
    return json_lines_append(store, PLACE_REMARKS, json, NULL, NULL, err);
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

/* The text is limited in length, because every rendered block shows the insights that are in force. */
static enum lineage_status check_insight(const struct lineage_insight *insight, struct lineage_error *err)
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
    if (!number)
        return LINEAGE_OK;
    TRY(lineage_insights_read(store, look_up, &wanted, err));
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
        TRY(status);
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
    enum lineage_status status = check_insight(insight, err);
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
    SCOPED_FREE struct superseding *all = calloc(lines + 1, sizeof *all);
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
    json_decref(kept.list);
    return status;
}
