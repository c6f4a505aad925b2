#include "support/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/error.h"

static enum trainer_status io_failed(struct trainer_error *err, const char *path, const char *what)
{
    return trainer_fail(err, TRAINER_EIO, "%s: %s: %s", path, what, strerror(errno));
}

/* A write may be short before a full disk reports an error, and a signal may interrupt it; neither is an error yet. */
static bool write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/*
 * The new name is on disk only after its directory is synced. A failure is ignored, because not every file system can
 * sync a directory, and the file itself is already on disk.
 */
static void sync_directory(const char *path)
{
    char dir[4096];
    const char *slash = strrchr(path, '/');
    int n = slash ? snprintf(dir, sizeof dir, "%.*s", (int)(slash - path + 1), path) : snprintf(dir, sizeof dir, ".");
    int fd = n > 0 && (size_t)n < sizeof dir ? open(dir, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

/*
 * fsync comes before rename: a name that appears before its bytes would survive a power cut as an empty file. The
 * result of close() is checked because network file systems report a full disk only there.
 */
static enum trainer_status write_beside(const char *path, const char *beside, const struct file_part *parts, size_t n_parts,
                                        struct trainer_error *err)
{
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    enum trainer_status status = TRAINER_OK;
    bool written = fd >= 0;
    for (size_t i = 0; i < n_parts && written; i++)
        written = write_all(fd, parts[i].bytes, parts[i].n);
    if (fd < 0)
        status = io_failed(err, beside, "open");
    else if (!written || fsync(fd) != 0)
        status = io_failed(err, beside, "write");
    if (fd >= 0 && close(fd) != 0 && status == TRAINER_OK)
        status = io_failed(err, beside, "close");
    if (status == TRAINER_OK && rename(beside, path) != 0)
        status = io_failed(err, path, "rename");
    if (status != TRAINER_OK && fd >= 0)
        unlink(beside);
    return status;
}

/*
 * Refuses a path that is not a regular file, because a pipe might never end, and a rename would replace /dev/null by a
 * file.
 */
static enum trainer_status refuse_odd(const char *path, struct trainer_error *err)
{
    struct stat about;
    bool odd = stat(path, &about) == 0 && !S_ISREG(about.st_mode);
    return odd ? trainer_fail(err, TRAINER_EIO, "%s: not a regular file", path) : TRAINER_OK;
}

/* The temporary name contains the process id, so that two runs that save to the same path do not mix their bytes. */
enum trainer_status atomic_file_write(const char *path, const struct file_part *parts, size_t n_parts, struct trainer_error *err)
{
    size_t length = strlen(path) + sizeof ".2147483647.part";
    char *beside = malloc(length);
    if (!beside)
        return trainer_no_memory(err, length);
    snprintf(beside, length, "%s.%ld.part", path, (long)getpid());
    enum trainer_status status = refuse_odd(path, err);
    if (status == TRAINER_OK)
        status = write_beside(path, beside, parts, n_parts, err);
    if (status == TRAINER_OK)
        sync_directory(path);
    free(beside);
    return status;
}

static enum trainer_status damaged(struct trainer_error *err, const char *path, const char *what)
{
    return trainer_fail(err, TRAINER_ECORRUPT, "%s: damaged %s: length", path, what);
}

/*
 * Opens the file without waiting, and looks at the open descriptor: a pipe that replaces the file between a test by name and
 * the opening would block forever. The length is bounded before anything is allocated, because a sparse file of 1 TB is
 * quickly made.
 */
static int open_regular(const char *path, const char *what, const struct file_bounds *bounds, size_t *size,
                        enum trainer_status *status, struct trainer_error *err)
{
    struct stat about;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    *status = TRAINER_OK;
    if (fd < 0)
        *status =
            errno == ENOENT ? trainer_fail(err, TRAINER_ENOTFOUND, "%s: no such %s", path, what) : io_failed(err, path, "open");
    else if (fstat(fd, &about) != 0)
        *status = io_failed(err, path, "stat");
    else if (!S_ISREG(about.st_mode))
        *status = trainer_fail(err, TRAINER_EIO, "%s: not a regular file", path);
    else if (about.st_size < (off_t)bounds->least || (uint64_t)about.st_size > bounds->most)
        *status = damaged(err, path, what);
    if (*status == TRAINER_OK) {
        *size = (size_t)about.st_size;
        return fd;
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Reads exactly n bytes; a file that has become shorter meanwhile is damaged. */
static enum trainer_status read_bytes(int fd, unsigned char *bytes, size_t n, const char *path, const char *what,
                                      struct trainer_error *err)
{
    for (size_t at = 0; at < n;) {
        ssize_t got = read(fd, bytes + at, n - at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return io_failed(err, path, "read");
        if (got == 0)
            return damaged(err, path, what);
        at += (size_t)got;
    }
    return TRAINER_OK;
}

unsigned char *atomic_file_read(const char *path, const char *what, const struct file_bounds *bounds, size_t *size,
                                enum trainer_status *status, struct trainer_error *err)
{
    int fd = open_regular(path, what, bounds, size, status, err);
    unsigned char *bytes = fd >= 0 ? malloc(*size) : NULL;
    if (fd >= 0)
        *status = bytes ? read_bytes(fd, bytes, *size, path, what, err) : trainer_no_memory(err, *size);
    if (fd >= 0)
        close(fd);
    if (*status == TRAINER_OK)
        return bytes;
    free(bytes);
    return NULL;
}

enum trainer_status atomic_file_head(const char *path, const char *what, void *head, size_t n, struct trainer_error *err)
{
    enum trainer_status status;
    size_t size;
    int fd = open_regular(path, what, &(struct file_bounds){n, SIZE_MAX}, &size, &status, err);
    if (fd < 0)
        return status;
    status = read_bytes(fd, head, n, path, what, err);
    close(fd);
    return status;
}
