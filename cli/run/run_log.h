/*
 * run_log.h: what a command prints, kept in files of bounded size: the beginning and the end.
 *
 * While it runs: output.0 with the first RUN_LOG_BYTES, then output.1, output.2, .., of which the last two are there. On
 * disk at every moment, so that a machine that goes down leaves what was printed until then. At its end all that is
 * there is one file.
 */
#ifndef CLI_RUN_LOG_H
#define CLI_RUN_LOG_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_LOG_BYTES ((size_t)1 << 20)

enum { RUN_LOG_LAST = 4096 };

struct run_log {
    char dir[PATH_MAX];
    int fd; /* of the file that is written; -1: none, what comes is lost */
    unsigned part;
    size_t in_part;
    char last[RUN_LOG_LAST]; /* the latest bytes, in a circle */
    uint64_t total;
};

/* In dir. False after printing why. */
bool run_log_open(struct run_log *log, const char *dir);
void run_log_write(struct run_log *log, const char *bytes, size_t n);
void run_log_close(struct run_log *log);

/* Make one file of the parts in dir, output.0 of all; what was left out is said in between. False if it cannot be done. */
bool run_log_join(const char *dir);

/* The last lines that are not empty, at most three, made harmless, on one line (free). NULL: there are none. */
char *run_log_last_lines(const struct run_log *log);

#endif
