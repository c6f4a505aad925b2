/*
 * remarks.c: remarks.jsonl, one remark per line.
 *
 * Remarks are beside the log, not in it: a row is never changed after it is written, and other tools share the
 * columns. With one JSON object per line an append is one write, and a torn last line costs only itself.
 */
#include <lineage/remarks.h>

#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/text.h>
#include <lineage/time.h>

#include "../internal.h"
#include "../files/fs.h"
#include "../files/places.h"
#include "../format/json_text.h"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Bounded, because a remark is shown wherever the trial is, also to models with a limited context. */
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

/* The line with its LF, and another LF in front, which is used only if the file ends in half a line, so that the
 * remark does not become part of that. An empty time becomes now, in the form of a row's timestamp, so that both sort
 * together. */
static enum lineage_status write_out(struct buf *line, const struct lineage_remark *remark, const char *exp_id,
                                     struct lineage_error *err)
{
    char now[LINEAGE_TIME_MAX];
    const char *given = or_empty(remark->timestamp);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "time", *given ? given : lineage_time_format(now, time(NULL)),
                             "exp_id", exp_id, "author", or_empty(remark->author), "text", remark->text);
    char *text = json_dumps(json, JSON_COMPACT); /* json is NULL if out of memory */
    if (text)
        buf_printf(line, "\n%s\n", text);
    bool made = text && !line->failed;
    free(text);
    json_decref(json);
    return made ? LINEAGE_OK : store_no_memory(err);
}

/* Under the lock. A write that fails half-way is cut off again. The lock is on the file itself, as for the log:
 * readers take none, and skip a line that is incomplete. */
static enum lineage_status write_line(int fd, const struct buf *out, struct lineage_error *err)
{
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (size > 0 && fs_read_at(fd, &last, 1, (uint64_t)size - 1) != 1))
        return store_fail_errno(err, LINEAGE_EIO, "cannot read " PLACE_REMARKS);
    size_t skip = last == '\n', length = out->length - skip;
    if (fs_write_once(fd, out->data + skip, length) == (ssize_t)length && fs_sync_data(fd) == 0)
        return LINEAGE_OK;
    store_fail_errno(err, LINEAGE_EIO, "cannot write " PLACE_REMARKS);
    (void)!fs_truncate(fd, (uint64_t)size); /* readers skip what a failure leaves */
    return LINEAGE_EIO;
}

static enum lineage_status append_line(struct lineage_store *store, const struct buf *line, struct lineage_error *err)
{
    int fd = fs_open(store->dir_fd, PLACE_REMARKS, O_RDWR | O_APPEND | O_CREAT, 0666);
    if (fd < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open " PLACE_REMARKS);
    enum lineage_status status = LINEAGE_OK;
    if (fs_lock(fd, true) != 0)
        status = store_fail_errno(err, LINEAGE_ELOCKED, "cannot lock " PLACE_REMARKS);
    if (status == LINEAGE_OK)
        status = write_line(fd, line, err);
    fs_close(fd);
    return status;
}

/* The trial is looked up first and its id is written in the store's spelling; otherwise a remark on 014 would not be
 * found for exp_014. */
enum lineage_status lineage_remark_append(struct lineage_store *store, const struct lineage_remark *remark,
                                          struct lineage_error *err)
{
    struct lineage_trial trial = {0};
    struct buf line = {0};
    enum lineage_status status = check(remark, err);
    if (status == LINEAGE_OK)
        status = lineage_find(store, or_empty(remark->exp_id), &trial, err);
    if (status != LINEAGE_OK)
        return status;
    status = write_out(&line, remark, trial.exp_id, err);
    if (status == LINEAGE_OK)
        status = append_line(store, &line, err);
    buf_release(&line);
    lineage_trial_release(&trial);
    return status;
}

static const char *text_of(const json_t *json, const char *key)
{
    return or_empty(json_string_value(json_object_get(json, key)));
}

/* Sets *more to false to stop. A line that is not JSON is skipped: a kill left it, or a person wrote it. */
static enum lineage_status visit_line(bool *more, const char *line, size_t length, const char *exp_id,
                                      bool (*visit)(void *context, const struct lineage_remark *remark), void *context,
                                      struct lineage_error *err)
{
    json_t *json;
    struct lineage_error why;
    if (json_text_parse(&json, PLACE_REMARKS, LINEAGE_ECORRUPT, line, length, 0, &why) == LINEAGE_ENOMEM)
        return store_give(err, &why);
    struct lineage_remark remark = {text_of(json, "time"), text_of(json, "exp_id"), text_of(json, "author"),
                                    text_of(json, "text")};
    bool wanted = remark.text[0] && (!exp_id || strcmp(exp_id, remark.exp_id) == 0);
    *more = !wanted || visit(context, &remark);
    json_decref(json);
    return LINEAGE_OK;
}

/* A missing file means no remarks. A last line without its end is parsed too, which shows whether it is complete. */
enum lineage_status lineage_remarks_read(struct lineage_store *store, const char *exp_id,
                                         bool (*visit)(void *context, const struct lineage_remark *remark),
                                         void *context, struct lineage_error *err)
{
    struct buf file = {0};
    enum lineage_status status = fs_read_file(store->dir_fd, PLACE_REMARKS, &file, err);
    bool more = true;
    for (size_t i = 0; status == LINEAGE_OK && more && i < file.length;) {
        const char *end = memchr(file.data + i, '\n', file.length - i);
        size_t n = end ? (size_t)(end - file.data) - i : file.length - i;
        if (n)
            status = visit_line(&more, file.data + i, n, exp_id, visit, context, err);
        i += n + 1;
    }
    buf_release(&file);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}
