/*
 * The work directory of a killed process is removed by the next process that creates a work directory, so that a store
 * does not fill up. A directory is in use exactly as long as its lock is held, which the kernel releases when the
 * process dies.
 */
#include "trial/one_trial.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "support/running_files.h"

/* Each level needs an open descriptor, so deeper directories are moved to the top and removed in the next round. */
enum { DEPTH_MAX = 256 };

static bool raise_to(int top, int dir, const struct dirent *entry)
{
    char name[40];
    snprintf(name, sizeof name, ".deep-%llu", (unsigned long long)entry->d_ino);
    return renameat(dir, entry->d_name, top, name) == 0;
}

/*
 * Uses descriptors and follows no links, so that another process cannot redirect it out of the directory. First makes
 * read-only directories, such as package caches, writable. Returns true if a directory was moved to the top.
 */
static bool empty_dir(int top, int fd, int depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    bool moved = false;
    if (!dir)
        return close(fd), false;
    fchmod(fd, 0700);
    while ((entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || unlinkat(fd, entry->d_name, 0) == 0)
            continue;
        int below = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0 && depth == DEPTH_MAX) {
            close(below);
            moved |= raise_to(top, fd, entry);
        } else if (below >= 0) {
            moved |= empty_dir(top, below, depth + 1);
        }
        unlinkat(fd, entry->d_name, AT_REMOVEDIR);
    }
    closedir(dir);
    return moved;
}

/* Each round opens a new descriptor, because closedir closes its descriptor and fd must stay open to hold the lock. */
static void remove_dir(int parent, const char *name, int fd)
{
    int copy;
    do
        copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (copy >= 0 && empty_dir(fd, copy, 0));
    unlinkat(parent, name, AT_REMOVEDIR);
}

/*
 * The lock decides, not the age, because a trial may run for days, and a trial killed a second ago is garbage.
 * O_NOFOLLOW prevents a link of that name from leading to other files.
 */
static void remove_if_abandoned(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && faccessat(fd, RUNNING_TRIAL, F_OK, 0) != 0)
        remove_dir(parent, name, fd);
    close(fd);
}

void workdir_remove_tree(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    remove_dir(parent, name, fd);
    close(fd);
}

static void remove_abandoned(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (strncmp(entry->d_name, RUNNING_PREFIX, strlen(RUNNING_PREFIX)) == 0)
            remove_if_abandoned(dirfd(dir), entry->d_name);
    closedir(dir);
}

/*
 * Whether the path still leads to the locked directory: before it was locked, another process may have considered it
 * abandoned and removed it.
 */
static bool is_there(const struct workdir *workdir)
{
    struct stat held, named;
    bool there = fstat(workdir->fd, &held) == 0 && lstat(workdir->path, &named) == 0 && held.st_ino == named.st_ino &&
                 held.st_dev == named.st_dev;
    if (!there)
        errno = ENOENT;
    return there;
}

/*
 * Makes the directory readable for others, because mkdtemp makes it private and it becomes a snapshot. On failure,
 * returns false with errno set and leaves nothing behind; ENOENT means that another process removed the directory
 * meanwhile.
 */
static bool make_locked(struct workdir *workdir, const char *dir)
{
    const size_t room = sizeof workdir->path - WORKDIR_NAME_MAX;
    errno = ENAMETOOLONG;
    if ((size_t)snprintf(workdir->path, room, "%s/" RUNNING_PREFIX "XXXXXX", dir) >= room || !mkdtemp(workdir->path))
        return false;
    workdir->fd = open(workdir->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (workdir->fd >= 0 && fchmod(workdir->fd, 0755) == 0 && flock(workdir->fd, LOCK_EX) == 0 && is_there(workdir))
        return true;
    int error = errno;
    rmdir(workdir->path);
    cli_close(workdir->fd);
    workdir->fd = -1;
    errno = error;
    return false;
}

/* The directory is inside the store, so that it is on the same file system as its snapshot. */
bool workdir_make(struct workdir *workdir, const char *dir)
{
    enum { TRIES = 100 };
    int tries = 0;
    workdir->fd = -1;
    remove_abandoned(dir);
    do
        if (make_locked(workdir, dir))
            return true;
    while (errno == ENOENT && access(dir, F_OK) == 0 && ++tries < TRIES);
    return cli_refuse("cannot make a work directory in %s: %s", dir, strerror(errno));
}

char *workdir_file(char *out, const struct workdir *workdir, const char *name)
{
    assert(strlen(name) < WORKDIR_NAME_MAX);
    stpcpy(stpcpy(stpcpy(out, workdir->path), "/"), name);
    return out;
}

/* Removes the directory while it is locked, so that a process that looks for abandoned directories leaves it alone. */
void workdir_remove(struct workdir *workdir)
{
    if (workdir->fd < 0)
        return;
    remove_dir(AT_FDCWD, workdir->path, workdir->fd);
    close(workdir->fd);
    workdir->fd = -1;
}
