/*
 * ingest.c: turns new bytes of the log into rows. The caller holds one transaction around it, so a reader never sees
 * half a sync, and a kill in the middle leaves the mirror unchanged. The log is read up to the size that was looked up
 * at the start, so that a sync ends however fast others append.
 */
#include "mirror_internal.h"

#include <jansson.h>
#include <pthread.h>
#include <signal.h>

#include <xxhash.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../files/telemetry.h"
#include "../format/json_text.h"
#include "ancestors.h"
#include "connection.h"
#include "schema_sql.h"
#include "statement.h"

/* ---- runs a function in a separate thread, in parallel with the caller ---- */

/* A thread that does not disturb the program that uses the library: it blocks all signals, because the program's handlers expect
 * the program's own threads, and its stack is small, because a program with a memory limit may not have room for a usual one. */

enum { STACK_BYTES = 512 * 1024 };

/* Starts work(context), which must not read or write files, so that system calls stay in one thread and in one order.
 * Returns false if no thread can be started; then the caller must do the work itself. */
static bool worker_thread_start(pthread_t *thread, void *(*work)(void *context), void *context)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, &attributes, work, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* Parses records of the log into rows, many at a time. For a long log, a separate thread parses while the
 * caller inserts.
 *
 * Parsing a row costs about as much as inserting it, and it needs neither the database nor the previous row. So a load
 * parses in one thread and inserts in another. The parsing thread uses only its batch, the layout of the header and the
 * reader. */

/* A record and the row that was parsed from it. The batch owns its texts. */
struct parsed_record {
    struct tsv_record record;
    uint64_t next_line; /* number of the line after the record */
    int64_t digest;     /* digest of the record; 0 for an empty one */
    bool is_header;
    bool is_row;        /* trial is filled in */
    enum row_fault fault;
    const char *reason;            /* text of the fault */
    const char *fault_id;          /* exp_id as written; NULL if it cannot be read, or if nothing is wrong */
    struct lineage_trial trial;
};

/* A stretch of the log and its parsed records. A zeroed batch is empty. A batch is reused for one stretch after
 * another. */
struct row_batch {
    struct buf bytes;
    struct parsed_record *records;
    size_t n, capacity;
    struct arena arena;
    enum lineage_status status; /* result of the parsing */
    struct lineage_error err;
};

/* Parses one batch at a time. row_parser_give starts the parsing and row_parser_take waits for the result. A separate
 * thread parses if `apart` is set and a thread can be started; otherwise row_parser_give itself parses. Between the two
 * calls, do not touch the batch, the layout and the reader. */
struct row_parser {
    const struct row_layout *layout; /* NULL until the header is known */
    struct tsv_reader *reader;
    bool apart, running; /* running: the thread parses the batch */
    pthread_t thread;
    struct row_batch *batch;
};

/* Adds a record of batch->bytes; returns false if memory runs out. */
static bool row_batch_add(struct row_batch *batch, const struct tsv_record *record, uint64_t next_line, bool is_header)
{
    if (!LIST_ROOM(batch->records, batch->n, batch->capacity))
        return false;
    struct parsed_record *parsed = &batch->records[batch->n++];
    parsed->record = *record;
    parsed->next_line = next_line;
    parsed->is_header = is_header;
    return true;
}

static void row_batch_clear(struct row_batch *batch)
{
    batch->n = 0;
    batch->bytes.length = 0;
    arena_reset(&batch->arena);
}

static void row_batch_release(struct row_batch *batch)
{
    buf_release(&batch->bytes);
    free(batch->records);
    arena_release(&batch->arena);
}

/* Copies the fault, because cells are valid until the next record is parsed and the fault is reported later. */
static enum lineage_status keep_fault(struct row_batch *batch, struct parsed_record *parsed, const char *reason,
                                      const struct tsv_cell *cells, size_t n, int id)
{
    parsed->reason = arena_text(&batch->arena, reason, strlen(reason));
    if (parsed->fault != ROW_NOT_UTF8 && (size_t)id < n) {
        parsed->fault_id = arena_text(&batch->arena, cells[id].text, strlen(cells[id].text));
        if (!parsed->fault_id)
            return LINEAGE_ENOMEM;
    }
    return parsed->reason ? LINEAGE_OK : LINEAGE_ENOMEM;
}

static enum lineage_status parse_record(struct row_parser *parser, struct row_batch *batch, struct parsed_record *parsed)
{
    const struct tsv_cell *cells;
    char reason[160];
    size_t n;
    parsed->digest = record_digest(parsed->record.bytes, parsed->record.length);
    parsed->fault = ROW_SOUND;
    parsed->fault_id = parsed->reason = NULL;
    if (parsed->is_header)
        return LINEAGE_OK;
    TRY(tsv_parse(parser->reader, &parsed->record, &cells, &n, &batch->err));
    enum lineage_status status;
    parsed->is_row = row_read(&parsed->trial, parser->layout, cells, n, &batch->arena, &parsed->fault, reason, &status);
    if (status == LINEAGE_OK && parsed->fault != ROW_SOUND)
        status = keep_fault(batch, parsed, reason, cells, n, parser->layout->column[0]);
    return status == LINEAGE_OK ? status : store_no_memory(&batch->err);
}

static void *parse(void *context)
{
    struct row_parser *parser = context;
    struct row_batch *batch = parser->batch;
    batch->status = LINEAGE_OK;
    for (size_t i = 0; batch->status == LINEAGE_OK && i < batch->n; i++)
        if (batch->records[i].record.content)
            batch->status = parse_record(parser, batch, &batch->records[i]);
    return NULL;
}

/* If no thread can be started, the batch is parsed here: slower, but with the same result. */
static void row_parser_give(struct row_parser *parser, struct row_batch *batch)
{
    parser->batch = batch;
    parser->running = parser->apart && worker_thread_start(&parser->thread, parse, parser);
    if (!parser->running)
        parse(parser);
}

static enum lineage_status row_parser_take(struct row_parser *parser, struct row_batch *batch, struct lineage_error *err)
{
    if (parser->running)
        pthread_join(parser->thread, NULL);
    parser->running = false;
    return !batch || batch->status == LINEAGE_OK ? LINEAGE_OK : store_give(err, &batch->err);
}

/* ---- reads telemetry/<exp_id>.json into the table step_metrics ---- */

/* A file that is missing, unreadable or damaged does not make the sync fail: `lineage verify` reports it. */

static enum lineage_status insert_step(struct mirror *mirror, const struct lineage_trial *trial, json_int_t step, const char *key,
                                       double value, struct lineage_error *err)
{
    return mirror_do(mirror, err, "REPLACE INTO step_metrics VALUES (?,?,?,?,?)", "isisd", (int64_t)trial->seq, trial->exp_id,
                     step, key, value);
}

/* Files written by this library contain only numbers. A file of another writer is used up to its first error. */
static enum lineage_status insert_steps(struct mirror *mirror, const struct lineage_trial *trial, const json_t *steps,
                                        struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < json_array_size(steps); i++) {
        json_t *step = json_array_get(steps, i), *value;
        const char *key;
        json_int_t number = json_integer_value(json_object_get(step, "step"));
        json_object_foreach(step, key, value)
            if (status == LINEAGE_OK && json_is_number(value) && strcmp(key, "step") != 0)
                status = insert_step(mirror, trial, number, key, json_number_value(value), err);
    }
    return status;
}

/* Whether the failure would occur again next time. A temporary failure (I/O, memory, descriptors) must make the sync
 * fail; otherwise the row would count as read and its metrics would be missing until a rebuild. */
static bool is_permanent(const struct lineage_error *why)
{
    return why->status == LINEAGE_ENOTFOUND || why->status == LINEAGE_EINVAL || why->status == LINEAGE_ELIMIT ||
           why->os_errno == EACCES || why->os_errno == EPERM || why->os_errno == EISDIR || why->os_errno == ENOTDIR ||
           why->os_errno == ELOOP;
}

/* The file is read when its row is inserted, because append writes the file before the row, and the file does not
 * change later. */
static enum lineage_status mirror_insert_telemetry(struct mirror *mirror, const struct lineage_trial *trial,
                                                   struct lineage_error *err)
{
    SCOPED_BUF text = {0};
    struct lineage_error why = {0};
    json_auto_t *root = NULL;
    enum lineage_status status = telemetry_read(mirror->store->dir_fd, trial->exp_id, &text, &why);
    if (status == LINEAGE_OK)
        status = json_text_parse(&root, "telemetry", LINEAGE_EINVAL, text.data, text.length, 0, &why);
    if (status == LINEAGE_OK)
        status = insert_steps(mirror, trial, json_object_get(root, "steps"), err);
    else
        status = is_permanent(&why) ? LINEAGE_OK : store_give(err, &why);
    return status;
}

/* ---- turns new bytes of the log into rows ---- */

/* Up to this many new bytes a sync counts as small, one row or a few; above it, as a load. */
#define MUCH ((size_t)4 << 20)

/* Bytes that are read and parsed at a time. They are about a thousand rows, which fit into a core's cache together with
 * the data made from them. */
#define CHUNK ((size_t)256 << 10)

/* The position at which the log is read, one batch ahead of the tables. */
struct reading {
    uint64_t offset, line;
    size_t want;
    bool at_end;
};

struct ingest {
    struct mirror *mirror;
    uint64_t size; /* read up to here */
    struct reading reading;
    struct row_batch batches[2]; /* one is parsed while the rows of the other are inserted */
    struct row_parser parser;
    struct param_batch *params;
    struct void_rows voids;
    struct mirror_seqs moved;
    int64_t doubtful; /* seq of the first new row whose id is not above all others, 0: none */
    bool in_bulk;  /* the indexes are dropped, and made again when all rows are inserted */
    bool much;
    uint64_t first;     /* seq of the first new row */
    bool float_parents; /* a new row names its parent as 3.0 */
    bool telemetry;     /* the store has, or may have, a telemetry directory */
};

static bool is_float(const char *id)
{
    size_t digits = strspn(id, "0123456789");
    return digits && strcmp(id + digits, ".0") == 0;
}

/* pandas writes the column of parents as floats, because the root has none: 3.0 is the trial 3, or 003, if no earlier trial is
 * called 3.0. Only earlier trials count, so that a mirror built at once has the same parents. */
static enum lineage_status name_float_parents(struct mirror *mirror, uint64_t from, struct lineage_error *err)
{
    static const char sql[] =
        "UPDATE trials SET parent_exp = coalesce((SELECT p.exp_id FROM trials p WHERE p.seq < trials.seq AND p.exp_id IN"
        " (printf('%d', trials.parent_exp), printf('%02d', trials.parent_exp), printf('%03d', trials.parent_exp),"
        " printf('%04d', trials.parent_exp))"
        " ORDER BY p.seq DESC LIMIT 1), parent_exp) WHERE seq >= ?1 AND parent_exp GLOB '[0-9]*.0'"
        " AND substr(parent_exp, 1, length(parent_exp) - 2) NOT GLOB '*[^0-9]*' AND NOT EXISTS"
        " (SELECT 1 FROM trials p WHERE p.seq < trials.seq AND p.exp_id IN (trials.parent_exp, 'exp_' || trials.parent_exp))";
    return mirror_do(mirror, err, sql, "i", (int64_t)from);
}

/* Notes the names of the parameters of a trial in meta.names (schema/mirror.sql). */
static void note_names(struct mirror *mirror, const struct lineage_trial *trial)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < trial->n_params; i++)
        digest ^= XXH3_64bits(trial->params[i].name, strlen(trial->params[i].name));
    if (trial->n_params)
        digest = digest > 1 ? digest : 2;
    if (digest && mirror->meta.at.names != (int64_t)digest)
        mirror->meta.at.names = mirror->meta.at.names ? 1 : (int64_t)digest;
}

/* A last record without a line end may be half of what another tool is writing. Readers are shown it, because editors often leave
 * the last line of a file without one; the next sync removes it and reads it again. So it does not count in `rows`. */
static void note_provisional(struct mirror_meta *meta, const struct lineage_trial *trial)
{
    meta->provisional = (int64_t)trial->seq;
    meta->next_id = meta->at.next_id;
    meta->id_width = meta->at.id_width;
    meta->at.rows--;
}

/* Two branches that were merged may have given one id to two trials. */
static enum lineage_status find_twice(struct ingest *in, struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    if (!in->doubtful || mirror->meta.at.twice)
        return LINEAGE_OK;
    enum lineage_status status = mirror_integer(
        mirror, &mirror->meta.at.twice, err,
        "SELECT t.seq FROM trials t WHERE t.seq >= ?1 AND t.seq <> ?2 AND t.exp_id > '' AND EXISTS (SELECT 1 FROM trials f"
        " WHERE f.exp_id IN (t.exp_id, 'exp_' || t.exp_id) AND f.seq < t.seq) ORDER BY t.seq LIMIT 1",
        "ii", in->doubtful, mirror->meta.provisional);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* The row is inserted before the rows that refer to it. */
static enum lineage_status add_row(struct ingest *in, struct parsed_record *parsed, struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    struct lineage_trial *trial = &parsed->trial;
    bool terminated = parsed->record.terminated;
    trial->seq = ++mirror->meta.at.rows;
    trial->line = parsed->record.line;
    in->float_parents = in->float_parents || is_float(trial->parent_exp);
    note_names(mirror, trial);
    enum lineage_status status = mirror_insert(mirror, trial, &parsed->record, parsed->digest, in->params, err);
    if (status == LINEAGE_OK && in->telemetry)
        status = mirror_insert_telemetry(mirror, trial, err);
    if (!terminated)
        note_provisional(&mirror->meta, trial);
    else if (status == LINEAGE_OK && !void_rows_note(&in->voids, trial))
        status = store_no_memory(err);
    const uint64_t next_id = mirror->meta.at.next_id;
    row_note_id(trial->exp_id, &mirror->meta.at.next_id, &mirror->meta.at.id_width);
    /* An id above all others is new without a look; the others are looked for when the index is there (find_twice). */
    if (terminated && !in->doubtful && mirror->meta.at.next_id == next_id && *trial->exp_id)
        in->doubtful = (int64_t)trial->seq;
    return status;
}

/* A damaged record becomes a row of the table findings instead of trials, so that the watermark can move past it: one
 * bad line must not hide the lines after it. Only a terminated record moves the watermark. The bytes of an unterminated
 * record are read again at every sync until its line end is there. */
static enum lineage_status take_record(struct ingest *in, struct parsed_record *parsed, struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    struct mirror_meta *meta = &mirror->meta;
    const struct tsv_record *record = &parsed->record;
    const bool is_content = record->content && !parsed->is_header;
    enum lineage_status status = LINEAGE_OK;
    if (is_content && parsed->is_row)
        TRY(add_row(in, parsed, err));
    if (is_content && parsed->fault != ROW_SOUND) {
        const char *id = parsed->fault_id;
        status = mirror_insert_finding(mirror, record, parsed->digest, parsed->fault, parsed->is_row, id ? id : "",
                                       parsed->reason, err);
        if (id && record->terminated) /* other tools may read the row, so its id counts as used */
            row_note_id(id, &meta->at.next_id, &meta->at.id_width);
    }
    if (status != LINEAGE_OK || !record->terminated)
        return status;
    meta->at.watermark = record->offset + record->length;
    meta->at.line = parsed->next_line;
    if (record->content) {
        meta->last_offset = record->offset;
        meta->last_digest = parsed->digest;
    }
    return LINEAGE_OK;
}

/* The parser needs the header to read rows. */
static enum lineage_status start_parser(struct ingest *in, const struct tsv_record *header, struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    if (header)
        TRY(mirror_set_header(mirror, header->bytes, header->length, err));
    if (mirror->has_layout)
        in->parser = (struct row_parser){.layout = &mirror->layout, .reader = mirror->reader, .apart = in->much};
    return LINEAGE_OK;
}

/* A new log whose first bytes a power failure has replaced by zeros. It has no acknowledged row, so it counts as empty, and
 * the next append moves the zeros aside. */
static bool is_lost_header(const struct tsv_record *record)
{
    return !record->terminated && memchr(record->bytes, 0, record->content);
}

/* Takes all records that certainly end inside the buffer. The last record is taken only at the end of the log, because
 * elsewhere a record at the end of the buffer may continue in the next chunk. */
static enum lineage_status cut_records(struct ingest *in, struct row_batch *batch, struct lineage_error *err)
{
    struct reading *reading = &in->reading;
    struct tsv_scanner scanner;
    struct tsv_record record;
    tsv_scanner_init(&scanner, batch->bytes.data, batch->bytes.length, reading->offset, reading->line);
    while (tsv_scan(&scanner, &record)) {
        bool is_header = record.content && !in->parser.layout;
        if (scanner.position == scanner.length && record.bytes[record.length - 1] == '\r')
            record.terminated = false; /* perhaps half of CR LF */
        if ((!reading->at_end && !record.terminated) || (is_header && is_lost_header(&record)))
            break;
        if (is_header)
            TRY(start_parser(in, &record, err));
        if (!row_batch_add(batch, &record, scanner.line, is_header))
            TRY(store_no_memory(err));
        if (record.terminated) {
            reading->offset = record.offset + record.length;
            reading->line = scanner.line;
        }
    }
    return LINEAGE_OK;
}

/* Reads the next stretch of the log and gives it to the parser. Each stretch begins after the last complete record. So
 * a record that is cut by the end of a chunk is read again with the next chunk, and need not be joined from parts. */
static enum lineage_status read_batch(struct ingest *in, struct row_batch *batch, struct lineage_error *err)
{
    struct reading *reading = &in->reading;
    enum lineage_status status = LINEAGE_OK;
    row_batch_clear(batch);
    batch->status = LINEAGE_OK;
    while (status == LINEAGE_OK && !batch->n && !reading->at_end) {
        size_t left = (size_t)(in->size - reading->offset), want = reading->want < left ? reading->want : left;
        batch->bytes.length = 0;
        status = want ? log_read(in->mirror->store->log, reading->offset, want, &batch->bytes, err) : LINEAGE_OK;
        reading->at_end = batch->bytes.length == left || batch->bytes.length < want;
        if (status == LINEAGE_OK && batch->bytes.length)
            status = cut_records(in, batch, err);
        if (!batch->n)
            reading->want *= 2; /* one record longer than the chunk */
    }
    if (status == LINEAGE_OK && batch->n && in->parser.layout)
        row_parser_give(&in->parser, batch);
    return status;
}

/* A batch is parsed while the one before it is inserted. If inserting fails, the batch that was read ahead is
 * dropped. */
static enum lineage_status take_batches(struct ingest *in, struct lineage_error *err)
{
    TRY(read_batch(in, &in->batches[0], err));
    for (int i = 0; in->batches[i].n; i = 1 - i) {
        struct row_batch *batch = &in->batches[i];
        TRY(row_parser_take(&in->parser, batch, err));
        TRY(read_batch(in, &in->batches[1 - i], err));
        for (size_t k = 0; k < batch->n; k++)
            TRY(take_record(in, &batch->records[k], err));
    }
    return LINEAGE_OK;
}

/* Removes the row that the last sync made of an unterminated record, which is read again. The row's share of a sum cannot be
 * subtracted: a minimum does not know the second smallest value, and floating-point additions cannot be undone exactly.
 * A new table needs a statement in schema/undo.sql that removes its rows. */
static enum lineage_status drop_provisional(struct ingest *in, struct lineage_error *err)
{
    struct mirror *mirror = in->mirror;
    struct mirror_meta *meta = &mirror->meta;
    enum lineage_status status = LINEAGE_OK;
    if (meta->at.log.size == meta->at.watermark)
        return LINEAGE_OK;
    if (meta->provisional)
        status = ancestors_add_children(&in->moved, mirror, meta->provisional, err);
    if (meta->provisional && status == LINEAGE_OK)
        status = mirror_do(mirror, err, "INSERT INTO void_changes VALUES (?)", "i", meta->provisional);
    if (meta->provisional && status == LINEAGE_OK)
        status = mirror_recount(mirror, meta->provisional, err);
    if (meta->provisional && status == LINEAGE_OK)
        status = mirror_run_script(mirror, schema_undo, meta->provisional, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(mirror, "DELETE FROM findings WHERE offset >= (SELECT watermark FROM meta)", err);
    meta->provisional = 0;
    meta->at.next_id = meta->next_id;
    meta->at.id_width = meta->id_width;
    if (meta->at.watermark == 0) /* the header itself was unterminated */
        mirror_forget_header(mirror);
    return status;
}

static enum lineage_status ingest_bytes(struct ingest *in, struct lineage_error *err)
{
    enum lineage_status status = drop_provisional(in, err);
    in->reading = (struct reading){.offset = in->mirror->meta.at.watermark, .line = in->mirror->meta.at.line, .want = CHUNK};
    TRY(status);
    TRY(start_parser(in, NULL, err));
    return take_batches(in, err);
}

static void *sort_params(void *params)
{
    param_batch_sort(params);
    return NULL;
}

/* Creates the indexes. Meanwhile another thread sorts the waiting parameters, which are inserted afterwards; their
 * table has no index that is created here. */
static enum lineage_status make_indexes(struct ingest *in, struct lineage_error *err)
{
    pthread_t thread;
    bool beside = in->much && worker_thread_start(&thread, sort_params, in->params);
    enum lineage_status status = mirror_make_indexes(in->mirror, err);
    if (beside)
        pthread_join(thread, NULL);
    return status;
}

/* Writes what waits for the last row. */
static enum lineage_status finish(struct ingest *in, struct lineage_error *err)
{
    if (in->in_bulk)
        TRY(make_indexes(in, err));
    TRY(param_batch_flush(in->params, in->mirror, err));
    TRY(mirror_run_script(in->mirror, schema_sums, (int64_t)in->first, err));
    if (in->float_parents)
        TRY(name_float_parents(in->mirror, in->first, err));
    TRY(void_rows_apply(&in->voids, in->mirror, &in->moved, err));
    return ancestors_update(in->mirror, &in->moved, err);
}

static void release(struct ingest *in)
{
    void_rows_release(&in->voids);
    free(in->moved.items);
    param_batch_free(in->params);
    row_parser_take(&in->parser, NULL, NULL); /* before the batches are freed, one of which it may be reading */
    row_batch_release(&in->batches[0]);
    row_batch_release(&in->batches[1]);
}

/*
 * meta is saved in the caller's transaction, together with the rows. If there are more new rows than old ones, dropping
 * the indexes and creating them again costs less than inserting into them. This happens inside the transaction, so no
 * reader sees a mirror without its indexes. meta records the log's state from before reading, so that the next sync
 * notices rows that were appended meanwhile.
 */
enum lineage_status mirror_ingest(struct mirror *mirror, const struct log_state *log, struct lineage_error *err)
{
    struct mirror_meta *meta = &mirror->meta;
    const uint64_t there = meta->at.watermark, coming = log->size - there;
    RELEASED_BY(release)
    struct ingest in = {.mirror = mirror, .size = log->size, .first = meta->at.rows + 1, .much = coming > MUCH};
    struct stat st;
    in.in_bulk = there == 0 || (in.much && coming > there);
    /* The directory is checked once, because a load of a million rows would otherwise try to open a million missing
     * files. */
    in.telemetry = fs_stat(mirror->store->dir_fd, PLACE_TELEMETRY, 0, &st) == 0 || errno != ENOENT;
    in.params = param_batch_new();
    if (!in.params)
        return store_no_memory(err);
    if (in.in_bulk)
        TRY(mirror_drop_indexes(mirror, err));
    TRY(ingest_bytes(&in, err));
    TRY(finish(&in, err));
    TRY(find_twice(&in, err));
    meta->at.log = *log;
    if (!meta->provisional) {
        meta->next_id = meta->at.next_id;
        meta->id_width = meta->at.id_width;
    }
    return mirror_save_meta(mirror, err);
}
