/* mirror_checks.h: what is wrong with rows, and with lineage.db itself. Call mirror_sync first. */
#ifndef VERIFY_MIRROR_CHECKS_H
#define VERIFY_MIRROR_CHECKS_H

#include <lineage/verify.h>

#include "../mirror/mirror.h"

/* What the sync found wrong with records, in the order of the log. */
enum lineage_status mirror_findings(struct mirror *mirror, lineage_finding_fn *report, void *context,
                                   struct lineage_error *err);

/* Ids that are empty or used twice, parents that are nowhere. */
enum lineage_status mirror_id_faults(struct mirror *mirror, lineage_finding_fn *report, void *context,
                                    struct lineage_error *err);

/*
 * Whether the index on disk covers the whole log and is what it should be, found out in little memory with the help of
 * another one, `apart`, in memory, which is empty afterwards. If so (*sound), it stands still until mirror_leave_sound and
 * can be asked instead of one made from the log; it is not to be synced meanwhile. If not, or if that cannot be told,
 * mirror_check says what is wrong. Writes nothing.
 */
enum lineage_status mirror_enter_sound(struct mirror *on_disk, struct mirror *apart, bool *sound, struct lineage_error *err);
void mirror_leave_sound(struct mirror *on_disk);

/* Whether the index on disk is what it should be: sound in itself, and the same, row by row, as one
 * just made in memory from the log (which may have grown since). Writes nothing. */
enum lineage_status mirror_check(struct mirror *on_disk, struct mirror *truth, lineage_finding_fn *report,
                                void *context, struct lineage_error *err);

#endif
