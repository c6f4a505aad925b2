#include "redactions.h"

#include <fcntl.h>
#include <inttypes.h>

#include "../files/fs.h"
#include "../files/places.h"

static enum lineage_status read_text(struct buf *text, int dir_fd, struct lineage_error *err)
{
    struct stat st;
    int fd = fs_open(dir_fd, PLACE_REDACTED, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return errno == ENOENT ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "cannot open " PLACE_REDACTED);
    enum lineage_status status = LINEAGE_OK;
    if (fs_stat_open(fd, &st) != 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot look at " PLACE_REDACTED);
    else if (!S_ISREG(st.st_mode) || st.st_size > FS_FILE_MAX)
        status = store_fail(err, LINEAGE_ECORRUPT, PLACE_REDACTED " is not a regular file of a sensible size");
    else if (!buf_reserve(text, (size_t)st.st_size + 1))
        status = store_no_memory(err);
    ssize_t n = status == LINEAGE_OK ? fs_read_at(fd, text->data, (size_t)st.st_size, 0) : 0;
    if (n < 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot read " PLACE_REDACTED);
    else if (status == LINEAGE_OK)
        text->data[text->length = (size_t)n] = '\0';
    fs_close(fd);
    return status;
}

bool redaction_range(size_t *from, size_t *length, const char **ranges)
{
    int n = 0;
    if (sscanf(*ranges, "%9zu:%9zu%n", from, length, &n) != 2)
        return false;
    *ranges += n + ((*ranges)[n] == ',');
    return true;
}

/* Ranges lie inside the record, one behind the other. */
static bool ranges_fit(const struct redaction *r)
{
    const char *rest = r->ranges;
    size_t from, length, end = 0;
    while (redaction_range(&from, &length, &rest)) {
        if (!length || from < end || from + length > r->length)
            return false;
        end = from + length;
    }
    return end > 0 && !*rest;
}

/* row N OFFSET LENGTH ORIGINAL REDACTED RANGES */
static bool parse_row(struct redaction *r, char *line)
{
    char original[DIGEST_TEXT + 1], redacted[DIGEST_TEXT + 1];
    int n = 0;
    if (sscanf(line, "row %20" SCNu64 " %20" SCNu64 " %20" SCNu64 " %65s %65s %n", &r->record, &r->offset, &r->length, original,
               redacted, &n) != 5 ||
        !n)
        return false;
    r->ranges = line + n;
    return r->record > 0 && digest_read(r->original, original) && digest_read(r->redacted, redacted) && ranges_fit(r);
}

static int by_record(const void *a, const void *b)
{
    const struct redaction *x = a, *y = b;
    return (x->record > y->record) - (x->record < y->record);
}

static enum lineage_status parse_all(struct redactions *r, struct lineage_error *err)
{
    size_t lines = 0;
    for (size_t i = 0; i < r->text.length; i++)
        lines += r->text.data[i] == '\n';
    r->at = calloc(lines + 1, sizeof *r->at);
    if (!r->at)
        return store_no_memory(err);
    char *line = r->text.data, *end;
    for (size_t i = 1; (end = line ? strchr(line, '\n') : NULL); i++, line = end + 1) {
        *end = '\0';
        if (strncmp(line, "code ", 5) == 0)
            continue;
        if (!parse_row(&r->at[r->n], line))
            return store_fail(err, LINEAGE_ECORRUPT, PLACE_REDACTED ":%zu: not a line that lineage scrub wrote", i);
        r->n++;
    }
    r->bytes = line ? (uint64_t)(line - r->text.data) : 0;
    qsort(r->at, r->n, sizeof *r->at, by_record);
    return LINEAGE_OK;
}

enum lineage_status redactions_read(struct redactions *r, int dir_fd, struct lineage_error *err)
{
    *r = (struct redactions){.n = 0};
    enum lineage_status status = read_text(&r->text, dir_fd, err);
    return status == LINEAGE_OK && r->text.length ? parse_all(r, err) : status;
}

void redactions_release(struct redactions *r)
{
    buf_release(&r->text);
    free(r->at);
    *r = (struct redactions){.n = 0};
}

bool redactions_apply(const struct redactions *r, struct digest_chain *chain)
{
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->at[middle].record < chain->records)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < r->n && r->at[low].record == chain->records; low++)
        if (memcmp(r->at[low].redacted, chain->digest, DIGEST_BYTES) == 0) {
            memcpy(chain->digest, r->at[low].original, DIGEST_BYTES);
            return true;
        }
    return false;
}

enum lineage_status redactions_add(int dir_fd, const char *lines, size_t length, struct lineage_error *err)
{
    struct stat st;
    char last = '\n';
    SCOPED_FD fd = fs_open(dir_fd, PLACE_REDACTED, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0666);
    bool ok = fd >= 0 && fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (ok && st.st_size > 0)
        ok = fs_read_at(fd, &last, 1, (uint64_t)st.st_size - 1) == 1;
    /* A line that a kill cut off is removed, because it would make this one malformed. */
    for (off_t size = ok ? st.st_size : 0; ok && last != '\n' && size > 0;) {
        ok = --size == 0 || fs_read_at(fd, &last, 1, (uint64_t)size - 1) == 1;
        if (ok && (size == 0 || last == '\n'))
            ok = fs_truncate(fd, (uint64_t)size) == 0;
    }
    ok = ok && fs_write_all(fd, lines, length) == 0 && fs_sync(fd) == 0 && fs_sync_dir(dir_fd) == 0;
    return ok ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "cannot write " PLACE_REDACTED);
}

bool redactions_have_code(int dir_fd, const char *name, const char *digest)
{
    SCOPED_BUF text = {0};
    char line[200];
    snprintf(line, sizeof line, "code %.64s %.64s\n", name, digest);
    return read_text(&text, dir_fd, NULL) == LINEAGE_OK && text.data && strstr(text.data, line);
}
