/* outbox_request.c: a request of the outbox: its number, its file, and the files of its trial. */
#include "outbox_request.h"

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
#include "../log/log.h"
#include "../mirror/mirror.h"
#include "appending.h"

/* After this many broken connections in a row the server counts as unreachable. */
enum { TIMES_TRIED = 4 };

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

/* Renames those files that exist. Names that place_telemetry refuses have no files. */
void outbox_move_files(int dir_fd, const char *from, const char *to)
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

bool outbox_has_files(const struct appending *a)
{
    return a->options->telemetry || a->options->beside || a->request->delivered || (a->snapshot && a->snapshot->copied);
}

/* The new name is written into the request before the files are renamed, so that after a kill the next delivery finds
 * them. */
enum lineage_status outbox_request_place(struct appending *a, const char *exp_id, struct lineage_error *err)
{
    struct outbox_request *request = a->request;
    const char *before = json_string_value(json_object_get(request->about, "placed"));
    if (!outbox_has_files(a))
        return LINEAGE_OK;
    if (before) /* from a delivery that was killed before its row was added */
        outbox_move_files(a->store->dir_fd, before, request->id);
    json_object_set_new(request->about, "placed", json_string(exp_id));
    outbox_bind(request->about, a->store);
    enum lineage_status status = outbox_write(request->file, a->store->dir_fd, request->about, false, err);
    if (status == LINEAGE_OK)
        outbox_move_files(a->store->dir_fd, request->id, exp_id);
    return status;
}

void outbox_request_unplace(struct appending *a)
{
    struct snapshot *snapshot = a->snapshot;
    const char *placed = json_string_value(json_object_get(a->request->about, "placed"));
    if (placed)
        outbox_move_files(a->store->dir_fd, placed, a->request->id);
    if (snapshot && snapshot->path[0] && fs_rename(a->store->dir_fd, snapshot->path, a->store->dir_fd, snapshot->temporary) == 0)
        snapshot->path[0] = '\0';
    json_object_del(a->request->about, "placed");
}
