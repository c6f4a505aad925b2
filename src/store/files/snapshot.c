/*
 * snapshot.c: a work directory is copied under a temporary name, synced, and renamed when its row is certain. Copying
 * takes long and happens before the log is claimed; only the rename happens under the claim. Everything is opened
 * relative to its directory and without following links, so a work directory that changes meanwhile cannot redirect the
 * copy.
 *
 * Later trials start from a snapshot, so it must be the same tree: the owner's permissions are kept, links stay links,
 * and holes stay holes. A file that cannot be copied (a socket, a device) makes the snapshot fail instead of being left
 * out, because an incomplete snapshot would cause failures long afterwards.
 */
#include "snapshot.h"

#include <fcntl.h>
#include <limits.h>

#include "fs.h"

#define COPY_BYTES ((size_t)1 << 16)
/* Each level keeps two descriptors open, and a process has 1024 by default. */
#define MAX_DEPTH 64

struct copying {
    bool sync;
    unsigned depth;
    struct stat store; /* the store's directory, whose own files are not copied */
    struct stat copy;  /* the directory of the copy, which is not copied into itself */
    struct lineage_error *err;
};

static enum lineage_status failed(struct copying *c, const char *doing, const char *name)
{
    return store_fail_errno(c->err, LINEAGE_EIO, "snapshot: cannot %s %s", doing, name);
}

/* Holes stay holes, because a file of a gigabyte may be almost empty. The final truncate sets the length if the file
 * ends in a hole. The copy has the length that the file had when it was opened: if the file shrinks meanwhile, the copy
 * ends in zeros; if it grows, the rest is left out. */
static int copy_bytes(int from, int to, uint64_t size)
{
    SCOPED_FREE char *buffer = malloc(COPY_BYTES);
    uint64_t at = 0, end = 0;
    int status = buffer ? 0 : -1;
    while (status == 0 && fs_next_data(from, end, size, &at, &end)) {
        while (status == 0 && at < end) {
            size_t want = end - at < COPY_BYTES ? (size_t)(end - at) : COPY_BYTES;
            ssize_t n = fs_read_at(from, buffer, want, at);
            if (n == 0)
                break; /* it became shorter */
            status = n < 0 ? -1 : fs_write_at(to, buffer, (size_t)n, at);
            at += n < 0 ? 0 : (uint64_t)n;
        }
    }
    return status == 0 ? fs_truncate(to, size) : -1;
}

/* The type is checked again after opening, because the name may refer to something else by now. O_NONBLOCK is needed,
 * because opening a pipe would block the append. */
static enum lineage_status copy_file(struct copying *c, int from_dir, int to_dir, const char *name, mode_t mode)
{
    struct stat st = {0};
    SCOPED_FD from = fs_open(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    SCOPED_FD to = from < 0 ? -1 : fs_open(to_dir, name, O_WRONLY | O_CREAT | O_EXCL, mode & 0777);
    if (from < 0 || fs_stat_open(from, &st) != 0)
        return failed(c, "read", name);
    if (!S_ISREG(st.st_mode))
        return store_fail(c->err, LINEAGE_EINVAL, "snapshot: %s is no longer a file", name);
    const bool copied = to >= 0 && copy_bytes(from, to, (uint64_t)st.st_size) == 0 &&
                        fs_chmod(to, mode & 0777) == 0 && /* umask */
                        (!c->sync || fs_sync(to) == 0) && fs_close_now(&to) == 0;
    return copied ? LINEAGE_OK : failed(c, "copy", name);
}

/* Links are copied, not followed: a link to a terabyte of data is part of the work directory, but the data is not. */
static enum lineage_status copy_link(struct copying *c, int from_dir, int to_dir, const char *name)
{
    char target[PATH_MAX];
    ssize_t n = fs_read_link(from_dir, name, target, sizeof target - 1);
    if (n < 0)
        return failed(c, "read the link", name);
    target[n] = '\0';
    return fs_symlink(target, to_dir, name) == 0 ? LINEAGE_OK : failed(c, "copy the link", name);
}

static enum lineage_status copy_tree(struct copying *c, int from, int to);

/* The copy is writable for its owner whatever the source's mode is; otherwise it could neither be filled nor removed.
 * The final mode is set at the end, despite the umask. */
static enum lineage_status copy_dir(struct copying *c, int from_dir, int to_dir, const char *name, mode_t mode)
{
    int from = -1, to = -1;
    enum lineage_status status;
    if (++c->depth > MAX_DEPTH)
        return store_fail(c->err, LINEAGE_ELIMIT, "snapshot: %s is more than %d directories deep", name, MAX_DEPTH);
    if (fs_mkdir_new(to_dir, name, (mode & 0777) | 0700) != 0 ||
        (from = fs_open(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)) < 0 ||
        (to = fs_open(to_dir, name, O_RDONLY | O_DIRECTORY, 0)) < 0) {
        status = failed(c, "copy the directory", name);
        fs_close(from);
    } else {
        status = copy_tree(c, from, to);
        if (status == LINEAGE_OK && fs_chmod(to, (mode & 0777) | 0700) != 0)
            status = failed(c, "set the mode of", name);
    }
    fs_close(to);
    c->depth--;
    return status;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static enum lineage_status copy_entry(struct copying *c, int from, int to, const char *name)
{
    struct stat st;
    if (fs_stat(from, name, AT_SYMLINK_NOFOLLOW, &st) != 0)
        return failed(c, "look at", name);
    if (S_ISREG(st.st_mode))
        return copy_file(c, from, to, name, st.st_mode);
    if (S_ISDIR(st.st_mode) && is_same(&st, &c->copy))
        return LINEAGE_OK;
    if (S_ISDIR(st.st_mode))
        return copy_dir(c, from, to, name, st.st_mode);
    if (S_ISLNK(st.st_mode))
        return copy_link(c, from, to, name);
    return store_fail(c->err, LINEAGE_EINVAL, "snapshot: %s is neither file, directory nor symbolic link", name);
}

/* Takes ownership of the descriptor `from`. A directory is synced after its contents, so that its entries are durable
 * before its row is. */
static enum lineage_status copy_tree(struct copying *c, int from, int to)
{
    enum lineage_status status = LINEAGE_OK;
    const char *entry;
    struct stat st;
    /* The store's own files are left out if the work directory contains the store; otherwise the copy would contain
     * snapshots/, and therefore itself. */
    bool is_store = fs_stat_open(from, &st) == 0 && is_same(&st, &c->store);
    SCOPED_LIST dir = fs_list(from);
    if (!dir)
        return failed(c, "list", "a directory");
    while (status == LINEAGE_OK && (entry = fs_next(dir)))
        if (!is_store || !place_is_own(entry))
            status = copy_entry(c, dirfd(dir), to, entry);
    if (status == LINEAGE_OK && errno)
        status = failed(c, "list", "a directory");
    if (status == LINEAGE_OK && c->sync && fs_sync(to) != 0)
        status = failed(c, "sync", "a directory");
    return status;
}

/* Opens snapshots/ with a lock: shared while a new copy does not have its own lock yet, exclusive during a clean-up.
 * Between creating a copy's directory and locking it, the copy looks abandoned; the shared lock prevents a clean-up at
 * that moment. */
static int open_snapshots(int dir_fd, bool exclusive)
{
    int fd = fs_open(dir_fd, PLACE_SNAPSHOTS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    if (fd < 0 || (exclusive ? fs_try_lock(fd) : fs_lock(fd, false)) == 0)
        return fd;
    fs_close(fd);
    return -1;
}

static enum lineage_status make_copy_dir(struct copying *c, struct snapshot *snapshot, int dir_fd)
{
    SCOPED_FD parent = -1;
    bool made = fs_mkdir(dir_fd, PLACE_SNAPSHOTS) == 0 && (parent = open_snapshots(dir_fd, false)) >= 0;
    for (unsigned n = 0; made && !snapshot->copied; n++) {
        place_snapshot_copy(snapshot->temporary, snapshot, n);
        snapshot->copied = fs_mkdir_new(dir_fd, snapshot->temporary, 0777) == 0;
        made = snapshot->copied || errno == EEXIST;
    }
    if (made) {
        snapshot->lock_fd = fs_open(dir_fd, snapshot->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
        made = snapshot->lock_fd >= 0 && fs_try_lock(snapshot->lock_fd) == 0 && fs_stat_open(snapshot->lock_fd, &c->copy) == 0;
        snapshot->locked = snapshot->lock_fd >= 0;
    }
    return made ? LINEAGE_OK : failed(c, "make a directory in", PLACE_SNAPSHOTS);
}

enum lineage_status snapshot_copy(struct snapshot *snapshot, int dir_fd, const char *source, bool sync, struct lineage_error *err)
{
    struct copying c = {.sync = sync, .err = err};
    enum lineage_status status = LINEAGE_OK;
    int from = fs_open(AT_FDCWD, source, O_RDONLY | O_DIRECTORY, 0);
    if (from < 0)
        return store_fail_errno(err, LINEAGE_EINVAL, "snapshot: cannot open the directory %s", source);
    if (fs_stat_open(dir_fd, &c.store) != 0)
        status = failed(&c, "look at", "the store");
    if (status == LINEAGE_OK)
        status = make_copy_dir(&c, snapshot, dir_fd);
    if (status == LINEAGE_OK)
        status = copy_tree(&c, from, snapshot->lock_fd);
    else
        fs_close(from);
    if (status != LINEAGE_OK)
        snapshot_remove(snapshot, dir_fd);
    return status;
}

/* Moves away a snapshot that a killed process left under that name, for a row that was not added. It is moved before it
 * is removed, because a kill during the removal must not leave half a snapshot under the name. */
static int make_room(const struct snapshot *snapshot, int dir_fd, const char *path, char old[PLACE_MAX])
{
    struct stat st;
    old[0] = '\0';
    if (fs_stat(dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) != 0)
        return errno == ENOENT ? 0 : -1;
    place_snapshot_copy(old, snapshot, UINT_MAX);
    return fs_rename(dir_fd, path, dir_fd, old);
}

/* The old directory is removed only after the new one is in place. snapshots/ is synced before the row is written,
 * because the row names the new directory. */
enum lineage_status snapshot_publish(struct snapshot *snapshot, int dir_fd, const char *path, bool sync,
                                     struct lineage_error *err)
{
    char old[PLACE_MAX] = "";
    const char *now = snapshot->path[0] ? snapshot->path : snapshot->temporary;
    const bool stays = strcmp(now, path) == 0;
    if (!stays && (make_room(snapshot, dir_fd, path, old) != 0 || fs_rename(dir_fd, now, dir_fd, path) != 0))
        return store_fail_errno(err, LINEAGE_EIO, "snapshot: cannot rename the copy to %s", path);
    if (old[0])
        fs_remove_tree(dir_fd, old);
    if (!stays)
        strcpy(snapshot->path, path);
    SCOPED_FD parent = sync ? fs_open(dir_fd, PLACE_SNAPSHOTS, O_RDONLY | O_DIRECTORY, 0) : -1;
    bool synced = !sync || (parent >= 0 && fs_sync_dir(parent) == 0 && fs_sync_dir(dir_fd) == 0); /* snapshots/ may be new */
    return synced ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "snapshot: cannot sync %s", path);
}

/* Uses a lock instead of an age to recognise abandoned copies, because a copy may take hours. */
bool snapshot_is_abandoned(int snapshots_fd, const char *name)
{
    if (!place_is_snapshot_copy(name))
        return false;
    SCOPED_FD fd = fs_open(snapshots_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return fd >= 0 && fs_try_lock(fd) == 0;
}

/* Uses two descriptors, because the listing closes one while the other holds the lock until the end. */
void snapshot_clean_up(int dir_fd)
{
    SCOPED_FD fd = open_snapshots(dir_fd, true);
    SCOPED_LIST dir = fd < 0 ? NULL : fs_list_at(fd, ".", 0);
    const char *name;
    while ((name = fs_next(dir)))
        if (snapshot_is_abandoned(fd, name))
            fs_remove_tree(fd, name);
}

static void unlock(struct snapshot *snapshot)
{
    if (snapshot->locked)
        fs_close(snapshot->lock_fd);
    snapshot->locked = false;
}

void snapshot_remove(struct snapshot *snapshot, int dir_fd)
{
    if (snapshot->copied)
        fs_remove_tree(dir_fd, snapshot->path[0] ? snapshot->path : snapshot->temporary);
    unlock(snapshot);
    *snapshot = (struct snapshot){0};
}

/* A copy that was not published belongs to a row that was not kept or not added. */
void snapshot_release(struct snapshot *snapshot, int dir_fd)
{
    if (!snapshot->path[0])
        snapshot_remove(snapshot, dir_fd);
    unlock(snapshot);
}
