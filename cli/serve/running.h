/*
 * running.h: the running trials of a store, from their work directories. Each directory is locked, and holds the
 * trial's events so far in LINEAGE_EVENTS_FILE, one JSON object per line (schema/events.schema.json).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Prints the trials as HTML with their curves, or a remark if there are none. `named`: with the path of the store. */
void running_print(FILE *out, const char *store, bool named);

/* Returns a number that changes when the trials' events change. */
uint64_t running_state(const char *store);
