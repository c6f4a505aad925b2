/*
 * shown_block.c: keeps a block that was shown, in the store.
 *
 * It is evidence of what an agent knew, so it is never overwritten: the same bytes under the same name are one file,
 * other bytes get a number.
 */
#include "render.h"

#include <fcntl.h>
#include <string.h>

#include "../files/fs.h"
#include "../files/places.h"

#define MOST_OF_A_NAME 100000

/* Letters, digits, `-`, `_`, `.` stay; other characters could cause trouble in a file name. */
static void add_file_name(struct buf *out, const char *text)
{
    for (; *text; text++) {
        bool plain = (*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z') || (*text >= 'a' && *text <= 'z') ||
                     strchr("-_.", *text);
        buf_add(out, plain ? text : "_", 1);
    }
}

/* If an agent asks for the same block again after a restart, this counts as one event. */
static bool holds(int dir_fd, const char *name, const char *text, size_t length)
{
    struct buf there = {0};
    bool same = fs_read_file(dir_fd, name, &there, NULL) == LINEAGE_OK && there.length == length &&
                memcmp(there.data ? there.data : "", text, length) == 0;
    buf_release(&there);
    return same;
}

/* TIME_NAME.md, then TIME_NAME-2.md and so on; *file becomes the name that was used. The file is created exclusively,
 * so that, if two processes save at once, one of them gets the next number. */
static enum lineage_status save(struct buf *file, int dir_fd, const char *text, size_t length, struct lineage_error *err)
{
    size_t stem = file->length;
    for (unsigned n = 1; n <= MOST_OF_A_NAME; n++) {
        buf_truncate(file, stem);
        if (n > 1)
            buf_printf(file, "-%u", n);
        buf_puts(file, ".md");
        enum lineage_status status = file->failed ? store_no_memory(err) : fs_create(dir_fd, file->data, text, length, NULL, err);
        if (status != LINEAGE_EEXIST)
            return status;
        if (holds(dir_fd, file->data, text, length))
            return LINEAGE_OK;
    }
    return store_fail(err, LINEAGE_EIO, "too many records named %s", file->data);
}

enum lineage_status lineage_render_record(char **path, struct lineage_store *store, const char *text, size_t length,
                                          const char *timestamp, const char *name, struct lineage_error *err)
{
    struct buf file = {0}, whole = {0};
    enum lineage_status status = LINEAGE_OK;
    int fd = -1;
    *path = NULL;
    add_file_name(&file, timestamp && *timestamp ? timestamp : "undated");
    buf_puts(&file, "_");
    add_file_name(&file, name && *name ? name : "anyone");
    if (fs_mkdir(store->dir_fd, PLACE_RENDERED) != 0 ||
        (fd = fs_open(store->dir_fd, PLACE_RENDERED, O_RDONLY | O_DIRECTORY, 0)) < 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot make the directory " PLACE_RENDERED);
    if (status == LINEAGE_OK)
        status = save(&file, fd, text, length, err);
    fs_close(fd);
    if (status == LINEAGE_OK) {
        buf_printf(&whole, PLACE_RENDERED "/%s", file.data);
        status = whole.failed ? store_no_memory(err) : LINEAGE_OK;
    }
    buf_release(&file);
    if (status == LINEAGE_OK)
        *path = whole.data;
    else
        buf_release(&whole);
    return status;
}
