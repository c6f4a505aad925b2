/* append_rows.h: the trials of an `append` that records several rows. */
#pragma once

#include "commands/append_request.h"

struct append_rows {
    struct lineage_trial *trials; /* [n]; their settings and texts are in memory */
    bool *auto_status;            /* [n] */
    struct append_row_memory *memory;
    size_t n, capacity;
};

/* Takes over the trial of a request and the JSON object that holds its texts. Prints a message and returns false when
 * out of memory. */
bool append_rows_add(struct append_rows *rows, struct append_request *request);

void append_rows_release(struct append_rows *rows);
