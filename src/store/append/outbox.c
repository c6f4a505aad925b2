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
#include "outbox_bind.h"
#include "outbox_rows.h"

/* After this many broken connections in a row the server counts as unreachable. */
enum { TIMES_TRIED = 4 };

/* ---- a request ---------------------------------------------------------------------------------------------------- */

/* A UUID of version 4 (RFC 9562). */
static void write_id(struct outbox_request *request)
{
    unsigned char *n = request->number;
    n[6] = (unsigned char)((n[6] & 0x0f) | 0x40);
    n[8] = (unsigned char)((n[8] & 0x3f) | 0x80);
    snprintf(request->id, sizeof request->id,
             LINEAGE_OUTBOX "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", n[0], n[1], n[2], n[3], n[4],
             n[5], n[6], n[7], n[8], n[9], n[10], n[11], n[12], n[13], n[14], n[15]);
}

bool outbox_read_id(struct outbox_request *request, const char *id)
{
    size_t digits = 0;
    if (!id || strlen(id) != sizeof LINEAGE_OUTBOX - 1 + 36 || strncmp(id, LINEAGE_OUTBOX, sizeof LINEAGE_OUTBOX - 1) != 0)
        return false;
    for (const char *c = id + sizeof LINEAGE_OUTBOX - 1; *c; c++) {
        unsigned digit = *c >= '0' && *c <= '9' ? (unsigned)(*c - '0') : *c >= 'a' && *c <= 'f' ? (unsigned)(*c - 'a') + 10 : 16;
        if (*c == '-')
            continue;
        if (digit == 16 || digits == 32)
            return false;
        request->number[digits / 2] = (unsigned char)((unsigned)request->number[digits / 2] << 4 | digit);
        digits++;
    }
    snprintf(request->id, sizeof request->id, "%s", id);
    return digits == 32;
}

static json_t *write_options(const struct lineage_append_options *options)
{
    json_t *object = json_object();
    if (options->allow_missing_parent)
        json_object_set_new(object, "allow_missing_parent", json_true());
    if (options->first_is_baseline)
        json_object_set_new(object, "first_is_baseline", json_true());
    if (options->once_per_night)
        json_object_set_new(object, "once_per_night", json_true());
    if (isfinite(options->min_delta))
        json_object_set_new(object, "min_delta", json_real(options->min_delta));
    if (isfinite(options->noise_std))
        json_object_set_new(object, "noise_std", json_real(options->noise_std));
    if (options->noise_seeds)
        json_object_set_new(object, "noise_seeds", json_integer(options->noise_seeds));
    if (options->unconfirmed)
        json_object_set_new(object, "unconfirmed", json_true());
    if (options->keep_against)
        json_object_set_new(object, "keep_against", json_string(options->keep_against));
    if (options->noise_freedom)
        json_object_set_new(object, "noise_freedom", json_integer(options->noise_freedom));
    return object;
}

static double number_or_nan(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

void outbox_read_options(struct lineage_append_options *options, const json_t *about)
{
    const json_t *object = json_object_get(about, "options"), *telemetry = json_object_get(about, "telemetry");
    lineage_append_options_init(options);
    options->allow_missing_parent = json_is_true(json_object_get(object, "allow_missing_parent"));
    options->once_per_night = json_is_true(json_object_get(object, "once_per_night"));
    options->first_is_baseline = json_is_true(json_object_get(object, "first_is_baseline"));
    options->min_delta = number_or_nan(object, "min_delta");
    options->noise_std = number_or_nan(object, "noise_std");
    options->noise_seeds = (unsigned)json_integer_value(json_object_get(object, "noise_seeds"));
    options->unconfirmed = json_is_true(json_object_get(object, "unconfirmed"));
    options->keep_against = json_string_value(json_object_get(object, "keep_against"));
    options->noise_freedom = (unsigned)json_integer_value(json_object_get(object, "noise_freedom"));
    options->telemetry = json_string_value(telemetry);
    options->telemetry_length = json_string_length(telemetry);
}

static json_t *write_about(const struct outbox_request *request, const struct outbox_rows *rows, size_t n,
                           const bool *auto_status, const struct lineage_append_options *options, bool many)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_boolean(auto_status ? auto_status[i] : options->auto_status));
    json_t *about = json_pack("{s:s, s:b, s:s, s:o, s:o}", "request", request->id, "many", many, "rows", rows->records.data,
                              "auto", list, "options", write_options(options));
    if (about && rows->header.length)
        json_object_set_new(about, "header", json_stringn(rows->header.data, rows->header.length));
    if (about && options->telemetry)
        json_object_set_new(about, "telemetry", json_stringn(options->telemetry, options->telemetry_length));
    return about;
}

enum lineage_status outbox_request_make(struct outbox_request *request, struct lineage_store *store,
                                        const struct outbox_rows *rows, size_t n, const bool *auto_status,
                                        const struct lineage_append_options *options, bool many, struct lineage_error *err)
{
    *request = (struct outbox_request){.file = &store->append->outbox};
    store->log->appending = true;
    if (getrandom(request->number, sizeof request->number, 0) != (ssize_t)sizeof request->number)
        return store_fail_errno(err, LINEAGE_EIO, "cannot make the number of a request");
    write_id(request);
    request->about = write_about(request, rows, n, auto_status, options, many);
    if (!request->about)
        return store_no_memory(err);
    outbox_bind(request->about, store);
    return outbox_write(request->file, store->dir_fd, request->about, !options->no_sync, err);
}

void outbox_request_name(const struct outbox_request *request, struct log *log)
{
    memcpy(log->request, request->number, sizeof log->request);
}

bool outbox_request_again(struct outbox_request *request, const struct log *log, enum lineage_status status)
{
    return status == LINEAGE_EAWAY && log->lost && ++request->tries < TIMES_TRIED;
}

/*
 * Two failures count as an unreachable server, so that the row of a trial that may have taken a night is kept. If a
 * claim is not granted, a process that hangs holds it. If the server allowed appends at open and refuses them now (a
 * new password, a revoked right), the next command will fail at open and say why. A user who was never allowed to
 * append gets the error.
 */
bool outbox_is_away(const struct log *log, enum lineage_status status)
{
    return status == LINEAGE_EAWAY || status == LINEAGE_ELOCKED || (status == LINEAGE_EREFUSED && !log->read_only);
}

enum lineage_status outbox_request_keep(struct outbox_request *request, struct lineage_store *store,
                                        const struct lineage_error *why, bool sync, struct lineage_error *err)
{
    outbox_bind(request->about, store);
    enum lineage_status status = outbox_write(request->file, store->dir_fd, request->about, sync, err);
    if (status != LINEAGE_OK || request->delivered)
        return status;
    store_notice(store, 0, "%s; the trial is kept as %s, and the next command that appends, or `lineage sync`, delivers it",
                 why->text, request->id);
    outbox_leave(request->file);
    store->append->outbox_waits = true;
    return LINEAGE_OK;
}

/* Erases the request unless it was delivered or the server is away: if the log refused it, the caller already has the error.
 * outbox_sync.c removes the file of a request that is delivered later. */
void outbox_request_end(struct outbox_request *request, const struct log *log, enum lineage_status status)
{
    if (request->file && request->file->fd >= 0 && !request->delivered && !outbox_is_away(log, status))
        outbox_strike(request->file);
    json_decref(request->about);
    request->about = NULL;
}

/* ---- files beside the row ------------------------------------------------------------------------------------------ */

/* Renames those files that exist. Names that place_telemetry refuses have no files. */
static void move_files(int dir_fd, const char *from, const char *to)
{
    static const char *const places[][2] = {{PLACE_LOGS, ".log"}, {PLACE_PROVENANCE, ""}};
    char path[PLACE_MAX];
    if (!place_telemetry(path, from) || !place_telemetry(path, to))
        return;
    for (size_t i = 0; i < 2; i++) {
        char old[PLACE_MAX], new[PLACE_MAX];
        snprintf(old, sizeof old, "%s/%s%s", places[i][0], from, places[i][1]);
        snprintf(new, sizeof new, "%s/%s%s", places[i][0], to, places[i][1]);
        fs_rename(dir_fd, old, dir_fd, new);
    }
}

static bool has_files(const struct appending *a)
{
    return a->options->telemetry || a->options->beside || a->request->delivered || (a->snapshot && a->snapshot->copied);
}

/* The new name is written into the request before the files are renamed, so that after a kill the next delivery finds
 * them. */
enum lineage_status outbox_request_place(struct appending *a, const char *exp_id, struct lineage_error *err)
{
    struct outbox_request *request = a->request;
    const char *before = json_string_value(json_object_get(request->about, "placed"));
    if (!has_files(a))
        return LINEAGE_OK;
    if (before) /* from a delivery that was killed before its row was added */
        move_files(a->store->dir_fd, before, request->id);
    json_object_set_new(request->about, "placed", json_string(exp_id));
    outbox_bind(request->about, a->store);
    enum lineage_status status = outbox_write(request->file, a->store->dir_fd, request->about, false, err);
    if (status == LINEAGE_OK)
        move_files(a->store->dir_fd, request->id, exp_id);
    return status;
}

void outbox_request_unplace(struct appending *a)
{
    struct snapshot *snapshot = a->snapshot;
    const char *placed = json_string_value(json_object_get(a->request->about, "placed"));
    if (placed)
        move_files(a->store->dir_fd, placed, a->request->id);
    if (snapshot && snapshot->path[0] && fs_rename(a->store->dir_fd, snapshot->path, a->store->dir_fd, snapshot->temporary) == 0)
        snapshot->path[0] = '\0';
    json_object_del(a->request->about, "placed");
}

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
    move_files(dir_fd, a->request->id, a->trial.exp_id);
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
    log->may_assume = !has_files(a);
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
    *fd = has_files(a) ? fs_open(a->store->dir_fd, PLACE_OUTBOX, O_RDONLY | O_DIRECTORY, 0) : -1;
    if (!has_files(a))
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
    if (fd >= 0)
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

/* Called for a handle that left a request in the outbox, because the handle may live long and perhaps no other process
 * will deliver the request. */
void outbox_deliver_waiting(struct lineage_store *store)
{
    struct lineage_sync_stats stats;
    store->append->outbox_waits = lineage_sync(store, &stats, NULL) != LINEAGE_OK;
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
