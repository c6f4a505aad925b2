/*
 * printed_object.h: finds numbers by the names of the objects around them, as JSON and Python's dictionaries are printed, in one line or
 * over several: `{"val": {"loss": 0.4}}` has val/loss.
 */
#pragma once

#include "metrics/metric_scan.h"

enum { OBJECT_DEPTH = 16, OBJECT_PATH_BYTES = 256 };

/* The objects that are open at the end of a line. An object of zero bytes ({0}) is valid: none is. */
struct printed_object {
    char path[OBJECT_PATH_BYTES]; /* their names, joined by '/'; "" if they have none */
    size_t ends[OBJECT_DEPTH];    /* the lengths of the path before each of them */
    size_t depth;
    bool lists; /* the last line ended with `[` or `,`, so that the next one may begin with a number */
};

/* Reports the numbers whose names, as asked for, begin with that of an object. Returns whether there were any. Call it once for each line. */
bool printed_object_scan(struct printed_object *object, const struct metric_query *query, const char *line, size_t length,
                         metric_found_fn *found, void *context);
