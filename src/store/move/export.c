/* export.c: writes the log as bytes, makes a log equal to such a file, and waits until a log has changed. */
#include <lineage/move.h>

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "../files/fs.h"
#include "../internal.h"
#include "../log/log.h"
#include "../mirror/mirror.h"

#define LONGEST_MS (1 << 30) /* twelve days; a longer wait makes no difference */

enum lineage_status lineage_store_wait(struct lineage_store *store, double seconds, bool *news, struct lineage_error *err)
{
    double milliseconds = seconds < 0 ? -1 : ceil(seconds * 1000);
    *news = false;
    TRY(store_check_owner(store, err));
    return log_wait(store->log, milliseconds < LONGEST_MS ? (int)milliseconds : LONGEST_MS, news, err);
}

/* Makes the log equal to a file.
 *
 * append/import.c parses rows and formats them again. Here nothing is parsed, so that damaged records arrive unchanged.
 * Nothing is mended either, because a torn end of the log may be half of a record whose rest is in the file.
 */

#define PIECE ((size_t)1 << 20)

static enum lineage_status differs(const struct lineage_store *store, struct lineage_error *err)
{
    return store_fail(err, LINEAGE_EEXIST, "%s has rows that are not those of the file; an exact import goes into a new store",
                      store->log->place);
}

/* Checks, under the claim, that the bytes begin with the contents of the log. */
static enum lineage_status check_beginning(struct lineage_store *store, const struct log_state *end, const struct buf *bytes,
                                           struct lineage_error *err)
{
    SCOPED_BUF there = {0};
    TRY(end->size > bytes->length ? differs(store, err) : LINEAGE_OK);
    for (uint64_t at = 0; at < end->size; at += there.length) {
        const size_t wanted = end->size - at < PIECE ? (size_t)(end->size - at) : PIECE;
        buf_reset(&there);
        TRY(log_read(store->log, at, wanted, &there, err));
        if (there.length < wanted || memcmp(there.data, bytes->data + at, wanted) != 0)
            TRY(differs(store, err));
    }
    return LINEAGE_OK;
}

/* Adds the rest of the bytes under one claim. The claim removes an unfinished append; mirrors that contain its rows
 * notice this at their next sync. */
static enum lineage_status add_rest(struct lineage_store *store, const struct buf *bytes, uint64_t *n_bytes,
                                    struct lineage_error *err)
{
    struct log_state end;
    TRY(log_claim(store->log, &end, err));
    const uint64_t from = end.size;
    enum lineage_status status = check_beginning(store, &end, bytes, err);
    if (status == LINEAGE_OK && from < bytes->length)
        status = log_append_many(store->log, &end, bytes->data + from, bytes->length - (size_t)from, true, err);
    log_release(store->log);
    if (status == LINEAGE_OK)
        *n_bytes = bytes->length - from;
    return status;
}

/* The source is read before the claim, because it may be a pipe that a person types into. If a server lost the claim
 * before the append, the log is claimed and compared again, and only missing bytes are added. */
enum lineage_status lineage_import_exact(struct lineage_store *store, const char *path, uint64_t *n_bytes,
                                         struct lineage_error *err)
{
    SCOPED_BUF bytes = {0};
    *n_bytes = 0;
    enum lineage_status status = store_check_owner(store, err);
    if (status == LINEAGE_OK)
        status = fs_read_stream(AT_FDCWD, path, &bytes, err);
    if (status == LINEAGE_OK)
        status = add_rest(store, &bytes, n_bytes, err);
    if (status == LINEAGE_EAWAY && store->log->lost)
        status = add_rest(store, &bytes, n_bytes, err);
    if (status == LINEAGE_OK)
        mirror_follow(store->mirror);
    return status;
}

/* The size is looked up once, so rows that are added meanwhile are left to the next export and never included by
 * half. */
enum lineage_status lineage_export(struct lineage_store *store, lineage_export_fn *give, void *context, struct lineage_error *err)
{
    struct log_state state;
    SCOPED_BUF bytes = {0};
    enum lineage_status status = log_look(store->log, &state, err);
    for (uint64_t at = 0; status == LINEAGE_OK && at < state.size; at += bytes.length) {
        const size_t wanted = state.size - at < PIECE ? (size_t)(state.size - at) : PIECE;
        buf_reset(&bytes);
        status = log_read(store->log, at, wanted, &bytes, err);
        if (status == LINEAGE_OK && bytes.length < wanted)
            status = store_fail(err, LINEAGE_EIO, "%s became shorter while it was exported", store->log->place);
        else if (status == LINEAGE_OK && !give(context, bytes.data, bytes.length))
            status = store_fail(err, LINEAGE_ECANCELLED, "the export was ended");
    }
    return status;
}

struct written {
    int fd;
    int error;
};

static bool write_piece(void *context, const void *bytes, size_t n)
{
    struct written *out = context;
    if (fs_write_all(out->fd, bytes, n) == 0)
        return true;
    out->error = errno;
    return false;
}

static enum lineage_status write_all(struct lineage_store *store, int fd, const char *path, struct lineage_error *err)
{
    struct written out = {.fd = fd};
    enum lineage_status status = lineage_export(store, write_piece, &out, err);
    if (status != LINEAGE_ECANCELLED || !out.error)
        return status;
    errno = out.error;
    return store_fail_errno(err, LINEAGE_EIO, "cannot write %s", path);
}

static enum lineage_status into_device(struct lineage_store *store, const char *path, struct lineage_error *err)
{
    int fd = fs_open(AT_FDCWD, path, O_WRONLY, 0);
    if (fd < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot write %s", path);
    enum lineage_status status = write_all(store, fd, path, err);
    if (fs_close(fd) != 0 && status == LINEAGE_OK)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot write %s", path);
    return status;
}

/* Makes the new name durable before the command reports success. */
static enum lineage_status sync_parent(const char *path, struct lineage_error *err)
{
    SCOPED_BUF parent = {0};
    const char *slash = strrchr(path, '/');
    buf_add(&parent, slash ? path : ".", slash ? (size_t)(slash - path) + 1 : 1);
    SCOPED_FD fd = parent.failed ? -1 : fs_open(AT_FDCWD, parent.data, O_RDONLY | O_DIRECTORY, 0);
    bool synced = fd >= 0 && fs_sync_dir(fd) == 0;
    if (!synced)
        store_fail_errno(err, LINEAGE_EIO, "cannot sync the directory of %s", path);
    return synced ? LINEAGE_OK : LINEAGE_EIO;
}

/* Writes to a temporary file in the same directory, whose bytes are durable before it gets the final name. */
static enum lineage_status into_file(struct lineage_store *store, const char *path, mode_t mode, struct lineage_error *err)
{
    struct buf temporary = {0};
    buf_printf(&temporary, "%s.%ld.tmp", path, (long)getpid());
    if (temporary.failed)
        return store_no_memory(err);
    int fd = fs_open(AT_FDCWD, temporary.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    enum lineage_status status = fd >= 0 ? write_all(store, fd, path, err) : LINEAGE_EIO;
    bool written = status == LINEAGE_OK && fs_sync(fd) == 0;
    if (fd >= 0 && fs_close(fd) != 0)
        written = false;
    if (fd < 0 || (status == LINEAGE_OK && (!written || fs_rename(AT_FDCWD, temporary.data, AT_FDCWD, path) != 0)))
        status = store_fail_errno(err, LINEAGE_EIO, "cannot write %s", path);
    if (status == LINEAGE_OK)
        status = sync_parent(path, err);
    else if (fd >= 0)
        fs_unlink(AT_FDCWD, temporary.data);
    buf_release(&temporary);
    return status;
}

/* Refuses the log itself as the target, because replacing it would lose rows that are added meanwhile. */
static enum lineage_status check_apart(struct lineage_store *store, const struct stat *there, const char *path,
                                       struct lineage_error *err)
{
    struct log_state state;
    const uint64_t named[2] = {(uint64_t)there->st_dev, (uint64_t)there->st_ino};
    TRY(log_look(store->log, &state, err));
    if (memcmp(state.identity, named, sizeof named) == 0)
        return store_fail(err, LINEAGE_EINVAL, "%s is the store's own log", path);
    return LINEAGE_OK;
}

/* If the path is a link, its target is replaced and the link stays. The mode of an existing file is kept. */
enum lineage_status lineage_export_file(struct lineage_store *store, const char *path, struct lineage_error *err)
{
    struct stat there;
    if (fs_stat(AT_FDCWD, path, 0, &there) != 0)
        return into_file(store, path, 0666, err);
    if (!S_ISREG(there.st_mode))
        return into_device(store, path, err);
    enum lineage_status status = check_apart(store, &there, path, err);
    SCOPED_FREE char *target = status == LINEAGE_OK ? realpath(path, NULL) : NULL;
    if (status == LINEAGE_OK)
        status = target ? into_file(store, target, there.st_mode & 0777, err)
                        : store_fail_errno(err, LINEAGE_EIO, "cannot find %s", path);
    return status;
}
