/* paths.c: returns files of a store as paths that its owner can open. */
#include <lineage/blobs.h>
#include <lineage/snapshot.h>

#include "append/acknowledged.h"
#include "files/fs.h"
#include "files/places.h"
#include "internal.h"

enum lineage_status lineage_store_path(char **path, const struct lineage_store *store, enum lineage_place place,
                                       struct lineage_error *err)
{
    static const char *const names[] = {
        [LINEAGE_PLACE_SETTINGS] = PLACE_CONFIG,     [LINEAGE_PLACE_TELEMETRY] = PLACE_TELEMETRY,
        [LINEAGE_PLACE_SNAPSHOTS] = PLACE_SNAPSHOTS, [LINEAGE_PLACE_CHECKPOINTS] = PLACE_CHECKPOINTS,
        [LINEAGE_PLACE_KNOWLEDGE] = PLACE_KNOWLEDGE, [LINEAGE_PLACE_RENDERED] = PLACE_RENDERED,
        [LINEAGE_PLACE_LOGS] = PLACE_LOGS,           [LINEAGE_PLACE_PROVENANCE] = PLACE_PROVENANCE,
        [LINEAGE_PLACE_CODE] = PLACE_CODE,           [LINEAGE_PLACE_HELD_OUT] = PLACE_HELD_OUT,
        [LINEAGE_PLACE_EXAMPLES] = PLACE_EXAMPLES};
    struct buf text = {0};
    *path = NULL;
    if (place == LINEAGE_PLACE_REPEATED_RUNS) {
        if (!acknowledged_runs(&text, store)) {
            buf_release(&text);
            return store_fail(err, LINEAGE_EINVAL, "this user's state directory does not repeat the rows of %s", store->dir);
        }
        *path = text.data;
        return LINEAGE_OK;
    }
    if ((size_t)place >= sizeof names / sizeof *names)
        return store_fail(err, LINEAGE_EINVAL, "a store has no place number %d", (int)place);
    buf_printf(&text, "%s/%s", store->dir, names[place]);
    if (text.failed)
        return store_no_memory(err);
    *path = text.data;
    return LINEAGE_OK;
}

enum lineage_status lineage_snapshot_path(char **path, struct lineage_store *store, const struct lineage_trial *trial,
                                          struct lineage_error *err)
{
    struct buf text = {0};
    const char *relative = trial->snapshot_path ? trial->snapshot_path : "";
    *path = NULL;
    if (!*relative)
        return store_fail(err, LINEAGE_ENOTFOUND, "trial '%.80s' has no snapshot", trial->exp_id);
    if (!fs_is_dir_below(store->dir_fd, relative)) { /* it may be on the server */
        enum lineage_status status = lineage_blob_get(store, relative, err);
        if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND && status != LINEAGE_EINVAL)
            return status;
    }
    if (!fs_is_dir_below(store->dir_fd, relative))
        return store_fail(err, LINEAGE_ENOTFOUND,
                          "the snapshot %.200s of trial '%.80s' is gone, or is not a directory of the store %.100s", relative,
                          trial->exp_id, store->dir);
    buf_printf(&text, "%s/%s", store->dir, relative);
    if (text.failed)
        return store_no_memory(err);
    *path = text.data;
    return LINEAGE_OK;
}
