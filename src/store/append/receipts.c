/*
 * receipts.c: see receipts.h.
 *
 * The file has one JSON object per line, bound to user, machine and server like a request of the outbox (outbox_bind.h). Each
 * line is one write under a lock, behind a line end, so that a line which a kill cut off spoils no other. A digest covers all
 * records before it, so one question about the last receipt answers for all of them.
 */
#define _GNU_SOURCE /* memrchr */
#include "receipts.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <lineage/render.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../format/row.h"
#include "outbox_bind.h"
#include "receipts_rows.h"

enum { RECEIPT_BYTES_MAX = 1 << 20, KEPT_SECONDS = 7 * 86400 };

static json_t *describe(const struct log_ack *ack)
{
    struct buf request = {0}, records = {0};
    char identity[40];
    buf_add_hex(&request, ack->request, sizeof ack->request);
    buf_add_hex(&records, ack->bytes, ack->length);
    snprintf(identity, sizeof identity, "%016llx%016llx", (unsigned long long)ack->identity[0],
             (unsigned long long)ack->identity[1]);
    json_t *about = request.failed || records.failed
                        ? NULL
                        : json_pack("{s:s, s:s, s:I, s:s, s:I, s:s}", "request", request.data, "log", identity, "seq",
                                    (json_int_t)ack->seq, "digest", ack->digest, "at", (json_int_t)time(NULL), "records",
                                    records.data);
    buf_release(&request);
    buf_release(&records);
    return about;
}

static int write_line(const struct lineage_store *store, const char *text)
{
    struct buf line = {0};
    buf_printf(&line, "\n%s\n", text);
    int fd = line.failed ? -1 : fs_open(store->dir_fd, PLACE_RECEIPTS, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0600);
    int done = fd >= 0 && fs_lock(fd, true) == 0 ? fs_write_all(fd, line.data, line.length) : -1;
    if (fd >= 0)
        fs_close(fd);
    buf_release(&line);
    return done;
}

void receipts_note(void *context, const struct log_ack *ack)
{
    struct lineage_store *store = context;
    if (ack->length > RECEIPT_BYTES_MAX || fs_mkdir(store->dir_fd, PLACE_OUTBOX) != 0)
        return;
    json_t *about = describe(ack);
    char *text = NULL;
    if (about) {
        outbox_bind(about, store);
        text = json_dumps(about, JSON_COMPACT);
    }
    if (!text || write_line(store, text) != 0)
        store_notice(store, 0, "the row is recorded, but %s/" PLACE_RECEIPTS " cannot be written, so the row is not delivered "
                     "again if the server loses it", store->dir);
    lineage_free(text);
    json_decref(about);
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
    return text && strlen(text) == 32 && receipts_read_hex(request, text, 16);
}

/* ---- what the server has ------------------------------------------------------------------------------------------- */

/* Asks about the receipt with the highest number, which answers for all that were written before it. */
static enum lineage_status ask_last(struct lineage_store *store, const json_t *all, bool *there, bool *witnessed,
                                    struct lineage_error *err)
{
    const json_t *last = NULL, *one;
    size_t i;
    *there = *witnessed = false;
    json_array_foreach(all, i, one)
    {
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
    enum lineage_status status = LINEAGE_OK;
    json_t *one;
    size_t i;
    *n_missing = 0;
    json_array_foreach(all, i, one)
    {
        unsigned char request[16];
        char digest[LOG_DIGEST_TEXT];
        int64_t seq = 0;
        if (!read_request(request, one))
            continue;
        status = log_locate(store->log, request, receipts_count(one), &seq, digest, err);
        if (status != LINEAGE_OK)
            return status;
        json_object_set_new(one, "seq", json_integer(seq));
        json_object_set_new(one, "digest", json_string(digest));
        *n_missing += !seq;
    }
    return status;
}

/* Replaces the file by these receipts, without those that are older than a week. What another process wrote behind the first
 * read_until bytes since stays, because the lock is held and the rest of the file is copied. */
static void write_receipts(struct lineage_store *store, const json_t *all, size_t read_until)
{
    struct buf text = {0}, now = {0};
    const json_t *one;
    size_t i;
    int fd = fs_open(store->dir_fd, PLACE_RECEIPTS, O_RDWR | O_NOFOLLOW, 0);
    if (fd < 0 || fs_lock(fd, true) != 0)
        goto done;
    json_array_foreach(all, i, one)
    {
        json_t *copy = json_deep_copy(one);
        outbox_bind(copy, store);
        char *line = number_of(one, "at") + KEPT_SECONDS > time(NULL) ? json_dumps(copy, JSON_COMPACT) : NULL;
        buf_printf(&text, "%s%s", line ? line : "", line ? "\n" : "");
        lineage_free(line);
        json_decref(copy);
    }
    if (fs_read_file(store->dir_fd, PLACE_RECEIPTS, &now, NULL) == LINEAGE_OK && now.length > read_until)
        buf_add(&text, now.data + read_until, now.length - read_until);
    if (!text.failed && fs_write_at(fd, text.data ? text.data : "", text.length, 0) == 0)
        (void)!fs_truncate(fd, text.length);
done:
    if (fd >= 0)
        fs_close(fd);
    buf_release(&text);
    buf_release(&now);
}

/* Whether the first receipt is so old that the file is worth writing anew. */
static bool is_first_old(const struct buf *bytes)
{
    const char *start = bytes->data + (bytes->data[0] == '\n'), *end = memchr(start, '\n', bytes->length - (size_t)(start - bytes->data));
    json_t *about = end ? json_loadb(start, (size_t)(end - start), 0, NULL) : NULL;
    const bool old = number_of(about, "at") + KEPT_SECONDS + 86400 < time(NULL);
    json_decref(about);
    return old;
}

/* Lines of processes that append at the same time may be out of order by as many lines. */
enum { LAST_LINES = 16 };

/* Reads the receipts, and asks the server about each only if it lacks the last one. *all is what the caller may deliver if
 * *n_missing is above 0. */
static enum lineage_status look(struct lineage_store *store, json_t **all, size_t *n_missing, size_t *read_until,
                                struct lineage_error *err)
{
    struct buf bytes = {0};
    struct log_state now;
    bool there = false, witnessed = false;
    *n_missing = *read_until = 0;
    *all = NULL;
    if (!log_has_requests(store->log) || fs_read_file(store->dir_fd, PLACE_RECEIPTS, &bytes, NULL) != LINEAGE_OK || !bytes.length) {
        buf_release(&bytes);
        return LINEAGE_OK;
    }
    enum lineage_status status = log_look(store->log, &now, err);
    *read_until = bytes.length;
    if (status == LINEAGE_OK) {
        *all = read_receipts(store, &now, &bytes, LAST_LINES);
        status = ask_last(store, *all, &there, &witnessed, err);
    }
    if (status == LINEAGE_OK && (!there || witnessed || is_first_old(&bytes))) {
        json_decref(*all);
        *all = witnessed ? json_array() : read_receipts(store, &now, &bytes, SIZE_MAX);
        if (there)
            write_receipts(store, *all, bytes.length);
        else
            status = ask_each(store, *all, n_missing, err);
    }
    buf_release(&bytes);
    return status;
}

enum lineage_status receipts_check(struct lineage_store *store, size_t *n_missing, struct lineage_error *err)
{
    json_t *all;
    size_t read_until;
    enum lineage_status status = look(store, &all, n_missing, &read_until, err);
    json_decref(all);
    return status;
}

enum lineage_status receipts_deliver(struct lineage_store *store, size_t *n, struct lineage_error *err)
{
    struct receipts_renamed renamed = {0};
    json_t *all, *one;
    size_t i, n_missing, read_until;
    *n = 0;
    enum lineage_status status = look(store, &all, &n_missing, &read_until, err);
    json_array_foreach(all, i, one)
    {
        unsigned char request[16];
        if (status != LINEAGE_OK || !n_missing || number_of(one, "seq") || !read_request(request, one))
            continue;
        status = receipts_send(store, one, request, &renamed, err);
        *n += status == LINEAGE_OK;
    }
    if (status == LINEAGE_OK && n_missing)
        status = ask_each(store, all, &n_missing, err);
    if (status == LINEAGE_OK && *n)
        write_receipts(store, all, read_until);
    receipts_forget(&renamed);
    json_decref(all);
    return status;
}
