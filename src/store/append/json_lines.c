/* json_lines.c: append-only files of JSON objects. */
#include "json_lines.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../files/fs.h"
#include "../format/json_text.h"

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

enum lineage_status json_lines_read(struct lineage_store *store, const char *place,
                                    bool (*visit)(void *context, const json_t *object), void *context, struct lineage_error *err)
{
    struct buf file = {0};
    enum lineage_status status = fs_read_file(store->dir_fd, place, &file, err);
    if (status == LINEAGE_OK)
        status = read_objects(&file, place, visit, context, err);
    buf_release(&file);
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
    struct buf out = {0};
    off_t size = lseek(fd, 0, SEEK_END);
    if (size < 0 || (size > 0 && fs_read_at(fd, &last, 1, (uint64_t)size - 1) != 1))
        return store_fail_errno(err, LINEAGE_EIO, "cannot read %s", place);
    buf_printf(&out, "%s%s\n", last == '\n' ? "" : "\n", text);
    enum lineage_status status = out.failed ? store_no_memory(err) : LINEAGE_OK;
    if (status == LINEAGE_OK && (fs_write_once(fd, out.data, out.length) != (ssize_t)out.length || fs_sync_data(fd) != 0)) {
        status = store_fail_errno(err, LINEAGE_EIO, "cannot write %s", place);
        (void)!fs_truncate(fd, (uint64_t)size); /* if this fails, readers skip the half line */
    }
    buf_release(&out);
    return status;
}

/* Readers take no lock; they skip a line that is incomplete. */
enum lineage_status json_lines_append(struct lineage_store *store, const char *place, json_t *object, const char *number_key,
                                      uint64_t *number, struct lineage_error *err)
{
    struct largest_number largest = {.key = number_key};
    enum lineage_status status = LINEAGE_OK;
    char *text = NULL;
    int fd = object ? fs_open(store->dir_fd, place, O_RDWR | O_APPEND | O_CREAT, 0666) : -1;
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
    fs_close(fd);
    free(text);
    json_decref(object);
    return status;
}
