/* render.c: the public entry points: one block as text, as a file, and kept as a record. */
#include "render.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "../log/fs.h"

void lineage_render_options_init(struct lineage_render_options *options)
{
    *options = (struct lineage_render_options){.top_k = 20, .recent = 30, .full = 10};
}

enum lineage_status lineage_render(char **text, size_t *length, struct lineage_store *store,
                                   const struct lineage_render_options *options, struct lineage_error *err)
{
    struct lineage_render_options defaults;
    struct buf out = {0};
    *text = NULL;
    *length = 0;
    lineage_render_options_init(&defaults);
    if (!options)
        options = &defaults;
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = options->style == LINEAGE_STYLE_FIELDKIT ? render_fieldkit(&out, store, options, err)
                                                          : render_native(&out, store, options, err);
    if (status == LINEAGE_OK && out.failed)
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    if (status != LINEAGE_OK) {
        buf_release(&out);
        return status;
    }
    *text = out.data;
    *length = out.length;
    return LINEAGE_OK;
}

/*
 * Our own cells cannot begin a line with `#`, and fences are skipped, so the first such heading outside a
 * fence was written by a person.
 */
bool find_insights(const char *text, size_t length, size_t *start)
{
    static const char heading[] = "## Key Insights";
    bool fenced = false;
    for (size_t i = 0; i < length;) {
        const char *end = memchr(text + i, '\n', length - i);
        size_t n = end ? (size_t)(end - text) - i : length - i;
        if (n >= 3 && memcmp(text + i, "```", 3) == 0)
            fenced = !fenced;
        if (!fenced && n >= sizeof heading - 1 && memcmp(text + i, heading, sizeof heading - 1) == 0) {
            *start = i;
            return true;
        }
        i += n + 1;
    }
    return false;
}

/* The section of the old file, from its heading to the end. */
static enum lineage_status keep_insights(const char *path, struct buf *insights, struct lineage_error *err)
{
    struct buf old = {0};
    size_t start;
    enum lineage_status status = fs_read_file(AT_FDCWD, path, &old, err);
    if (status == LINEAGE_OK && find_insights(old.data ? old.data : "", old.length, &start))
        buf_add(insights, old.data + start, old.length - start);
    buf_release(&old);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* fs_replace works inside one directory. */
static enum lineage_status replace_path(const char *path, const char *text, size_t length, struct lineage_error *err)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!dir)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    int fd = fs_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
    enum lineage_status status = fd < 0 ? store_fail_errno(err, LINEAGE_EIO, "cannot open the directory %s", dir)
                                        : fs_replace(fd, slash ? slash + 1 : path, text, length, true, err);
    if (fd >= 0)
        fs_close(fd);
    free(dir);
    return status;
}

enum lineage_status lineage_render_file(struct lineage_store *store, const char *path,
                                        const struct lineage_render_options *options, struct lineage_error *err)
{
    struct lineage_render_options with_insights;
    struct buf insights = {0};
    char *text = NULL;
    size_t length;
    lineage_render_options_init(&with_insights);
    if (options)
        with_insights = *options;
    enum lineage_status status = LINEAGE_OK;
    if (!with_insights.insights)
        status = keep_insights(path, &insights, err);
    if (insights.length)
        with_insights.insights = insights.data;
    if (status == LINEAGE_OK)
        status = lineage_render(&text, &length, store, &with_insights, err);
    if (status == LINEAGE_OK)
        status = replace_path(path, text, length, err);
    lineage_free(text);
    buf_release(&insights);
    return status;
}

/* Letters, digits, `-`, `_`, `.` stay; anything else would be trouble in a file name. */
static void add_file_name(struct buf *out, const char *text)
{
    for (; *text; text++) {
        bool plain = (*text >= '0' && *text <= '9') || (*text >= 'A' && *text <= 'Z') ||
                     (*text >= 'a' && *text <= 'z') || strchr("-_.", *text);
        buf_add(out, plain ? text : "_", 1);
    }
}

enum lineage_status lineage_render_record(char **path, struct lineage_store *store, const char *text, size_t length,
                                          const char *timestamp, const char *name, struct lineage_error *err)
{
    static const char dir[] = "lineage_snapshots/";
    struct buf file = {0};
    enum lineage_status status;
    *path = NULL;
    buf_puts(&file, dir);
    add_file_name(&file, timestamp && *timestamp ? timestamp : "undated");
    buf_puts(&file, "_");
    add_file_name(&file, name && *name ? name : "anyone");
    buf_puts(&file, ".md");
    int fd = -1;
    if (file.failed)
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    else if (fs_mkdir(store->dir_fd, "lineage_snapshots") != 0 ||
             (fd = fs_open(store->dir_fd, "lineage_snapshots", O_RDONLY | O_DIRECTORY, 0)) < 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot make the directory lineage_snapshots");
    else
        status = fs_replace(fd, file.data + sizeof dir - 1, text, length, true, err);
    if (fd >= 0)
        fs_close(fd);
    if (status == LINEAGE_OK)
        *path = file.data;
    else
        buf_release(&file);
    return status;
}
