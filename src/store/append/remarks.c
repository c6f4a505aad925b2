/*
 * remarks.c: remarks.jsonl, one remark a line.
 *
 * Beside the log and not in it: a row is never changed once it is written, and the columns are
 * shared with tools that would not know what a later remark is. One JSON object a line, so that an
 * append is one write and a torn last line costs only itself.
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

#include "../internal.h"
#include "../files/fs.h"
#include "../files/places.h"

/* Bounded, because a remark is shown to whoever looks at the trial, a model with a limited
 * context among them. */
static enum lineage_status check(const struct lineage_remark *remark, struct lineage_error *err)
{
    const char *author = remark->author ? remark->author : "";
    if (!remark->text || !*remark->text)
        return store_fail(err, LINEAGE_EINVAL, "a remark needs a text");
    if (strlen(remark->text) > LINEAGE_REMARK_MAX || strlen(author) > LINEAGE_NAME_MAX)
        return store_fail(err, LINEAGE_ELIMIT, "a remark has %d bytes at most, its author %d", LINEAGE_REMARK_MAX,
                          LINEAGE_NAME_MAX);
    if (!lineage_text_is_utf8(remark->text, strlen(remark->text)) || !lineage_text_is_utf8(author, strlen(author)))
        return store_fail(err, LINEAGE_EINVAL, "a remark must be UTF-8");
    return LINEAGE_OK;
}

/* In UTC and in the form of a row's timestamp, so that both sort together. */
static void now_text(char out[32])
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* The line with its LF, and one in front for a last line that was cut off. The LF in front is
 * used only where the file ends in half a line: the remark must not become part of it. */
static char *line_of(const struct lineage_remark *remark, const char *exp_id)
{
    char now[32];
    now_text(now);
    json_t *json = json_pack("{s:s, s:s, s:s, s:s}", "time",
                             remark->timestamp && *remark->timestamp ? remark->timestamp : now, "exp_id", exp_id,
                             "author", remark->author ? remark->author : "", "text", remark->text);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0;
    char *line = text ? malloc(length + 3) : NULL;
    if (line) {
        line[0] = '\n';
        memcpy(line + 1, text, length);
        memcpy(line + 1 + length, "\n", 2);
    }
    free(text);
    json_decref(json);
    return line;
}

/*
 * Under the lock. A write that fails half-way is cut back, so that it is nobody's remark. The lock
 * is that of the file itself, as in the log: readers take none, and skip a line that is not whole.
 */
static enum lineage_status write_line(int fd, const char *line, struct lineage_error *err)
{
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END);
    if (size > 0 && fs_read_at(fd, &last, 1, (uint64_t)size - 1) != 1)
        return store_fail_errno(err, LINEAGE_EIO, "cannot read " PLACE_REMARKS);
    if (last == '\n')
        line++;
    size_t length = strlen(line);
    if (size >= 0 && fs_write_once(fd, line, length) == (ssize_t)length && fs_sync_data(fd) == 0)
        return LINEAGE_OK;
    store_fail_errno(err, LINEAGE_EIO, "cannot write " PLACE_REMARKS);
    if (size >= 0 && fs_truncate(fd, (uint64_t)size) != 0)
        return LINEAGE_EIO;
    return LINEAGE_EIO;
}

static enum lineage_status append_line(struct lineage_store *store, const char *line, struct lineage_error *err)
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

/* The trial is looked up first and its id written as it stands in the store, or a remark on 014
 * would be missed by who asks for exp_014. */
enum lineage_status lineage_remark_append(struct lineage_store *store, const struct lineage_remark *remark,
                                          struct lineage_error *err)
{
    struct lineage_trial trial = {0};
    enum lineage_status status = check(remark, err);
    if (status == LINEAGE_OK)
        status = lineage_find(store, remark->exp_id ? remark->exp_id : "", &trial, err);
    if (status != LINEAGE_OK)
        return status;
    char *line = line_of(remark, trial.exp_id);
    status = line ? append_line(store, line, err)
                  : store_fail(err, LINEAGE_EINVAL, "the trial's id or the remark's time is not UTF-8");
    free(line);
    lineage_trial_release(&trial);
    return status;
}

static const char *text_of(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

/* False to stop. A line that is no JSON is skipped: it is what a kill left, or a person's. */
static bool visit_line(const char *line, size_t length, const char *exp_id,
                       bool (*visit)(void *context, const struct lineage_remark *remark), void *context)
{
    json_t *json = json_loadb(line, length, 0, NULL);
    struct lineage_remark remark = {text_of(json, "time"), text_of(json, "exp_id"), text_of(json, "author"),
                                    text_of(json, "text")};
    bool wanted = remark.text[0] && (!exp_id || strcmp(exp_id, remark.exp_id) == 0);
    bool more = !wanted || visit(context, &remark);
    json_decref(json);
    return more;
}

/* No file is no remark; a last line without its end is given to the parser all the same, which
 * says whether it is whole. */
enum lineage_status lineage_remarks_read(struct lineage_store *store, const char *exp_id,
                                         bool (*visit)(void *context, const struct lineage_remark *remark),
                                         void *context, struct lineage_error *err)
{
    struct buf file = {0};
    enum lineage_status status = fs_read_file(store->dir_fd, PLACE_REMARKS, &file, err);
    for (size_t i = 0; status == LINEAGE_OK && i < file.length;) {
        const char *end = memchr(file.data + i, '\n', file.length - i);
        size_t n = end ? (size_t)(end - file.data) - i : file.length - i;
        if (n && !visit_line(file.data + i, n, exp_id, visit, context))
            break;
        i += n + 1;
    }
    buf_release(&file);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}
