/*
 * fs.h: every system call of the store on files. No other code in src/store opens, reads, writes, syncs, lists,
 * renames, links or locks a file, so a test can make the n-th call fail, do half its work, or be the last call before a
 * kill. The fault tests do not cover a call that bypasses these functions.
 */
#pragma once

#include <dirent.h>

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "../fail.h"
#include "../format/arena.h"

/* Fault hook for tests. It is called before each system call with the call's name ("write", "fdatasync", "rename",
 * "stat" ...) and returns 0 to let it happen, an errno to fail with, or FS_FAULT_SHORT to write half and then fail with
 * ENOSPC. Only tests set it, for the whole process; while it is NULL it costs one predictable branch. */
#define FS_FAULT_SHORT (-1)
typedef int fs_fault_fn(void *context, const char *call);
void fs_set_fault(fs_fault_fn *fault, void *context);

/* open(2) relative to dir_fd, with O_CLOEXEC; returns the descriptor or -1 with errno. */
int fs_open(int dir_fd, const char *name, int flags, mode_t mode);
int fs_close(int fd); /* nothing for a negative one */
#define SCOPED_FD RELEASED_BY(fs_close_scoped) int /* closed unless it is negative */
static inline void fs_close_scoped(const int *fd)
{
    fs_close(*fd);
}
/* Closes a SCOPED_FD before its scope ends, where it matters whether that succeeds. */
static inline int fs_close_now(int *fd)
{
    const int closing = *fd;
    *fd = -1;
    return fs_close(closing);
}
/* One write(2) of everything, repeated after EINTR. Returns the number of bytes written (fewer on a full disk) or
 * -1. */
ssize_t fs_write_once(int fd, const void *data, size_t length);
/* Whether the process's limit on the size of a file (RLIMIT_FSIZE) explains a short write to the end of the file. */
bool fs_at_size_limit(int fd);
int fs_write_all(int fd, const void *data, size_t length);
int fs_write_at(int fd, const void *data, size_t length, uint64_t offset);
ssize_t fs_read_at(int fd, void *data, size_t length, uint64_t offset); /* reads length bytes unless the file ends */
/* Finds the next range [*start, *end) at or after `from` that is not a hole. Returns false if only holes follow up to
 * size. */
bool fs_next_data(int fd, uint64_t from, uint64_t size, uint64_t *start, uint64_t *end);
int fs_sync_data(int fd);
int fs_sync(int fd);
int fs_truncate(int fd, uint64_t length);
int fs_rename(int from_dir, const char *from, int to_dir, const char *to);
int fs_unlink(int dir_fd, const char *name);
int fs_mkdir(int dir_fd, const char *name); /* EEXIST is success if it is a directory */
int fs_lock(int fd, bool exclusive);        /* flock(2): waits for the lock; repeated after EINTR */
int fs_try_lock(int fd); /* exclusive lock; returns -1 with EWOULDBLOCK at once if it is held */
int fs_try_share(int fd); /* the same with a shared lock */
int fs_unlock(int fd);
int fs_sync_dir(int dir_fd);
int fs_stat(int dir_fd, const char *name, int flags, struct stat *st); /* flags: AT_SYMLINK_NOFOLLOW or 0 */
int fs_stat_open(int fd, struct stat *st);

/* What distinguishes a file from every other one, also from a later one with its inode: links are not followed, and an
 * empty name is the descriptor itself. born_ns is 0 if the file system keeps no time of birth. */
struct fs_identity {
    uint64_t device, inode;
    int64_t born_ns;
};
int fs_identify(int dir_fd, const char *name, struct fs_identity *identity);
bool fs_can_write(int dir_fd, const char *name); /* whether this process may write the file */
bool fs_is_dir(int dir_fd, const char *name); /* returns false also if the name cannot be examined */
/* Opens the directory path, relative to dir_fd, if it is reached without a link, `..` or an absolute path. If not, errno is ENOENT,
 * ENOTDIR or ELOOP; another errno means that it could not be examined. fs_is_dir_below: whether there is one. */
int fs_open_below(int dir_fd, const char *path);
bool fs_is_dir_below(int dir_fd, const char *path);
int fs_chmod(int fd, mode_t mode);
int fs_mkdir_new(int dir_fd, const char *name, mode_t mode); /* fails with EEXIST if the name exists */
int fs_touch(int dir_fd, const char *name); /* sets the file's modification time to now */
int fs_symlink(const char *target, int dir_fd, const char *name);
ssize_t fs_read_link(int dir_fd, const char *name, char *target, size_t size); /* target is not NUL-terminated */

/* inotify(7): opens a non-blocking descriptor, and watches a name for the given events (links are followed). Both
 * return -1 with errno on failure. */
int fs_watch_open(void);
int fs_watch_add(int watch, int dir_fd, const char *name, uint32_t events);

/* Set, remove and read an extended attribute of a file (links are followed). The attribute stays with the file when the
 * file is renamed, but not when it is copied. They return -1 with errno, ENOTSUP if the file system does not support
 * attributes; fs_read_mark otherwise returns the length of the value. */
int fs_mark(int dir_fd, const char *name, const char *attribute, const void *value, size_t length);
int fs_unmark(int dir_fd, const char *name, const char *attribute);
ssize_t fs_read_mark(int dir_fd, const char *name, const char *attribute, void *value, size_t size);

/* fs_list opens a listing of the directory fd and takes ownership of fd (closed even on failure, which returns NULL
 * with errno); fs_list_at opens the directory, too. fs_next returns the next name, skipping . and ..; at the end, or without a list, it
 * returns NULL with errno 0, after a failure NULL with errno set. */
DIR *fs_list(int fd);
DIR *fs_list_at(int dir_fd, const char *name, int flags);
#define SCOPED_LIST RELEASED_BY(fs_list_end) DIR * /* may be NULL */
static inline void fs_list_end(DIR **list)
{
    if (*list)
        closedir(*list);
}
const char *fs_next(DIR *list);

/* Removes a directory and everything in it, as far as possible. */
void fs_remove_tree(int dir_fd, const char *name);

/* Replaces dir_fd/name by data: temporary file, write, sync, rename, sync of the directory. After a failure nothing is
 * left behind. An existing regular file keeps its mode, and its owner if permitted. */
enum lineage_status fs_replace(int dir_fd, const char *name, const void *data, size_t length, bool sync,
                               struct lineage_error *err);

/* Like fs_replace, for a caller that holds a lock which every writer of this name takes. It overwrites the temporary
 * file that a killed writer left. */
enum lineage_status fs_replace_alone(int dir_fd, const char *name, const void *data, size_t length, bool sync,
                                     struct lineage_error *err);

/* Like fs_replace, for a name that must not exist yet; the file is synced. Returns LINEAGE_EEXIST, without a message,
 * if the name exists. Mode and owner are copied from `like`; with NULL, the file gets the defaults of a new file. */
enum lineage_status fs_create(int dir_fd, const char *name, const void *data, size_t length, const struct stat *like,
                              struct lineage_error *err);

/* Largest file that is read into memory at once: settings, telemetry, rendered files. The limit exists because a sparse
 * file may have any size. */
#define FS_FILE_MAX ((off_t)256 << 20)

/* Appends a whole regular file to out. LINEAGE_ENOTFOUND if it does not exist, LINEAGE_EINVAL if it is a pipe or a
 * device; the call never waits for those. */
enum lineage_status fs_read_file(int dir_fd, const char *name, struct buf *out, struct lineage_error *err);

/* Like fs_read_file, for any path that a user names, including a pipe. */
enum lineage_status fs_read_stream(int dir_fd, const char *name, struct buf *out, struct lineage_error *err);

/* Writes the id of this boot of the machine. Returns false, and writes "", where the kernel does not tell it. */
enum { FS_BOOT = 40 };
bool fs_boot(char id[FS_BOOT]);
