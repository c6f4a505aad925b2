/*
 * append_files.c: the files of a row: its telemetry, and the snapshot of a trial that is kept.
 *
 * A snapshot is copied before the claim and gets its final name under it. If the process is killed before the rename,
 * the copy has a temporary name and is no longer locked, so the next append removes it. If the process is killed after
 * the rename, files without a row are left: `verify` reports them, and the next row with that id replaces them.
 */

#include <lineage/blobs.h>

#include "../blobs/blobs.h"
#include "../files/fs.h"
#include "../files/places.h"
#include "../files/telemetry.h"
#include "../questions/questions.h"
#include "outbox.h"

/* With auto_status the label is not known yet, but the snapshot is copied anyway. Copying under the claim would make
 * other writers wait, because it takes long. The snapshot of a discarded trial is removed again. */
enum lineage_status appending_copy_snapshot(struct appending *a, struct snapshot *snapshot, struct lineage_error *err)
{
    if (!a->options->snapshot_dir || (!a->options->auto_status && !lineage_label_is_kept(a->checked.status)))
        return LINEAGE_OK;
    *snapshot = (struct snapshot){0};
    a->snapshot = snapshot;
    enum lineage_status status = snapshot_copy(snapshot, a->store->dir_fd, a->options->snapshot_dir, !a->options->no_sync, err);
    if (status == LINEAGE_OK)
        status = blobs_offer(a->store, snapshot->temporary, err);
    return status == LINEAGE_EAWAY ? LINEAGE_OK : status; /* the snapshot is sent when the row is delivered */
}

/* Ids and specialists may contain `_`, so two rows may need the same name (exp 1, "a_b" and exp "1_a", "b"); then the
 * name of the later row gets a number. A directory that no row names was left by a killed append and is replaced. */
struct naming {
    struct appending *a;
    char *path; /* [PLACE_MAX] */
};

static enum lineage_status find_name(void *question, struct lineage_error *err)
{
    struct appending *a = ((struct naming *)question)->a;
    char *path = ((struct naming *)question)->path;
    struct lineage_store *store = a->store;
    const char *specialist = a->trial.specialist ? a->trial.specialist : "";
    enum lineage_status status = LINEAGE_OK;
    bool taken = true;
    if (!place_snapshot(path, a->trial.exp_id, specialist))
        return store_fail(err, LINEAGE_EINVAL, "exp_id '%.60s' cannot name a snapshot", a->trial.exp_id);
    if (!fs_is_dir(store->dir_fd, path))
        return LINEAGE_OK;
    if (store->append->ids.n) /* unread rows may name this path too */
        status = mirror_sync(store->mirror, err);
    for (unsigned n = 2; status == LINEAGE_OK; n++) {
        status = mirror_is_snapshot(store->mirror, path, &taken, err);
        if (status != LINEAGE_OK || !taken)
            break;
        place_snapshot_again(path, a->trial.exp_id, specialist, n);
    }
    return status;
}

/* The mirror may be replaced or damaged by others at any moment, which must not fail a row. */
static enum lineage_status name_snapshot(struct appending *a, char path[PLACE_MAX], struct lineage_error *err)
{
    return mirror_ask(a->store->mirror, find_name, &(struct naming){a, path}, err);
}

static enum lineage_status publish_snapshot(struct appending *a, struct lineage_error *err)
{
    char path[PLACE_MAX];
    enum lineage_status status = name_snapshot(a, path, err);
    if (status == LINEAGE_OK)
        status = snapshot_publish(a->snapshot, a->store->dir_fd, path, !a->options->no_sync, err);
    a->trial.snapshot_path = a->snapshot->path;
    if (status == LINEAGE_OK)
        status = lineage_blob_put(a->store, path, err);
    return status;
}

/* Call it after the verdict, because a discarded trial keeps no snapshot. Call it before the row is written, because
 * readers look for a row's files as soon as they see the row. */
enum lineage_status appending_put_beside(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = a->request ? outbox_request_place(a, a->trial.exp_id, err) : LINEAGE_OK;
    if (status == LINEAGE_OK && a->options->telemetry) {
        status = telemetry_write(a->store->dir_fd, a->trial.exp_id, a->options->telemetry, a->options->telemetry_length,
                                 !a->options->no_sync, err);
        a->wrote_telemetry = status == LINEAGE_OK;
    }
    if (status == LINEAGE_OK && a->snapshot && a->snapshot->copied && lineage_label_is_kept(a->trial.status))
        status = publish_snapshot(a, err);
    if (status == LINEAGE_OK && a->options->beside && !a->request)
        a->options->beside(a->options->beside_context, a->trial.exp_id);
    return status;
}

/* Removes the files of a row that was not added. The claim is still held, so no other process has seen the row or uses
 * its id. For a log on a server the files get their waiting names back, because the row may be sent again. */
void appending_take_back(struct appending *a)
{
    if (a->wrote_telemetry)
        telemetry_remove(a->store->dir_fd, a->trial.exp_id);
    a->wrote_telemetry = false;
    if (a->request)
        outbox_request_unplace(a);
    else if (a->snapshot)
        snapshot_remove(a->snapshot, a->store->dir_fd);
}
