/* changes.c: whether mirrored bytes of results.tsv are still what they were. */
#include <string.h>

#include "internal.h"

/* Whether the record at offset still has this digest. Its length is found by scanning. */
static enum lineage_status record_matches(struct mirror *mirror, uint64_t offset, uint64_t end, int64_t digest,
                                          bool *same, struct lineage_error *err)
{
    struct buf bytes = {0};
    enum lineage_status status = log_read(mirror->store->log, offset, (size_t)(end - offset), &bytes, err);
    struct tsv_scanner scanner;
    struct tsv_record record = {0};
    tsv_scanner_init(&scanner, bytes.data, bytes.length, offset, 1);
    *same = status == LINEAGE_OK && tsv_scan(&scanner, &record) && mirror_digest(record.bytes, record.length) == digest;
    buf_release(&bytes);
    return status;
}

static enum lineage_status header_matches(struct mirror *mirror, bool *same, struct lineage_error *err)
{
    struct buf bytes = {0};
    enum lineage_status status = log_read(mirror->store->log, 0, mirror->header.length, &bytes, err);
    *same = status == LINEAGE_OK && bytes.length == mirror->header.length &&
            (!bytes.length || memcmp(bytes.data, mirror->header.data, bytes.length) == 0);
    buf_release(&bytes);
    return status;
}

/* An edit in place keeps the size: time or identity changed but nothing was added. */
static bool looks_touched(const struct mirror *mirror, const struct log_stat *stat)
{
    const struct mirror_meta *meta = &mirror->meta;
    if (stat->inode != meta->at.inode || stat->device != meta->at.device)
        return true;
    return stat->size == meta->at.size && stat->mtime_ns != meta->mtime_ns;
}

enum lineage_status mirror_check_ends(struct mirror *mirror, const struct log_stat *stat, bool *same,
                                      struct lineage_error *err)
{
    const struct mirror_meta *meta = &mirror->meta;
    enum lineage_status status = LINEAGE_OK;
    uint64_t line = 0;
    *same = stat->size >= meta->at.watermark;
    if (!*same || meta->at.watermark == 0)
        return LINEAGE_OK;
    status = header_matches(mirror, same, err);
    if (status == LINEAGE_OK && *same)
        status = record_matches(mirror, meta->last_offset, meta->at.watermark, meta->last_digest, same, err);
    if (status == LINEAGE_OK && *same && looks_touched(mirror, stat)) {
        status = mirror_first_change(mirror, &line, err);
        *same = line == 0;
    }
    return status;
}

/* Row by row: the stretch between two rows holds only damaged records, which no answer depends on. */
enum lineage_status mirror_first_change(struct mirror *mirror, uint64_t *line, struct lineage_error *err)
{
    struct buf bytes = {0};
    sqlite3_stmt *stmt;
    *line = 0;
    enum lineage_status status = mirror_prepare(
        mirror, &stmt, "SELECT offset, length, digest, line FROM trials WHERE seq <= (SELECT rows FROM meta)"
                       " ORDER BY seq", err);
    while (status == LINEAGE_OK && *line == 0 && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        uint64_t offset = (uint64_t)sqlite3_column_int64(stmt, 0);
        size_t length = (size_t)sqlite3_column_int64(stmt, 1);
        bytes.length = 0;
        status = log_read(mirror->store->log, offset, length, &bytes, err);
        if (status == LINEAGE_OK &&
            (bytes.length != length || mirror_digest(bytes.data, length) != sqlite3_column_int64(stmt, 2)))
            *line = (uint64_t)sqlite3_column_int64(stmt, 3);
    }
    sqlite3_reset(stmt);
    buf_release(&bytes);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}
