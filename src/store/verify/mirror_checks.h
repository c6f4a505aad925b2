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

/*
 * Checks, using little memory, whether the mirror on disk covers the whole log correctly. `apart` is a mirror in memory
 * that is used for the check and is empty afterwards. If *sound is true, the mirror on disk stays unchanged until
 * mirror_leave_sound, and can be queried instead of a mirror built from the log; do not sync it meanwhile. If *sound is
 * false, the mirror is not sound or this could not be determined; call mirror_check, which reports what is wrong.
 * Writes nothing.
 */
enum lineage_status mirror_enter_sound(struct mirror *on_disk, struct mirror *apart, bool *sound, struct lineage_error *err);
void mirror_leave_sound(struct mirror *on_disk);

/* Checks whether the mirror on disk is intact and, row by row, the same as one just built in memory from the log
 * (which may have grown since). Reports differences; writes nothing. */
enum lineage_status mirror_check(struct mirror *on_disk, struct mirror *truth, lineage_finding_fn *report, void *context,
                                 struct lineage_error *err);
