/* ingest.c: new bytes of results.tsv into rows, in one transaction that the caller holds. */
#include <string.h>
#include <xxhash.h>

#include "../log/telemetry.h"
#include "internal.h"
#include "tally.h"

#define CHUNK ((size_t)4 << 20)

struct ingest {
    struct mirror *mirror;
    uint64_t size; /* read up to here */
    struct buf bytes;
    struct arena arena;
    struct tally *tally;
    struct param_batch *params;
    bool telemetry; /* the store has a telemetry directory */
};

int64_t mirror_digest(const char *bytes, size_t length)
{
    return (int64_t)XXH3_64bits(bytes, length);
}

void mirror_note_id(struct mirror_position *at, const char *id)
{
    row_note_id(id, &at->next_id, &at->id_width);
}

/* The row of a record without line end counts in everything but rows, and can be taken back. */
static enum lineage_status add_provisional(struct ingest *in, const struct lineage_trial *trial,
                                           struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    enum lineage_status status = tally_flush(in->tally, err);
    if (status == LINEAGE_OK)
        status = param_batch_flush(in->params, mirror, err);
    if (status == LINEAGE_OK)
        status = provisional_keep_sums(mirror, (int64_t)trial->seq, err);
    mirror->meta.provisional = (int64_t)trial->seq;
    mirror->meta.next_id = mirror->meta.at.next_id;
    mirror->meta.id_width = mirror->meta.at.id_width;
    mirror->meta.at.rows--;
    return status;
}

static enum lineage_status add_row(struct ingest *in, struct lineage_trial *trial,
                                   const struct tsv_record *record, struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    trial->seq = ++mirror->meta.at.rows;
    trial->line = record->line;
    enum lineage_status status = mirror_insert(mirror, trial, record, in->params, err);
    if (status == LINEAGE_OK && in->telemetry)
        status = mirror_insert_telemetry(mirror, trial, err);
    if (status == LINEAGE_OK && !record->terminated)
        status = add_provisional(in, trial, err);
    if (status == LINEAGE_OK)
        status = tally_add(in->tally, trial, err);
    mirror_note_id(&mirror->meta.at, trial->exp_id);
    return status;
}

static enum lineage_status add_record(struct ingest *in, const struct tsv_record *record,
                                      struct lineage_error *err)
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
        status = mirror_insert_finding(mirror, record, fault, is_row,
                                       readable ? cells[id].text : "", reason, err);
        if (readable && record->terminated) /* other tools read the row: its id is used up */
            mirror_note_id(&mirror->meta.at, cells[id].text);
    }
    return status;
}

static enum lineage_status take_record(struct ingest *in, const struct tsv_record *record,
                                       uint64_t next_line, struct lineage_error *err)
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
static enum lineage_status take_records(struct ingest *in, uint64_t offset, bool at_end,
                                        struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    enum lineage_status status = LINEAGE_OK;
    tsv_scanner_init(&scanner, in->bytes.data, in->bytes.length, offset, in->mirror->meta.at.line);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record)) {
        if (scanner.position == scanner.length && record.bytes[record.length - 1] == '\r')
            record.terminated = false; /* perhaps half of CR LF */
        if (!at_end && !record.terminated)
            break;
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
    struct mirror_meta *meta = &mirror->meta;
    enum lineage_status status = LINEAGE_OK;
    if (meta->at.size == meta->at.watermark)
        return LINEAGE_OK;
    if (meta->provisional)
        status = provisional_undo(mirror, meta->provisional, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(
            mirror, "DELETE FROM findings WHERE offset >= (SELECT watermark FROM meta)", err);
    meta->provisional = 0;
    meta->at.next_id = meta->next_id;
    meta->at.id_width = meta->id_width;
    if (meta->at.watermark == 0) {
        row_layout_release(&mirror->layout); /* the header itself was unterminated */
        mirror->has_layout = false;
        mirror->header.length = 0;
    }
    return status;
}

static enum lineage_status ingest_bytes(struct ingest *in, struct lineage_error *err)
{
    enum lineage_status status = drop_provisional(in->mirror, err);
    if (status == LINEAGE_OK)
        status = read_chunks(in, err);
    if (status == LINEAGE_OK)
        status = param_batch_flush(in->params, in->mirror, err);
    return status == LINEAGE_OK ? tally_flush(in->tally, err) : status;
}

/* Loading into indexes costs more than making them again when more comes in than is there. */
static enum lineage_status ingest_in_bulk(struct ingest *in, struct lineage_error *err)
{
    enum lineage_status status = mirror_drop_indexes(in->mirror, err);
    if (status == LINEAGE_OK)
        status = ingest_bytes(in, err);
    return status == LINEAGE_OK ? mirror_make_indexes(in->mirror, err) : status;
}

static void note_file(struct mirror_meta *meta, const struct log_stat *stat)
{
    meta->at.device = stat->device;
    meta->at.inode = stat->inode;
    meta->at.size = stat->size;
    meta->mtime_ns = stat->mtime_ns;
    if (!meta->provisional) {
        meta->next_id = meta->at.next_id;
        meta->id_width = meta->at.id_width;
    }
}

enum lineage_status mirror_ingest(struct mirror *mirror, const struct log_stat *stat,
                                  struct lineage_error *err)
{
    uint64_t there = mirror->meta.at.watermark, coming = stat->size - there;
    struct ingest in = {.mirror = mirror, .size = stat->size};
    enum lineage_status status;
    in.telemetry = telemetry_exists(mirror->store->dir_fd);
    in.tally = tally_new(mirror, there == 0, coming > CHUNK);
    in.params = param_batch_new();
    if (!in.tally || !in.params)
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    else
        status = there == 0 || (coming > CHUNK && coming > there) ? ingest_in_bulk(&in, err)
                                                                  : ingest_bytes(&in, err);
    note_file(&mirror->meta, stat);
    if (status == LINEAGE_OK)
        status = mirror_save_meta(mirror, err);
    tally_free(in.tally);
    param_batch_free(in.params);
    buf_release(&in.bytes);
    arena_release(&in.arena);
    return status;
}
