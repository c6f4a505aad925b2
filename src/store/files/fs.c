/*
 * fs.c: the store's system calls, with a fault hook in front of each.
 *
 * Calls that may be interrupted are repeated after EINTR, because a profiler or a terminal resize must not fail an
 * append. close is not repeated, because on Linux the descriptor is gone after the first call.
 *
 * Every path is relative to the descriptor of the store's directory: a store goes on working when it is renamed or
 * when the process changes its directory, and a link that is put into the path later has no effect.
 */
#define _GNU_SOURCE /* SEEK_DATA, SEEK_HOLE, statx */
#include "fs.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/xattr.h>
#include <sys/stat.h>
#include <unistd.h>

/* The only global of the library: a hook that tests set. It is NULL in every other process. */
static fs_fault_fn *fault_hook;
static void *fault_context;

void fs_set_fault(fs_fault_fn *fault, void *context)
{
    fault_hook = fault;
    fault_context = context;
}

/* Returns 0 to go on, FS_FAULT_SHORT, or -2 with errno set. It runs before the system call, so a test that kills the
 * process here leaves the same files as a real kill just before that call. */
static int faulted(const char *call)
{
    int fault = fault_hook ? fault_hook(fault_context, call) : 0;
    if (fault > 0) {
        errno = fault;
        return -2;
    }
    return fault;
}

/* Uses O_CLOEXEC, because a trial that this process starts would otherwise inherit the descriptor of the locked log.
 * Parent and child share the flock, so it would be held until the trial ends. */
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
    if (fd < 0)
        return 0;
    int fault = faulted("close");
    int status = close(fd); /* the descriptor must be closed even if the test injects a failure */
    return fault ? -1 : status;
}

/* Writes with one system call. A single write to a regular file is not interleaved with another process's write, and a
 * kill leaves a prefix of it. The states after a crash that FORMAT.md lists depend on both. */
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

/* With the kernel's rule: no byte may be written at or after the limit. */
bool fs_at_size_limit(int fd)
{
    struct rlimit limit;
    struct stat st;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && fstat(fd, &st) == 0 &&
           (rlim_t)st.st_size >= limit.rlim_cur;
}

/* For copies that are synced before anybody relies on them. Do not use it for the log, where a kill between two writes
 * would leave half a record. */
int fs_write_all(int fd, const void *data, size_t length)
{
    const char *bytes = data;
    while (length) {
        ssize_t n = fs_write_once(fd, bytes, length);
        if (n < 0)
            return -1;
        /* POSIX allows write to return 0 for a length above 0 in unusual cases; without this check the loop would never
         * end. */
        if (n == 0) {
            errno = ENOSPC;
            return -1;
        }
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

/* Uses pread, because processes that inherited or duplicated the descriptor share its file position. */
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

int fs_write_at(int fd, const void *data, size_t length, uint64_t offset)
{
    const char *bytes = data;
    if (faulted("write"))
        return -1;
    while (length) {
        ssize_t n = pwrite(fd, bytes, length, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        bytes += n;
        offset += (uint64_t)n;
        length -= (size_t)n;
    }
    return 0;
}

bool fs_next_data(int fd, uint64_t from, uint64_t size, uint64_t *start, uint64_t *end)
{
    off_t data, hole;
    if (from >= size)
        return false;
    data = lseek(fd, (off_t)from, SEEK_DATA);
    hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);
    if (data < 0 && errno == ENXIO)
        return false;
    /* On a file system without holes everything counts as data. The only cost is disk space. */
    *start = hole < 0 ? from : (uint64_t)data; /* a file system without holes: everything is data */
    *end = hole < 0 || (uint64_t)hole > size ? size : (uint64_t)hole;
    return *start < *end;
}

/* For a file whose name is already durable; a new file needs fs_sync and a sync of its directory. */
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

/* Takes both directories, because a rename across directories is as atomic as within one. */
int fs_rename(int from_dir, const char *from, int to_dir, const char *to)
{
    return faulted("rename") ? -1 : renameat(from_dir, from, to_dir, to);
}

int fs_unlink(int dir_fd, const char *name)
{
    return faulted("unlink") ? -1 : unlinkat(dir_fd, name, 0);
}

/* Two processes may create the directory at once, and both only need it to exist, so EEXIST is a success if the name is
 * a directory. */
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

/* Needs no retry after EINTR, because a non-blocking lock does not wait. */
int fs_try_lock(int fd)
{
    return faulted("flock") ? -1 : flock(fd, LOCK_EX | LOCK_NB);
}

int fs_try_share(int fd)
{
    return faulted("flock") ? -1 : flock(fd, LOCK_SH | LOCK_NB);
}

int fs_unlock(int fd)
{
    return flock(fd, LOCK_UN);
}

int fs_sync_dir(int dir_fd)
{
    return fs_sync(dir_fd);
}

int fs_stat(int dir_fd, const char *name, int flags, struct stat *st)
{
    return faulted("stat") ? -1 : fstatat(dir_fd, name, st, flags);
}

int fs_stat_open(int fd, struct stat *st)
{
    return faulted("stat") ? -1 : fstat(fd, st);
}

int fs_identify(int dir_fd, const char *name, struct fs_identity *identity)
{
    struct statx st;
    if (faulted("stat") || statx(dir_fd, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) != 0)
        return -1;
    *identity = (struct fs_identity){.device = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor, .inode = st.stx_ino};
    if (st.stx_mask & STATX_BTIME)
        identity->born_ns = (int64_t)st.stx_btime.tv_sec * 1000000000 + st.stx_btime.tv_nsec;
    return 0;
}

/* Checks the rights of the effective user, as open does; access(2) checks the real user, who differs under sudo and
 * set-uid. */
bool fs_can_write(int dir_fd, const char *name)
{
    return !faulted("access") && faccessat(dir_fd, name, W_OK, AT_EACCESS) == 0;
}

bool fs_is_dir(int dir_fd, const char *name)
{
    struct stat st;
    return fs_stat(dir_fd, name, 0, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Checks one path component after the other, because a symbolic link in the middle can lead outside as well as the last
 * one. */
int fs_open_below(int dir_fd, const char *path)
{
    char name[NAME_MAX + 1];
    int fd = -1;
    if (faulted("open"))
        return -1;
    errno = ENOENT;
    for (const char *at = path; *path != '/' && *at; at += strspn(at, "/")) {
        size_t length = strcspn(at, "/");
        bool sound = length <= NAME_MAX && !(length == 2 && memcmp(at, "..", 2) == 0);
        int next = -1;
        if (sound) {
            memcpy(name, at, length);
            name[length] = '\0';
            next = openat(fd < 0 ? dir_fd : fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        }
        if (fd >= 0)
            close(fd);
        if ((fd = next) < 0)
            return -1;
        at += length;
    }
    return fd;
}

bool fs_is_dir_below(int dir_fd, const char *path)
{
    int fd = fs_open_below(dir_fd, path);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int fs_chmod(int fd, mode_t mode)
{
    return faulted("chmod") ? -1 : fchmod(fd, mode);
}

/* Fails if the directory exists, for a caller that must own everything in it. */
int fs_mkdir_new(int dir_fd, const char *name, mode_t mode)
{
    return faulted("mkdir") ? -1 : mkdirat(dir_fd, name, mode);
}

int fs_touch(int dir_fd, const char *name)
{
    return faulted("utimensat") ? -1 : utimensat(dir_fd, name, NULL, 0);
}

static int fs_rmdir(int dir_fd, const char *name)
{
    return faulted("rmdir") ? -1 : unlinkat(dir_fd, name, AT_REMOVEDIR);
}

int fs_symlink(const char *target, int dir_fd, const char *name)
{
    return faulted("symlink") ? -1 : symlinkat(target, dir_fd, name);
}

ssize_t fs_read_link(int dir_fd, const char *name, char *target, size_t size)
{
    return faulted("readlink") ? -1 : readlinkat(dir_fd, name, target, size);
}

int fs_watch_open(void)
{
    return faulted("watch") ? -1 : inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

/* For calls that accept only paths: a path through /proc to the open directory descriptor, which is valid even after
 * the directory was renamed. */
enum { PROC_PATH = 64 };

static bool proc_path(char path[PROC_PATH], int dir_fd, const char *name)
{
    int n = snprintf(path, PROC_PATH, "/proc/self/fd/%d/%s", dir_fd, name);
    return n < PROC_PATH;
}

int fs_watch_add(int watch, int dir_fd, const char *name, uint32_t events)
{
    char path[PROC_PATH];
    return !proc_path(path, dir_fd, name) || faulted("watch") ? -1 : inotify_add_watch(watch, path, events);
}

int fs_mark(int dir_fd, const char *name, const char *attribute, const void *value, size_t length)
{
    char path[PROC_PATH];
    return !proc_path(path, dir_fd, name) || faulted("mark") ? -1 : setxattr(path, attribute, value, length, 0);
}

int fs_unmark(int dir_fd, const char *name, const char *attribute)
{
    char path[PROC_PATH];
    return !proc_path(path, dir_fd, name) || faulted("mark") ? -1 : removexattr(path, attribute);
}

ssize_t fs_read_mark(int dir_fd, const char *name, const char *attribute, void *value, size_t size)
{
    char path[PROC_PATH];
    return !proc_path(path, dir_fd, name) || faulted("mark") ? -1 : getxattr(path, attribute, value, size);
}

/* Takes ownership of the descriptor even on failure, so callers need only one cleanup path. */
DIR *fs_list(int fd)
{
    DIR *list = faulted("list") ? NULL : fdopendir(fd);
    int saved = errno;
    if (!list)
        close(fd);
    errno = saved;
    return list;
}

DIR *fs_list_at(int dir_fd, const char *name, int flags)
{
    int fd = fs_open(dir_fd, name, O_RDONLY | O_DIRECTORY | flags, 0);
    return fd >= 0 ? fs_list(fd) : NULL;
}

const char *fs_next(DIR *list)
{
    struct dirent *entry = NULL;
    if (list && faulted("list"))
        return NULL;
    do
        errno = 0; /* only errno distinguishes a failure of readdir from the end */
    while (list && (entry = readdir(list)) && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
    return entry ? entry->d_name : NULL;
}

/* Returns nothing, because it cleans up after a failure that is already being reported, and the next append removes
 * what is left. unlink is tried first, so that a link is removed and never followed. */
void fs_remove_tree(int dir_fd, const char *name)
{
    const char *entry;
    DIR *list = fs_list_at(dir_fd, name, O_NOFOLLOW);
    while ((entry = fs_next(list)))
        if (fs_unlink(dirfd(list), entry) != 0)
            fs_remove_tree(dirfd(list), entry);
    fs_list_end(&list);
    fs_rmdir(dir_fd, name);
}

/* Makes a name that no other writer uses. It contains the process id and a stack address, because each thread has its
 * own stack. The leading dot hides the file from listings. Only 40 bytes of the original name are used, so that the
 * numbers still fit within NAME_MAX. */
static void temporary_name(char out[96], const char *name)
{
    int length = (int)strnlen(name, 40);
    snprintf(out, 96, ".%.*s.%ld-%lx.tmp", length, name, (long)getpid(), (unsigned long)(uintptr_t)&length);
}

/* The owner is set first, because a change of owner clears bits of the mode. If the group cannot be set, the group's
 * permissions are dropped, so that no other group gets them. */
static int make_like(int fd, const struct stat *like)
{
    struct stat now;
    mode_t mode = like->st_mode & 07777;
    if (fs_stat_open(fd, &now) != 0)
        return -1;
    bool same = now.st_uid == like->st_uid && now.st_gid == like->st_gid;
    if (!same && fchown(fd, like->st_uid, like->st_gid) != 0 && now.st_gid != like->st_gid)
        mode &= ~(mode_t)070;
    return fs_chmod(fd, mode);
}

/* Uses O_EXCL with O_NOFOLLOW, because a link under the temporary name would redirect the write. If the mode is copied
 * from another file, nobody else may read the new file until its mode is set. */
static int write_file(int dir_fd, const char *name, const void *data, size_t length, bool sync, const struct stat *like)
{
    int fd = fs_open(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, like ? 0600 : 0666);
    if (fd < 0)
        return -1;
    int status = like ? make_like(fd, like) : 0;
    if (status == 0)
        status = fs_write_all(fd, data, length);
    if (status == 0 && sync)
        status = fs_sync(fd);
    int saved = errno;
    /* The result of close is checked too, because network file systems report a full disk there. */
    if (fs_close(fd) != 0 && status == 0)
        return -1;
    errno = saved;
    return status;
}

/* The file is synced before the rename, because a file system may write names earlier than data, and a crash would then
 * leave an empty file under the final name. rename is atomic: readers see the old bytes or the new ones, and a kill
 * leaves a temporary file that nobody reads. */
static enum lineage_status replace_through(const char *temporary, int dir_fd, const char *name, const void *data, size_t length,
                                           bool sync, struct lineage_error *err)
{
    struct stat there;
    bool is_file = fs_stat(dir_fd, name, AT_SYMLINK_NOFOLLOW, &there) == 0 && S_ISREG(there.st_mode);
    if (write_file(dir_fd, temporary, data, length, sync, is_file ? &there : NULL) != 0 ||
        fs_rename(dir_fd, temporary, dir_fd, name) != 0) {
        store_fail_errno(err, LINEAGE_EIO, "cannot write %s", name);
        fs_unlink(dir_fd, temporary);
        return LINEAGE_EIO;
    }
    if (sync && fs_sync_dir(dir_fd) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot sync the directory of %s", name);
    return LINEAGE_OK;
}

enum lineage_status fs_replace(int dir_fd, const char *name, const void *data, size_t length, bool sync,
                               struct lineage_error *err)
{
    char temporary[96];
    temporary_name(temporary, name);
    return replace_through(temporary, dir_fd, name, data, length, sync, err);
}

/* Uses one temporary name for all writers, so that killed writers do not leave more and more files. */
enum lineage_status fs_replace_alone(int dir_fd, const char *name, const void *data, size_t length, bool sync,
                                     struct lineage_error *err)
{
    char temporary[96];
    snprintf(temporary, sizeof temporary, ".%.80s.tmp", name);
    if (fs_unlink(dir_fd, temporary) != 0 && errno != ENOENT)
        return store_fail_errno(err, LINEAGE_EIO, "cannot remove %s", temporary);
    return replace_through(temporary, dir_fd, name, data, length, sync, err);
}

/* Links the temporary file instead of renaming it: a link fails if the name is taken, while a rename would replace the
 * file. Used for files that must never be overwritten, such as text written by hand (KNOWLEDGE.md.before-N). */
enum lineage_status fs_create(int dir_fd, const char *name, const void *data, size_t length, const struct stat *like,
                              struct lineage_error *err)
{
    char temporary[96];
    enum lineage_status status = LINEAGE_OK;
    temporary_name(temporary, name);
    if (write_file(dir_fd, temporary, data, length, true, like) != 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot write %s", name);
    else if (faulted("link") || linkat(dir_fd, temporary, dir_fd, name, 0) != 0)
        status = errno == EEXIST ? LINEAGE_EEXIST : store_fail_errno(err, LINEAGE_EIO, "cannot write %s", name);
    fs_unlink(dir_fd, temporary);
    if (status == LINEAGE_OK && fs_sync_dir(dir_fd) != 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot sync the directory of %s", name);
    return status;
}

/* Uses read instead of pread, because a pipe has no file position. */
static ssize_t read_rest(int fd, struct buf *out)
{
    char chunk[1 << 16];
    ssize_t n;
    while (!out->failed) {
        if (faulted("read"))
            return -1;
        n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n;
        buf_add(out, chunk, (size_t)n);
    }
    return 0;
}

static enum lineage_status read_opened(int fd, const char *name, struct buf *out, struct lineage_error *err)
{
    ssize_t n = read_rest(fd, out);
    int saved = errno;
    fs_close(fd);
    errno = saved;
    if (n < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot read %s", name);
    return out->failed ? store_fail(err, LINEAGE_ENOMEM, "out of memory reading %s", name) : LINEAGE_OK;
}

static enum lineage_status open_to_read(int *fd, int dir_fd, const char *name, int flags, struct lineage_error *err)
{
    *fd = fs_open(dir_fd, name, O_RDONLY | flags, 0);
    if (*fd >= 0)
        return LINEAGE_OK;
    return store_fail_errno(err, errno == ENOENT ? LINEAGE_ENOTFOUND : LINEAGE_EIO, "cannot open %s", name);
}

/* Uses O_NONBLOCK, because a pipe in place of the file would block the writer, and every process that waits for it, for
 * ever. */
enum lineage_status fs_read_file(int dir_fd, const char *name, struct buf *out, struct lineage_error *err)
{
    struct stat st;
    int fd;
    enum lineage_status status = LINEAGE_OK;
    TRY(open_to_read(&fd, dir_fd, name, O_NONBLOCK, err));
    if (fs_stat_open(fd, &st) != 0)
        status = store_fail_errno(err, LINEAGE_EIO, "cannot look at %s", name);
    else if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        status = store_fail_errno(err, LINEAGE_EIO, "cannot read %s", name);
    } else if (!S_ISREG(st.st_mode))
        status = store_fail(err, LINEAGE_EINVAL, "%s is not a regular file", name);
    else if (st.st_size > FS_FILE_MAX)
        status = store_fail(err, LINEAGE_ELIMIT, "%s is larger than %lld MiB", name, (long long)FS_FILE_MAX >> 20);
    if (status == LINEAGE_OK)
        return read_opened(fd, name, out, err);
    fs_close(fd);
    return status;
}

/* For files that a user names: `lineage import` also reads from a pipe. */
enum lineage_status fs_read_stream(int dir_fd, const char *name, struct buf *out, struct lineage_error *err)
{
    int fd;
    TRY(open_to_read(&fd, dir_fd, name, 0, err));
    return read_opened(fd, name, out, err);
}

bool fs_boot(char id[FS_BOOT])
{
    int fd = fs_open(AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY, 0);
    ssize_t n = fd < 0 ? 0 : fs_read_at(fd, id, FS_BOOT - 1, 0);
    fs_close(fd);
    id[n > 0 ? n : 0] = '\0';
    id[strcspn(id, "\n")] = '\0';
    return id[0];
}
