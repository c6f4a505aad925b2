/* catch_up.h: bringing a writing handle up to date with the log. */
#pragma once

#include "../internal.h"
#include "../log/log.h"

/* Call it before the log is claimed. The mirror reads the new rows, which may take seconds; if it may lag, a few are left to the
 * caller, which then calls append_catch_up_and. */
enum lineage_status append_get_ready(struct lineage_store *store, bool may_lag, struct lineage_error *err);

/* Call it under the claim, with `end` the state of the log: makes store->append valid, and mends a torn record at the
 * end of the log, which changes *end. */
enum lineage_status append_catch_up(struct lineage_store *store, struct log_state *end, struct lineage_error *err);

/*
 * Calls append_catch_up, and after it then(context), which completes the new rows; `then` may be NULL. If lineage.db
 * turns out to be damaged, the mirror is rebuilt and both calls are repeated, because the best trial and the ids may
 * have been wrong.
 */
typedef enum lineage_status append_decide_fn(void *context, struct lineage_error *err);
enum lineage_status append_catch_up_and(struct lineage_store *store, struct log_state *end, append_decide_fn *then, void *context,
                                        struct lineage_error *err);
