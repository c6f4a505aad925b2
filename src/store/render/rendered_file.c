/*
 * rendered_file.c: a block as a file in which a person may write too.
 *
 * The file is read, a person's text in it is found (handwritten.h), and the rest is rendered again around it. If the
 * person saves the file between reading and replacing, the whole procedure starts again.
 */
#include "render.h"

#include <fcntl.h>

#include "../files/fs.h"
#include "handwritten.h"
#include "out_file.h"
#include "../files/places.h"

/* ---- keeps a block that was shown, in the store.
 *
 * It is evidence of what an agent knew, so it is never overwritten: the same bytes under the same name are one file,
 * other bytes get a number.
 */

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
    SCOPED_BUF there = {0};
    return fs_read_file(dir_fd, name, &there, NULL) == LINEAGE_OK && there.length == length &&
           memcmp(there.data ? there.data : "", text, length) == 0;
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
    SCOPED_BUF file = {0};
    struct buf whole = {0};
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
    if (status == LINEAGE_OK)
        *path = whole.data;
    else
        buf_release(&whole);
    return status;
}

#define MOST_TRIES 5   /* attempts, if somebody keeps saving the file */
#define MOST_ASIDE 100000

struct rendering {
    struct lineage_store *store;
    const struct lineage_render_options *options;
    struct out_file file;
    struct buf note_name; /* .NAME.rendered: notes about a file whose style has no line for them */
    struct buf old, note, text;
    struct handwritten keep;
};

/* Only the native style has the line that marks a rendered block; the bytes of the other styles are fixed. */
static bool has_line(const struct rendering *r)
{
    return r->options->style == LINEAGE_STYLE_NATIVE;
}

static enum lineage_status open_rendering(struct rendering *r, const char *path, struct lineage_error *err)
{
    TRY(out_file_open(&r->file, path, err));
    if (r->file.stream)
        return LINEAGE_OK;
    if (!*r->file.name)
        return store_fail(err, LINEAGE_EINVAL, "%s names no file", path);
    buf_printf(&r->note_name, ".%s.rendered", r->file.name);
    return r->note_name.failed ? store_no_memory(err) : LINEAGE_OK;
}

/* Called on every path: a zeroed struct can be closed at any point. */
static void close_rendering(struct rendering *r)
{
    out_file_close(&r->file);
    buf_release(&r->note_name);
    buf_release(&r->old);
    buf_release(&r->note);
    buf_release(&r->text);
}

/* The file is read again at each attempt, because it has changed since the last one. */
static enum lineage_status read_former(struct rendering *r, struct lineage_error *err)
{
    buf_truncate(&r->old, 0);
    buf_truncate(&r->note, 0);
    TRY(out_file_read(&r->file, &r->old, err));
    if (!r->file.exists)
        return LINEAGE_OK;
    /* The note is read even for the native style, because the file may have been rendered in another style before. */
    enum lineage_status status = fs_read_file(r->file.dir_fd, r->note_name.data, &r->note, err);
    if (status == LINEAGE_OK || status == LINEAGE_ENOTFOUND)
        r->keep = handwritten_find(r->old.data ? r->old.data : "", r->old.length, r->note.length ? r->note.data : "");
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status lineage_render_insights(char **text, const char *path, struct lineage_error *err)
{
    struct lineage_render_options defaults;
    struct rendering r = {.options = &defaults};
    *text = NULL;
    lineage_render_options_init(&defaults);
    enum lineage_status status = open_rendering(&r, path, err);
    if (status == LINEAGE_OK)
        status = read_former(&r, err);
    if (status == LINEAGE_OK) {
        /* The text of a file that was never rendered is not passed on to an agent as a person's text about this
         * store. */
        bool any = r.file.exists && !r.keep.foreign && r.old.length > r.keep.start;
        buf_add(&r.text, any ? r.old.data + r.keep.start : "", any ? r.old.length - r.keep.start : 0);
        status = r.text.failed ? store_no_memory(err) : LINEAGE_OK;
    }
    if (status == LINEAGE_OK) {
        *text = r.text.data;
        r.text = (struct buf){0};
    }
    close_rendering(&r);
    return status;
}

/* Refuses a file that was never rendered if a link led to it. Rendering would keep its text but put a block on top:
 * that is right for a file that the user named, but not for a file that a link in a store happens to point to. */
static enum lineage_status refuse_strangers(const struct rendering *r, struct lineage_error *err)
{
    if (r->file.linked && r->keep.foreign)
        return store_fail(err, LINEAGE_EINVAL, "a link leads to %s, which was not rendered: it is left alone", r->file.path);
    return LINEAGE_OK;
}

/* A person's text gets its room first, but the block gets at least half. */
static size_t room_for_block(const struct rendering *r, size_t kept)
{
    size_t max = r->options->max_bytes, taken = kept + (has_line(r) && !r->file.stream ? HANDWRITTEN_LINE_LENGTH + 1 : 0);
    if (max == LINEAGE_RENDER_BYTES)
        return max;
    if (!max || max / 2 <= taken)
        return max ? (max + 1) / 2 : 0;
    return max - taken;
}

/* The digest covers exactly what is above the line, including a cut title. */
static enum lineage_status compose(struct rendering *r, struct lineage_error *err)
{
    struct lineage_render_options options = *r->options;
    const char *kept = r->old.length ? r->old.data + r->keep.start : "";
    size_t n_kept = r->old.length ? r->old.length - r->keep.start : 0, length;
    char *block;
    /* The person's text is appended byte for byte. Passed as an option, it would end at its first NUL and would be
     * counted twice. */
    options.insights = NULL;
    options.max_bytes = room_for_block(r, n_kept);
    TRY(lineage_render(&block, &length, r->store, &options, err));
    buf_truncate(&r->text, 0);
    buf_add(&r->text, block, length);
    lineage_free(block);
    buf_truncate(&r->note, 0);
    if (r->text.failed)
        return store_no_memory(err);
    if (!r->file.stream && has_line(r)) {
        if (length && r->text.data[length - 1] != '\n') /* true only if a budget cut the title short */
            buf_puts(&r->text, "\n");
        handwritten_add_line(&r->text);
    } else if (!r->file.stream)
        handwritten_note(&r->note, r->text.data, r->text.length);
    buf_add(&r->text, kept, n_kept);
    return r->text.failed || r->note.failed ? store_no_memory(err) : LINEAGE_OK;
}

/* NAME.before-N; an existing one with the same bytes is reused. */
static enum lineage_status put_aside(const struct rendering *r, struct lineage_error *err)
{
    for (unsigned n = 1; n <= MOST_ASIDE; n++) {
        struct buf name = {0}, there = {0};
        buf_printf(&name, "%s.before-%u", r->file.name, n);
        enum lineage_status status = name.failed
                                         ? store_no_memory(err)
                                         : fs_create(r->file.dir_fd, name.data, r->old.data, r->old.length, &r->file.before, err);
        bool same = status == LINEAGE_EEXIST && fs_read_file(r->file.dir_fd, name.data, &there, NULL) == LINEAGE_OK &&
                    there.length == r->old.length && memcmp(there.data, r->old.data, there.length) == 0;
        if (status == LINEAGE_OK)
            store_notice(r->store, 0, "%s was not as lineage wrote it; what it was is in %s beside it", r->file.path, name.data);
        buf_release(&name);
        buf_release(&there);
        if (status != LINEAGE_EEXIST || same)
            return same ? LINEAGE_OK : status;
    }
    return store_fail(err, LINEAGE_EIO, "too many files %s.before-N", r->file.path);
}

/* The note is written first: if the file is then not written, the note does not match it, and the next rendering sets
 * the file aside. */
static enum lineage_status write_note(const struct rendering *r, struct lineage_error *err)
{
    if (r->file.stream)
        return LINEAGE_OK;
    if (!has_line(r))
        return fs_replace(r->file.dir_fd, r->note_name.data, r->note.data, r->note.length, true, err);
    fs_unlink(r->file.dir_fd, r->note_name.data);
    return LINEAGE_OK;
}

/* First the copy, then the note, then the file: after a kill anywhere in between, the former file still exists. */
static enum lineage_status put_in_place(const struct rendering *r, struct lineage_error *err)
{
    if (r->keep.aside)
        TRY(put_aside(r, err));
    TRY(write_note(r, err));
    TRY(out_file_write(&r->file, r->text.data, r->text.length, err));
    if (r->options->max_bytes && r->options->max_bytes != LINEAGE_RENDER_BYTES && r->text.length > r->options->max_bytes)
        store_notice(r->store, 0, "%s has %zu bytes, more than the %zu asked for: what a person wrote is not cut", r->file.path,
                     r->text.length, r->options->max_bytes);
    return LINEAGE_OK;
}

static enum lineage_status render_around(struct rendering *r, struct lineage_error *err)
{
    enum lineage_status status;
    /* A person saves now and then; a program that writes all the time is a mistake that should be noticed. */
    for (int tries = 0; tries < MOST_TRIES; tries++) {
        status = read_former(r, err);
        if (status == LINEAGE_OK)
            status = refuse_strangers(r, err);
        if (status == LINEAGE_OK)
            status = compose(r, err);
        TRY(status);
        if (out_file_same(&r->file))
            return put_in_place(r, err);
    }
    return store_fail(err, LINEAGE_EIO, "%s is being written by somebody else: try again", r->file.path);
}

enum lineage_status lineage_render_file(struct lineage_store *store, const char *path,
                                        const struct lineage_render_options *options, struct lineage_error *err)
{
    struct lineage_render_options defaults;
    struct rendering r = {.store = store, .options = options ? options : &defaults};
    lineage_render_options_init(&defaults);
    enum lineage_status status = open_rendering(&r, path, err);
    if (status == LINEAGE_OK)
        status = render_around(&r, err);
    close_rendering(&r);
    return status;
}
