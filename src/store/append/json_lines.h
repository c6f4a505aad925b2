/*
 * json_lines.h: files beside the log that hold one JSON object per line and only grow: remarks and insights.
 *
 * An append is one write under an exclusive flock on the file, then a sync. A torn last line does not affect the
 * others: readers skip lines that are not JSON, and the next append starts a new line.
 */
#pragma once

#include <jansson.h>

#include "../internal.h"

/*
 * Appends the object and takes over the caller's reference. A NULL object counts as out of memory. With number_key, the
 * object gets the next number under that key (one more than the largest in the file, from 1), which is stored in
 * *number.
 */
enum lineage_status json_lines_append(struct lineage_store *store, const char *place, json_t *object, const char *number_key,
                                      uint64_t *number, struct lineage_error *err);

/* Calls visit for each object, oldest first, until visit returns false. A missing file counts as empty. */
enum lineage_status json_lines_read(struct lineage_store *store, const char *place,
                                    bool (*visit)(void *context, const json_t *object), void *context, struct lineage_error *err);
