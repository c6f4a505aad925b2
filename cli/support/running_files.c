/* running_files.c: which trials are at work in a store. */
#include "support/running_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static bool is_locked(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
        return true;
    flock(fd, LOCK_UN);
    return false;
}

/* O_NOFOLLOW and O_NONBLOCK: a trial owns its directory, and may have put a link or a pipe there. */
static bool visit_one(int store, const char *name, void (*visit)(void *context, int events), void *context)
{
    int work = openat(store, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (work < 0)
        return false;
    bool held = is_locked(work);
    if (held) {
        int events = openat(work, RUNNING_EVENTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        visit(context, events);
        if (events >= 0)
            close(events);
    }
    close(work);
    return held;
}

void running_each(const char *store, void (*visit)(void *context, int events), void *context)
{
    DIR *dir = opendir(store);
    struct dirent *entry;
    int found = 0;
    while (dir && found < RUNNING_SHOWN && (entry = readdir(dir)))
        if (strncmp(entry->d_name, RUNNING_PREFIX, strlen(RUNNING_PREFIX)) == 0)
            found += visit_one(dirfd(dir), entry->d_name, visit, context);
    if (dir)
        closedir(dir);
}
