/* mirror_checks.h: reports faults of rows and of lineage.db itself. Call mirror_sync first. */
#pragma once

#include <lineage/verify.h>

#include "../mirror/mirror.h"

/* Reports the faults that the sync found in records, in the order of the log. */
enum lineage_status mirror_findings(struct mirror *mirror, lineage_finding_fn *report, void *context, struct lineage_error *err);

/* Reports ids that are empty or used twice, parents that do not exist, and times that cannot be read. */
enum lineage_status mirror_id_faults(struct mirror *mirror, lineage_finding_fn *report, void *context, struct lineage_error *err);

/* Reports the trials whose parents lead into a cycle. */
enum lineage_status mirror_cycles(struct mirror *mirror, lineage_finding_fn *report, void *context, struct lineage_error *err);

/* Checks whether the mirror on disk is intact and, row by row, the same as one just built from the log (which may
 * have grown since). Reports differences; writes nothing. */
enum lineage_status mirror_check(struct mirror *on_disk, struct mirror *truth, lineage_finding_fn *report, void *context,
                                 struct lineage_error *err);
