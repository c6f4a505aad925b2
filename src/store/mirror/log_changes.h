/* log_changes.h: checks whether the mirrored bytes of the log have changed since they were read. */
#pragma once

#include "mirror.h"

/* *same is true if the header and the last record are unchanged. If the file looks edited in place, every record must
 * be unchanged. */
enum lineage_status mirror_check_ends(struct mirror *mirror, const struct log_state *log, bool *same, struct lineage_error *err);

/* *line is the line of the first changed record, or 0 if no record has changed. The mirror must have read something
 * before. */
enum lineage_status mirror_first_change(struct mirror *mirror, uint64_t *line, struct lineage_error *err);
