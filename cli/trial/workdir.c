/*
 * workdir.c: make, lock, sweep and remove work directories of trials.
 *
 * What a killed process leaves behind is removed by the next one: nobody is there to clear it away
 * at the time, and a store must not fill up with the leavings of nights. A directory is in use
 * exactly as long as somebody holds its lock, which the kernel lets go when the process dies.
 */
#include "trial/workdir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "support/running_files.h"

/* Each level holds a descriptor: what lies deeper is moved to the top, and is had in the next round. */
enum { DEPTH_MAX = 256 };

static bool raise_to(int top, int dir, const struct dirent *entry)
{
    char name[40];
    snprintf(name, sizeof name, ".deep-%llu", (unsigned long long)entry->d_ino);
    return renameat(dir, entry->d_name, top, name) == 0;
}

/* By descriptor, so that nothing outside can be swapped in by name, and without following links. Directories that were
 * made read-only, as caches of packages are, are writable before. True if something was moved to the top. */
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

/* A descriptor of each round's own: the one given holds the lock, and closedir would close it. */
static void remove_dir(int parent, const char *name, int fd)
{
    int copy;
    do
        copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (copy >= 0 && empty_dir(fd, copy, 0));
    unlinkat(parent, name, AT_REMOVEDIR);
}

/* The lock decides, not age: a trial may work for days, and one that was killed a second ago is
 * garbage. O_NOFOLLOW: a link by that name leads somewhere else, and what is there is not ours
 * to empty. */
static void remove_if_left(int parent, const char *name)
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

static void remove_left(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    if (!dir)
        return;
    while ((entry = readdir(dir)))
        if (strncmp(entry->d_name, RUNNING_PREFIX, strlen(RUNNING_PREFIX)) == 0)
            remove_if_left(dirfd(dir), entry->d_name);
    closedir(dir);
}

/* Until it is locked another process may take it for one that was left, and remove it: then it is gone, or its name is
 * of another. */
static bool is_there(const struct workdir *workdir)
{
    struct stat held, named;
    bool there = fstat(workdir->fd, &held) == 0 && stat(workdir->path, &named) == 0 && held.st_ino == named.st_ino;
    if (!there)
        errno = ENOENT;
    return there;
}

/* Readable by others, as a snapshot is that is made from it; mkdtemp gives 0700. False with errno, and nothing is left;
 * ENOENT if it was removed meanwhile. */
static bool make_locked(struct workdir *workdir, const char *dir)
{
    const size_t room = sizeof workdir->path - WORKDIR_NAME_MAX;
    errno = ENAMETOOLONG;
    if ((size_t)snprintf(workdir->path, room, "%s/" RUNNING_PREFIX "XXXXXX", dir) >= room || !mkdtemp(workdir->path))
        return false;
    workdir->fd = open(workdir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (workdir->fd >= 0 && fchmod(workdir->fd, 0755) == 0 && flock(workdir->fd, LOCK_EX) == 0 && is_there(workdir))
        return true;
    int error = errno;
    rmdir(workdir->path);
    if (workdir->fd >= 0)
        close(workdir->fd);
    workdir->fd = -1;
    errno = error;
    return false;
}

/* Inside the store, so that freezing a snapshot out of it stays on one file system. */
bool workdir_make(struct workdir *workdir, const char *dir)
{
    enum { TRIES = 100 };
    int tries = 0;
    workdir->fd = -1;
    remove_left(dir);
    do
        if (make_locked(workdir, dir))
            return true;
    while (errno == ENOENT && access(dir, F_OK) == 0 && ++tries < TRIES);
    cli_error(CLI_SYSTEM, "cannot make a work directory in %s: %s", dir, strerror(errno));
    return false;
}

char *workdir_file(char *out, const struct workdir *workdir, const char *name)
{
    assert(strlen(name) < WORKDIR_NAME_MAX);
    stpcpy(stpcpy(stpcpy(out, workdir->path), "/"), name);
    return out;
}

/* Removed while it is still locked: another process that sweeps at this moment leaves it alone. */
void workdir_remove(struct workdir *workdir)
{
    if (workdir->fd < 0)
        return;
    remove_dir(AT_FDCWD, workdir->path, workdir->fd);
    close(workdir->fd);
    workdir->fd = -1;
}
