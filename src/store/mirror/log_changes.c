/*
 * log_changes.c: checks that the mirrored bytes of results.tsv are unchanged.
 *
 * Every sync that finds the file grown compares its header and the last mirrored record. If the file was touched
 * without growing, or was replaced, everything is compared. Every byte up to the watermark belongs to the header, to
 * a row, to a damaged record, or to an empty line between them.
 *
 * Comparing all bytes at every command would cost as much as reading the log again. So a sync does not notice an edit
 * in the middle that is followed by an append before the sync. `verify` finds it, because it compares everything
 * (described in FORMAT.md).
 */
#include "mirror_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <xxhash.h>

#include "statement.h"

/* ---- stores how far the mirror has read, and the header that it read.
 *
 * Both are in one row of the table meta, which is written in the same transaction as the rows that it describes: after
 * a kill either both are there or neither is. Without it a sync would have to compare the whole log with the whole
 * mirror to know where to continue.
 */

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
    if (status == LINEAGE_OK && !mirror->store->config.metric[0])
        status = row_layout_take_score(&mirror->layout, lineage_store_score_name(mirror->store), err);
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

/* The column that is the score because the store names its score like that, or NULL. */
static const char *named_score(const struct mirror *mirror)
{
    const char *name = mirror->has_layout && !mirror->store->config.metric[0] ? mirror->layout.metric : NULL;
    return name && strcmp(name, "core_metric") != 0 && strcmp(name, "val_bpb") != 0 ? name : NULL;
}

/* What decides how rows are read: the score column, behind a tab if it is named_score, and behind a line end a digest of the names of
 * seeds, if there are any. The mirror must be made anew for others, because its tables hold other scores, or other settings for a row. */
enum { READ_BY_MAX = LINEAGE_NAME_MAX + 19 };
static const char *read_by(char out[READ_BY_MAX], const struct lineage_store *store, const char *named)
{
    uint64_t digest = 0;
    for (const char *const *name = lineage_store_seeds(store); name && *name; name++)
        digest = XXH3_64bits_withSeed(*name, strlen(*name) + 1, digest);
    snprintf(out, READ_BY_MAX, digest ? "%s%s\n%016" PRIx64 : "%s%s", named ? "\t" : "", named ? named : store->config.metric,
             digest);
    return out;
}

/* The header is parsed only if it differs from the current one, because this runs at every sync that finds something new. */
enum lineage_status mirror_load_meta(struct mirror *mirror, bool *same, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    char wanted[READ_BY_MAX];
    enum lineage_status status = mirror_row(
        mirror, &stmt, err,
        "SELECT metric, header, watermark, line, rows, device, inode, size, mtime_ns, last_offset,"
        " last_digest, next_id, id_width, provisional,"
        " (SELECT exp_id FROM trials WHERE seq = provisional), (SELECT settings FROM judged_with), names, twice FROM meta",
        "");
    if (status == LINEAGE_ENOTFOUND) { /* nothing mirrored yet */
        *same = true;
        mirror->meta = mirror_meta_start();
        mirror_forget_header(mirror);
        return LINEAGE_OK;
    }
    TRY(status);
    size_t length = (size_t)sqlite3_column_bytes(stmt, 1);
    const bool named = *mirror_text(stmt, 0) == '\t' && !mirror->store->config.metric[0];
    *same =
        strcmp(mirror_text(stmt, 0), read_by(wanted, mirror->store, named ? lineage_store_score_name(mirror->store) : NULL)) == 0;
    read_meta(mirror, stmt);
    bool known = mirror->has_layout && mirror->header.length == length &&
                 memcmp(mirror->header.data, sqlite3_column_blob(stmt, 1), length) == 0;
    if (!length)
        mirror_forget_header(mirror);
    else if (!known && *same)
        status = mirror_set_header(mirror, sqlite3_column_blob(stmt, 1), length, err);
    *same = *same && (!mirror->has_layout || (named_score(mirror) != NULL) == named);
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
    TRY(mirror_prepare(mirror, &stmt, "REPLACE INTO meta VALUES (0,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", err));
    sqlite3_bind_text(stmt, 1, read_by(made_for, mirror->store, named_score(mirror)), -1, SQLITE_STATIC);
    sqlite3_bind_blob(stmt, 2, mirror->header.length ? mirror->header.data : "", (int)mirror->header.length, SQLITE_STATIC);
    for (int i = 0; i < (int)(sizeof values / sizeof *values); i++)
        sqlite3_bind_int64(stmt, 3 + i, values[i]);
    return mirror_run(mirror, stmt, err);
}

/* Size of a read in bytes: it contains thousands of records, and a log of any size is compared in this much memory. */
#define WINDOW ((size_t)4 << 20)

/* A stretch of the file, read ahead. */
struct window {
    struct log *log;
    struct buf bytes;
    uint64_t offset; /* position of bytes in the log */
    size_t ahead; /* minimum number of bytes to read: large to compare everything, 0 to compare two places */
};

/* Returns bytes [offset, offset+length), or fewer if the file ends. Records are requested in the order of the file, so
 * nearly all of them are in the stretch that was read last. */
static enum lineage_status look(struct window *window, uint64_t offset, size_t length, const char **bytes, size_t *n,
                                struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    uint64_t at = offset - window->offset; /* wraps to a huge value if offset is before the window */
    if (at > window->bytes.length || length > window->bytes.length - at) {
        window->offset = offset;
        window->bytes.length = 0;
        status = log_read(window->log, offset, length > window->ahead ? length : window->ahead, &window->bytes, err);
        at = 0;
    }
    size_t there = window->bytes.length - (size_t)at;
    *n = there < length ? there : length;
    *bytes = *n ? window->bytes.data + (offset - window->offset) : "";
    return status;
}

static enum lineage_status is_same(struct window *window, uint64_t offset, size_t length, int64_t digest, bool *same,
                                   struct lineage_error *err)
{
    const char *bytes;
    size_t n;
    enum lineage_status status = look(window, offset, length, &bytes, &n, err);
    *same = status == LINEAGE_OK && n == length && record_digest(bytes, n) == digest;
    return status;
}

/* Whether there are only line ends from offset to end. If log_blank or an editor turned a record into line ends, no row
 * was changed. */
static enum lineage_status is_blank(struct window *window, uint64_t offset, uint64_t end, bool *blank, struct lineage_error *err)
{
    const char *bytes;
    size_t n;
    *blank = true;
    while (*blank && offset < end) {
        TRY(look(window, offset, end - offset < WINDOW ? (size_t)(end - offset) : WINDOW, &bytes, &n, err));
        for (size_t i = 0; i < n; i++)
            *blank = *blank && (bytes[i] == '\n' || bytes[i] == '\r');
        *blank = *blank && n;
        offset += n;
    }
    return LINEAGE_OK;
}

/* The header is the first record that is not empty; *end is where it ends. It is compared byte by byte instead of by
 * a digest, because it decides how every row is read. */
static enum lineage_status check_header(struct mirror *mirror, struct window *window, uint64_t *end, bool *same,
                                        struct lineage_error *err)
{
    const char *bytes;
    size_t n, blank = 0;
    *end = 0;
    do {
        *end += blank;
        enum lineage_status status = look(window, *end, 4096, &bytes, &n, err);
        TRY(status);
        for (blank = 0; blank < n && (bytes[blank] == '\n' || bytes[blank] == '\r'); blank++)
            ;
    } while (n && blank == n);
    *end += blank;
    enum lineage_status status = look(window, *end, mirror->header.length, &bytes, &n, err);
    *same = n == mirror->header.length && (!n || memcmp(bytes, mirror->header.data, n) == 0);
    *end += n;
    return status;
}

/* An edit in place keeps the size: time or identity changed, but nothing was added. A file that grew was appended to,
 * and its last record was just compared. */
static bool looks_touched(const struct mirror *mirror, const struct log_state *log)
{
    const struct log_state *then = &mirror->meta.at.log;
    return !log_is_same(log, then) || log->size == then->size;
}

/* The last record reaches up to the watermark, except for empty lines after the record. If another tool rewrote the
 * file with a row more or less before that record, other bytes are at its place. This is the cheapest test that notices
 * most changes. */
static enum lineage_status check_last(struct mirror *mirror, struct window *window, bool *same, struct lineage_error *err)
{
    const struct mirror_meta *meta = &mirror->meta;
    struct tsv_scanner scanner;
    struct tsv_record record = {0};
    const char *bytes;
    size_t n;
    if (!meta->last_offset)
        return LINEAGE_OK;
    enum lineage_status status =
        look(window, meta->last_offset, (size_t)(meta->at.watermark - meta->last_offset), &bytes, &n, err);
    tsv_scanner_init(&scanner, bytes, n, meta->last_offset, 1);
    *same =
        status == LINEAGE_OK && tsv_scan(&scanner, &record) && record_digest(record.bytes, record.length) == meta->last_digest;
    return status;
}

enum lineage_status mirror_ends_in_log(struct mirror *mirror, bool *ends, struct lineage_error *err)
{
    struct window window = {.log = mirror->store->log};
    *ends = true;
    enum lineage_status status = check_last(mirror, &window, ends, err);
    buf_release(&window.bytes);
    return status;
}

/* The tests are ordered by cost: the size, the header, the last record, and all bytes only if the file looks
 * touched. */
enum lineage_status mirror_check_ends(struct mirror *mirror, const struct log_state *log, bool *same, struct lineage_error *err)
{
    struct window window = {.log = mirror->store->log};
    const struct mirror_meta *meta = &mirror->meta;
    enum lineage_status status = LINEAGE_OK;
    uint64_t line = 0, end;
    *same = log->size >= meta->at.watermark;
    if (*same && meta->at.watermark)
        status = check_header(mirror, &window, &end, same, err);
    if (status == LINEAGE_OK && *same && meta->at.watermark)
        status = check_last(mirror, &window, same, err);
    buf_release(&window.bytes);
    if (status == LINEAGE_OK && *same && meta->at.watermark && looks_touched(mirror, log)) {
        status = mirror_first_change(mirror, &line, err);
        *same = line == 0;
    }
    return status;
}

/* Compares everything after the header; *line becomes the line of the first changed record. Between two records there
 * must only be line ends; otherwise a row that was inserted there would be missed. The row of a last record without a line end is left
 * out, because that record is allowed to change. */
static enum lineage_status compare(struct mirror *mirror, struct window *window, uint64_t end, uint64_t *line,
                                   struct lineage_error *err)
{
    static const char sql[] = "SELECT offset, length, digest, line FROM trials WHERE seq <= (SELECT rows FROM meta) UNION ALL"
                              " SELECT offset, length, digest, line FROM findings WHERE NOT is_row"
                              " AND offset < (SELECT watermark FROM meta) ORDER BY offset";
    sqlite3_stmt *stmt;
    bool same = true;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    while (same && mirror_next(&status, mirror, stmt, err)) {
        uint64_t offset = (uint64_t)sqlite3_column_int64(stmt, 0);
        size_t length = (size_t)sqlite3_column_int64(stmt, 1);
        *line = (uint64_t)sqlite3_column_int64(stmt, 3);
        status = is_blank(window, end, offset, &same, err);
        if (status == LINEAGE_OK && same)
            status = is_same(window, offset, length, sqlite3_column_int64(stmt, 2), &same, err);
        end = offset + length;
    }
    sqlite3_reset(stmt); /* an open statement would hold its read transaction, and with it the write-ahead log */
    if (status == LINEAGE_OK && same) {
        *line = mirror->meta.at.line;
        status = is_blank(window, end, mirror->meta.at.watermark, &same, err);
    }
    *line = same ? 0 : *line;
    return status;
}

/* The header is line 1 in messages, even if empty lines come before it. */
enum lineage_status mirror_first_change(struct mirror *mirror, uint64_t *line, struct lineage_error *err)
{
    struct window window = {.log = mirror->store->log, .ahead = WINDOW};
    uint64_t end = 0;
    bool same = true;
    *line = 0;
    assert(mirror->meta.at.watermark);
    enum lineage_status status = check_header(mirror, &window, &end, &same, err);
    if (status == LINEAGE_OK && !same)
        *line = 1;
    else if (status == LINEAGE_OK)
        status = compare(mirror, &window, end, line, err);
    buf_release(&window.bytes);
    return status;
}
