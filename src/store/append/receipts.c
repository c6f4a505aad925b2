/*
 * The file has one JSON object per line, bound to user, machine and server like a request of the outbox (outbox_request.h). Each
 * line is one write under a lock, behind a line end, so that a line which a kill cut off spoils no other. A digest covers all
 * records before it, so one question about the last receipt answers for all of them, and only the end of the file is read for it.
 */
#define _GNU_SOURCE /* memrchr */
#include "receipts.h"

#include <fcntl.h>
#include <jansson.h>
#include <time.h>
#include <dirent.h>
#include <sys/stat.h>
#include <sha2.h>

#include <lineage/render.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../format/arena.h"
#include "../format/id.h"
#include "../format/row.h"
#include "../format/tsv.h"
#include "../internal.h"
#include "../log/log.h"
#include "../mirror/mirror.h"
#include "append_state.h"
#include "catch_up.h"
#include "outbox_request.h"

#define BEGINNING "receipt-"
enum { REQUEST_DIGITS = 32 };

static bool is_request(const char *text)
{
    return text && strlen(text) == REQUEST_DIGITS && strspn(text, "0123456789abcdef") == REQUEST_DIGITS;
}

static void make_path(char path[PLACE_MAX], const char *name)
{
    snprintf(path, PLACE_MAX, PLACE_OUTBOX "/%s", name);
}

/* Appends the SHA-256 of the bytes in hexadecimal digits. */
static void receipts_digest(struct buf *out, const char *bytes, size_t length)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA2_CTX hash;
    SHA256Init(&hash);
    SHA256Update(&hash, (const unsigned char *)bytes, length);
    SHA256Final(digest, &hash);
    buf_add_hex(out, digest, sizeof digest);
}

/* Sums up these files, and finds the oldest; false if there is none. */
static bool look_at_files(int dir_fd, uint64_t *bytes, char oldest[PLACE_MAX])
{
    SCOPED_LIST dir = fs_list_at(dir_fd, PLACE_OUTBOX, 0);
    const char *name;
    bool any = false;
    struct timespec first = {0};
    *bytes = 0;
    while ((name = fs_next(dir))) {
        struct stat st;
        char path[PLACE_MAX];
        if (strncmp(name, BEGINNING, sizeof BEGINNING - 1) != 0 || !is_request(name + sizeof BEGINNING - 1))
            continue;
        make_path(path, name);
        if (fs_stat(dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) != 0)
            continue;
        *bytes += (uint64_t)st.st_size;
        const struct timespec at = st.st_mtim;
        if (!any || at.tv_sec < first.tv_sec || (at.tv_sec == first.tv_sec && at.tv_nsec < first.tv_nsec)) {
            first = at;
            strcpy(oldest, path);
        }
        any = true;
    }
    return any;
}

/* Writes the file; request is its number in hexadecimal digits. If all such files would have more than max_bytes, the oldest are
 * removed. Returns false if the file cannot be written, or is too long itself. */
static bool receipts_put_beside(int dir_fd, const char *request, const char *bytes, size_t length, uint64_t max_bytes)
{
    char name[sizeof BEGINNING + REQUEST_DIGITS], oldest[PLACE_MAX];
    uint64_t there;
    if (length > max_bytes || !is_request(request))
        return false;
    while (look_at_files(dir_fd, &there, oldest) && there + length > max_bytes)
        if (fs_unlink(dir_fd, oldest) != 0)
            return false;
    snprintf(name, sizeof name, BEGINNING "%s", request);
    SCOPED_FD fd = fs_open(dir_fd, PLACE_OUTBOX, O_RDONLY | O_DIRECTORY, 0);
    return fd >= 0 && fs_replace(fd, name, bytes, length, false, NULL) == LINEAGE_OK;
}

/* Reads the file; false if it is missing or has another digest. request may be NULL. */
static bool receipts_read_beside(struct buf *out, int dir_fd, const char *request, const char *digest)
{
    char name[sizeof BEGINNING + REQUEST_DIGITS], path[PLACE_MAX];
    SCOPED_BUF found = {0};
    if (!is_request(request))
        return false;
    snprintf(name, sizeof name, BEGINNING "%s", request);
    make_path(path, name);
    bool same = fs_read_file(dir_fd, path, out, NULL) == LINEAGE_OK;
    if (same)
        receipts_digest(&found, out->data ? out->data : "", out->length);
    same = same && !found.failed && strcmp(found.data, digest) == 0;
    return same;
}

static void receipts_drop_beside(int dir_fd, const char *request)
{
    char name[sizeof BEGINNING + REQUEST_DIGITS], path[PLACE_MAX];
    if (!is_request(request))
        return;
    snprintf(name, sizeof name, BEGINNING "%s", request);
    make_path(path, name);
    (void)!fs_unlink(dir_fd, path);
}

/* ---- the rows of a receipt (receipts.h), and sending them again ---- */

/* Trials that got another id on the way: pairs of old and new ids, one after another, each with its NUL. Zeroed: none. */
struct receipts_renamed {
    struct buf ids;
};

struct sending {
    struct lineage_store *store;
    struct receipts_renamed *renamed;
    struct tsv_reader *reader;
    struct arena arena;
    struct buf out;
    char had[LOG_ID_MAX * 4], has[LOG_ID_MAX * 4]; /* ids of the last row that was renamed, for the notice */
};

static void receipts_forget(struct receipts_renamed *renamed)
{
    buf_release(&renamed->ids);
}

/* Returns false if the receipt's records are not hexadecimal, if their file is gone or another one, or when out of memory. */
static bool read_bytes(struct buf *out, const struct lineage_store *store, const json_t *about)
{
    const json_t *records = json_object_get(about, "records");
    const char *beside = json_string_value(json_object_get(about, "beside"));
    if (beside)
        return receipts_read_beside(out, store->dir_fd, json_string_value(json_object_get(about, "request")), beside);
    const size_t n = json_string_length(records) / 2;
    if (!json_is_string(records) || !buf_reserve(out, n + 1) || !hex_read(out->data, json_string_value(records), n))
        return false;
    out->length = n;
    return true;
}

/* Number of the records in the receipt. */
static size_t receipts_count(const struct lineage_store *store, const json_t *about)
{
    SCOPED_BUF bytes = {0};
    struct tsv_scanner scanner;
    struct tsv_record record;
    size_t n = 0;
    if (read_bytes(&bytes, store, about)) {
        tsv_scanner_init(&scanner, bytes.data, bytes.length, 0, 1);
        while (tsv_scan(&scanner, &record))
            n++;
    }
    return n;
}

/* Raises *next_id above each numeric id of the receipt's rows. */
static void receipts_note_ids(const struct lineage_store *store, const json_t *about, uint64_t *next_id)
{
    SCOPED_BUF bytes = {0};
    struct tsv_scanner scanner;
    struct tsv_record record;
    size_t width = 0;
    if (read_bytes(&bytes, store, about)) {
        tsv_scanner_init(&scanner, bytes.data, bytes.length, 0, 1);
        while (tsv_scan(&scanner, &record)) {
            const char *end = memchr(record.bytes, '\t', record.length);
            char id[LOG_ID_MAX];
            if (end && (size_t)(end - record.bytes) < sizeof id) {
                snprintf(id, sizeof id, "%.*s", (int)(end - record.bytes), record.bytes);
                row_note_id(id, next_id, &width);
            }
        }
    }
}

/* The id that a trial got instead, or NULL. */
static const char *new_id_of(const struct receipts_renamed *renamed, const char *id)
{
    const char *at = renamed->ids.data, *end = at + renamed->ids.length;
    while (id && at && at < end) {
        const char *to = at + strlen(at) + 1;
        if (strcmp(id_bare(at), id_bare(id)) == 0)
            return to;
        at = to + strlen(to) + 1;
    }
    return NULL;
}

static enum lineage_status is_taken(struct sending *s, const char *id, bool *taken, struct lineage_error *err)
{
    char prefixed[LOG_ID_MAX * 4];
    const char *bare = id_bare(id);
    TRY(append_has_id(s->store, bare, taken, err));
    return !*taken && (size_t)snprintf(prefixed, sizeof prefixed, "exp_%s", bare) < sizeof prefixed
               ? append_has_id(s->store, prefixed, taken, err)
               : LINEAGE_OK;
}

/* Gives the row the next id of the log, and says in its notes which one it had. */
static enum lineage_status rename_row(struct sending *s, struct lineage_trial *trial, struct lineage_error *err)
{
    struct append_state *state = s->store->append;
    struct buf notes = {0};
    snprintf(s->had, sizeof s->had, "%s", trial->exp_id);
    snprintf(s->has, sizeof s->has, "%0*llu", (int)(state->id_width < 18 ? state->id_width : 18),
             (unsigned long long)state->next_id);
    buf_printf(&notes, "%s%sacknowledged as %s before the server lost it", trial->notes ? trial->notes : "",
               trial->notes && *trial->notes ? "; " : "", s->had);
    trial->exp_id = s->has;
    trial->notes = notes.failed ? NULL : arena_text(&s->arena, notes.data, notes.length);
    buf_add(&s->renamed->ids, s->had, strlen(s->had) + 1);
    buf_add(&s->renamed->ids, s->has, strlen(s->has) + 1);
    buf_release(&notes);
    return trial->notes && !s->renamed->ids.failed ? LINEAGE_OK : store_no_memory(err);
}

/* A row that needs no change is added byte for byte, like a record that is not a row. */
static enum lineage_status add_record(struct sending *s, const struct tsv_record *record, struct lineage_error *err)
{
    const struct row_layout *layout = mirror_layout(s->store->mirror);
    struct lineage_trial trial;
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    bool taken = false;
    size_t n;
    enum lineage_status status = LINEAGE_OK;
    TRY(tsv_parse(s->reader, record, &cells, &n, err));
    if (layout && n && strcmp(cells[0].text, layout->names[0]) == 0)
        return LINEAGE_OK; /* the header, which the log has */
    const bool is_row = layout && row_read(&trial, layout, cells, n, &s->arena, &fault, reason, &status);
    if (status == LINEAGE_OK && is_row)
        status = is_taken(s, trial.exp_id, &taken, err);
    TRY(status);
    const char *parent = is_row ? new_id_of(s->renamed, trial.parent_exp) : NULL;
    if (taken)
        status = rename_row(s, &trial, err);
    if (parent)
        trial.parent_exp = parent;
    if (taken || parent)
        row_write(&s->out, &trial, layout);
    else
        buf_add(&s->out, record->bytes, record->length);
    if (is_row && status == LINEAGE_OK && !append_note_row(s->store, &trial))
        status = store_no_memory(err);
    return s->out.failed ? store_no_memory(err) : status;
}

static enum lineage_status add_records(struct sending *s, const struct buf *bytes, struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    tsv_scanner_init(&scanner, bytes->data, bytes->length, 0, 1);
    if (s->store->append->finish_line)
        buf_puts(&s->out, "\n");
    while (tsv_scan(&scanner, &record))
        if (record.content)
            TRY(add_record(s, &record, err));
    return LINEAGE_OK;
}

static void tell(const struct sending *s)
{
    if (s->had[0])
        store_notice(s->store, 0,
                     "%s had acknowledged %s and no longer had it; another trial has that id now, so it is delivered "
                     "again as %s",
                     s->store->log->place, s->had, s->has);
    else
        store_notice(s->store, 0, "%s had acknowledged a row and no longer had it; it is delivered again", s->store->log->place);
}

/* Puts the rows as they were sent into the receipt, if they fit there. Otherwise it keeps those of before, which get another id again
 * if they must be sent once more. */
static enum lineage_status keep_sent(json_t *about, const struct buf *sent, struct lineage_error *err)
{
    SCOPED_BUF hex = {0};
    if (sent->length > RECEIPT_LINE_MAX || !json_object_get(about, "records"))
        return LINEAGE_OK;
    buf_add_hex(&hex, sent->data, sent->length);
    const bool kept = !hex.failed && json_object_set_new(about, "records", json_string(hex.data)) == 0;
    return kept ? LINEAGE_OK : store_no_memory(err);
}

static void sending_release(struct sending *s)
{
    tsv_reader_free(s->reader);
    arena_release(&s->arena);
    buf_release(&s->out);
}

/* Call it under the claim. */
static enum lineage_status add_and_tell(struct sending *s, const struct buf *bytes, struct log_state *end, json_t *about,
                                        struct lineage_error *err)
{
    TRY(append_catch_up_and(s->store, end, NULL, NULL, err));
    TRY(add_records(s, bytes, err));
    if (s->out.length)
        TRY(log_append(s->store->log, end, s->out.data, s->out.length, true, err));
    tell(s);
    return s->out.length ? keep_sent(about, &s->out, err) : LINEAGE_OK;
}

/* Sends the rows again under their request, in one append. Does nothing if the request has reached the log meanwhile. The receipt gets
 * the rows as they were sent, which differ if their ids were taken. */
static enum lineage_status receipts_send(struct lineage_store *store, json_t *about, const unsigned char request[16],
                                         struct receipts_renamed *renamed, struct lineage_error *err)
{
    RELEASED_BY(sending_release) struct sending s = {.store = store, .renamed = renamed, .reader = tsv_reader_new()};
    SCOPED_BUF bytes = {0};
    struct log_state end;
    TRY(s.reader && read_bytes(&bytes, store, about) ? append_get_ready(store, false, err) : store_no_memory(err));
    memcpy(store->log->request, request, sizeof store->log->request);
    enum lineage_status status = log_claim(store->log, &end, err);
    if (status == LINEAGE_OK && !store->log->found) {
        status = add_and_tell(&s, &bytes, &end, about, err);
        append_forget(store->append);
        if (store->append)
            store->append->follow_at_close = true;
    }
    log_release(store->log);
    return status;
}

/* ---- the file of receipts ---- */

/* Limits of the file and of the files beside it. When one is exceeded, the older half goes, or the oldest files. */
#define FILE_BYTES_MAX ((size_t)64 << 20)
#define BESIDE_BYTES_MAX ((uint64_t)1 << 30)

/* Records that are too long for a line are in a file beside it, of which the line has the digest. */
static json_t *describe(const struct lineage_store *store, const struct log_ack *ack)
{
    SCOPED_BUF request = {0}, records = {0};
    char identity[40];
    const bool beside = ack->length > RECEIPT_LINE_MAX;
    buf_add_hex(&request, ack->request, sizeof ack->request);
    if (beside)
        receipts_digest(&records, ack->bytes, ack->length);
    else
        buf_add_hex(&records, ack->bytes, ack->length);
    snprintf(identity, sizeof identity, "%016llx%016llx", (unsigned long long)ack->identity[0],
             (unsigned long long)ack->identity[1]);
    json_t *about =
        request.failed || records.failed
            ? NULL
            : json_pack("{s:s, s:s, s:I, s:s, s:I, s:s}", "request", request.data, "log", identity, "seq", (json_int_t)ack->seq,
                        "digest", ack->digest, "at", (json_int_t)time(NULL), beside ? "beside" : "records", records.data);
    if (about && beside && !receipts_put_beside(store->dir_fd, request.data, ack->bytes, ack->length, BESIDE_BYTES_MAX)) {
        json_decref(about);
        about = NULL;
    }
    return about;
}

static int write_line(const struct lineage_store *store, const char *text)
{
    SCOPED_BUF line = {0};
    buf_printf(&line, "\n%s\n", text);
    SCOPED_FD fd = line.failed ? -1 : fs_open(store->dir_fd, PLACE_RECEIPTS, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0600);
    int done = fd >= 0 && fs_lock(fd, true) == 0 ? fs_write_all(fd, line.data, line.length) : -1;
    return done;
}

void receipts_note(void *context, const struct log_ack *ack)
{
    struct lineage_store *store = context;
    json_auto_t *about = fs_mkdir(store->dir_fd, PLACE_OUTBOX) == 0 ? describe(store, ack) : NULL;
    SCOPED_FREE char *text = NULL;
    if (about) {
        outbox_bind(about, store);
        text = json_dumps(about, JSON_COMPACT);
    }
    if (!text || write_line(store, text) != 0)
        store_notice(store, 0,
                     "the row is recorded, but %s/" PLACE_RECEIPTS " cannot be written, so the row is not delivered "
                     "again if the server loses it",
                     store->dir);
}

/* ---- reading ------------------------------------------------------------------------------------------------------- */

/* Whether the receipt is of this user, machine and server, and of this log. */
static bool is_own(json_t *about, const struct lineage_store *store, const struct log_state *now)
{
    char identity[40];
    const char *log = json_string_value(json_object_get(about, "log"));
    snprintf(identity, sizeof identity, "%016llx%016llx", (unsigned long long)now->identity[0],
             (unsigned long long)now->identity[1]);
    return log && strcmp(log, identity) == 0 && outbox_is_bound(about, store);
}

/* The receipts in the last `most` lines of the bytes, oldest first. They are read from the end, so they are collected newest first. */
static json_t *read_receipts(struct lineage_store *store, const struct log_state *now, const struct buf *bytes, size_t most)
{
    json_t *newest_first = json_array(), *all = json_array();
    size_t end = bytes->length;
    for (size_t n = 0, from; end > 0 && n < most; end = from ? from - 1 : 0) {
        const char *before = memrchr(bytes->data, '\n', end);
        from = before ? (size_t)(before - bytes->data) + 1 : 0;
        json_t *about = end > from ? json_loadb(bytes->data + from, end - from, JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (about && is_own(about, store, now))
            json_array_append(newest_first, about);
        n += about != NULL;
        json_decref(about);
    }
    for (size_t i = json_array_size(newest_first); i-- > 0;)
        json_array_append(all, json_array_get(newest_first, i));
    json_decref(newest_first);
    return all;
}

static json_int_t number_of(const json_t *about, const char *key)
{
    return json_integer_value(json_object_get(about, key));
}

static bool read_request(unsigned char request[16], const json_t *about)
{
    const char *text = json_string_value(json_object_get(about, "request"));
    return text && strlen(text) == 32 && hex_read(request, text, 16);
}

/* ---- what the server has ------------------------------------------------------------------------------------------- */

/* Asks about the receipt with the highest number, which answers for all that were written before it. */
static enum lineage_status ask_last(struct lineage_store *store, const json_t *all, bool *there, bool *witnessed,
                                    struct lineage_error *err)
{
    const json_t *last = NULL, *one;
    size_t i;
    *there = *witnessed = false;
    json_array_foreach(all, i, one) {
        if (!last || number_of(one, "seq") > number_of(last, "seq"))
            last = one;
    }
    const char *digest = json_string_value(json_object_get(last, "digest"));
    if (!last || !number_of(last, "seq"))
        return LINEAGE_OK;
    return log_confirm(store->log, number_of(last, "seq"), digest ? digest : "", there, witnessed, err);
}

/* Gives each receipt the place where its rows are now, and 0 to those that the server does not have. */
static enum lineage_status ask_each(struct lineage_store *store, json_t *all, size_t *n_missing, struct lineage_error *err)
{
    json_t *one;
    size_t i;
    *n_missing = 0;
    json_array_foreach(all, i, one) {
        unsigned char request[16];
        char digest[LOG_DIGEST_TEXT];
        int64_t seq = 0;
        if (!read_request(request, one))
            continue;
        TRY(log_locate(store->log, request, receipts_count(store, one), &seq, digest, err));
        json_object_set_new(one, "seq", json_integer(seq));
        json_object_set_new(one, "digest", json_string(digest));
        *n_missing += !seq;
    }
    return LINEAGE_OK;
}

/* Reserves the ids of missing rows on the server, so that no other row gets them before the missing ones are delivered. Does
 * nothing for a user without the right to append. */
static void protect_ids(struct lineage_store *store, const json_t *all)
{
    uint64_t given = 0;
    const json_t *one;
    size_t i;
    json_array_foreach(all, i, one) {
        if (!number_of(one, "seq"))
            receipts_note_ids(store, one, &given);
    }
    if (given)
        (void)log_skip_ids(store->log, given, NULL);
}

#define GONE "gone" /* a member of receipts that are not written again */

/* Locks the file and reads it. Returns its descriptor, which holds the lock, or -1. */
static int open_locked(const struct lineage_store *store, struct buf *bytes)
{
    int fd = fs_open(store->dir_fd, PLACE_RECEIPTS, O_RDWR | O_NOFOLLOW, 0);
    if (fd >= 0 && fs_lock(fd, true) == 0 && fs_read_file(store->dir_fd, PLACE_RECEIPTS, bytes, NULL) == LINEAGE_OK)
        return fd;
    fs_close(fd);
    return -1;
}

static void replace(int fd, const char *data, size_t length)
{
    if (fs_write_at(fd, data, length, 0) == 0)
        (void)!fs_truncate(fd, length);
}

/* Replaces the first `length` bytes of the file, of which this is the digest, by these receipts. Lines that other processes have
 * added stay. If another process has delivered and replaced the same receipts, other bytes are there, and nothing is replaced. */
static void write_receipts(struct lineage_store *store, const json_t *all, size_t length, const struct buf *digest)
{
    struct buf text = {0}, now = {0}, found = {0};
    const json_t *one;
    size_t i;
    int fd = open_locked(store, &now);
    if (fd >= 0 && now.length >= length)
        receipts_digest(&found, now.data ? now.data : "", length);
    if (found.length != digest->length || !found.length || memcmp(found.data, digest->data, found.length) != 0)
        goto done;
    json_array_foreach(all, i, one) {
        if (json_object_get(one, GONE))
            continue;
        json_t *copy = json_deep_copy(one);
        outbox_bind(copy, store);
        char *line = json_dumps(copy, JSON_COMPACT);
        buf_printf(&text, "%s%s", line ? line : "", line ? "\n" : "");
        lineage_free(line);
        json_decref(copy);
    }
    buf_add(&text, now.data + length, now.length - length);
    if (!text.failed)
        replace(fd, text.data ? text.data : "", text.length);
done:
    fs_close(fd);
    buf_release(&text);
    buf_release(&now);
    buf_release(&found);
}

/* Removes the file beside the receipt in a line, if it has one. */
static void drop_beside(const struct lineage_store *store, const char *line, size_t length)
{
    static const char member[] = "\"beside\":";
    json_auto_t *about = memmem(line, length, member, sizeof member - 1) ? json_loadb(line, length, 0, NULL) : NULL;
    receipts_drop_beside(store->dir_fd, json_string_value(json_object_get(about, "request")));
}

/* Removes the lines that end within the first `drop` of n bytes, which end in `end`. Lines that other processes have added stay; if
 * another process has removed lines, other bytes are in that place, and nothing is removed. */
static void drop_first(struct lineage_store *store, size_t drop, size_t n, const struct buf *end)
{
    struct buf now = {0};
    size_t cut = 0;
    int fd = open_locked(store, &now);
    if (fd < 0 || now.length < n || memcmp(now.data + n - end->length, end->data, end->length) != 0)
        goto done;
    for (const char *at; (at = memchr(now.data + cut, '\n', drop - cut)); cut = (size_t)(at - now.data) + 1)
        drop_beside(store, now.data + cut, (size_t)(at - now.data) - cut);
    replace(fd, now.data + cut, now.length - cut);
done:
    fs_close(fd);
    buf_release(&now);
}

/* Lines of processes that append at the same time may be out of order by as many lines. */
enum { LAST_LINES = 16 };

enum { END_BYTES = LAST_LINES * (2 * RECEIPT_LINE_MAX + 4096) };

/* Reads the last `most` of the first *size bytes of the file, and sets *size to fewer if it is shorter. Returns false if there are no
 * receipts. */
static bool read_end(const struct lineage_store *store, size_t most, struct buf *bytes, size_t *size)
{
    struct stat st;
    SCOPED_FD fd = fs_open(store->dir_fd, PLACE_RECEIPTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    bool done = fd >= 0 && fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0;
    if (!done || *size > (size_t)st.st_size)
        *size = done ? (size_t)st.st_size : 0;
    const size_t n = *size < most ? *size : most;
    done = done && buf_reserve(bytes, n + 1) && fs_read_at(fd, bytes->data, n, *size - n) == (ssize_t)n;
    if (done)
        bytes->length = n;
    return done;
}

/* Reads the receipts in the first *size bytes, oldest first. What was written behind them since was not asked about. */
static json_t *read_all(struct lineage_store *store, const struct log_state *now, size_t *size, struct buf *digest)
{
    SCOPED_BUF bytes = {0};
    json_t *all = read_end(store, SIZE_MAX, &bytes, size) ? read_receipts(store, now, &bytes, SIZE_MAX) : json_array();
    receipts_digest(digest, bytes.length ? bytes.data : "", bytes.length);
    return all;
}

/* The log has all of them. They go if another server has them too. Without a standby nothing shows that, so the file has a limit. */
static void thin_out(struct lineage_store *store, bool witnessed, size_t n, const struct buf *end)
{
    drop_first(store, witnessed ? n : n / 2, n, end);
    if (!witnessed)
        store_notice(store, 0,
                     "%s/" PLACE_RECEIPTS " has reached %zu MiB, because no standby has the rows; its older half is removed, "
                     "so those rows are not delivered again if the server loses them",
                     store->dir, FILE_BYTES_MAX >> 20);
}

/* What was found in the file and on the server. Release it with forget. */
struct look {
    json_t *all; /* the receipts; what the caller may deliver if n_missing is above 0 */
    size_t n_missing;
    size_t read_until; /* they were in the first bytes of the file; SIZE_MAX before that is known */
    struct buf digest; /* of these bytes; only if each receipt was asked about */
};

static void forget(struct look *look)
{
    json_decref(look->all);
    buf_release(&look->digest);
}

/* Reads the receipts, and asks the server about each only if it lacks the last one. */
static enum lineage_status look_at(struct look *look, struct lineage_store *store, struct lineage_error *err)
{
    SCOPED_BUF bytes = {0};
    struct log_state now;
    bool there = false, witnessed = false;
    *look = (struct look){.read_until = SIZE_MAX};
    if (!log_has_requests(store->log) || !read_end(store, END_BYTES, &bytes, &look->read_until))
        return LINEAGE_OK;
    TRY(log_look(store->log, &now, err));
    look->all = read_receipts(store, &now, &bytes, LAST_LINES);
    TRY(ask_last(store, look->all, &there, &witnessed, err));
    if (there && (witnessed || look->read_until > FILE_BYTES_MAX))
        thin_out(store, witnessed, look->read_until, &bytes);
    if (there)
        return LINEAGE_OK;
    json_decref(look->all);
    look->all = read_all(store, &now, &look->read_until, &look->digest);
    TRY(ask_each(store, look->all, &look->n_missing, err));
    if (look->n_missing)
        protect_ids(store, look->all);
    return LINEAGE_OK;
}

enum lineage_status receipts_check(struct lineage_store *store, size_t *n_missing, struct lineage_error *err)
{
    struct look look;
    enum lineage_status status = look_at(&look, store, err);
    *n_missing = look.n_missing;
    forget(&look);
    return status;
}

/* A receipt whose file is gone cannot be delivered, which must not keep the others. */
static bool is_unreadable(struct lineage_store *store, json_t *about)
{
    if (receipts_count(store, about))
        return false;
    json_object_set_new(about, GONE, json_true());
    store_notice(store, 0,
                 "%s no longer has an append of this machine, which cannot be delivered again: its file in %s/" PLACE_OUTBOX
                 " is gone or damaged",
                 store->log->place, store->dir);
    return true;
}

/*
 * Sends what is missing. No receipt is written meanwhile: the last lines of the file would be those of rows that the log has, and after
 * a kill nothing would ask about the rest. The receipts stay unchanged until write_receipts replaces all of them.
 */
static enum lineage_status send_missing(struct lineage_store *store, json_t *all, size_t *n, struct lineage_error *err)
{
    RELEASED_BY(receipts_forget) struct receipts_renamed renamed = {0};
    enum lineage_status status = LINEAGE_OK;
    json_t *one;
    size_t i;
    store->log->acknowledged = NULL;
    json_array_foreach(all, i, one) {
        unsigned char request[16];
        if (status != LINEAGE_OK || number_of(one, "seq") || !read_request(request, one) || is_unreadable(store, one))
            continue;
        status = receipts_send(store, one, request, &renamed, err);
        *n += status == LINEAGE_OK;
    }
    store->log->acknowledged = receipts_note;
    return status;
}

/* If each receipt was asked about, the receipts are written again also if nothing is missing: a process that delivered the rows may
 * have been killed before it could. */
enum lineage_status receipts_deliver(struct lineage_store *store, size_t *n, struct lineage_error *err)
{
    struct look look;
    *n = 0;
    enum lineage_status status = look_at(&look, store, err);
    const bool missing = status == LINEAGE_OK && look.n_missing;
    if (missing)
        status = send_missing(store, look.all, n, err);
    if (missing && status == LINEAGE_OK)
        status = ask_each(store, look.all, &look.n_missing, err);
    if (status == LINEAGE_OK && look.digest.length)
        write_receipts(store, look.all, look.read_until, &look.digest);
    forget(&look);
    return status;
}
