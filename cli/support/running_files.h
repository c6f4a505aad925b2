/*
 * running_files.h: where a trial at work stands in its store: a directory RUNNING_PREFIX + six letters, locked by the
 * process that runs it, with what it said so far in RUNNING_EVENTS, one JSON object a line (schema/events.schema.json,
 * and first {"name": TEXT}). `lineage-train` writes them, `lineage serve` reads them.
 */
#ifndef CLI_RUNNING_FILES_H
#define CLI_RUNNING_FILES_H

#define RUNNING_PREFIX ".trial-"
#define RUNNING_EVENTS "events.jsonl"

#endif
