/* log_watch.h: waiting for a log that is a file to change, by whatever program. */
#ifndef LOG_LOG_WATCH_H
#define LOG_LOG_WATCH_H

#include "log.h"

/* Zeroed: not begun. */
struct log_watch {
    bool begun;
    int fd;                /* of inotify; -1: there is none, and the file is looked at from time to time */
    int file;              /* the watch on the file, -1: none */
    uint64_t identity[2];  /* of that file */
    struct log_state seen;
};

/* log_wait; dir_fd is where the log's name is. */
enum lineage_status log_watch_wait(struct log_watch *watch, struct log *log, int dir_fd, int milliseconds, bool *news,
                                   struct lineage_error *err);
void log_watch_end(struct log_watch *watch);

#endif
