/*
 * append_files.c: what goes beside a row: its telemetry, and the snapshot of a trial that is kept.
 *
 * The copy of a snapshot is made before the claim and gets its name under it. Killed in between, it stands under a temporary
 * name, locked, and is removed by the next append; behind it, there are files without a row, which `verify` names and the
 * next row of that id replaces.
 */
#include "appending.h"

#include <lineage/blobs.h>

#include "../blobs/blobs.h"
#include "../files/fs.h"
#include "../files/places.h"
#include "../files/telemetry.h"
#include "../questions/questions.h"
#include "outbox.h"

/*
 * With auto the label is not known yet, and the snapshot is copied all the same: it takes long, and
 * under the claim others would wait for it. A discarded one is removed again.
 */
enum lineage_status appending_copy_snapshot(struct appending *a, struct snapshot *snapshot, struct lineage_error *err)
{
    if (!a->options->snapshot_dir || (!a->options->auto_status && !lineage_label_is_kept(a->checked.status)))
        return LINEAGE_OK;
    *snapshot = (struct snapshot){0};
    a->snapshot = snapshot;
    enum lineage_status status =
        snapshot_copy(snapshot, a->store->dir_fd, a->options->snapshot_dir, !a->options->no_sync, err);
    if (status == LINEAGE_OK)
        status = blobs_offer(a->store, snapshot->temporary, err);
    return status == LINEAGE_EAWAY ? LINEAGE_OK : status; /* it goes with the row, when that is delivered */
}

/*
 * Ids and specialists may contain `_`, so two rows may want one name: then the later one gets
 * another. (exp 1, "a_b" and exp "1_a", "b".) A directory of that name which no row points to is
 * what a killed append left, and is replaced instead.
 */
static enum lineage_status name_snapshot(struct appending *a, char path[PLACE_MAX], struct lineage_error *err)
{
    struct lineage_store *store = a->store;
    const char *specialist = a->trial.specialist ? a->trial.specialist : "";
    enum lineage_status status = LINEAGE_OK;
    bool taken = true;
    if (!place_snapshot(path, a->trial.exp_id, specialist))
        return store_fail(err, LINEAGE_EINVAL, "exp_id '%.60s' cannot name a snapshot", a->trial.exp_id);
    if (!fs_is_dir(store->dir_fd, path))
        return LINEAGE_OK;
    if (store->append->ids.n) /* rows behind the index name theirs as well */
        status = mirror_sync(store->mirror, err);
    for (unsigned n = 2; status == LINEAGE_OK; n++) {
        status = mirror_is_snapshot(store->mirror, path, &taken, err);
        if (status != LINEAGE_OK || !taken)
            break;
        place_snapshot_again(path, a->trial.exp_id, specialist, n);
    }
    return status;
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

/* After the verdict, as a discarded trial keeps no snapshot, and before the row: with the row in
 * the file both must be there, for readers follow it at once. */
enum lineage_status appending_put_beside(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = a->request ? outbox_request_place(a, a->trial.exp_id, err) : LINEAGE_OK;
    if (status == LINEAGE_OK && a->options->telemetry) {
        status = telemetry_write(a->store->dir_fd, a->trial.exp_id, a->options->telemetry,
                                 a->options->telemetry_length, !a->options->no_sync, err);
        a->wrote_telemetry = status == LINEAGE_OK;
    }
    if (status == LINEAGE_OK && a->snapshot && a->snapshot->copied && lineage_label_is_kept(a->trial.status))
        status = publish_snapshot(a, err);
    if (status == LINEAGE_OK && a->options->beside && !a->request)
        a->options->beside(a->options->beside_context, a->trial.exp_id);
    return status;
}

/* The claim is still held, so nobody can have read the row that these belonged to, or be about
 * to write one of that id. On a server the row may be tried again, and needs them then. */
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
