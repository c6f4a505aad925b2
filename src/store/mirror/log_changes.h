/* log_changes.h: were the mirrored bytes of the log changed since they were read? */
#ifndef MIRROR_LOG_CHANGES_H
#define MIRROR_LOG_CHANGES_H

#include "mirror.h"

/* *same: the header and the last record are unchanged; and every record, if the file looks edited in place. */
enum lineage_status mirror_check_ends(struct mirror *mirror, const struct log_state *log, bool *same,
                                      struct lineage_error *err);

/* *line is that of the first changed record, 0 if there is none. The mirror must have read something. */
enum lineage_status mirror_first_change(struct mirror *mirror, uint64_t *line, struct lineage_error *err);

#endif
