/*
 * The order of steps guarantees that each row is added exactly once. The request is on disk before the claim. Its
 * number is stored with the row and is unique in the log. The request is erased after the commit was confirmed. If the
 * process is killed before the commit, the request exists and the row does not, and the next command that appends adds it.
 * If the process is killed after the commit, both exist: that command finds the number in the log, under the claim,
 * and erases the request. A commit whose confirmation was lost is handled the same way.
 *
 * Ids, parents, keep or discard are decided on delivery, by the log at that time. The timestamp is that of the append.
 */
#include "outbox.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "../files/fs.h"
#include "../files/telemetry.h"
#include "../format/row.h"
#include "../mirror/mirror.h"
#include "../log/log.h"
#include "outbox_request.h"

/* ---- files beside the row ------------------------------------------------------------------------------------------ */

/* Renames the copy of the snapshot that waits for delivery, so that no clean-up removes it. */
static enum lineage_status put_snapshot_by(struct appending *a, struct lineage_error *err)
{
    char path[PLACE_MAX];
    if (!a->snapshot || !a->snapshot->copied)
        return LINEAGE_OK;
    place_snapshot(path, a->request->id, a->checked.specialist ? a->checked.specialist : "");
    enum lineage_status status = snapshot_publish(a->snapshot, a->store->dir_fd, path, !a->options->no_sync, err);
    if (status == LINEAGE_OK)
        json_object_set_new(a->request->about, "snapshot", json_string(path));
    return status;
}

/* ---- appending ----------------------------------------------------------------------------------------------------- */

/* After a commit whose confirmation was lost, reads the row from the log: it is the last record that was added with the
 * request's number. */
static enum lineage_status read_back(struct appending *a, struct lineage_error *err)
{
    struct buf bytes = {0};
    struct tsv_scanner scanner;
    struct tsv_record record, last = {0};
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    size_t n;
    struct tsv_reader *reader = tsv_reader_new();
    enum lineage_status status = reader ? log_find(a->store->log, &bytes, err) : store_no_memory(err);
    if (status == LINEAGE_OK)
        status = mirror_sync(a->store->mirror, err); /* reads the layout, in case the commit added the header too */
    tsv_scanner_init(&scanner, bytes.data ? bytes.data : "", bytes.length, 0, 1);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record))
        last = record;
    if (status == LINEAGE_OK)
        status = tsv_parse(reader, &last, &cells, &n, err);
    const bool is_row = status == LINEAGE_OK && mirror_layout(a->store->mirror) &&
                        row_read(&a->trial, mirror_layout(a->store->mirror), cells, n, a->arena, &fault, reason, &status);
    if (status == LINEAGE_OK && !is_row)
        status = store_fail(err, LINEAGE_ECORRUPT, "%s: the record of %s is not a row", a->store->log->place, a->request->id);
    tsv_reader_free(reader);
    buf_release(&bytes);
    return status;
}

/* The row is in the log, so its files get their final names, wherever a kill left them. */
static enum lineage_status settle_files(struct appending *a, struct lineage_error *err)
{
    int dir_fd = a->store->dir_fd;
    const char *waiting = json_string_value(json_object_get(a->request->about, "snapshot")), *path = a->trial.snapshot_path;
    outbox_move_files(dir_fd, a->request->id, a->trial.exp_id);
    if (waiting && path && *path && !fs_is_dir(dir_fd, path))
        fs_rename(dir_fd, waiting, dir_fd, path);
    return a->options->telemetry
               ? telemetry_write(dir_fd, a->trial.exp_id, a->options->telemetry, a->options->telemetry_length, true, err)
               : LINEAGE_OK;
}

/* The mirror is rebuilt if the row has telemetry, because the mirror may have read the row before the telemetry was in
 * place, and nothing else repairs that. */
static enum lineage_status take_found(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = read_back(a, err);
    append_forget(a->store->append);
    if (status == LINEAGE_OK)
        status = settle_files(a, err);
    if (status == LINEAGE_OK && a->options->telemetry && !a->store->options.no_mirror)
        status = mirror_rebuild(a->store->mirror, err);
    return status;
}

static enum lineage_status try_claimed(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = appending_claim(a, err);
    if (status != LINEAGE_OK)
        return status;
    return a->store->log->found ? take_found(a, err) : appending_locked(a, err);
}

/* Appends without a claim unless the request has files. The row of a request from the outbox may be in the log already
 * (log->found); then its files are settled. */
static enum lineage_status try_once(struct appending *a, struct lineage_error *err)
{
    struct log *log = a->store->log;
    bool done = false;
    enum lineage_status status = LINEAGE_OK;
    outbox_request_name(a->request, log);
    log->may_assume = !outbox_has_files(a);
    if (log->may_assume)
        status = appending_next(a, &done, err);
    if (!done)
        status = try_claimed(a, err);
    else if (status == LINEAGE_OK && log->found)
        status = take_found(a, err);
    log_release(log);
    return status;
}

enum { LOCK_PAUSE_MS = 20, LOCK_PATIENCE_MS = 20000 };

/* Files are named after a row's id before the row is added. If the server ends the claim, this process does not notice,
 * and another process of this machine may get the same id. Processes with files therefore take turns here, so that none
 * removes the files of another. */
static enum lineage_status lock_files(struct appending *a, int *fd, struct lineage_error *err)
{
    const struct timespec pause = {0, LOCK_PAUSE_MS * 1000000L};
    *fd = outbox_has_files(a) ? fs_open(a->store->dir_fd, PLACE_OUTBOX, O_RDONLY | O_DIRECTORY, 0) : -1;
    if (!outbox_has_files(a))
        return LINEAGE_OK;
    for (int waited = 0; *fd >= 0 && waited < LOCK_PATIENCE_MS; waited += LOCK_PAUSE_MS) {
        if (fs_try_lock(*fd) == 0)
            return LINEAGE_OK;
        nanosleep(&pause, NULL);
    }
    if (*fd >= 0)
        fs_close(*fd);
    *fd = -1;
    return store_fail(err, LINEAGE_ELOCKED, "another process holds %s/" PLACE_OUTBOX " for too long", a->store->dir);
}

static enum lineage_status try_alone(struct appending *a, struct lineage_error *err)
{
    int fd;
    enum lineage_status status = lock_files(a, &fd, err);
    if (status == LINEAGE_OK)
        status = try_once(a, err);
    fs_close(fd);
    return status;
}

static enum lineage_status try_until_known(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status;
    a->request->tries = 0;
    do
        status = try_alone(a, err);
    while (outbox_request_again(a->request, a->store->log, status));
    return status;
}

static enum lineage_status keep(struct appending *a, const struct lineage_error *why, struct lineage_error *err)
{
    enum lineage_status status = put_snapshot_by(a, err);
    if (status == LINEAGE_OK)
        status = outbox_request_keep(a->request, a->store, why, !a->options->no_sync, err);
    a->kept = true;
    a->trial = a->checked;
    a->trial.exp_id = arena_text(a->arena, a->request->id, strlen(a->request->id));
    a->trial.snapshot_path = a->snapshot && a->snapshot->path[0] ? a->snapshot->path : NULL;
    if (status == LINEAGE_OK && !a->trial.exp_id)
        status = store_no_memory(err);
    return status;
}

static enum lineage_status make_request(struct appending *a, struct outbox_request *request, struct lineage_error *err)
{
    struct outbox_rows row = {0};
    a->trial = a->checked;
    enum lineage_status status = appending_give_timestamp(a, err);
    a->checked.timestamp = a->trial.timestamp;
    if (status == LINEAGE_OK)
        status = outbox_rows_begin(&row, &a->checked, 1, err);
    if (status == LINEAGE_OK)
        status = outbox_rows_add(&row, &a->checked, err);
    if (status == LINEAGE_OK)
        status = outbox_request_make(request, a->store, &row, 1, NULL, a->options, false, err);
    outbox_rows_release(&row);
    return status;
}

enum lineage_status outbox_append(struct appending *a, struct lineage_error *err)
{
    struct outbox_request request = {0};
    struct lineage_error why = {0};
    enum lineage_status status = make_request(a, &request, err);
    a->request = &request;
    if (status == LINEAGE_OK && a->options->beside)
        a->options->beside(a->options->beside_context, request.id);
    if (status == LINEAGE_OK) {
        status = try_until_known(a, &why);
        if (outbox_is_away(a->store->log, status))
            status = keep(a, &why, err);
        else if (status != LINEAGE_OK)
            store_give(err, &why);
    }
    outbox_request_end(&request, a->store->log, status);
    a->request = NULL;
    return status;
}

enum lineage_status outbox_deliver(struct lineage_store *store, struct outbox_request *request, const struct lineage_trial *trial,
                                   const struct lineage_append_options *options, struct snapshot *snapshot,
                                   char id[OUTBOX_ID_MAX], struct lineage_error *err)
{
    struct lineage_append_options in_force = *options;
    struct appending a = {.store = store, .options = &in_force, .request = request, .snapshot = snapshot};
    in_force.auto_status = json_is_true(json_array_get(json_object_get(request->about, "auto"), 0));
    enum lineage_status status = appending_begin(&a, err);
    if (status == LINEAGE_OK)
        status = appending_check(&a, trial, err);
    if (status == LINEAGE_OK)
        status = try_until_known(&a, err);
    if (status == LINEAGE_OK)
        snprintf(id, OUTBOX_ID_MAX, "%s", a.trial.exp_id);
    if (a.arena)
        arena_reset(a.arena);
    return status;
}
