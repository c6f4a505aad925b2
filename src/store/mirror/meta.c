/*
 * meta.c: stores how far the mirror has read, and the header that it read.
 *
 * Both are in one row of the table meta, which is written in the same transaction as the rows that it describes: after
 * a kill either both are there or neither is. Without it a sync would have to compare the whole log with the whole
 * mirror to know where to continue.
 */
#include "mirror_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "statement.h"

/* Ids have at least three digits, so that those up to 999 sort as text. */
struct mirror_meta mirror_meta_start(void)
{
    return (struct mirror_meta){.at = {.line = 1, .id_width = 3}, .id_width = 3};
}

/* An emptied mirror must forget its header too; otherwise the next sync would take the header for a row. */
void mirror_forget_header(struct mirror *mirror)
{
    row_layout_release(&mirror->layout);
    mirror->has_layout = false;
    buf_reset(&mirror->header);
}

/* The header is parsed from a copy, because the scanner's bytes are gone when the next chunk is read. */
enum lineage_status mirror_set_header(struct mirror *mirror, const char *bytes, size_t length, struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record = {0};
    const struct tsv_cell *cells;
    size_t n;
    buf_reset(&mirror->header);
    buf_add(&mirror->header, bytes, length);
    row_layout_release(&mirror->layout);
    mirror->has_layout = false;
    tsv_scanner_init(&scanner, mirror->header.data, length, 0, 1);
    if (mirror->header.failed)
        return store_no_memory(err);
    bool found = tsv_scan(&scanner, &record);
    assert(found); /* the caller passes a record that is not empty */
    (void)found;
    enum lineage_status status = tsv_parse(mirror->reader, &record, &cells, &n, err);
    if (status == LINEAGE_OK)
        status = row_layout_read(&mirror->layout, cells, n, mirror->store->config.metric, err);
    mirror->has_layout = status == LINEAGE_OK;
    return status;
}

/* The columns device, inode and mtime_ns hold the tokens of the log's state for every kind of log. They are named after
 * the tokens of a file, which was the first kind of log. The provisional row counts for the next id in memory only,
 * because it may be gone at the next sync, and its number must then be free. */
static void read_meta(struct mirror *mirror, sqlite3_stmt *stmt)
{
    struct mirror_meta *meta = &mirror->meta;
    meta->at.watermark = (uint64_t)sqlite3_column_int64(stmt, 2);
    meta->at.line = (uint64_t)sqlite3_column_int64(stmt, 3);
    meta->at.rows = (uint64_t)sqlite3_column_int64(stmt, 4);
    meta->at.log.exists = true;
    meta->at.log.identity[0] = (uint64_t)sqlite3_column_int64(stmt, 5);
    meta->at.log.identity[1] = (uint64_t)sqlite3_column_int64(stmt, 6);
    meta->at.log.size = (uint64_t)sqlite3_column_int64(stmt, 7);
    meta->at.log.revision = sqlite3_column_int64(stmt, 8);
    meta->last_offset = (uint64_t)sqlite3_column_int64(stmt, 9);
    meta->last_digest = sqlite3_column_int64(stmt, 10);
    meta->next_id = meta->at.next_id = (uint64_t)sqlite3_column_int64(stmt, 11);
    meta->id_width = meta->at.id_width = (size_t)sqlite3_column_int64(stmt, 12);
    meta->provisional = sqlite3_column_int64(stmt, 13);
    meta->judged = sqlite3_column_int64(stmt, 15);
    meta->at.names = sqlite3_column_int64(stmt, 16);
    meta->at.twice = sqlite3_column_int64(stmt, 17);
    if (meta->provisional)
        row_note_id(mirror_text(stmt, 14), &meta->at.next_id, &meta->at.id_width);
}

/* What decides how rows are read: the score column, and behind a line end a digest of the names of seeds, if there are any. The mirror
 * must be made anew for others, because its tables hold other scores, or other settings for a row. */
enum { READ_BY_MAX = LINEAGE_NAME_MAX + 18 };
static const char *read_by(char out[READ_BY_MAX], const struct lineage_store *store)
{
    uint64_t digest = 0;
    for (const char *const *name = lineage_store_seeds(store); name && *name; name++)
        digest = XXH3_64bits_withSeed(*name, strlen(*name) + 1, digest);
    snprintf(out, READ_BY_MAX, digest ? "%s\n%016" PRIx64 : "%s", store->config.metric, digest);
    return out;
}

/* The header is parsed only if it differs from the current one, because this runs at every sync that finds something new. */
enum lineage_status mirror_load_meta(struct mirror *mirror, bool *same, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    char wanted[READ_BY_MAX];
    enum lineage_status status = mirror_prepare(
        mirror, &stmt,
        "SELECT metric, header, watermark, line, rows, device, inode, size, mtime_ns, last_offset,"
        " last_digest, next_id, id_width, provisional,"
        " (SELECT exp_id FROM trials WHERE seq = provisional), (SELECT settings FROM judged_with), names, twice FROM meta",
        err);
    if (status == LINEAGE_OK)
        status = mirror_step(mirror, stmt, err);
    if (status == LINEAGE_ENOTFOUND) { /* nothing mirrored yet */
        *same = true;
        mirror->meta = mirror_meta_start();
        mirror_forget_header(mirror);
        return LINEAGE_OK;
    }
    if (status != LINEAGE_OK)
        return status;
    size_t length = (size_t)sqlite3_column_bytes(stmt, 1);
    *same = strcmp(mirror_text(stmt, 0), read_by(wanted, mirror->store)) == 0;
    read_meta(mirror, stmt);
    bool known = mirror->has_layout && mirror->header.length == length &&
                 memcmp(mirror->header.data, sqlite3_column_blob(stmt, 1), length) == 0;
    if (!length)
        mirror_forget_header(mirror);
    else if (!known && *same)
        status = mirror_set_header(mirror, sqlite3_column_blob(stmt, 1), length, err);
    sqlite3_reset(stmt);
    return status;
}

/* Replaces the row with id 0, the only id that the table's CHECK allows. */
enum lineage_status mirror_save_meta(struct mirror *mirror, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    char made_for[READ_BY_MAX];
    const struct mirror_meta *meta = &mirror->meta;
    const int64_t values[] = {(int64_t)meta->at.watermark,
                              (int64_t)meta->at.line,
                              (int64_t)meta->at.rows,
                              (int64_t)meta->at.log.identity[0],
                              (int64_t)meta->at.log.identity[1],
                              (int64_t)meta->at.log.size,
                              meta->at.log.revision,
                              (int64_t)meta->last_offset,
                              meta->last_digest,
                              (int64_t)meta->next_id,
                              (int64_t)meta->id_width,
                              meta->provisional,
                              meta->at.names,
                              meta->at.twice};
    enum lineage_status status =
        mirror_prepare(mirror, &stmt, "REPLACE INTO meta VALUES (0,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, read_by(made_for, mirror->store), -1, SQLITE_STATIC);
    sqlite3_bind_blob(stmt, 2, mirror->header.length ? mirror->header.data : "", (int)mirror->header.length, SQLITE_STATIC);
    for (int i = 0; i < (int)(sizeof values / sizeof *values); i++)
        sqlite3_bind_int64(stmt, 3 + i, values[i]);
    return mirror_run(mirror, stmt, err);
}
