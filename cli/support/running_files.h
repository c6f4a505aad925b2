/*
 * running_files.h: where a trial at work stands in its store: a directory RUNNING_PREFIX + six letters, locked by the
 * process that runs it, with what it said so far in RUNNING_EVENTS, one JSON object a line (schema/events.schema.json,
 * and first {"name": TEXT, "params": {NAME: NUMBER or TEXT}}). `lineage-train` writes them, `lineage serve` and
 * `lineage suggest` read them.
 */
#ifndef CLI_RUNNING_FILES_H
#define CLI_RUNNING_FILES_H

#define RUNNING_PREFIX ".trial-"
#define RUNNING_EVENTS "events.jsonl"

/* Trials at work in a store that are visited at most. */
enum { RUNNING_SHOWN = 64 };

/* Visit each directory of a trial that is held by its process with a descriptor of its events file, or -1. */
void running_each(const char *store, void (*visit)(void *context, int events), void *context);

#endif
