/* outbox_request.c: a request of the outbox: its number, its file, and the files of its trial. */
#include "outbox_request.h"

#include <fcntl.h>
#include <math.h>
#include <sha2.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <lineage/render.h>

#include "../files/fs.h"
#include "../format/row.h"
#include "../log/log.h"
#include "appending.h"
#include "../files/state_dir.h"
#include "../internal.h"

static enum lineage_status parse_header(struct row_layout *layout, struct tsv_reader *reader, const struct buf *header,
                                        struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    const struct tsv_cell *cells;
    size_t n;
    tsv_scanner_init(&scanner, header->data, header->length, 0, 1);
    TRY(tsv_scan(&scanner, &record) ? tsv_parse(reader, &record, &cells, &n, err)
                                    : store_fail(err, LINEAGE_ECORRUPT, "a request without a header"));
    return row_layout_read(layout, cells, n, NULL, err);
}

/* Writes the header for these trials; each column once, by the set of their names. An extra that is named like one of the 17
 * columns gets no column of its own, because the trial's member holds that value. Returns false if the trials need only the 17
 * columns. */
static bool write_header(struct buf *header, const struct lineage_trial *trials, size_t n)
{
    SCOPED_ID_SET names = {0};
    bool wider = false;
    row_write_header(header);
    header->length -= !header->failed; /* drops the line end */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < trials[i].n_extras; j++) {
            const char *column = trials[i].extras[j].column;
            if (lineage_column_find(column) >= 0 || id_set_has(&names, column))
                continue;
            wider = true;
            header->failed = !id_set_add(&names, column) || header->failed;
            buf_put(header, '\t');
            tsv_write_cell(header, column, strlen(column));
        }
    buf_put(header, '\n');
    return wider;
}

enum lineage_status outbox_rows_begin(struct outbox_rows *rows, const struct lineage_trial *trials, size_t n,
                                      struct lineage_error *err)
{
    bool any = false;
    for (size_t i = 0; i < n; i++)
        any = any || trials[i].n_extras;
    if (!any)
        return LINEAGE_OK;
    SCOPED_READER reader = tsv_reader_new();
    bool wider = write_header(&rows->header, trials, n);
    enum lineage_status status = !reader || rows->header.failed ? store_no_memory(err) : LINEAGE_OK;
    if (status == LINEAGE_OK && wider)
        status = parse_header(&rows->layout, reader, &rows->header, err);
    if (!wider)
        buf_release(&rows->header);
    return status;
}

enum lineage_status outbox_rows_add(struct outbox_rows *rows, const struct lineage_trial *trial, struct lineage_error *err)
{
    row_write(&rows->records, trial, rows->header.length ? &rows->layout : NULL);
    return rows->records.failed ? store_no_memory(err) : LINEAGE_OK;
}

void outbox_rows_release(struct outbox_rows *rows)
{
    row_layout_release(&rows->layout);
    buf_release(&rows->header);
    buf_release(&rows->records);
}

static enum lineage_status read_records(struct lineage_trial *trials, size_t room, size_t *n, const char *rows,
                                        const struct row_layout *layout, struct tsv_reader *reader, struct arena *arena,
                                        struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    size_t n_cells;
    enum lineage_status status = LINEAGE_OK;
    tsv_scanner_init(&scanner, rows, strlen(rows), 0, 2);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record)) {
        status = tsv_parse(reader, &record, &cells, &n_cells, err);
        if (status == LINEAGE_OK && *n < room && row_read(&trials[*n], layout, cells, n_cells, arena, &fault, reason, &status))
            ++*n;
    }
    return status;
}

enum lineage_status outbox_rows_read(const json_t *about, struct arena *arena, struct lineage_trial **trials, size_t *n,
                                     struct lineage_error *err)
{
    const char *rows = json_string_value(json_object_get(about, "rows"));
    const char *wider = json_string_value(json_object_get(about, "header"));
    size_t room = json_array_size(json_object_get(about, "auto"));
    SCOPED_BUF header = {0};
    SCOPED_LAYOUT layout = {0};
    SCOPED_READER reader = tsv_reader_new();
    *n = 0;
    *trials = arena_alloc(arena, room ? room : 1, sizeof **trials);
    if (wider)
        buf_puts(&header, wider);
    else
        row_write_header(&header);
    if (!(reader && *trials && !header.failed))
        return store_no_memory(err);
    TRY(parse_header(&layout, reader, &header, err));
    TRY(read_records(*trials, room, n, rows ? rows : "", &layout, reader, arena, err));
    if (*n != room || !room)
        return store_fail(err, LINEAGE_ECORRUPT, "a request of %zu rows has %zu", room, *n);
    return LINEAGE_OK;
}

/* ---- The code is the HMAC-SHA-256 (RFC 2104) of the request as compact JSON with sorted keys.

 */

#define CODE "code"
enum { BLOCK = 64, CODE_TEXT = 2 * SHA256_DIGEST_LENGTH + 1 };

/* A secret of this user on this machine, with which requests are bound to them: STATE/key, mode 0600. */
#define NAME "key"
enum { USER_KEY_BYTES = 32 };

/* fs_create writes a complete file before it gets its name, so no process reads half a key. */
static enum lineage_status make_key(int dir_fd, struct lineage_error *err)
{
    unsigned char key[USER_KEY_BYTES];
    const struct stat like = {.st_mode = S_IFREG | 0600, .st_uid = geteuid(), .st_gid = getegid()};
    if (getrandom(key, sizeof key, 0) != (ssize_t)sizeof key)
        return store_fail_errno(err, LINEAGE_EIO, "cannot make a key");
    enum lineage_status status = fs_create(dir_fd, NAME, key, sizeof key, &like, err);
    return status == LINEAGE_EEXIST ? LINEAGE_OK : status;
}

static enum lineage_status read_open(int fd, unsigned char key[USER_KEY_BYTES], const char *path, struct lineage_error *err)
{
    struct stat st;
    if (fs_stat_open(fd, &st) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot look at %s/" NAME, path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077) || st.st_size != USER_KEY_BYTES ||
        fs_read_at(fd, key, USER_KEY_BYTES, 0) != USER_KEY_BYTES)
        return store_fail(err, LINEAGE_EREFUSED, "%s/" NAME " is not a key that only this user can read", path);
    return LINEAGE_OK;
}

static enum lineage_status open_key(int *fd, int dir_fd, const char *path, struct lineage_error *err)
{
    *fd = fs_open(dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (*fd < 0 && errno == ENOENT) {
        TRY(make_key(dir_fd, err));
        *fd = fs_open(dir_fd, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    }
    return *fd >= 0 ? LINEAGE_OK : store_fail_errno(err, LINEAGE_EIO, "cannot open %s/" NAME, path);
}

/* Reads the key, and makes it if there is none. Processes that make it at the same time get the same key. LINEAGE_EREFUSED if other
 * users can read the key or it is not a key. */
static enum lineage_status user_key_read(unsigned char key[USER_KEY_BYTES], struct lineage_error *err)
{
    SCOPED_BUF path = {0};
    SCOPED_FD fd = -1, dir_fd = -1;
    TRY(state_dir_path(&path, "this user's key is", err));
    buf_puts(&path, "/");
    TRY(path.failed ? store_no_memory(err) : state_dir_make_parents(path.data, err));
    if ((dir_fd = fs_open(AT_FDCWD, path.data, O_RDONLY | O_DIRECTORY, 0)) < 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot open %s", path.data);
    TRY(open_key(&fd, dir_fd, path.data, err));
    return read_open(fd, key, path.data, err);
}

static void hash_padded(unsigned char digest[SHA256_DIGEST_LENGTH], const unsigned char key[USER_KEY_BYTES], unsigned char pad,
                        const void *bytes, size_t length)
{
    unsigned char block[BLOCK];
    SHA2_CTX hash;
    memset(block, pad, sizeof block);
    for (size_t i = 0; i < USER_KEY_BYTES; i++)
        block[i] ^= key[i];
    SHA256Init(&hash);
    SHA256Update(&hash, block, sizeof block);
    SHA256Update(&hash, bytes, length);
    SHA256Final(digest, &hash);
}

/* Returns false without a key or without memory. The request has no code yet. */
static bool compute(char text[CODE_TEXT], const json_t *about)
{
    unsigned char key[USER_KEY_BYTES], inner[SHA256_DIGEST_LENGTH], outer[SHA256_DIGEST_LENGTH];
    SCOPED_FREE char *bytes = json_dumps(about, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    bool known = bytes && user_key_read(key, NULL) == LINEAGE_OK;
    if (known) {
        hash_padded(inner, key, 0x36, bytes, strlen(bytes));
        hash_padded(outer, key, 0x5c, inner, sizeof inner);
        for (size_t i = 0; i < sizeof outer; i++)
            snprintf(text + 2 * i, 3, "%02x", outer[i]);
    }
    return known;
}

void outbox_bind(json_t *about, const struct lineage_store *store)
{
    char text[CODE_TEXT];
    json_object_del(about, CODE);
    json_object_set_new(about, "server", json_string(store->log->place));
    if (compute(text, about))
        json_object_set_new(about, CODE, json_string(text));
}

bool outbox_is_bound(json_t *about, const struct lineage_store *store)
{
    char wanted[CODE_TEXT];
    const char *server = json_string_value(json_object_get(about, "server"));
    json_auto_t *code = json_incref(json_object_get(about, CODE));
    bool bound = false;
    if (json_is_string(code) && server && strcmp(server, store->log->place) == 0) {
        json_object_del(about, CODE);
        bound = compute(wanted, about) && strcmp(wanted, json_string_value(code)) == 0;
        json_object_set(about, CODE, code);
    }
    return bound;
}

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
    char digits[OUTBOX_ID_MAX];
    size_t n = 0;
    if (!id || strlen(id) != sizeof LINEAGE_OUTBOX - 1 + 36 || strncmp(id, LINEAGE_OUTBOX, sizeof LINEAGE_OUTBOX - 1) != 0)
        return false;
    for (const char *c = id + sizeof LINEAGE_OUTBOX - 1; *c; c++)
        if (*c != '-')
            digits[n++] = *c;
    digits[n] = '\0';
    snprintf(request->id, sizeof request->id, "%s", id);
    return n == 32 && hex_read(request->number, digits, 16);
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
    TRY(outbox_write(request->file, store->dir_fd, request->about, sync, err));
    if (request->delivered)
        return LINEAGE_OK;
    store_notice(store, 0, "%s; the trial is kept as %s, and the next command that appends, or `lineage sync`, delivers it",
                 why->text, request->id);
    outbox_leave(request->file);
    store->append->outbox_waits = true;
    return LINEAGE_OK;
}

/* Erases the request unless it was delivered or the server is away: if the log refused it, the caller already has the error.
 * outbox.c removes the file of a request that is delivered later. */
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
    TRY(outbox_write(request->file, a->store->dir_fd, request->about, false, err));
    outbox_move_files(a->store->dir_fd, request->id, exp_id);
    return LINEAGE_OK;
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
