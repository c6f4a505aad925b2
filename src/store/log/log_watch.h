/* log_watch.h: waits until any program changes a log that is a file. */
#pragma once

#include "log.h"

/* A zeroed watch has not been started. */
struct log_watch {
    bool begun;
    int fd;                /* inotify; -1 if not available: then the file is looked at every second */
    int file;              /* the watch on the file, -1: none */
    uint64_t identity[2];  /* identity of that file */
    struct log_state seen;
};

/* Implements log_wait; dir_fd is the directory of the log. */
enum lineage_status log_watch_wait(struct log_watch *watch, struct log *log, int dir_fd, int milliseconds, bool *news,
                                   struct lineage_error *err);
void log_watch_end(struct log_watch *watch);
