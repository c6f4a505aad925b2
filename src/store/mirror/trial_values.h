/* trial_values.h: the row of `trials` that a record of the log becomes. */
#pragma once

#include <sqlite3.h>

#include "mirror.h"

/* One value of a row of `trials`. `type` is SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT or SQLITE_NULL. */
struct mirror_value {
    int type;
    union {
        int64_t integer;
        double number;
        const char *text; /* belongs to the trial */
    } as;
};

/* Columns of `trials`: seq, line, offset, length and digest, the columns of the log, and five that are computed from them. */
enum { MIRROR_TRIAL_VALUES = LINEAGE_N_COLUMNS + 10 };

/* Computes the row of `trials` for a trial whose seq is set. */
void mirror_trial_values(struct mirror_value values[MIRROR_TRIAL_VALUES], const struct lineage_trial *trial,
                         const struct tsv_record *record, int64_t digest);
