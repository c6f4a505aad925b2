/*
 * workdir.c: make, lock, sweep and remove work directories of trials.
 *
 * What a killed process leaves behind is removed by the next one: nobody is there to clear it away
 * at the time, and a store must not fill up with the leavings of nights. A directory is in use
 * exactly as long as somebody holds its lock, which the kernel lets go when the process dies.
 */
#include "trial/workdir.h"

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


/* Deeper than anything that anybody makes on purpose; each level holds a descriptor. */
enum { DEPTH_MAX = 256 };

/* By descriptor, so that nothing outside can be swapped in by name, and without following links. */
static void empty_dir(int fd, int depth)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    if (!dir)
        close(fd);
    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), entry->d_name, 0) == 0 || depth == DEPTH_MAX)
            continue;
        int below = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below >= 0)
            empty_dir(below, depth + 1);
        unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
    if (dir)
        closedir(dir);
}

/* dup, as closedir would close the descriptor that holds the lock. */
static void remove_dir(int parent, const char *name, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0)
        empty_dir(copy, 0);
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
    while (dir && (entry = readdir(dir)))
        if (strncmp(entry->d_name, RUNNING_PREFIX, strlen(RUNNING_PREFIX)) == 0)
            remove_if_left(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
}

/* Until it is locked another process may take it for one that was left, and remove it: then it is gone, or its name is. */
static bool is_there(const struct workdir *workdir)
{
    struct stat held, named;
    return fstat(workdir->fd, &held) == 0 && stat(workdir->path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

/* False with errno; ENOENT if it was removed meanwhile. */
static bool make_locked(struct workdir *workdir, const char *dir)
{
    int n = snprintf(workdir->path, sizeof workdir->path, "%s/" RUNNING_PREFIX "XXXXXX", dir);
    errno = ENAMETOOLONG;
    if (n < 0 || (size_t)n >= sizeof workdir->path || !mkdtemp(workdir->path))
        return false;
    workdir->fd = open(workdir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (workdir->fd < 0 || chmod(workdir->path, 0755) != 0 || flock(workdir->fd, LOCK_EX) != 0)
        return false;
    errno = ENOENT;
    return is_there(workdir);
}

/* Inside the store, so that freezing a snapshot out of it stays on one file system. Readable by others, as a
 * snapshot is that is made from it; mkdtemp gives 0700. */
bool workdir_make(struct workdir *workdir, const char *dir)
{
    enum { TRIES = 100 };
    remove_left(dir);
    workdir->fd = -1;
    for (int i = 0; i < TRIES; i++) {
        if (make_locked(workdir, dir))
            return true;
        if (errno != ENOENT || access(dir, F_OK) != 0)
            break;
        if (workdir->fd >= 0)
            close(workdir->fd);
        workdir->fd = -1;
    }
    cli_error(CLI_SYSTEM, "cannot make a work directory in %s: %s", dir, strerror(errno));
    workdir_remove(workdir);
    return false;
}

char *workdir_file(char *out, const struct workdir *workdir, const char *name)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", workdir->path, name);
    if (n > 0 && n < PATH_MAX)
        return out;
    cli_error(CLI_SYSTEM, "the path of %s is too long", name);
    return NULL;
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
