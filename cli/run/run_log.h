/*
 * run_log.h: keeps the beginning and the end of a command's output in files of bounded size.
 *
 * While it runs, output.0 holds the first RUN_LOG_BYTES, and the last two of output.1, output.2, .. hold the end. The
 * log is on disk at every moment, so that it survives a crash of the machine. When the command has ended, the parts are
 * joined to one file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUN_LOG_BYTES ((size_t)1 << 20)

enum { RUN_LOG_LAST = 131072 };

struct run_log {
    int dir; /* borrowed; a name could lead elsewhere, because the trial may rename its directory */
    int fd; /* descriptor of the current part; -1: none, and output is discarded */
    unsigned part;
    size_t in_part;
    char last[RUN_LOG_LAST]; /* a ring buffer of the latest bytes */
    uint64_t total;
};

/* Opens the log in the open directory dir, which must stay open until run_log_close. Returns false after printing the error. */
bool run_log_open(struct run_log *log, int dir);
void run_log_write(struct run_log *log, const char *bytes, size_t n);
void run_log_close(struct run_log *log);

/*
 * Joins the parts in the open directory to one file, output.0, with a line that says how many bytes are left out. Returns false on
 * failure.
 */
bool run_log_join(int dir);

/* Copies the latest bytes since log->total was `since`, at most RUN_LOG_LAST, and returns their number. */
size_t run_log_copy(const struct run_log *log, uint64_t since, char out[RUN_LOG_LAST]);

/* The last lines with words, at most three, without their indent, as one line that can be part of notes (free); NULL if there are none. */
char *run_log_last_lines(const struct run_log *log);
