/* import.h: imports the bytes of a log that is already in memory. */
#pragma once

#include <lineage/verify.h>

#include "../internal.h"

/* Like lineage_import, for the contents of a file instead of its path. After a failure *stats is zeroed. */
enum lineage_status import_bytes(struct lineage_store *store, const struct buf *bytes, const char *metric,
                                 struct lineage_import_stats *stats, lineage_finding_fn *report, void *context,
                                 struct lineage_error *err);
