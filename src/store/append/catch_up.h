/* catch_up.h: bringing a writing handle up to date with the log. */
#ifndef APPEND_CATCH_UP_H
#define APPEND_CATCH_UP_H

#include "../internal.h"
#include "../log/log.h"

/* Call it before the log is claimed: the mirror reads what is new, which may take seconds. */
enum lineage_status append_get_ready(struct lineage_store *store, struct lineage_error *err);

/* Call it under the claim, with `end` the state of the log: makes store->append valid, and mends a torn record at the
 * end of the log, which changes *end. */
enum lineage_status append_catch_up(struct lineage_store *store, struct log_state *end, struct lineage_error *err);

/* mirror_mended, which also forgets what was learned from the damaged mirror. */
bool append_mended(struct lineage_store *store);

#endif
