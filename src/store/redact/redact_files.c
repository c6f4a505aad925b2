/* redact_files.c: see redact_files.h. */
#include "redact_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../internal.h"
#include "../log/redactions.h"

enum { DEPTH = 64, PATH_BYTES = 4096, PIECE = 1 << 20 };

struct cleaning {
    struct lineage_store *store;
    const struct forms *forms;
    bool only_look;
    struct lineage_redaction *done;
    lineage_redact_fn *report;
    void *context;
    struct lineage_error *err;
    struct buf piece;
    char path[PATH_BYTES]; /* of the current directory or file, relative to the store */
};

static void tell(struct cleaning *c, size_t places, const char *why)
{
    if (why)
        c->done->left += places;
    if (c->report)
        c->report(c->context, c->path, places, why);
}

/* The rows have an order of their own (redact_rows.c), and the mirror is removed. */
static bool is_left_to_others(const struct cleaning *c, const char *name, unsigned depth)
{
    static const char *const names[] = {PLACE_MIRROR,   PLACE_MIRROR "-wal", PLACE_MIRROR "-shm",
                                        PLACE_REDACTED, PLACE_DIGESTS,       NULL};
    for (size_t i = 0; names[i]; i++)
        if (depth == 0 && strcmp(names[i], name) == 0)
            return true;
    return depth == 0 && !c->only_look && strcmp(name, PLACE_RESULTS) == 0;
}

/* ---- one file ---- */

/* Counts the places in the file and, with a descriptor for writing, overwrites them. A form that is split between two pieces is
 * found because the pieces overlap. Returns -1 with errno if the file cannot be read or written. */
static ssize_t clean_bytes(struct cleaning *c, int from, int to)
{
    const size_t overlap = c->forms->longest - 1;
    ssize_t places = 0, n;
    uint64_t at = 0;
    char mask[64];
    memset(mask, REDACTED, sizeof mask);
    buf_reset(&c->piece);
    if (!buf_reserve(&c->piece, PIECE))
        return errno = ENOMEM, -1;
    while ((n = fs_read_at(from, c->piece.data, PIECE, at)) > 0) {
        const size_t length = (size_t)n, end = length == PIECE ? length - overlap : length;
        size_t i = 0, match;
        for (; i < end; i += match ? match : 1) {
            const char *first = c->piece.data + i;
            match = forms_match(c->forms, first, length - i);
            places += match > 0;
            for (size_t k = 0; to >= 0 && k < match; k += sizeof mask)
                if (fs_write_at(to, mask, match - k < sizeof mask ? match - k : sizeof mask, at + i + k) != 0)
                    return -1;
        }
        at += i;
        if (length < PIECE)
            break;
    }
    return n < 0 ? -1 : places;
}

/* Opens a file for writing that its owner made read-only, as copies in provenance/ are. */
static int open_writable(int dir, const char *name, int fd, const struct stat *st)
{
    struct stat again;
    int to = fs_open(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (to < 0 && errno == EACCES && fs_chmod(fd, (st->st_mode & 07777) | 0200) == 0) {
        to = fs_open(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        int saved = errno;
        fs_chmod(fd, st->st_mode & 07777);
        errno = saved;
    }
    if (to >= 0 && (fs_stat_open(to, &again) != 0 || again.st_ino != st->st_ino || again.st_dev != st->st_dev)) {
        fs_close(to);
        return errno = EAGAIN, -1;
    }
    return to;
}

/* An object of lineage_code/ is named after its bytes. Its new digest is recorded before they change; until they have changed,
 * the old one matches. */
static bool note_code(struct cleaning *c, int fd, const char *name)
{
    struct buf bytes = {0}, line = {0};
    struct stat st;
    char digest[SHA256_DIGEST_STRING_LENGTH];
    bool ok = fs_stat_open(fd, &st) == 0 && buf_reserve(&bytes, (size_t)st.st_size + 1);
    ssize_t n = ok ? fs_read_at(fd, bytes.data, (size_t)st.st_size, 0) : -1;
    for (size_t i = 0, match; n > 0 && i < (size_t)n; i += match ? match : 1)
        if ((match = forms_match(c->forms, bytes.data + i, (size_t)n - i)) > 0)
            memset(bytes.data + i, REDACTED, match);
    if (n >= 0) {
        SHA256Data((const uint8_t *)bytes.data, (size_t)n, digest);
        buf_printf(&line, "code %s %s\n", name, digest);
    }
    ok = n >= 0 && !line.failed &&
         (redactions_have_code(c->store->dir_fd, name, digest) ||
          redactions_add(c->store->dir_fd, line.data, line.length, NULL) == LINEAGE_OK);
    buf_release(&bytes);
    buf_release(&line);
    return ok;
}

static bool is_code(const struct cleaning *c)
{
    return strncmp(c->path, PLACE_CODE "/", sizeof PLACE_CODE) == 0;
}

static void clean_file(struct cleaning *c, int dir, const char *name)
{
    struct stat st;
    int to = -1;
    int fd = fs_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) {
        if (errno != ENOENT)
            tell(c, 1, strerror(errno));
        return;
    }
    bool regular = fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t found = regular ? clean_bytes(c, fd, -1) : 0;
    bool ok = found >= 0;
    if (found > 0 && !c->only_look) {
        ok = !is_code(c) || note_code(c, fd, name);
        ok = ok && (to = open_writable(dir, name, fd, &st)) >= 0 && clean_bytes(c, fd, to) >= 0 && fs_sync(to) == 0;
    }
    if (!ok) {
        tell(c, found > 0 ? (size_t)found : 1, strerror(errno));
    } else if (found > 0 && c->only_look) {
        tell(c, (size_t)found, "it is still there");
    } else if (found > 0) {
        c->done->files++;
        c->done->places += (size_t)found;
        tell(c, (size_t)found, NULL);
    }
    if (to >= 0)
        fs_close(to);
    fs_close(fd);
}

/* ---- the directory ---- */

static void clean_dir(struct cleaning *c, int dir_fd, const char *dir, unsigned depth);

static void clean_entry(struct cleaning *c, int dir, const char *name, unsigned depth)
{
    struct stat st;
    const size_t before = strlen(c->path);
    int n = snprintf(c->path + before, sizeof c->path - before, "%s%s", before ? "/" : "", name);
    size_t length = strlen(name);
    if (n > 0 && (size_t)n < sizeof c->path - before && !is_left_to_others(c, name, depth)) {
        for (size_t i = 0; c->only_look && i < length; i++)
            if (forms_match(c->forms, name + i, length - i))
                tell(c, 1, "it is in the name of the file, which is not changed");
        if (fs_stat(dir, name, AT_SYMLINK_NOFOLLOW, &st) != 0 || S_ISREG(st.st_mode))
            clean_file(c, dir, name);
        else if (S_ISDIR(st.st_mode) && depth < DEPTH)
            clean_dir(c, dir, name, depth + 1);
        else if (S_ISDIR(st.st_mode))
            tell(c, 1, "it is nested too deeply");
    }
    c->path[before] = '\0';
}

static void clean_dir(struct cleaning *c, int dir_fd, const char *dir, unsigned depth)
{
    const char *name;
    int fd = fs_open(dir_fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    DIR *list = fd >= 0 ? fs_list(fd) : NULL;
    if (!list && c->only_look)
        tell(c, 1, strerror(errno));
    while (list && (name = fs_next(list)))
        clean_entry(c, dirfd(list), name, depth);
    if (list)
        closedir(list);
}

enum lineage_status redact_files(struct lineage_store *store, const struct forms *forms, bool only_look,
                                 struct lineage_redaction *done, lineage_redact_fn *report, void *context,
                                 struct lineage_error *err)
{
    struct cleaning c = {
        .store = store, .forms = forms, .only_look = only_look, .done = done, .report = report, .context = context, .err = err};
    clean_dir(&c, store->dir_fd, ".", 0);
    bool failed = c.piece.failed;
    buf_release(&c.piece);
    return failed ? store_no_memory(err) : LINEAGE_OK;
}
