/*
 * fs.h: every system call of the store on files. Nothing else in src/store opens, reads, writes, syncs,
 * lists, renames, links or locks one, so that a test can make the n-th call fail, do half its work, or
 * be the last thing that happens: what is not called through here is not covered by the fault tests.
 */
#ifndef FILES_FS_H
#define FILES_FS_H

#include <dirent.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "../fail.h"
#include "../format/arena.h"

/*
 * Fault hook for tests. Called before each call with its name ("write", "fdatasync", "rename", "stat" ...);
 * returns 0 to let it happen, an errno to fail with, or FS_FAULT_SHORT to write half and then fail with
 * ENOSPC. Process-wide by necessity, set by tests only; NULL by default and then one predictable branch.
 */
#define FS_FAULT_SHORT (-1)
typedef int fs_fault_fn(void *context, const char *call);
void fs_set_fault(fs_fault_fn *fault, void *context);

/* open(2) relative to dir_fd with O_CLOEXEC; returns the descriptor or -1 with errno. */
int fs_open(int dir_fd, const char *name, int flags, mode_t mode);
int fs_close(int fd);
/* One write(2) of everything; EINTR repeated. Returns bytes written (short on a full disk) or -1. */
ssize_t fs_write_once(int fd, const void *data, size_t length);
int fs_write_all(int fd, const void *data, size_t length);
int fs_write_at(int fd, const void *data, size_t length, uint64_t offset);
ssize_t fs_read_at(int fd, void *data, size_t length, uint64_t offset); /* all of it unless the file ends */
/* The next stretch [*start, *end) behind `from` that is not a hole; false if there is none up to size. */
bool fs_next_data(int fd, uint64_t from, uint64_t size, uint64_t *start, uint64_t *end);
int fs_sync_data(int fd);
int fs_sync(int fd);
int fs_truncate(int fd, uint64_t length);
int fs_rename(int from_dir, const char *from, int to_dir, const char *to);
int fs_unlink(int dir_fd, const char *name);
int fs_mkdir(int dir_fd, const char *name); /* EEXIST is success if it is a directory */
int fs_lock(int fd, bool exclusive);        /* flock(2), waits; EINTR repeated */
int fs_try_lock(int fd); /* exclusive, or -1 with EWOULDBLOCK at once */
int fs_unlock(int fd);
int fs_sync_dir(int dir_fd);
int fs_stat(int dir_fd, const char *name, int flags, struct stat *st); /* flags: AT_SYMLINK_NOFOLLOW or 0 */
int fs_stat_open(int fd, struct stat *st);
bool fs_can_write(int dir_fd, const char *name); /* whether this process may */
bool fs_is_dir(int dir_fd, const char *name); /* false also if it cannot be looked at */
/* Whether path, relative to dir_fd, is a directory reached without a link, `..` or an absolute path. */
bool fs_is_dir_below(int dir_fd, const char *path);
int fs_chmod(int fd, mode_t mode);
int fs_mkdir_new(int dir_fd, const char *name, mode_t mode); /* fails with EEXIST if anything is there */
int fs_touch(int dir_fd, const char *name); /* its time of change is now */
int fs_rmdir(int dir_fd, const char *name);
int fs_symlink(const char *target, int dir_fd, const char *name);
ssize_t fs_read_link(int dir_fd, const char *name, char *target, size_t size); /* without NUL */

/* inotify(7): a descriptor that does not wait, and a watch on a name (links followed) for those events; -1 with errno. */
int fs_watch_open(void);
int fs_watch_add(int watch, int dir_fd, const char *name, uint32_t events);

/* An extended attribute on a file (links followed), which goes where the file goes by rename and not by copy: set it, remove it,
 * ask for it. -1 or false where there are none. */
int fs_mark(int dir_fd, const char *name, const char *attribute);
int fs_unmark(int dir_fd, const char *name, const char *attribute);
bool fs_is_marked(int dir_fd, const char *name, const char *attribute);

/* List the open directory, which the list takes over (closed also on failure; NULL with errno). fs_next
 * gives the names but . and .., NULL at the end with errno 0 or after a failure with errno. */
DIR *fs_list(int fd);
const char *fs_next(DIR *list);

/* Remove a directory and all in it, or as much of it as can be. */
void fs_remove_tree(int dir_fd, const char *name);

/* Replace dir_fd/name by data: temporary name, write, sync, rename, sync directory. Nothing stays behind on failure.
 * A regular file that was there gives its mode, and its owner where that is allowed. */
enum lineage_status fs_replace(int dir_fd, const char *name, const void *data, size_t length, bool sync,
                               struct lineage_error *err);

/* The same under a lock that whoever writes this name holds: takes the place of what a killed one left unfinished. */
enum lineage_status fs_replace_alone(int dir_fd, const char *name, const void *data, size_t length, bool sync,
                                     struct lineage_error *err);

/* The same as fs_replace for a name that nobody has yet, synced: LINEAGE_EEXIST without message if anything is there. like gives
 * mode and owner, NULL = of any new file. */
enum lineage_status fs_create(int dir_fd, const char *name, const void *data, size_t length, const struct stat *like,
                              struct lineage_error *err);

/* A file of a store that is read whole: settings, telemetry, what was rendered. A sparse one may claim any size. */
#define FS_FILE_MAX ((off_t)256 << 20)

/* Whole regular file into out (appended). LINEAGE_ENOTFOUND if it is not there, LINEAGE_EINVAL if it is a
 * pipe or a device, which is never waited for. */
enum lineage_status fs_read_file(int dir_fd, const char *name, struct buf *out, struct lineage_error *err);

/* The same of whatever a user names, a pipe too. */
enum lineage_status fs_read_stream(int dir_fd, const char *name, struct buf *out, struct lineage_error *err);

#endif
