/* fs.c: the store's system calls, with a hook in front of each. */
#include "fs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../internal.h"

/* The one global of the library: a test's hook, NULL in every other process. */
static fs_fault_fn *fault_hook;
static void *fault_context;

void fs_set_fault(fs_fault_fn *fault, void *context)
{
    fault_hook = fault;
    fault_context = context;
}

/* 0 to go on, FS_FAULT_SHORT, or -2 with errno set. */
static int faulted(const char *call)
{
    int fault = fault_hook ? fault_hook(fault_context, call) : 0;
    if (fault > 0) {
        errno = fault;
        return -2;
    }
    return fault;
}

int fs_open(int dir_fd, const char *name, int flags, mode_t mode)
{
    int fd;
    if (faulted("open"))
        return -1;
    do
        fd = openat(dir_fd, name, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int fs_close(int fd)
{
    int fault = faulted("close");
    int status = close(fd); /* the descriptor must not leak even when the test says that close failed */
    return fault ? -1 : status;
}

ssize_t fs_write_once(int fd, const void *data, size_t length)
{
    ssize_t n;
    int fault = faulted("write");
    if (fault == -2)
        return -1;
    if (fault == FS_FAULT_SHORT)
        length /= 2;
    do
        n = write(fd, data, length);
    while (n < 0 && errno == EINTR);
    return n;
}

int fs_write_all(int fd, const void *data, size_t length)
{
    const char *bytes = data;
    while (length) {
        ssize_t n = fs_write_once(fd, bytes, length);
        if (n < 0)
            return -1;
        if (n == 0) {
            errno = ENOSPC;
            return -1;
        }
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

ssize_t fs_read_at(int fd, void *data, size_t length, uint64_t offset)
{
    size_t done = 0;
    if (faulted("read"))
        return -1;
    while (done < length) {
        ssize_t n = pread(fd, (char *)data + done, length - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

int fs_sync_data(int fd)
{
    return faulted("fdatasync") ? -1 : fdatasync(fd);
}

int fs_sync(int fd)
{
    return faulted("fsync") ? -1 : fsync(fd);
}

int fs_truncate(int fd, uint64_t length)
{
    return faulted("ftruncate") ? -1 : ftruncate(fd, (off_t)length);
}

int fs_rename(int from_dir, const char *from, int to_dir, const char *to)
{
    return faulted("rename") ? -1 : renameat(from_dir, from, to_dir, to);
}

int fs_unlink(int dir_fd, const char *name)
{
    return faulted("unlink") ? -1 : unlinkat(dir_fd, name, 0);
}

int fs_mkdir(int dir_fd, const char *name)
{
    struct stat st;
    if (faulted("mkdir"))
        return -1;
    if (mkdirat(dir_fd, name, 0777) == 0)
        return 0;
    if (errno != EEXIST || fstatat(dir_fd, name, &st, 0) != 0)
        return -1;
    errno = ENOTDIR;
    return S_ISDIR(st.st_mode) ? 0 : -1;
}

int fs_lock(int fd, bool exclusive)
{
    int status;
    if (faulted("flock"))
        return -1;
    do
        status = flock(fd, exclusive ? LOCK_EX : LOCK_SH);
    while (status != 0 && errno == EINTR);
    return status;
}

int fs_unlock(int fd)
{
    return flock(fd, LOCK_UN);
}

int fs_sync_dir(int dir_fd)
{
    return fs_sync(dir_fd);
}

/* A name that no other writer uses: the process, and an address of its stack. */
static void temporary_name(char out[96], const char *name)
{
    int length = (int)strnlen(name, 40);
    snprintf(out, 96, ".%.*s.%ld-%lx.tmp", length, name, (long)getpid(), (unsigned long)(uintptr_t)&length);
}

static int write_file(int dir_fd, const char *name, const void *data, size_t length, bool sync)
{
    int fd = fs_open(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
    if (fd < 0)
        return -1;
    int status = fs_write_all(fd, data, length);
    if (status == 0 && sync)
        status = fs_sync(fd);
    int saved = errno;
    if (fs_close(fd) != 0 && status == 0)
        return -1;
    errno = saved;
    return status;
}

enum lineage_status fs_replace(int dir_fd, const char *name, const void *data, size_t length, bool sync,
                               struct lineage_error *err)
{
    char temporary[96];
    temporary_name(temporary, name);
    if (write_file(dir_fd, temporary, data, length, sync) != 0 ||
        fs_rename(dir_fd, temporary, dir_fd, name) != 0) {
        store_fail_errno(err, LINEAGE_EIO, "cannot write %s", name);
        unlinkat(dir_fd, temporary, 0);
        return LINEAGE_EIO;
    }
    if (sync && fs_sync_dir(dir_fd) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot sync the directory of %s", name);
    return LINEAGE_OK;
}

enum lineage_status fs_read_file(int dir_fd, const char *name, struct buf *out, struct lineage_error *err)
{
    char chunk[1 << 16];
    ssize_t n;
    uint64_t offset = 0;
    int fd = fs_open(dir_fd, name, O_RDONLY, 0);
    if (fd < 0)
        return store_fail_errno(err, errno == ENOENT ? LINEAGE_ENOTFOUND : LINEAGE_EIO, "cannot open %s", name);
    while ((n = fs_read_at(fd, chunk, sizeof chunk, offset)) > 0) {
        buf_add(out, chunk, (size_t)n);
        offset += (uint64_t)n;
    }
    int saved = errno;
    close(fd);
    errno = saved;
    if (n < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot read %s", name);
    return out->failed ? store_fail(err, LINEAGE_ENOMEM, "out of memory reading %s", name) : LINEAGE_OK;
}
