/* running_files.c: lists the trials that are running in a store. */
#include "support/running_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_locked(int fd)
{
    if (flock(fd, LOCK_SH | LOCK_NB) != 0)
        return true;
    flock(fd, LOCK_UN);
    return false;
}

/* O_NOFOLLOW, because a link with such a name leads out of the store. */
void running_each_dir(const char *store, void (*visit)(void *context, const char *name, int dir, bool held), void *context)
{
    DIR *dir = opendir(store);
    struct dirent *entry;
    int found = 0;
    while (dir && found < RUNNING_SHOWN && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, RUNNING_PREFIX, strlen(RUNNING_PREFIX)) != 0)
            continue;
        int work = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (work < 0)
            continue;
        visit(context, entry->d_name, work, is_locked(work));
        close(work);
        found++;
    }
    if (dir)
        closedir(dir);
}

FILE *running_open(int dir, const char *name, long long max_bytes)
{
    struct stat st;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= max_bytes;
    FILE *in = good ? fdopen(fd, "r") : NULL;
    if (!in && fd >= 0)
        close(fd);
    return in;
}

struct event_visit {
    void (*visit)(void *context, int events);
    void *context;
};

/* O_NOFOLLOW and O_NONBLOCK, because a trial owns its directory and may have put a link or a pipe there. */
static void visit_events(void *context, const char *name, int dir, bool held)
{
    const struct event_visit *v = context;
    (void)name;
    if (!held)
        return;
    int events = openat(dir, RUNNING_EVENTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    v->visit(v->context, events);
    if (events >= 0)
        close(events);
}

void running_each(const char *store, void (*visit)(void *context, int events), void *context)
{
    struct event_visit v = {visit, context};
    running_each_dir(store, visit_events, &v);
}
