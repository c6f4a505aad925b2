/*
 * running_files.h: the files of a running trial. Its directory in the store is RUNNING_PREFIX plus six letters and is
 * locked by the process that runs the trial. RUNNING_EVENTS in it holds the trial's events so far, one JSON object per
 * line (schema/events.schema.json, and first {"name": TEXT, "params": {NAME: NUMBER or TEXT}}; trials in Python add their
 * "hypothesis", "parent" and "specialist"). `lineage-train` and the Python package write
 * these files; `lineage serve` and `lineage suggest` read them.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define RUNNING_PREFIX ".trial-"
#define RUNNING_EVENTS "events.jsonl"

/*
 * The directory of a Python trial also holds the future contents of its row, and that of a command's trial holds: the future contents of its row (a JSON object, see
 * cli/run/abandoned_trial.c), the pipe for its events, its work directory, its output (output.0 is the beginning; of
 * the later files the last two are kept), and its provenance.
 */
#define RUNNING_TRIAL "trial.json"
#define RUNNING_PIPE "events"
#define RUNNING_WORK "work"
#define RUNNING_OUTPUT "output."
#define RUNNING_PROVENANCE "provenance"

/* At most this many running trials are visited. */
enum { RUNNING_SHOWN = 64 };

/* Visits the directory of each trial, with its name and descriptor; held says whether its process still runs. */
void running_each_dir(const char *store, void (*visit)(void *context, const char *name, int dir, bool held), void *context);

/*
 * Opens a file in the open directory of a trial for reading. The trial may have put anything there: returns NULL if it is not a regular
 * file (a link, a pipe and a device are not), or has more than max_bytes.
 */
FILE *running_open(int dir, const char *name, long long max_bytes);

/* Visits each trial whose process still runs, with a descriptor of its events file, or -1 if it cannot be opened. */
void running_each(const char *store, void (*visit)(void *context, int events), void *context);
