/* telemetry_line.h: lines of JSON in the telemetry directory of a store. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include <jansson.h>
#include <lineage/store.h>

/* Writes the path of the file, and creates the directory if it is missing. */
bool telemetry_path(char path[PATH_MAX], struct lineage_store *store, const char *name);

/* Appends the object as a line by a single write, so that a killed night leaves whole lines. Returns false after printing a
 * message. */
bool telemetry_line_append(struct lineage_store *store, const char *name, const json_t *object);
