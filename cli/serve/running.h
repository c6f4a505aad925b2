/*
 * running.h: trials at work in a store right now, as their work directories tell: each holds a lock, and what the trial
 * said so far in LINEAGE_EVENTS_FILE, a line of JSON for each event (schema/events.schema.json).
 */
#ifndef SERVE_RUNNING_H
#define SERVE_RUNNING_H

#include <stdint.h>
#include <stdio.h>

/* Print them as HTML, with their curves; says so if there is none. */
void running_print(FILE *out, const char *store);

/* A number that changes when they do. */
uint64_t running_state(const char *store);

#endif
