/*
 * log_watch.c: waits for changes of a log by inotify, and by looking at the file every second.
 *
 * Only a look at the file decides whether the log has changed; inotify just tells when to look. So waiting also works
 * without inotify, and on a network file system, where inotify does not report writes of other machines.
 *
 * The file is watched for writes, and its directory for a file that replaces or creates the log.
 */
#include "log_watch.h"

#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "../clock.h"
#include "../files/fs.h"

enum { LOOK_MS = 1000 };

static void watch_file(struct log_watch *watch, const struct log *log, int dir_fd, const struct log_state *state)
{
    if (watch->fd < 0 || (watch->file >= 0 && memcmp(watch->identity, state->identity, sizeof watch->identity) == 0))
        return;
    if (watch->file >= 0)
        inotify_rm_watch(watch->fd, watch->file);
    watch->file = state->exists ? fs_watch_add(watch->fd, dir_fd, log->name, IN_MODIFY | IN_ATTRIB) : -1;
    memcpy(watch->identity, state->identity, sizeof watch->identity);
}

static void begin(struct log_watch *watch, int dir_fd)
{
    watch->begun = true;
    watch->file = -1;
    watch->fd = fs_watch_open();
    if (watch->fd >= 0)
        fs_watch_add(watch->fd, dir_fd, ".", IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE);
}

/* The contents of the events are ignored, because a look at the file shows what happened. */
static void sleep_until_told(const struct log_watch *watch, int milliseconds)
{
    char events[4096];
    struct pollfd fd = {watch->fd, POLLIN, 0};
    if (poll(&fd, watch->fd >= 0, milliseconds) <= 0)
        return;
    while (read(watch->fd, events, sizeof events) > 0)
        ;
}

/* The file is watched before it is looked at; otherwise a write in between would be noticed a second late. */
static enum lineage_status look(struct log_watch *watch, struct log *log, int dir_fd, bool *news, struct lineage_error *err)
{
    struct log_state now;
    enum lineage_status status = log_look(log, &now, err);
    if (status != LINEAGE_OK)
        return status;
    if (memcmp(watch->identity, now.identity, sizeof now.identity) != 0) {
        watch_file(watch, log, dir_fd, &now);
        status = log_look(log, &now, err);
    }
    *news = status == LINEAGE_OK && (now.exists != watch->seen.exists || now.size != watch->seen.size ||
                                     now.revision != watch->seen.revision || !log_is_same(&now, &watch->seen));
    if (status == LINEAGE_OK)
        watch->seen = now;
    return status;
}

enum lineage_status log_watch_wait(struct log_watch *watch, struct log *log, int dir_fd, int milliseconds, bool *news,
                                   struct lineage_error *err)
{
    const int64_t until = clock_now_ms() + milliseconds;
    const bool first = !watch->begun;
    if (first)
        begin(watch, dir_fd);
    for (;;) {
        enum lineage_status status = look(watch, log, dir_fd, news, err);
        *news = *news || first;
        int64_t left = milliseconds < 0 ? LOOK_MS : until - clock_now_ms();
        if (status != LINEAGE_OK || *news || left <= 0)
            return status;
        sleep_until_told(watch, left < LOOK_MS ? (int)left : LOOK_MS);
    }
}

void log_watch_end(struct log_watch *watch)
{
    if (watch->begun && watch->fd >= 0)
        fs_close(watch->fd);
    watch->begun = false;
}
