/* ingest.h: turns new bytes of the log into rows of the mirror. */
#pragma once

#include "mirror.h"
#include "trial_values.h"

/* Reads the log from the watermark to the size in `log`. The caller holds the transaction. */
enum lineage_status mirror_ingest(struct mirror *mirror, const struct log_state *log, struct lineage_error *err);

/* Receives each trial, with its seq and line, and its row of `trials`. They are valid during the call. */
typedef enum lineage_status ingest_row_fn(void *context, const struct lineage_trial *trial,
                                          const struct mirror_value values[MIRROR_TRIAL_VALUES], struct lineage_error *err);

/* Like mirror_ingest, but calls row(context, ...) with each trial, and writes nothing to trials, param_rows, param_values and
 * ancestors. Makes no indexes. For a caller that compares the rows instead of asking questions about them. */
enum lineage_status mirror_ingest_parts(struct mirror *mirror, const struct log_state *log, ingest_row_fn *row, void *context,
                                        struct lineage_error *err);
