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
#include <time.h>

#include "../files/fs.h"
#include "../files/telemetry.h"
#include "../format/row.h"
#include "../mirror/mirror.h"
#include "../log/log.h"
#include "../questions/questions.h"

/*
 * The common append to a log on a server. It needs no claim: the server gives the row the
 * next id.
 *
 * The rest of the row is decided here, from what this handle knows of the log. The server adds the row only if no trial
 * was kept since, so that the known best trial is still the best (log_append_next). Crashes and discards that others
 * add meanwhile change nothing and need not be read. Rows that depend on more than the best trial need the claim: a row
 * with an id given by the caller, a row with files named after it, and a trial of a night, which may have only one row.
 *
 * All ancestors of the row must be in the log, because a row with a new id closes a cycle only if its ancestors end in
 * a missing parent with that id.
 */

/* Whether the trial, as the caller gave it, may be appended without a claim. */
static bool may_do(const struct appending *a)
{
    const struct lineage_append_options *options = a->options;
    return log_gives_ids(a->store->log) && is_empty(a->checked.exp_id) && !options->once_per_night && !options->snapshot_dir &&
           !options->telemetry && !options->beside;
}

/* The state of the log without a claim. While the remembered state is valid nothing is looked up, because the server
 * checks that it still holds. */
static enum lineage_status get_state(struct appending *a, bool *known, struct lineage_error *err)
{
    struct lineage_store *store = a->store;
    const struct append_state *state = store->append;
    enum lineage_status status = LINEAGE_OK;
    if (!state->valid)
        status = append_get_ready(store, false, err);
    if (status == LINEAGE_OK && !state->valid)
        status = log_look(store->log, &a->end, err);
    if (status == LINEAGE_OK && !state->valid && a->end.size)
        status = append_catch_up(store, &a->end, err);
    const struct row_layout *layout = mirror_layout(store->mirror);
    *known = status == LINEAGE_OK && state->valid && state->end.size && !state->finish_line && layout && layout->identical;
    a->end = state->end;
    return status;
}

static enum lineage_status check_ancestors(struct appending *a, bool *there, struct lineage_error *err)
{
    struct id_set *rooted = &a->store->append->rooted;
    const char *parent = a->trial.parent_exp;
    struct mirror_chain_ends ends;
    int64_t seq;
    *there = is_empty(parent) || id_set_has(rooted, parent);
    if (*there)
        return LINEAGE_OK;
    enum lineage_status status = mirror_find_exact(a->store->mirror, parent, &seq, err);
    if (status == LINEAGE_ENOTFOUND) /* the mirror has not read the parent yet */
        return LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = mirror_chain_ends(a->store->mirror, seq, MIRROR_CHAIN_KEPT, 0, 1, &ends, a->arena, err);
    *there = status == LINEAGE_OK && ends.end == LINEAGE_CHAIN_ROOT;
    if (*there && !id_set_add(rooted, parent))
        status = store_no_memory(err);
    return status;
}

/* Writes the row without its id, which the server puts in front. This requires that the id is the first cell and occurs
 * nowhere else in the row. */
static enum lineage_status write_rest(struct appending *a, const char **rest, size_t *length, struct lineage_error *err)
{
    struct buf *bytes = &a->store->append->bytes;
    const size_t id = strlen(a->trial.exp_id);
    buf_reset(bytes);
    row_write(bytes, &a->trial, mirror_layout(a->store->mirror));
    *rest = NULL;
    if (bytes->failed)
        return store_no_memory(err);
    if (bytes->length > id && memcmp(bytes->data, a->trial.exp_id, id) == 0 && bytes->data[id] == '\t') {
        *rest = bytes->data + id;
        *length = bytes->length - id;
    }
    return LINEAGE_OK;
}

/* A refusal may be based on outdated rows, so it is not final: the row is decided again under the claim. */
static bool decide(struct appending *a, struct lineage_error *err)
{
    bool there = false;
    a->trial = a->checked;
    enum lineage_status status = appending_fill_in(a, err);
    if (status == LINEAGE_OK)
        status = check_ancestors(a, &there, err);
    if (status == LINEAGE_OK)
        status = row_check_cells(&a->trial, a->given, err);
    return status == LINEAGE_OK && there && (!a->trial.baseline_exp || strcmp(a->trial.baseline_exp, a->trial.exp_id) != 0);
}

/* Notes the row with the id that the server gave it. If the handle knew all rows before it, it still knows all rows. */
static enum lineage_status note(struct appending *a, const char *id, struct lineage_error *err)
{
    struct lineage_store *store = a->store;
    const bool between = a->end.records == store->append->end.records;
    a->trial.exp_id = arena_text(a->arena, id, strlen(id));
    if (!a->trial.exp_id)
        return store_no_memory(err);
    if (between)
        append_note_apart(store, &a->trial);
    else
        append_note(store, &a->trial, &a->end);
    if (!id_set_add(&store->append->rooted, a->trial.exp_id))
        store->append->valid = false;
    return LINEAGE_OK;
}

/* Appends without the claim if that is possible. If *done is true the outcome of the row is
 * known. Otherwise nothing was added, and the row needs the claim. */
static enum lineage_status appending_next(struct appending *a, bool *done, struct lineage_error *err)
{
    struct lineage_error why = {0};
    const char *rest = NULL;
    char id[LOG_ID_MAX];
    size_t length = 0;
    bool known = false;
    *done = false;
    if (!may_do(a) || get_state(a, &known, &why) != LINEAGE_OK || !known || !decide(a, &why))
        return LINEAGE_OK;
    if (write_rest(a, &rest, &length, &why) != LINEAGE_OK || !rest)
        return LINEAGE_OK;
    enum lineage_status status =
        log_append_next(a->store->log, &a->end, rest, length, append_may_change_best(&a->trial), id, err);
    *done = status == LINEAGE_OK || !a->store->log->lost;
    if (status == LINEAGE_OK && !a->store->log->found)
        status = note(a, id, err);
    return status;
}

/* Renames the copy of the snapshot that waits for delivery, so that no clean-up removes it. */
static enum lineage_status put_snapshot_by(struct appending *a, struct lineage_error *err)
{
    char path[PLACE_MAX];
    if (!a->snapshot || !a->snapshot->copied)
        return LINEAGE_OK;
    place_snapshot(path, a->request->id, a->checked.specialist ? a->checked.specialist : "");
    TRY(snapshot_publish(a->snapshot, a->store->dir_fd, path, !a->options->no_sync, err));
    json_object_set_new(a->request->about, "snapshot", json_string(path));
    return LINEAGE_OK;
}

/* After a commit whose confirmation was lost, reads the row from the log: it is the last record that was added with the
 * request's number. */
static enum lineage_status read_back(struct appending *a, struct lineage_error *err)
{
    SCOPED_BUF bytes = {0};
    struct tsv_scanner scanner;
    struct tsv_record record, last = {0};
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    size_t n;
    SCOPED_READER reader = tsv_reader_new();
    TRY(reader ? log_find(a->store->log, &bytes, err) : store_no_memory(err));
    TRY(mirror_sync(a->store->mirror, err)); /* reads the layout, in case the commit added the header too */
    tsv_scanner_init(&scanner, bytes.data ? bytes.data : "", bytes.length, 0, 1);
    while (tsv_scan(&scanner, &record))
        last = record;
    enum lineage_status status = tsv_parse(reader, &last, &cells, &n, err);
    const bool is_row = status == LINEAGE_OK && mirror_layout(a->store->mirror) &&
                        row_read(&a->trial, mirror_layout(a->store->mirror), cells, n, a->arena, &fault, reason, &status);
    if (status == LINEAGE_OK && !is_row)
        status = store_fail(err, LINEAGE_ECORRUPT, "%s: the record of %s is not a row", a->store->log->place, a->request->id);
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
    TRY(appending_claim(a, err));
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
    RELEASED_BY(outbox_rows_release) struct outbox_rows row = {0};
    a->trial = a->checked;
    enum lineage_status status = appending_give_timestamp(a, err);
    a->checked.timestamp = a->trial.timestamp;
    if (status == LINEAGE_OK)
        status = outbox_rows_begin(&row, &a->checked, 1, err);
    if (status == LINEAGE_OK)
        status = outbox_rows_add(&row, &a->checked, err);
    if (status == LINEAGE_OK)
        status = outbox_request_make(request, a->store, &row, 1, NULL, a->options, false, err);
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
