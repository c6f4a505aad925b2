/*
 * append.c: appends one row to the log.
 *
 * What a row says about other rows (id, parent, best so far, delta, keep or discard: append_rules.c) is decided under
 * the claim of the log, so that nobody can add a better trial or the same id in between. Slow work (checking, copying
 * the snapshot) is done before the claim, because other writers wait while it is held.
 *
 * Everything that can be refused is refused before the first byte is written. Telemetry and snapshot (append_files.c) are
 * put in place before the row, and removed again if the row does not get into the log.
 *
 * A kill can leave files without a row, or a part of a row without a line end, which the next append moves aside. Only
 * a record with its line end is a row, so nothing else has to be undone (FORMAT.md, "What can be in the file after a
 * crash"; tests/fault/append_faults.c fails each system call in turn).
 *
 * The mirror is not part of an append. It is read, and brought up to date before the claim only if it lags far (mirror_meet). A
 * locked or damaged mirror delays no append and loses no row.
 */

#include <math.h>

#include <lineage/notes.h>
#include <lineage/voids.h>

#include "../code/code_offer.h"
#include "../format/row.h"
#include "../mirror/mirror.h"
#include "../questions/questions.h"
#include "outbox.h"

enum lineage_status lineage_store_append_check(struct lineage_store *store, const struct lineage_trial *trial,
                                               const struct lineage_append_options *options, struct lineage_error *err)
{
    struct lineage_append_options defaults;
    struct appending a = {.store = store, .options = options};
    if (!options) {
        lineage_append_options_init(&defaults);
        a.options = &defaults;
    }
    TRY(store_check_owner(store, err));
    TRY(appending_begin(&a, err));
    enum lineage_status status = appending_check(&a, trial, err);
    if (status == LINEAGE_OK && log_has_requests(store->log)) { /* a trial waits in the outbox while the server is away */
        if (store->log->read_only)
            status = store_fail(err, LINEAGE_EREFUSED, "this user may read %s but not append to it", store->log->place);
    } else if (status == LINEAGE_OK && (status = appending_claim(&a, err)) == LINEAGE_OK) {
        status = appending_check_locked(&a, err);
    }
    append_forget(store->append);
    arena_reset(a.arena);
    return status;
}

enum lineage_status lineage_store_append(struct lineage_store *store, const struct lineage_trial *trial,
                                         const struct lineage_append_options *options, struct lineage_trial *row,
                                         struct lineage_error *err)
{
    struct lineage_append_options defaults;
    struct snapshot snapshot;
    struct appending a = {.store = store, .options = options};
    if (!options) {
        lineage_append_options_init(&defaults);
        a.options = &defaults;
    }
    if (row)
        *row = (struct lineage_trial){0};
    TRY(store_check_owner(store, err));
    TRY(appending_begin(&a, err));
    enum lineage_status status = appending_check(&a, trial, err);
    if (status == LINEAGE_OK)
        status = appending_copy_snapshot(&a, &snapshot, err);
    if (status != LINEAGE_OK)
        goto done;
    if (log_has_requests(store->log)) {
        status = outbox_append(&a, err);
    } else if ((status = appending_claim(&a, err)) == LINEAGE_OK) {
        status = appending_locked(&a, err);
        log_release(store->log);
    }
    if (status != LINEAGE_OK)
        goto done;
    appending_follow(store, a.options);
    if (row)
        status = appending_give_row(row, &a, err);

done:
    if (a.snapshot)
        snapshot_release(a.snapshot, store->dir_fd);
    arena_reset(a.arena);
    if (status == LINEAGE_OK && !a.kept && store->append->outbox_waits) /* the server can be reached again */
        outbox_deliver_waiting(store);
    return status;
}
