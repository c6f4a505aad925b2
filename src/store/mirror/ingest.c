/* ingest.c: new bytes of results.tsv into rows, in one transaction that the caller holds. */
#include <string.h>
#include <xxhash.h>

#include "../log/telemetry.h"
#include "internal.h"
#include "sums.h"

#define CHUNK ((size_t)4 << 20)

struct ingest {
    struct mirror *mirror;
    uint64_t size; /* read up to here */
    struct buf bytes;
    struct arena arena;
    struct sums sums;
    bool telemetry; /* the store has a telemetry directory */
    bool bulk;      /* building from nothing: indexes come after */
};

int64_t mirror_digest(const char *bytes, size_t length)
{
    return (int64_t)XXH3_64bits(bytes, length);
}

/* Numeric ids, with or without exp_, decide the next id and its width. */
static void note_id(struct mirror_position *at, const char *id)
{
    uint64_t value = 0;
    size_t digits;
    if (strncmp(id, "exp_", 4) == 0)
        id += 4;
    digits = strspn(id, "0123456789");
    if (!digits || id[digits] || digits > 18)
        return;
    for (size_t i = 0; i < digits; i++)
        value = value * 10 + (uint64_t)(id[i] - '0');
    if (value + 1 > at->next_id)
        at->next_id = value + 1;
    if (digits > at->id_width)
        at->id_width = digits;
}

static enum lineage_status add_row(struct ingest *in, struct lineage_trial *trial, const struct tsv_record *record,
                                   struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    trial->seq = ++mirror->meta.at.rows;
    trial->line = record->line;
    enum lineage_status status = mirror_insert(mirror, trial, record, err);
    if (status == LINEAGE_OK && in->telemetry)
        status = mirror_insert_telemetry(mirror, trial, err);
    note_id(&mirror->meta.at, trial->exp_id);
    if (status == LINEAGE_OK && record->terminated)
        status = sums_add(&in->sums, trial, err);
    if (!record->terminated) {
        mirror->meta.provisional = (int64_t)trial->seq;
        mirror->meta.at.rows--;
    }
    return status;
}

static enum lineage_status add_record(struct ingest *in, const struct tsv_record *record, struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    struct lineage_trial trial;
    const struct tsv_cell *cells;
    enum row_fault fault;
    char reason[160];
    size_t n;
    enum lineage_status status = tsv_parse(mirror->reader, record, &cells, &n, err);
    if (status != LINEAGE_OK)
        return status;
    arena_reset(&in->arena);
    bool is_row = row_read(&trial, &mirror->layout, cells, n, &in->arena, &fault, reason, &status);
    if (status != LINEAGE_OK)
        return store_fail(err, status, "out of memory");
    if (is_row)
        status = add_row(in, &trial, record, err);
    if (status == LINEAGE_OK && fault != ROW_SOUND) {
        int id = mirror->layout.column[0];
        bool readable = fault != ROW_NOT_UTF8 && (size_t)id < n;
        status = mirror_insert_finding(mirror, record, fault, readable ? cells[id].text : "", reason, err);
        if (readable && record->terminated) /* other tools read the row: its id is used up */
            note_id(&mirror->meta.at, cells[id].text);
    }
    return status;
}

static enum lineage_status take_record(struct ingest *in, const struct tsv_record *record, uint64_t next_line,
                                       struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    enum lineage_status status = LINEAGE_OK;
    if (record->content && !mirror->has_layout)
        status = mirror_set_header(mirror, record->bytes, record->length, err);
    else if (record->content)
        status = add_record(in, record, err);
    if (status != LINEAGE_OK || !record->terminated)
        return status;
    mirror->meta.at.watermark = record->offset + record->length;
    mirror->meta.at.line = next_line;
    if (record->content) {
        mirror->meta.last_offset = record->offset;
        mirror->meta.last_digest = mirror_digest(record->bytes, record->length);
    }
    return LINEAGE_OK;
}

/* All records that surely end inside the buffer; at the end of the file the last one as well. */
static enum lineage_status take_records(struct ingest *in, uint64_t offset, bool at_end, struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    enum lineage_status status = LINEAGE_OK;
    tsv_scanner_init(&scanner, in->bytes.data, in->bytes.length, offset, in->mirror->meta.at.line);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record)) {
        if (!at_end && (!record.terminated || scanner.position == scanner.length))
            break; /* a CR here may be half of CR LF */
        status = take_record(in, &record, scanner.line, err);
    }
    return status;
}

static enum lineage_status read_chunks(struct ingest *in, struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    size_t want = CHUNK;
    enum lineage_status status = LINEAGE_OK;
    uint64_t offset;
    while (status == LINEAGE_OK && (offset = mirror->meta.at.watermark) < in->size) {
        if (want > in->size - offset)
            want = (size_t)(in->size - offset);
        in->bytes.length = 0;
        status = log_read(mirror->store->log, offset, want, &in->bytes, err);
        if (status != LINEAGE_OK || in->bytes.length == 0)
            break;
        bool at_end = offset + in->bytes.length >= in->size || in->bytes.length < want;
        status = take_records(in, offset, at_end, err);
        if (at_end)
            break;
        if (mirror->meta.at.watermark == offset)
            want *= 2; /* one record longer than the chunk */
    }
    return status;
}

/* What the last sync took from an unterminated record is read again, whole by now or not. */
static enum lineage_status drop_provisional(struct mirror *mirror, struct lineage_error *err)
{
    static const char *const sql[] = {
        "DELETE FROM trials WHERE seq > (SELECT rows FROM meta)",
        "DELETE FROM params WHERE seq > (SELECT rows FROM meta)",
        "DELETE FROM turn_stats WHERE seq > (SELECT rows FROM meta)",
        "DELETE FROM step_metrics WHERE seq > (SELECT rows FROM meta)",
        "DELETE FROM extras WHERE seq > (SELECT rows FROM meta)",
        "DELETE FROM findings WHERE offset >= (SELECT watermark FROM meta)",
    };
    enum lineage_status status = LINEAGE_OK;
    mirror->meta.provisional = 0;
    if (mirror->meta.at.size == mirror->meta.at.watermark)
        return LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < sizeof sql / sizeof *sql; i++)
        status = mirror_exec(mirror, sql[i], err);
    if (mirror->meta.at.watermark == 0) {
        row_layout_release(&mirror->layout); /* the header itself was unterminated */
        mirror->has_layout = false;
        mirror->header.length = 0;
    }
    return status;
}

enum lineage_status mirror_ingest(struct mirror *mirror, const struct log_stat *stat, struct lineage_error *err)
{
    struct ingest in = {.mirror = mirror, .size = stat->size};
    enum lineage_status status = drop_provisional(mirror, err);
    in.bulk = mirror->meta.at.watermark == 0;
    in.telemetry = telemetry_exists(mirror->store->dir_fd);
    if (status == LINEAGE_OK)
        status = read_chunks(&in, err);
    if (status == LINEAGE_OK && in.bulk)
        status = mirror_make_indexes(mirror, err);
    if (status == LINEAGE_OK)
        status = sums_flush(&in.sums, mirror, err);
    mirror->meta.at.device = stat->device;
    mirror->meta.at.inode = stat->inode;
    mirror->meta.at.size = stat->size;
    mirror->meta.mtime_ns = stat->mtime_ns;
    if (status == LINEAGE_OK)
        status = mirror_save_meta(mirror, err);
    buf_release(&in.bytes);
    arena_release(&in.arena);
    sums_release(&in.sums);
    return status;
}
