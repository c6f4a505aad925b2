/*
 * fs.h: every system call of the store that can fail and matters for durability. Nothing else in
 * src/store opens, writes, syncs, renames or locks. Each goes through one table so that a test can make
 * the n-th call fail, do half its work, or be the last thing that happens.
 */
#ifndef LOG_FS_H
#define LOG_FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <lineage/status.h>

#include "../format/arena.h"

/*
 * Fault hook for tests. Called before each faultable call with its name ("write", "fdatasync", "rename",
 * "flock", "open", "ftruncate", "mkdir", "fsync", "close", "unlink"); returns 0 to let it happen, an errno
 * to fail with, or FS_FAULT_SHORT to write half and then fail with ENOSPC. Process-wide by necessity, set
 * by tests only; NULL by default and then one predictable branch.
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
ssize_t fs_read_at(int fd, void *data, size_t length, uint64_t offset); /* all of it unless the file ends */
int fs_sync_data(int fd);
int fs_sync(int fd);
int fs_truncate(int fd, uint64_t length);
int fs_rename(int from_dir, const char *from, int to_dir, const char *to);
int fs_unlink(int dir_fd, const char *name);
int fs_mkdir(int dir_fd, const char *name); /* EEXIST is success if it is a directory */
int fs_lock(int fd, bool exclusive);        /* flock(2), waits; EINTR repeated */
int fs_unlock(int fd);
int fs_sync_dir(int dir_fd);

/* Replace dir_fd/name by data: temporary name, write, sync, rename, sync directory. Nothing stays behind on failure. */
enum lineage_status fs_replace(int dir_fd, const char *name, const void *data, size_t length, bool sync,
                               struct lineage_error *err);

/* Whole file into out (appended). LINEAGE_ENOTFOUND if it is not there. */
enum lineage_status fs_read_file(int dir_fd, const char *name, struct buf *out, struct lineage_error *err);

#endif
