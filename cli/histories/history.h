/*
 * history.h: reads what other tools have recorded about runs: trackers, sweeps, agents that search for programs, and tables.
 *
 * Every reader gives the same form, a JSON object, so that one piece of code makes rows of it (history_rows.h):
 *
 *   {"tool": "optuna", "version": "5.0.0", "study": "cifar", "directions": {"value": "maximize"}, "score": "value",
 *    "aliases": {"value_0": "value"}, "left_out": {"deleted runs": 2}, "ends_unknown": true, "runs": [
 *     {"key": "7", "name": "trial 7", "notes": "..", "state": "finished", "started": 1.7e9, "ended": 1.7e9, "parent": "3",
 *      "code": {"main.py": ".."}, "broken": "constraint memory is 0.1 above 0",
 *      "params": {"lr": 0.1, "opt": "adam"}, "metrics": {"value": 0.5}, "curves": {"loss": [[0, 2.5], [1, 2.1]]}}]}
 *
 * state is finished, failed, killed, pruned or running; times are seconds since 1970; metrics are the last values, "nan", "inf" or
 * "-inf" if they are not finite, and curves the finite values of steps. A run that is `broken` does not meet a constraint, and one
 * that `groups` others is a trial only if it has a score; a `weak` key may be that of another run. Members are missing where the tool does not record them. `left_out` of a
 * run counts values that are not finite. `ends_unknown`: the tool does not record how a run ended;
 * `caution`: what the user should know about its values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include <jansson.h>

enum { HISTORY_WHY_MAX = 1024 };

struct history_options {
    const char *tool;       /* one of history_tool_at; NULL: found out from the content */
    const char *study;      /* name of the study, experiment or project; NULL: the only one */
    const char *metric;     /* the score: a column of a table with this name is a metric; NULL: not known */
    const char *const *map; /* of a table, COLUMN=ROLE each, ended by NULL (read_table.c); NULL: none */
    double since, until; /* event files and run logs count that were written in this time, seconds since 1970; until 0: now */
    bool beside; /* an event file is read with those beside it, which have the other parts of its run */
};

/* Returns the i-th tool's name, or NULL after the last one. */
const char *history_tool_at(size_t i);

/* Returns the name of the tool that wrote a file or a directory, or NULL with errno 0 if it is none of them. */
const char *history_tool_of(const char *path);

/* Returns the column of the score (metric, or if NULL core_metric or val_bpb) if the table is a log, with exp_id or commit, that
 * lineage_import reads; else NULL. */
const char *history_log_score(const char *path, const char *metric);

/* Whether the file is an archive, a pickle, YAML or a drawn table, of which no column could be named. */
bool history_is_no_log(const char *path);

/* Returns the history with its runs in the order in which they started, or NULL with the reason, which names the file. */
json_t *history_read(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX]);

/* Whether it is a file that was written in the time of the options. */
bool history_in_time(const struct stat *st, const struct history_options *options);

/* When the file was last written, in seconds since 1970. */
double history_written(const struct stat *st);

/* Reads a text file of at most most_bytes. Returns it (free), or NULL with the reason, which names the file. */
char *history_file_text(const char *path, size_t most_bytes, size_t *length, char why[HISTORY_WHY_MAX]);
