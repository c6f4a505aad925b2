/*
 * import_exact.c: makes the log equal to a file.
 *
 * append/import.c parses rows and formats them again. Here nothing is parsed, so that damaged records arrive unchanged.
 * Nothing is mended either, because a torn end of the log may be half of a record whose rest is in the file.
 */
#include <lineage/move.h>

#include <fcntl.h>
#include <string.h>

#include "../files/fs.h"
#include "../mirror/mirror.h"
#include "../log/log.h"

#define PIECE ((size_t)1 << 20)

static enum lineage_status differs(const struct lineage_store *store, struct lineage_error *err)
{
    return store_fail(err, LINEAGE_EEXIST, "%s has rows that are not those of the file; an exact import goes into a new store",
                      store->log->place);
}

/* Checks, under the claim, that the bytes begin with the contents of the log. */
static enum lineage_status check_beginning(struct lineage_store *store, const struct log_state *end, const struct buf *bytes,
                                           struct lineage_error *err)
{
    struct buf there = {0};
    enum lineage_status status = end->size > bytes->length ? differs(store, err) : LINEAGE_OK;
    for (uint64_t at = 0; status == LINEAGE_OK && at < end->size; at += there.length) {
        const size_t wanted = end->size - at < PIECE ? (size_t)(end->size - at) : PIECE;
        buf_reset(&there);
        status = log_read(store->log, at, wanted, &there, err);
        if (status == LINEAGE_OK && (there.length < wanted || memcmp(there.data, bytes->data + at, wanted) != 0))
            status = differs(store, err);
    }
    buf_release(&there);
    return status;
}

/* Adds the rest of the bytes under one claim. The claim removes an unfinished append; mirrors that contain its rows
 * notice this at their next sync. */
static enum lineage_status add_rest(struct lineage_store *store, const struct buf *bytes, uint64_t *n_bytes,
                                    struct lineage_error *err)
{
    struct log_state end;
    enum lineage_status status = log_claim(store->log, &end, err);
    if (status != LINEAGE_OK)
        return status;
    const uint64_t from = end.size;
    status = check_beginning(store, &end, bytes, err);
    if (status == LINEAGE_OK && from < bytes->length)
        status = log_append_many(store->log, &end, bytes->data + from, bytes->length - (size_t)from, true, err);
    log_release(store->log);
    if (status == LINEAGE_OK)
        *n_bytes = bytes->length - from;
    return status;
}

/* The source is read before the claim, because it may be a pipe that a person types into. If a server lost the claim
 * before the append, the log is claimed and compared again, and only missing bytes are added. */
enum lineage_status lineage_import_exact(struct lineage_store *store, const char *path, uint64_t *n_bytes,
                                         struct lineage_error *err)
{
    struct buf bytes = {0};
    *n_bytes = 0;
    enum lineage_status status = store_check_owner(store, err);
    if (status == LINEAGE_OK)
        status = fs_read_stream(AT_FDCWD, path, &bytes, err);
    if (status == LINEAGE_OK)
        status = add_rest(store, &bytes, n_bytes, err);
    if (status == LINEAGE_EAWAY && store->log->lost)
        status = add_rest(store, &bytes, n_bytes, err);
    if (status == LINEAGE_OK)
        mirror_follow(store->mirror);
    buf_release(&bytes);
    return status;
}
