/* snapshot.c: a work directory copied under a temporary name, synced, and renamed when its row is sure. */
#include "snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/snapshot.h>

#include "fs.h"

#define COPY_BYTES ((size_t)1 << 16)
#define MAX_DEPTH 64

struct copying {
    bool sync;
    unsigned depth;
    dev_t device; /* of the copy itself, which must not copy itself */
    ino_t inode;
    struct lineage_error *err;
};

static enum lineage_status failed(struct copying *c, const char *doing, const char *name)
{
    return store_fail_errno(c->err, LINEAGE_EIO, "snapshot: cannot %s %s", doing, name);
}

static int copy_bytes(int from, int to)
{
    char *buffer = malloc(COPY_BYTES);
    ssize_t n = -1;
    uint64_t offset = 0;
    while (buffer && (n = fs_read_at(from, buffer, COPY_BYTES, offset)) > 0) {
        if (fs_write_all(to, buffer, (size_t)n) != 0) {
            n = -1;
            break;
        }
        offset += (uint64_t)n;
    }
    free(buffer);
    return n < 0 ? -1 : 0;
}

static enum lineage_status copy_file(struct copying *c, int from_dir, int to_dir, const char *name, mode_t mode)
{
    enum lineage_status status = LINEAGE_OK;
    int from = fs_open(from_dir, name, O_RDONLY | O_NOFOLLOW, 0);
    int to = from < 0 ? -1 : fs_open(to_dir, name, O_WRONLY | O_CREAT | O_EXCL, mode & 0777);
    if (from < 0)
        status = failed(c, "read", name);
    else if (to < 0 || copy_bytes(from, to) != 0 || fchmod(to, mode & 0777) != 0 || /* past the umask */
             (c->sync && fs_sync(to) != 0))
        status = failed(c, "copy", name);
    if (to >= 0 && fs_close(to) != 0 && status == LINEAGE_OK)
        status = failed(c, "copy", name);
    if (from >= 0)
        close(from);
    return status;
}

static enum lineage_status copy_link(struct copying *c, int from_dir, int to_dir, const char *name)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(from_dir, name, target, sizeof target - 1);
    if (n < 0)
        return failed(c, "read the link", name);
    target[n] = '\0';
    return symlinkat(target, to_dir, name) == 0 ? LINEAGE_OK : failed(c, "copy the link", name);
}

static enum lineage_status copy_tree(struct copying *c, int from, int to);

static enum lineage_status copy_dir(struct copying *c, int from_dir, int to_dir, const char *name, mode_t mode)
{
    int from = -1, to = -1;
    enum lineage_status status;
    if (++c->depth > MAX_DEPTH)
        return store_fail(c->err, LINEAGE_ELIMIT, "snapshot: %s is more than %d directories deep", name, MAX_DEPTH);
    if (mkdirat(to_dir, name, (mode & 0777) | 0700) != 0 ||
        (from = fs_open(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0)) < 0 ||
        (to = fs_open(to_dir, name, O_RDONLY | O_DIRECTORY, 0)) < 0) {
        status = failed(c, "copy the directory", name);
        if (from >= 0)
            close(from);
    } else {
        status = copy_tree(c, from, to);
        if (status == LINEAGE_OK && fchmod(to, (mode & 0777) | 0700) != 0)
            status = failed(c, "set the mode of", name);
    }
    if (to >= 0)
        close(to);
    c->depth--;
    return status;
}

static enum lineage_status copy_entry(struct copying *c, int from, int to, const char *name)
{
    struct stat st;
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return failed(c, "look at", name);
    if (st.st_dev == c->device && st.st_ino == c->inode)
        return LINEAGE_OK;
    if (S_ISREG(st.st_mode))
        return copy_file(c, from, to, name, st.st_mode);
    if (S_ISDIR(st.st_mode))
        return copy_dir(c, from, to, name, st.st_mode);
    if (S_ISLNK(st.st_mode))
        return copy_link(c, from, to, name);
    return store_fail(c->err, LINEAGE_EINVAL, "snapshot: %s is neither file, directory nor symbolic link", name);
}

/* Takes over `from`. */
static enum lineage_status copy_tree(struct copying *c, int from, int to)
{
    enum lineage_status status = LINEAGE_OK;
    struct dirent *entry;
    DIR *dir = fdopendir(from);
    if (!dir) {
        close(from);
        return failed(c, "list", "a directory");
    }
    while (status == LINEAGE_OK && (errno = 0, entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = copy_entry(c, dirfd(dir), to, entry->d_name);
    if (status == LINEAGE_OK && errno)
        status = failed(c, "list", "a directory");
    closedir(dir);
    if (status == LINEAGE_OK && c->sync && fs_sync(to) != 0)
        status = failed(c, "sync", "a directory");
    return status;
}

static void remove_tree(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) != 0)
            remove_tree(dirfd(dir), entry->d_name);
    }
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    unlinkat(dir_fd, name, AT_REMOVEDIR);
}

static enum lineage_status copy_to(struct copying *c, int dir_fd, const char *source, const char *name)
{
    struct stat st;
    int from, to = -1;
    enum lineage_status status;
    if ((from = fs_open(AT_FDCWD, source, O_RDONLY | O_DIRECTORY, 0)) < 0)
        return store_fail_errno(c->err, LINEAGE_EINVAL, "snapshot: cannot open the directory %s", source);
    if (fs_mkdir(dir_fd, "snapshots") != 0 || fs_mkdir(dir_fd, name) != 0 ||
        (to = fs_open(dir_fd, name, O_RDONLY | O_DIRECTORY, 0)) < 0 || fstat(to, &st) != 0) {
        status = failed(c, "make", name);
        close(from);
    } else {
        c->device = st.st_dev;
        c->inode = st.st_ino;
        status = copy_tree(c, from, to);
    }
    if (to >= 0)
        close(to);
    return status;
}

enum lineage_status snapshot_copy(struct snapshot *snapshot, int dir_fd, const char *source, bool sync,
                                  struct lineage_error *err)
{
    struct copying c = {.sync = sync, .err = err};
    snprintf(snapshot->temporary, sizeof snapshot->temporary, "snapshots/.copy-%ld-%lx", (long)getpid(),
             (unsigned long)(uintptr_t)snapshot);
    remove_tree(dir_fd, snapshot->temporary);
    snapshot->copied = true;
    enum lineage_status status = copy_to(&c, dir_fd, source, snapshot->temporary);
    if (status != LINEAGE_OK)
        snapshot_remove(snapshot, dir_fd);
    return status;
}

/* Part of a file name: a slash or a control character becomes `_`. */
static void add_name(char *out, const char *text, size_t max)
{
    size_t n = strlen(out);
    for (size_t i = 0; text[i] && i < max; i++)
        out[n++] = text[i] == '/' || (unsigned char)text[i] < 0x20 ? '_' : text[i];
    out[n] = '\0';
}

enum lineage_status snapshot_publish(struct snapshot *snapshot, int dir_fd, const char *exp_id,
                                     const char *specialist, bool sync, struct lineage_error *err)
{
    char path[SNAPSHOT_PATH_MAX] = "snapshots/";
    if (exp_id[0] == '.')
        return store_fail(err, LINEAGE_EINVAL, "exp_id '%.60s' cannot name a snapshot", exp_id);
    add_name(path, exp_id, 120);
    add_name(path, "_", 1);
    add_name(path, specialist, 100);
    if (fs_rename(dir_fd, snapshot->temporary, dir_fd, path) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "snapshot: cannot rename the copy to %s", path);
    strcpy(snapshot->path, path);
    int parent = sync ? fs_open(dir_fd, "snapshots", O_RDONLY | O_DIRECTORY, 0) : -1;
    bool synced = !sync || (parent >= 0 && fs_sync_dir(parent) == 0);
    if (parent >= 0)
        close(parent);
    return synced ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "snapshot: cannot sync %s", path);
}

void snapshot_remove(struct snapshot *snapshot, int dir_fd)
{
    if (snapshot->copied)
        remove_tree(dir_fd, snapshot->path[0] ? snapshot->path : snapshot->temporary);
    *snapshot = (struct snapshot){0};
}

void snapshot_release(struct snapshot *snapshot, int dir_fd)
{
    if (!snapshot->path[0])
        snapshot_remove(snapshot, dir_fd);
}

enum lineage_status lineage_snapshot_path(char **path, struct lineage_store *store,
                                          const struct lineage_trial *trial, struct lineage_error *err)
{
    struct buf text = {0};
    struct stat st;
    const char *relative = trial->snapshot_path ? trial->snapshot_path : "";
    *path = NULL;
    if (!*relative)
        return store_fail(err, LINEAGE_ENOTFOUND, "trial '%.80s' has no snapshot", trial->exp_id);
    if (relative[0] != '/')
        buf_printf(&text, "%s/", store->dir);
    buf_puts(&text, relative);
    if (text.failed)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    if (stat(text.data, &st) != 0 || !S_ISDIR(st.st_mode)) {
        store_fail(err, LINEAGE_ENOTFOUND, "the snapshot %.200s of trial '%.80s' is gone", text.data, trial->exp_id);
        buf_release(&text);
        return LINEAGE_ENOTFOUND;
    }
    *path = text.data;
    return LINEAGE_OK;
}
