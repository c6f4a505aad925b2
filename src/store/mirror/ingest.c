/*
 * ingest.c: new bytes of the log into rows, in one transaction that the caller holds: a reader never sees half a
 * sync, and a kill in the middle leaves the mirror where it was. The log is read up to the size that was looked up
 * before, however fast others append: a sync ends.
 */
#include <errno.h>
#include <string.h>
#include <xxhash.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "mirror_internal.h"
#include "tally.h"

/* Read and parsed at a time, and also what counts as much: below it a sync is one row or a few,
 * above it a load. */
#define CHUNK ((size_t)4 << 20)

/* One arena for the row at hand, emptied with each: a load of a million rows needs the memory of
 * the longest. */
struct ingest {
    struct index *mirror;
    uint64_t size; /* read up to here */
    struct buf bytes;
    struct arena arena;
    struct tally *tally;
    struct param_batch *params;
    bool telemetry; /* the store may have some: it is not sure that there is no such directory */
};

/* SQLite's integers are signed; the bits are what is compared. */
int64_t mirror_digest(const char *bytes, size_t length)
{
    return (int64_t)XXH3_64bits(bytes, length);
}

void mirror_note_id(struct index_position *at, const char *id)
{
    row_note_id(id, &at->next_id, &at->id_width);
}

/* Sums and parameters that wait in memory into their tables. */
static enum lineage_status flush(struct ingest *in, struct lineage_error *err)
{
    enum lineage_status status = param_batch_flush(in->params, in->mirror, err);
    return status == LINEAGE_OK ? tally_flush(in->tally, err) : status;
}

/*
 * The row of a record without line end counts in everything but rows, and can be taken back. What
 * came before it is written already; the copies of the sums that it changes are made when its
 * parameters are there, by which they are found, and nothing is added yet.
 */
static enum lineage_status add_provisional(struct ingest *in, const struct lineage_trial *trial,
                                           struct lineage_error *err)
{
    struct index *mirror = in->mirror;
    enum lineage_status status = param_batch_rows(in->params, mirror, err);
    if (status == LINEAGE_OK)
        status = provisional_keep_sums(mirror, (int64_t)trial->seq, err);
    if (status == LINEAGE_OK)
        status = param_batch_sums(in->params, mirror, err);
    mirror->meta.provisional = (int64_t)trial->seq;
    mirror->meta.next_id = mirror->meta.at.next_id;
    mirror->meta.id_width = mirror->meta.at.id_width;
    mirror->meta.at.rows--;
    return status;
}

/* The row comes before what refers to it, the sums last, when it is known whether they must be
 * kept aside. */
static enum lineage_status add_row(struct ingest *in, struct lineage_trial *trial,
                                   const struct tsv_record *record, struct lineage_error *err)
{
    struct index *mirror = in->mirror;
    enum lineage_status status = record->terminated ? LINEAGE_OK : flush(in, err);
    trial->seq = ++mirror->meta.at.rows;
    trial->line = record->line;
    if (status == LINEAGE_OK)
        status = mirror_insert(mirror, trial, record, in->params, err);
    if (status == LINEAGE_OK && in->telemetry)
        status = mirror_insert_telemetry(mirror, trial, err);
    if (status == LINEAGE_OK && !record->terminated)
        status = add_provisional(in, trial, err);
    if (status == LINEAGE_OK)
        status = tally_add(in->tally, trial, err);
    mirror_note_id(&mirror->meta.at, trial->exp_id);
    return status;
}

/* A damaged record is a row in findings and not in trials, so that the watermark can move on:
 * one bad line must not hide all behind it. */
static enum lineage_status add_record(struct ingest *in, const struct tsv_record *record,
                                      struct lineage_error *err)
{
    struct index *mirror = in->mirror;
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

/* Only a terminated record moves the watermark. Bytes behind it are read again at every sync
 * until their line end is there. */
static enum lineage_status take_record(struct ingest *in, const struct tsv_record *record,
                                       uint64_t next_line, struct lineage_error *err)
{
    struct index *mirror = in->mirror;
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

/*
 * All records that surely end inside the buffer; at the end of the file the last one as well. A
 * record that the buffer ends in may go on in the next chunk; only at the end of the file is there
 * nothing to wait for.
 */
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

/* Each chunk begins at the watermark, so a record that a chunk cuts in half is read again with
 * the next and never put together from pieces. */
static enum lineage_status read_chunks(struct ingest *in, struct lineage_error *err)
{
    struct index *mirror = in->mirror;
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
static enum lineage_status drop_provisional(struct index *mirror, struct lineage_error *err)
{
    struct mirror_meta *meta = &mirror->meta;
    enum lineage_status status = LINEAGE_OK;
    if (meta->at.log.size == meta->at.watermark)
        return LINEAGE_OK;
    if (meta->provisional)
        status = provisional_undo(mirror, meta->provisional, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(
            mirror, "DELETE FROM findings WHERE offset >= (SELECT watermark FROM meta)", err);
    meta->provisional = 0;
    meta->at.next_id = meta->next_id;
    meta->at.id_width = meta->id_width;
    if (meta->at.watermark == 0) /* the header itself was unterminated */
        mirror_forget_header(mirror);
    return status;
}

static enum lineage_status ingest_bytes(struct ingest *in, struct lineage_error *err)
{
    enum lineage_status status = drop_provisional(in->mirror, err);
    if (status == LINEAGE_OK)
        status = read_chunks(in, err);
    return status == LINEAGE_OK ? flush(in, err) : status;
}

/* Loading into indexes costs more than making them again when more comes in than is there. All
 * within the transaction, so no reader ever meets a mirror without its indexes. */
static enum lineage_status ingest_in_bulk(struct ingest *in, struct lineage_error *err)
{
    enum lineage_status status = mirror_drop_indexes(in->mirror, err);
    if (status == LINEAGE_OK)
        status = ingest_bytes(in, err);
    return status == LINEAGE_OK ? mirror_make_indexes(in->mirror, err) : status;
}

/* The state that was looked up before reading: what came in meanwhile makes the next sync see a
 * larger file. */
static void note_file(struct mirror_meta *meta, const struct log_state *log)
{
    meta->at.log = *log;
    if (!meta->provisional) {
        meta->next_id = meta->at.next_id;
        meta->id_width = meta->at.id_width;
    }
}

/* Saved in the caller's transaction, with the rows. */
enum lineage_status mirror_ingest(struct index *mirror, const struct log_state *log,
                                  struct lineage_error *err)
{
    uint64_t there = mirror->meta.at.watermark, coming = log->size - there;
    struct ingest in = {.mirror = mirror, .size = log->size};
    enum lineage_status status;
    struct stat st;
    /* A store without a telemetry directory is asked for it once and not once a row: a load of a
     * million rows would open as many files in vain. */
    in.telemetry = fs_stat(mirror->store->dir_fd, PLACE_TELEMETRY, 0, &st) == 0 || errno != ENOENT;
    in.tally = tally_new(mirror, there == 0, coming > CHUNK);
    in.params = param_batch_new();
    if (!in.tally || !in.params)
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    else
        status = there == 0 || (coming > CHUNK && coming > there) ? ingest_in_bulk(&in, err)
                                                                  : ingest_bytes(&in, err);
    note_file(&mirror->meta, log);
    if (status == LINEAGE_OK)
        status = mirror_save_meta(mirror, err);
    tally_free(in.tally);
    param_batch_free(in.params);
    buf_release(&in.bytes);
    arena_release(&in.arena);
    return status;
}
