/* log.c: results.tsv as an append-only log of bytes; invariants in log.h. */
#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs.h"

#define RESULTS "results.tsv"

struct log {
    int dir_fd;
    char *dir;
    int read_fd, write_fd;
    uint64_t read_inode, read_device, write_inode, write_device;
    uint64_t size; /* of the locked file */
    bool created;  /* the locked file did not exist before */
};

enum lineage_status log_open(struct log **out, int dir_fd, const char *dir, struct lineage_error *err)
{
    struct log *log = calloc(1, sizeof *log);
    *out = NULL;
    if (!log || !(log->dir = strdup(dir))) {
        free(log);
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    }
    log->dir_fd = dir_fd;
    log->read_fd = log->write_fd = -1;
    *out = log;
    return LINEAGE_OK;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void log_close(struct log *log)
{
    if (!log)
        return;
    close_fd(&log->read_fd);
    close_fd(&log->write_fd);
    free(log->dir);
    free(log);
}

static struct log_stat to_stat(const struct stat *st)
{
    return (struct log_stat){.exists = true,
                             .device = (uint64_t)st->st_dev,
                             .inode = (uint64_t)st->st_ino,
                             .size = (uint64_t)st->st_size,
                             .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec};
}

static enum lineage_status failed(const struct log *log, const char *doing, struct lineage_error *err)
{
    return store_fail_errno(err, LINEAGE_EIO, "cannot %s %s/" RESULTS, doing, log->dir);
}

enum lineage_status log_stat(struct log *log, struct log_stat *stat, struct lineage_error *err)
{
    struct stat st;
    *stat = (struct log_stat){0};
    if (fstatat(log->dir_fd, RESULTS, &st, 0) == 0) {
        *stat = to_stat(&st);
        return LINEAGE_OK;
    }
    return errno == ENOENT ? LINEAGE_OK : failed(log, "look at", err);
}

/* The reading descriptor follows the name: another tool may have replaced the file. */
static enum lineage_status open_for_reading(struct log *log, struct lineage_error *err)
{
    struct log_stat stat;
    enum lineage_status status = log_stat(log, &stat, err);
    if (status != LINEAGE_OK || !stat.exists)
        return status;
    if (log->read_fd >= 0 && stat.inode == log->read_inode && stat.device == log->read_device)
        return LINEAGE_OK;
    close_fd(&log->read_fd);
    log->read_fd = fs_open(log->dir_fd, RESULTS, O_RDONLY, 0);
    if (log->read_fd < 0)
        return failed(log, "open", err);
    log->read_inode = stat.inode;
    log->read_device = stat.device;
    return LINEAGE_OK;
}

enum lineage_status log_read(struct log *log, uint64_t offset, size_t length, struct buf *out,
                             struct lineage_error *err)
{
    enum lineage_status status = open_for_reading(log, err);
    size_t start = out->length;
    if (status != LINEAGE_OK || log->read_fd < 0 || !length)
        return status;
    if (!buf_reserve(out, length))
        return store_fail(err, LINEAGE_ENOMEM, "out of memory reading " RESULTS);
    ssize_t n = fs_read_at(log->read_fd, out->data + start, length, offset);
    if (n < 0)
        return failed(log, "read", err);
    out->length = start + (size_t)n;
    out->data[out->length] = '\0';
    return LINEAGE_OK;
}

/* Whether the locked descriptor is the file that the name means now. */
static bool is_current(const struct log *log, struct stat *named)
{
    return fstatat(log->dir_fd, RESULTS, named, 0) == 0 && (uint64_t)named->st_ino == log->write_inode &&
           (uint64_t)named->st_dev == log->write_device;
}

static int open_for_writing(struct log *log)
{
    log->created = false;
    if (log->write_fd >= 0)
        return 0;
    log->write_fd = fs_open(log->dir_fd, RESULTS, O_RDWR | O_APPEND, 0);
    if (log->write_fd < 0 && errno == ENOENT) {
        log->write_fd = fs_open(log->dir_fd, RESULTS, O_RDWR | O_APPEND | O_CREAT, 0666);
        log->created = true;
    }
    struct stat st;
    if (log->write_fd < 0 || fstat(log->write_fd, &st) != 0)
        return -1;
    log->write_inode = (uint64_t)st.st_ino;
    log->write_device = (uint64_t)st.st_dev;
    return 0;
}

enum lineage_status log_lock(struct log *log, struct log_stat *stat, struct lineage_error *err)
{
    struct stat st;
    for (;;) {
        if (open_for_writing(log) != 0)
            return failed(log, "open for writing", err);
        if (fs_lock(log->write_fd, true) != 0)
            return store_fail_errno(err, LINEAGE_ELOCKED, "cannot lock %s/" RESULTS, log->dir);
        if (is_current(log, &st))
            break;
        close_fd(&log->write_fd);
    }
    *stat = to_stat(&st);
    log->size = stat->size;
    return LINEAGE_OK;
}

void log_unlock(struct log *log)
{
    if (log->write_fd < 0)
        return;
    if (log->created && log->size == 0) {
        unlinkat(log->dir_fd, RESULTS, 0);
        close_fd(&log->write_fd);
        return;
    }
    fs_unlock(log->write_fd);
}

static enum lineage_status sync_log(struct log *log, struct lineage_error *err)
{
    if (fs_sync_data(log->write_fd) != 0)
        return failed(log, "sync", err);
    if (log->size == 0 && fs_sync_dir(log->dir_fd) != 0)
        return failed(log, "sync the directory of", err);
    return LINEAGE_OK;
}

enum lineage_status log_append(struct log *log, const char *bytes, size_t length, bool sync,
                               struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    ssize_t n = fs_write_once(log->write_fd, bytes, length);
    if (n >= 0 && (size_t)n < length) {
        errno = ENOSPC;
        n = -1;
    }
    if (n < 0)
        status = failed(log, "append to", err);
    else if (sync)
        status = sync_log(log, err);
    if (status == LINEAGE_OK)
        log->size += length;
    else if (fs_truncate(log->write_fd, log->size) == 0 && sync)
        fs_sync_data(log->write_fd);
    return status;
}

uint64_t log_size(const struct log *log)
{
    return log->size;
}

static enum lineage_status save_torn(struct log *log, const struct buf *tail, char name[64],
                                     struct lineage_error *err)
{
    for (unsigned n = 1;; n++) {
        snprintf(name, 64, RESULTS ".torn-%u", n);
        int fd = fs_open(log->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
        if (fd < 0 && errno == EEXIST)
            continue;
        bool saved = fd >= 0 && fs_write_all(fd, tail->data, tail->length) == 0 && fs_sync(fd) == 0;
        if (!saved)
            store_fail_errno(err, LINEAGE_EIO, "cannot save the torn record of %s/" RESULTS " to %s", log->dir,
                             name);
        if (fd >= 0)
            close(fd);
        if (!saved && fd >= 0)
            unlinkat(log->dir_fd, name, 0);
        return saved ? LINEAGE_OK : LINEAGE_EIO;
    }
}

enum lineage_status log_move_torn(struct log *log, uint64_t start, char name[64], struct lineage_error *err)
{
    struct buf tail = {0};
    enum lineage_status status = log_read(log, start, (size_t)(log->size - start), &tail, err);
    if (status == LINEAGE_OK && tail.length != log->size - start)
        status = store_fail(err, LINEAGE_EIO, RESULTS " changed while its lock was held");
    if (status == LINEAGE_OK)
        status = save_torn(log, &tail, name, err);
    if (status == LINEAGE_OK && fs_sync_dir(log->dir_fd) != 0)
        status = failed(log, "sync the directory of", err);
    if (status == LINEAGE_OK && fs_truncate(log->write_fd, start) != 0)
        status = failed(log, "cut the torn record off", err);
    if (status == LINEAGE_OK)
        log->size = start;
    buf_release(&tail);
    return status;
}
