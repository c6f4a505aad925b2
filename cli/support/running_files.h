/*
 * running_files.h: where a trial at work stands in its store: a directory RUNNING_PREFIX + six letters, locked by the
 * process that runs it, with what it said so far in RUNNING_EVENTS, one JSON object a line (schema/events.schema.json,
 * and first {"name": TEXT, "params": {NAME: NUMBER or TEXT}}). `lineage-train` writes them, `lineage serve` and
 * `lineage suggest` read them.
 */
#ifndef CLI_RUNNING_FILES_H
#define CLI_RUNNING_FILES_H

#include <stdbool.h>

#define RUNNING_PREFIX ".trial-"
#define RUNNING_EVENTS "events.jsonl"

/*
 * Of a command's trial besides: what its row will say (a JSON object, see cli/run/left_trial.h), the pipe for its events,
 * its own directory, what it printed (output.0 is the beginning, of those behind it the last two are there), and what it
 * was run from.
 */
#define RUNNING_TRIAL "trial.json"
#define RUNNING_PIPE "events"
#define RUNNING_WORK "work"
#define RUNNING_OUTPUT "output."
#define RUNNING_PROVENANCE "provenance"

/* Trials at work in a store that are visited at most. */
enum { RUNNING_SHOWN = 64 };

/* Visit each directory of a trial, with its name and descriptor, and whether its process holds it. */
void running_each_dir(const char *store, void (*visit)(void *context, const char *name, int dir, bool held), void *context);

/* Visit each directory of a trial that is held by its process with a descriptor of its events file, or -1. */
void running_each(const char *store, void (*visit)(void *context, int events), void *context);

#endif
