/* mirror_checks.h: reports faults of rows and of lineage.db itself. Call mirror_sync first. */
#pragma once

#include <lineage/verify.h>

#include "../mirror/mirror.h"

/* Checks whether the mirror on disk is intact and, row by row, the same as one just built from the log (which may
 * have grown since). Reports differences; writes nothing. */
enum lineage_status mirror_check(struct mirror *on_disk, struct mirror *truth, lineage_finding_fn *report, void *context,
                                 struct lineage_error *err);
